/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_product.h"
#include "lib/bench_own.h"
#include "lib/err.h"
#include "lib/small_float.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const product_types[] = {"f32", "f64", "tf32", "f16", "bf16", "f8", NULL};

/* Drawn as floats, so many at a time, then narrowed. */
#define DRAWN 4096u
#define F8_MULTIPLE 16u

bool product_has_own_units(const struct dev *dev)
{
	return (dev_props(dev)->gemm_types & ~(1u << DEV_F32 | 1u << DEV_F64)) != 0;
}

bool product_has_fast(const struct product *p, const struct dev *dev)
{
	return dev_props(dev)->gemm_fast_types >> p->type & 1;
}

static int shape_of(const struct bench_case *c, struct shape *shape_p)
{
	return shape_parse(bench_word(c, "shape"), 1e6 * (double)bench_number(c, "mflop"), shape_p);
}

int product_admit(const struct bench_case *c)
{
	unsigned type = bench_choice(c, "type");
	struct shape s;
	if (!(dev_props(c->dev)->gemm_types >> type & 1))
		return err_note(-ENOTSUP, "this device has no products of %s here", product_types[type]);
	int status = shape_of(c, &s);
	if (status == 0 && type == DEV_F8 && (s.m % F8_MULTIPLE || s.n % F8_MULTIPLE || s.k % F8_MULTIPLE))
		return err_note(-EINVAL, "%ux%ux%u: the sides of f8 are multiples of 16", s.m, s.n, s.k);
	return status;
}

bool product_divides(const struct product *p, enum shape_cut cut, uint32_t pieces)
{
	const struct shape *s = &p->shape;
	uint32_t side = cut == SHAPE_CUT_M ? s->m : cut == SHAPE_CUT_N ? s->n : s->k;
	return side >= pieces && (p->type != DEV_F8 || side % (F8_MULTIPLE * pieces) == 0);
}

static void narrow(enum dev_type type, const float *from, uint64_t at, size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		switch (type) {
		case DEV_F16:
			((uint16_t *)to)[at + i] = small_f16(from[i]);
			break;
		case DEV_BF16:
			((uint16_t *)to)[at + i] = small_bf16(from[i]);
			break;
		case DEV_F8:
			((uint8_t *)to)[at + i] = small_f8(from[i]);
			break;
		default:
			((float *)to)[at + i] = type == DEV_TF32 ? small_tf32(from[i]) : from[i];
		}
	}
}

static void draw(struct bench_case *c, enum dev_type type, uint64_t count, void *to)
{
	float drawn[DRAWN];
	if (type == DEV_F64) {
		rng_fill_f64(&c->rng, to, count);
		return;
	}
	for (uint64_t at = 0; at < count; at += DRAWN) {
		size_t some = count - at < DRAWN ? (size_t)(count - at) : DRAWN;
		rng_fill_f32(&c->rng, drawn, some);
		narrow(type, drawn, at, some, to);
	}
}

static void operand(struct product *p, struct bench_case *c, uint64_t count, void **device_p, void **host_p)
{
	*host_p = own_host(c, count * p->element_bytes);
	if (!*host_p)
		return;
	draw(c, p->type, count, *host_p);
	*device_p = own_memory(c, DEV_MEM_DEVICE, count * p->element_bytes);
	if (*device_p)
		own_result(c, dev_upload(c->dev, *device_p, *host_p, count * p->element_bytes));
}

int product_open(struct product *p, struct bench_case *c, const struct shape *shape, enum dev_type type)
{
	const struct shape *s = shape;
	double memory = (double)dev_props(c->dev)->memory_bytes, a, b, result;
	*p = (struct product){.shape = *s, .type = type, .element_bytes = dev_type_bytes(type),
	                      .result_bytes = dev_type_result_bytes(type), .b_transposed = type == DEV_F8};
	a = (double)s->m * s->k * (double)p->element_bytes;
	b = (double)s->k * s->n * (double)p->element_bytes;
	result = (double)s->m * s->n * (double)p->result_bytes;
	if (a + b + result > 0.8 * memory)
		return own_result(c, err_note(-ENOMEM, "%ux%ux%u takes %.3g GB, the device has %.3g GB free", s->m, s->n, s->k,
		                              1e-9 * (a + b + result), 1e-9 * memory));
	operand(p, c, (uint64_t)s->m * s->k, &p->a, &p->host_a);
	operand(p, c, (uint64_t)s->k * s->n, &p->b, &p->host_b);
	p->c = own_memory(c, DEV_MEM_DEVICE, (uint64_t)s->m * s->n * p->result_bytes);
	return own_status(c);
}

