/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_product.h"
#include "lib/bench_own.h"
#include "lib/err.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

const char *const product_types[] = {"f32", "f64", NULL};

static void operand(struct product *p, struct bench_case *c, uint64_t count, void **device_p, void **host_p)
{
	*host_p = own_host(c, count * p->element_bytes);
	if (!*host_p)
		return;
	if (p->type == DEV_F32)
		rng_fill_f32(&c->rng, *host_p, count);
	else
		rng_fill_f64(&c->rng, *host_p, count);
	*device_p = own_memory(c, DEV_MEM_DEVICE, count * p->element_bytes);
	if (*device_p)
		own_result(c, dev_upload(c->dev, *device_p, *host_p, count * p->element_bytes));
}

int product_open(struct product *p, struct bench_case *c, const struct shape *shape, enum dev_type type)
{
	const struct shape *s = shape;
	double memory = (double)dev_props(c->dev)->memory_bytes;
	*p = (struct product){.shape = *s, .type = type, .element_bytes = type == DEV_F32 ? 4 : 8};
	double bytes = ((double)s->m * s->k + (double)s->k * s->n + (double)s->m * s->n) * (double)p->element_bytes;
	if (bytes > 0.8 * memory)
		return own_result(c, err_note(-ENOMEM, "%ux%ux%u takes %.3g GB, the device has %.3g GB free", s->m, s->n, s->k,
		                              1e-9 * bytes, 1e-9 * memory));
	operand(p, c, (uint64_t)s->m * s->k, &p->a, &p->host_a);
	operand(p, c, (uint64_t)s->k * s->n, &p->b, &p->host_b);
	p->c = own_memory(c, DEV_MEM_DEVICE, (uint64_t)s->m * s->n * p->element_bytes);
	return own_status(c);
}

int product_open_axes(struct product *p, struct bench_case *c)
{
	struct shape shape;
	enum dev_type type = (enum dev_type)bench_choice(c, "type");
	int status = shape_parse(bench_word(c, "shape"), 1e6 * (double)bench_number(c, "mflop"), &shape);
	return status ? own_result(c, status) : product_open(p, c, &shape, type);
}

void product_facts(const struct product *p, struct bench_case *c)
{
	bench_fact_number(c, "m", p->shape.m);
	bench_fact_number(c, "n", p->shape.n);
	bench_fact_number(c, "k", p->shape.k);
	bench_fact_number(c, "scaled_down_by", p->shape.scale);
}

struct dev_gemm product_whole(const struct product *p)
{
	const struct shape *s = &p->shape;
	return (struct dev_gemm){.type = p->type, .m = s->m, .n = s->n, .k = s->k, .alpha = 1.0,
	                         .a = p->a, .b = p->b, .c = p->c, .lda = s->k, .ldb = s->n, .ldc = s->n};
}

struct dev_gemm product_piece(const struct product *p, enum shape_cut cut, uint32_t from, uint32_t count)
{
	struct dev_gemm g = product_whole(p);
	const char *a = p->a, *b = p->b;
	char *c = p->c;
	uint64_t start = from * p->element_bytes;
	switch (cut) {
	case SHAPE_CUT_M:
		g.m = count;
		g.a = a + start * g.lda;
		g.c = c + start * g.ldc;
		break;
	case SHAPE_CUT_N:
		g.n = count;
		g.b = b + start;
		g.c = c + start;
		break;
	case SHAPE_CUT_K:
		g.k = count;
		g.a = a + start;
		g.b = b + start * g.ldb;
		g.beta = from ? 1.0 : 0.0;
		break;
	}
	return g;
}

static double element(const struct product *p, const void *x, uint64_t i)
{
	return p->type == DEV_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* out[row] = sum over columns of x[row][column] * t[column], in double. */
static void times_vector(const struct product *p, const void *x, uint32_t rows, uint32_t columns, const double *t,
                         double *out)
{
	for (uint32_t row = 0; row < rows; row++) {
		double sum = 0.0;
		for (uint32_t column = 0; column < columns; column++)
			sum += element(p, x, (uint64_t)row * columns + column) * t[column];
		out[row] = sum;
	}
}

static int compare(const struct product *p, const double *ct, const double *abt)
{
	const struct shape *s = &p->shape;
	double eps = p->type == DEV_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
	double scale = eps * sqrt((double)s->k * s->n), worst = 0.0;
	uint32_t row = 0;
	for (uint32_t i = 0; i < s->m; i++) {
		double off = fabs(ct[i] - abt[i]) / scale;
		/* Written so that NaN counts as worst. */
		if (!(off <= worst)) {
			worst = isnan(off) ? INFINITY : off;
			row = i;
		}
	}
	if (worst > PRODUCT_TOLERANCE)
		return bench_wrong("row %u of C t is %.9g, of A (B t) %.9g: %.3g times the rounding error", row, ct[row],
		                   abt[row], worst);
	return 0;
}

int product_spoil(const struct product *p, struct bench_case *c)
{
	uint64_t bytes = (uint64_t)p->shape.m * p->shape.n * p->element_bytes;
	return dev_fill(c->dev, c->stream, p->c, 0x7f, bytes);
}

int product_check(const struct product *p, struct bench_case *c)
{
	const struct shape *s = &p->shape;
	uint64_t bytes = (uint64_t)s->m * s->n * p->element_bytes;
	void *found = malloc(bytes);
	double *t = malloc(((size_t)s->n + s->k + 2 * (size_t)s->m) * sizeof(*t));
	int status = found && t ? dev_download(c->dev, found, p->c, bytes) : err_note(-ENOMEM, "check of C: out of memory");
	if (status == 0) {
		double *bt = t + s->n, *abt = bt + s->k, *ct = abt + s->m;
		rng_fill_f64(&c->rng, t, s->n);
		times_vector(p, p->host_b, s->k, s->n, t, bt);
		times_vector(p, p->host_a, s->m, s->k, bt, abt);
		times_vector(p, found, s->m, s->n, t, ct);
		status = compare(p, ct, abt);
	}
	free(found);
	free(t);
	return status;
}