int product_open_axes(struct product *p, struct bench_case *c)
{
	struct shape shape;
	int status = shape_of(c, &shape);
	return status ? own_result(c, status) : product_open(p, c, &shape, (enum dev_type)bench_choice(c, "type"));
}

/* Of the whole product, where the device has chosen among its library's algorithms. */
static void algorithm_facts(const struct product *p, struct bench_case *c)
{
	const struct dev_gemm gemm = product_whole(p);
	const char *prefix = p->fast_accumulation ? "fast_" : "";
	struct dev_gemm_choice choice;
	char name[64];
	if (dev_gemm_chosen(c->dev, &gemm, &choice))
		return;
	snprintf(name, sizeof(name), "%salgorithm", prefix);
	bench_fact_text(c, name, choice.algorithm);
	snprintf(name, sizeof(name), "%salgorithms_offered", prefix);
	bench_fact_number(c, name, choice.offered);
	snprintf(name, sizeof(name), "%salgorithms_tried", prefix);
	bench_fact_number(c, name, choice.tried);
	snprintf(name, sizeof(name), "%sfirst_choice_time_ratio", prefix);
	if (!isnan(choice.first_ratio))
		bench_fact_number(c, name, choice.first_ratio);
}

void product_facts(const struct product *p, struct bench_case *c)
{
	struct product fast = *p;
	fast.fast_accumulation = true;
	bench_fact_number(c, "m", p->shape.m);
	bench_fact_number(c, "n", p->shape.n);
	bench_fact_number(c, "k", p->shape.k);
	bench_fact_number(c, "scaled_down_by", p->shape.scale);
	algorithm_facts(p, c);
	if (product_has_fast(p, c->dev))
		algorithm_facts(&fast, c);
}

struct dev_gemm product_whole(const struct product *p)
{
	const struct shape *s = &p->shape;
	return (struct dev_gemm){.type = p->type, .m = s->m, .n = s->n, .k = s->k, .alpha = 1.0,
	                         .a = p->a, .b = p->b, .c = p->c, .lda = s->k, .ldb = p->b_transposed ? s->k : s->n,
	                         .ldc = s->n, .b_transposed = p->b_transposed, .fast_accumulation = p->fast_accumulation};
}

struct dev_gemm product_piece(const struct product *p, enum shape_cut cut, uint32_t from, uint32_t count)
{
	struct dev_gemm g = product_whole(p);
	const char *a = p->a, *b = p->b;
	char *c = p->c;
	uint64_t start = from * p->element_bytes, result_start = from * p->result_bytes;
	switch (cut) {
	case SHAPE_CUT_M:
		g.m = count;
		g.a = a + start * g.lda;
		g.c = c + result_start * g.ldc;
		break;
	case SHAPE_CUT_N:
		g.n = count;
		g.b = b + (p->b_transposed ? start * g.ldb : start);
		g.c = c + result_start;
		break;
	case SHAPE_CUT_K:
		g.k = count;
		g.a = a + start;
		g.b = b + (p->b_transposed ? start : start * g.ldb);
		g.beta = from ? 1.0 : 0.0;
		break;
	}
	return g;
}

int product_spoil(const struct product *p, struct bench_case *c)
{
	uint64_t bytes = (uint64_t)p->shape.m * p->shape.n * p->result_bytes;
	return dev_fill(c->dev, c->stream, p->c, 0x7f, bytes);
}

/* ---------------------------------------------------------------- the check */

struct matrix {
	enum dev_type type;
	const void *elements;
	uint32_t rows, columns;
};

/* C is stored as A and B are, but for f8. */
static enum dev_type result_type(const struct product *p) { return p->type == DEV_F8 ? DEV_BF16 : p->type; }

static double element(const struct matrix *x, uint64_t i)
{
	switch (x->type) {
	case DEV_F64:
		return ((const double *)x->elements)[i];
	case DEV_F16:
		return (double)small_f16_value(((const uint16_t *)x->elements)[i]);
	case DEV_BF16:
		return (double)small_bf16_value(((const uint16_t *)x->elements)[i]);
	case DEV_F8:
		return (double)small_f8_value(((const uint8_t *)x->elements)[i]);
	default:
		return (double)((const float *)x->elements)[i];
	}
}

/* out[row] = sum over columns of x[row][column] * t[column], in double. */
static void times_vector(const struct matrix *x, const double *t, double *out)
{
	for (uint32_t row = 0; row < x->rows; row++) {
		double sum = 0.0;
		for (uint32_t column = 0; column < x->columns; column++)
			sum += element(x, (uint64_t)row * x->columns + column) * t[column];
		out[row] = sum;
	}
}

/* The same of the matrix whose rows are x's columns. */
static void transposed_times_vector(const struct matrix *x, const double *t, double *out)
{
	for (uint32_t column = 0; column < x->columns; column++)
		out[column] = 0.0;
	for (uint32_t row = 0; row < x->rows; row++)
		for (uint32_t column = 0; column < x->columns; column++)
			out[column] += element(x, (uint64_t)row * x->columns + column) * t[row];
}

/* How far rounding alone may take an entry of C t; bench_product.h derives it. */
static double allowed(const struct product *p, uint32_t writes)
{
	const struct shape *s = &p->shape;
	double eps = p->type == DEV_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
	bool nearest = p->type == DEV_F32 || p->type == DEV_F64;
	double growth = nearest ? 1.0 + sqrt(s->k) / 16.0 : 1.0 + s->k / 64.0;
	double own = result_type(p) == DEV_F16 ? 0x1p-10 : result_type(p) == DEV_BF16 ? 0x1p-7 : 0.0;
	double cut = p->fast_accumulation ? 0x1p-13 * s->k / 32.0 : 0.0;
	return (PRODUCT_TOLERANCE * eps * growth + cut + own * sqrt(writes)) * sqrt((double)s->k * s->n);
}

static int compare(const struct product *p, uint32_t writes, const double *ct, const double *abt)
{
	double limit = allowed(p, writes), worst = 0.0;
	uint32_t row = 0;
	for (uint32_t i = 0; i < p->shape.m; i++) {
		double off = fabs(ct[i] - abt[i]) / limit;
		/* Written so that NaN counts as worst. */
		if (!(off <= worst)) {
			worst = isnan(off) ? INFINITY : off;
			row = i;
		}
	}
	if (worst > 1.0)
		return bench_wrong("row %u of C t is %.9g, of A (B t) %.9g: %.3g times what rounding explains", row, ct[row],
		                   abt[row], worst);
	return 0;
}

int product_check(const struct product *p, struct bench_case *c, uint32_t writes)
{
	const struct shape *s = &p->shape;
	uint64_t bytes = (uint64_t)s->m * s->n * p->result_bytes;
	void *found = malloc(bytes);
	double *t = malloc(((size_t)s->n + s->k + 2 * (size_t)s->m) * sizeof(*t));
	int status = found && t ? dev_download(c->dev, found, p->c, bytes) : err_note(-ENOMEM, "check of C: out of memory");
	if (status == 0) {
		const struct matrix a = {p->type, p->host_a, s->m, s->k}, product = {result_type(p), found, s->m, s->n};
		const struct matrix b = {p->type, p->host_b, p->b_transposed ? s->n : s->k, p->b_transposed ? s->k : s->n};
		double *bt = t + s->n, *abt = bt + s->k, *ct = abt + s->m;
		rng_fill_f64(&c->rng, t, s->n);
		if (p->b_transposed)
			transposed_times_vector(&b, t, bt);
		else
			times_vector(&b, t, bt);
		times_vector(&a, bt, abt);
		times_vector(&product, t, ct);
		status = compare(p, writes, ct, abt);
	}
	free(found);
	free(t);
	return status;
}
