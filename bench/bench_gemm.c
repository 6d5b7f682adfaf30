/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_gemm.h"
#include "bench/bench_alloc.h"
#include "bench/bench_check.h"
#include "bench/bench_element.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* C is read so much at a time, whole rows at least. */
#define READ_BYTES (UINT64_C(32) << 20)
/* Duration of a scaled GEMM at the rate for sizing. A GeForce takes 64 times as long in f64 as in
 * f32. */
#define SCALED_SECONDS 0.05
/* Most operations per unit of a GEMM with cold operands: tens of milliseconds of a CPU core. A GPU
 * needs larger matrices to exceed its cache. */
#define MAX_COLD_FLOPS 2e9

#define TILE_SIDE 128u
#define FEW_COLUMNS 32u
#define DEPTH_STEP 64u

struct shape bench_gemm_arithmetic_bound(const struct dev_props *p)
{
	uint32_t side = 512;
	while ((uint64_t)(side / TILE_SIDE) * (side / TILE_SIDE) < 2 * (uint64_t)p->units)
		side *= 2;
	return (struct shape){side, side, side, 1};
}

struct shape bench_gemm_memory_bound(const struct dev_props *p, enum dev_type type)
{
	const uint32_t rows = 2 * TILE_SIDE * p->units;
	const uint64_t capacity = p->memory_bytes / 8,
		       wanted = 2 * (p->llc_bytes ? p->llc_bytes : UINT64_C(64) << 20),
		       a_bytes = wanted < capacity ? wanted : capacity,
		       step_bytes = dev_type_array_bytes(type, (uint64_t)rows * DEPTH_STEP);
	const uint32_t steps = (uint32_t)((a_bytes + step_bytes - 1) / step_bytes);
	return (struct shape){rows, FEW_COLUMNS, (steps ? steps : 1) * DEPTH_STEP, 1};
}

bool bench_gemm_has_fast(const struct bench_gemm *p, const struct dev *dev)
{
	return dev_props(dev)->gemm_fast_types >> p->type & 1;
}

static double sizing_flops(const struct bench_case *c)
{
	const struct dev_props *props = dev_props(c->dev);
	return axis_index(c, "type") == DEV_F64 ? props->sizing_flops_f64 : props->sizing_flops;
}

int bench_gemm_shape(const struct bench_case *c, struct shape *shape_p)
{
	const double in_time = SCALED_SECONDS * sizing_flops(c);
	double most = 1e6 * (double)axis_u64(c, "mflop");
	if (most > 0.0 && in_time > 0.0 && in_time < most)
		most = in_time;
	return shape_parse(axis_str(c, "shape"), most, shape_p);
}

int bench_gemm_weights(const char *weights, uint32_t rows, struct shape *shape_p)
{
	char text[64];
	if (snprintf(text, sizeof(text), "%ux%s", rows, weights) >= (int)sizeof(text) ||
	    shape_parse(text, 0.0, shape_p) || (uint64_t)shape_p->n * shape_p->k < DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "unknown weights '%s'; values: NxK, of at least %u",
				weights, DEV_KERNEL_ALIGN);
	return 0;
}

int bench_gemm_accept_weights(const char *weights)
{
	struct shape unused;
	return bench_gemm_weights(weights, 1, &unused);
}

/* Without matrix units, so only what takes long in f32 and f64 is known to. */
static int check_launch_limit(const struct bench_case *c, const struct shape *s)
{
	const unsigned type = axis_index(c, "type");
	const double limit_s = dev_props(c->dev)->launch_limit_s, rate = sizing_flops(c),
		     takes_s = rate > 0.0 ? shape_flops(s) / rate : 0.0;
	if (limit_s > 0.0 && takes_s > limit_s && (type == DEV_F32 || type == DEV_F64))
		return err_note(-ENOTSUP,
				"a GEMM of %.2g s: the system kills kernels of over %.2g s, as the "
				"device also drives a display",
				takes_s, limit_s);
	return 0;
}

int bench_gemm_admit_type(const struct bench_case *c)
{
	const enum dev_type type = (enum dev_type)axis_index(c, "type");
	const struct dev_props *props = dev_props(c->dev);
	if (!(props->gemm_types >> type & 1))
		return err_note(-ENOTSUP, "%s GEMM is not supported on this device, with %s",
				dev_type_names[type], props->blas);
	return dev_type_is_plain(type) || axis_has_type(c, "type")
		       ? 0
		       : err_note(-ENOTSUP, "this program has no GEMM of %s", dev_type_names[type]);
}

int bench_gemm_admit_shape(const struct bench_case *c, const struct shape *s)
{
	const unsigned type = axis_index(c, "type");
	const uint32_t multiple = dev_types[type].multiple;
	const int status = bench_gemm_admit_type(c);
	if (status)
		return status;
	if (s->m % multiple || s->n % multiple || s->k % multiple)
		return err_note(-EINVAL, "%ux%ux%u: the sides of a %s GEMM must be multiples of %u",
				s->m, s->n, s->k, dev_type_names[type], multiple);
	return check_launch_limit(c, s);
}

int bench_gemm_admit(const struct bench_case *c)
{
	struct shape s;
	const int status = bench_gemm_shape(c, &s);
	return status ? status : bench_gemm_admit_shape(c, &s);
}

bool bench_gemm_divides(const struct bench_gemm *p, enum shape_cut cut, uint32_t pieces)
{
	const struct shape *s = &p->shape;
	uint32_t side = cut == SHAPE_CUT_M ? s->m : cut == SHAPE_CUT_N ? s->n : s->k;
	const uint32_t multiple = dev_types[p->type].multiple;
	if (dev_types[p->type].block && pieces > 1)
		return false;
	return side >= pieces && (multiple == 1 || side % (multiple * pieces) == 0);
}

/* From a uniform real in [-1, 1): the multiples of 1/4 from -3/4 to 3/4 are equally likely. */
static double exact_value(double drawn) { return (floor((drawn + 1.0) * 3.5) - 3.0) / 4.0; }

static void draw_values(const struct bench_gemm *p, struct bench_case *c, uint64_t count,
			double *values, void *elements)
{
	const double unit = element_unit(p->type);
	rng_fill_f64(&c->rng, values, count);
	for (uint64_t i = 0; i < count; i++)
		element_store(p->type, elements, i,
			      p->exact ? exact_value(values[i]) : unit * values[i]);
	element_load_array(p->type, elements, 0, count, values);
}

/* The first `have` bytes, again and again. */
static int repeat_on_device(struct bench_case *c, struct dev *dev, char *at, uint64_t have,
			    uint64_t bytes)
{
	int status = 0;
	if (have == bytes)
		return 0;
	struct dev_stream *stream =
		dev == c->dev ? c->stream
			      : bench_stream_on(c, dev, dev_props(dev)->priority_normal);
	for (; status == 0 && stream && have < bytes; have *= 2)
		status = dev_copy(dev, stream, at + have, at,
				  have < bytes - have ? have : bytes - have);
	return status || !stream ? status : dev_stream_sync(dev, stream);
}

/* Multiplies the values by their blocks' scales, whose codes it draws, one for each block. */
static void draw_scales(const struct bench_gemm *p, struct bench_case *c, uint64_t count,
			double *values, uint8_t *codes)
{
	const struct dev_type_traits *t = &dev_types[p->type];
	const double least = element_unit(p->type) > 1.0 ? 0x1p-4 : 0x1p-1;
	const uint32_t elements = t->block ? t->block : 1;
	for (uint64_t block = 0; block < count / elements; block++) {
		const double scale = ldexp(least, (int)(rng_u64(&c->rng) % 3));
		codes[block] = dev_scale_code(t->scale, (float)scale);
		for (uint32_t i = 0; i < elements; i++)
			values[block * elements + i] *= scale;
	}
}

/* Lays out the scales of `rows` rows of so many blocks, of which the first `period` repeat. */
static void *open_scales(const struct bench_gemm *p, struct bench_case *c, uint32_t rows,
			 uint64_t blocks, const uint8_t *codes, uint64_t period)
{
	const bool tiles = dev_props(p->dev)->scale_tiles;
	const uint64_t bytes = dev_scale_bytes(tiles, rows, blocks);
	void *device = bench_alloc_on(c, p->dev, DEV_MEM_DEVICE, bytes);
	uint8_t *laid = codes ? bench_alloc_host(c, bytes) : NULL;
	if (c->status || !laid)
		return device;
	memset(laid, 0, bytes);
	for (uint64_t row = 0; row < rows; row++)
		for (uint64_t block = 0; block < blocks; block++)
			laid[dev_scale_index(tiles, blocks, row, block)] =
				codes[(row * blocks + block) % period];
	TRY(c->status, dev_upload(p->dev, device, laid, bytes));
	return device;
}

/* A `rows` x `columns` operand, which begins with one period; `values` are those of the period. */
static void *open_operand(const struct bench_gemm *p, struct bench_case *c, uint32_t rows,
			  uint32_t columns, struct element_matrix *values_p, void **scales_p)
{
	const uint32_t block = dev_types[p->type].block;
	const uint64_t count = (uint64_t)rows * columns,
		       longest = block ? BENCH_SCALED_PERIOD : BENCH_GEMM_PERIOD,
		       period = count < longest ? count : longest,
		       bytes = dev_type_array_bytes(p->type, count),
		       period_bytes = dev_type_array_bytes(p->type, period);
	void *device = bench_alloc_on(c, p->dev, DEV_MEM_DEVICE, bytes);
	const bool results = bench_has_results(c);
	void *elements = results ? bench_alloc_host(c, period_bytes) : NULL;
	double *values = results ? bench_alloc_host(c, period * sizeof(*values)) : NULL;
	uint8_t *codes = results && block ? bench_alloc_host(c, period / block) : NULL;
	if (c->status)
		return NULL;
	if (results)
		draw_values(p, c, period, values, elements);
	if (codes)
		draw_scales(p, c, period, values, codes);
	if (block)
		*scales_p = open_scales(p, c, rows, columns / block, codes, period / block);
	if (!results)
		return device;
	TRY(c->status, dev_upload(p->dev, device, elements, period_bytes));
	if (c->status == 0)
		TRY(c->status, repeat_on_device(c, p->dev, device, period_bytes, bytes));
	*values_p = (struct element_matrix){DEV_F64, values, rows, columns, period};
	return device;
}

void *bench_gemm_operand(const struct bench_gemm *p, struct bench_case *c, uint32_t rows,
			 uint32_t columns, struct element_matrix *values_p)
{
	return open_operand(p, c, rows, columns, values_p, NULL);
}

/* The caller has set `exact` and the groups. */
static int open_gemm(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
		     const struct shape *shape, enum dev_type type)
{
	const uint32_t groups = p->groups ? p->groups : 1, block = dev_types[type].block;
	const uint64_t m = shape->m, n = shape->n, k = shape->k;
	double memory = (double)dev_props(dev)->memory_bytes, needed;
	p->dev = dev;
	p->shape = *shape;
	p->type = type;
	p->element_bytes = dev_types[type].bytes;
	p->result_bytes = dev_type_result_bytes(type);
	p->a_bytes = dev_type_array_bytes(type, m * k);
	p->b_bytes = dev_type_array_bytes(type, groups * k * n);
	p->c_bytes = m * n * p->result_bytes;
	p->b_transposed = dev_types[type].multiple > 1;
	if (block) {
		const bool tiles = dev_props(dev)->scale_tiles;
		p->a_scale_bytes = dev_scale_bytes(tiles, m, k / block);
		p->b_scale_bytes = dev_scale_bytes(tiles, n, k / block);
	}
	needed = (double)(p->a_bytes + p->b_bytes + p->c_bytes + p->a_scale_bytes +
			  p->b_scale_bytes);
	if (needed > 0.8 * memory)
		return TRY(c->status,
			   err_note(-ENOMEM, "%ux%ux%u needs %.3g GB; the device has %.3g GB",
				    shape->m, shape->n, shape->k, 1e-9 * needed, 1e-9 * memory));
	p->a = open_operand(p, c, shape->m, shape->k, &p->host_a, &p->a_scales);
	p->b = p->b_transposed
		       ? open_operand(p, c, groups * shape->n, shape->k, &p->host_b, &p->b_scales)
		       : open_operand(p, c, groups * shape->k, shape->n, &p->host_b, &p->b_scales);
	p->c = bench_alloc_on(c, dev, DEV_MEM_DEVICE, p->c_bytes);
	return c->status;
}

int bench_gemm_open(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
		    const struct shape *shape, enum dev_type type)
{
	*p = (struct bench_gemm){0};
	return open_gemm(p, c, dev, shape, type);
}

int bench_gemm_open_exact(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
			  const struct shape *shape, enum dev_type type)
{
	*p = (struct bench_gemm){.exact = type == DEV_F32};
	return open_gemm(p, c, dev, shape, type);
}

int bench_gemm_open_groups(struct bench_gemm *p, struct bench_case *c, struct dev *dev,
			   const struct shape *shape, enum dev_type type, const uint32_t *rows,
			   uint32_t groups)
{
	*p = (struct bench_gemm){.groups = groups};
	memcpy(p->group_rows, rows, groups * sizeof(*rows));
	return open_gemm(p, c, dev, shape, type);
}

/* So many rows from `first` on, by the matrix of a group. */
static struct bench_gemm rows_of_group(const struct bench_gemm *p, uint32_t first, uint32_t rows,
				       uint32_t group)
{
	struct bench_gemm own = *p;
	const uint64_t n = p->shape.n, k = p->shape.k;
	own.groups = 0;
	own.shape.m = own.host_a.rows = rows;
	own.host_b.rows = p->b_transposed ? p->shape.n : p->shape.k;
	own.a_bytes = rows * k * p->element_bytes;
	own.b_bytes = n * k * p->element_bytes;
	own.c_bytes = rows * n * p->result_bytes;
	own.a = (char *)p->a + first * k * p->element_bytes;
	own.b = (char *)p->b + group * own.b_bytes;
	own.c = (char *)p->c + first * n * p->result_bytes;
	own.host_a.first = own.host_a.period ? first * k % own.host_a.period : 0;
	own.host_b.first = own.host_b.period ? group * n * k % own.host_b.period : 0;
	return own;
}

struct bench_gemm bench_gemm_group(const struct bench_gemm *p, uint32_t group)
{
	uint32_t first = 0;
	for (uint32_t i = 0; i < group; i++)
		first += p->group_rows[i];
	return rows_of_group(p, first, p->group_rows[group], group);
}

struct bench_gemm bench_gemm_ungrouped(const struct bench_gemm *p)
{
	return rows_of_group(p, 0, p->shape.m, 0);
}

int bench_gemm_open_axes(struct bench_gemm *p, struct bench_case *c, struct dev *dev)
{
	struct shape shape;
	int status = bench_gemm_shape(c, &shape);
	return status ? TRY(c->status, status)
		      : bench_gemm_open(p, c, dev, &shape, (enum dev_type)axis_index(c, "type"));
}

/* Facts about the algorithm of the whole GEMM, where the device chose among its library's. */
static void algorithm_facts(const struct bench_gemm *p, struct bench_case *c)
{
	const struct dev_gemm gemm = bench_gemm_whole(p);
	const char *prefix = p->fast_accumulation ? "fast_" : "";
	struct dev_gemm_choice choice;
	char name[64];
	if (dev_gemm_chosen(p->dev, &gemm, &choice))
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

void bench_gemm_facts(const struct bench_gemm *p, struct bench_case *c)
{
	struct bench_gemm fast = *p;
	fast.fast_accumulation = true;
	bench_fact_number(c, "m", p->shape.m);
	bench_fact_number(c, "n", p->shape.n);
	bench_fact_number(c, "k", p->shape.k);
	bench_fact_number(c, "scaled_down_by", p->shape.scale);
	algorithm_facts(p, c);
	if (bench_gemm_has_fast(p, p->dev))
		algorithm_facts(&fast, c);
}

struct dev_gemm bench_gemm_whole(const struct bench_gemm *p)
{
	const struct shape *s = &p->shape;
	struct dev_gemm g = {.type = p->type,
			     .m = s->m,
			     .n = s->n,
			     .k = s->k,
			     .alpha = 1.0,
			     .a = p->a,
			     .b = p->b,
			     .c = p->c,
			     .a_scales = p->a_scales,
			     .b_scales = p->b_scales,
			     .lda = s->k,
			     .ldb = p->b_transposed ? s->k : s->n,
			     .ldc = s->n,
			     .b_transposed = p->b_transposed,
			     .fast_accumulation = p->fast_accumulation,
			     .groups = p->groups};
	memcpy(g.group_rows, p->group_rows, sizeof(g.group_rows));
	return g;
}

struct dev_gemm bench_gemm_piece(const struct bench_gemm *p, enum shape_cut cut, uint32_t from,
				 uint32_t count)
{
	struct dev_gemm g = bench_gemm_whole(p);
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

/* 0, or -ENOTSUP with a text: cold operands would show nothing that warm ones do not. */
static int check_cold_matters(const struct bench_gemm *p)
{
	const struct dev_props *props = dev_props(p->dev);
	uint64_t llc = props->llc_bytes,
		 bytes = p->a_bytes + p->b_bytes + p->c_bytes + p->a_scale_bytes + p->b_scale_bytes;
	double unit_flops = shape_flops(&p->shape) / (props->units ? props->units : 1);
	if (llc && bytes > llc)
		return err_note(-ENOTSUP,
				"operands of %.3g MB exceed the last-level cache of %.3g MB, so "
				"the warm GEMM reads memory, too",
				1e-6 * (double)bytes, 1e-6 * (double)llc);
	if (unit_flops > MAX_COLD_FLOPS)
		return err_note(-ENOTSUP,
				"%.2g flops per unit take so long that loading operands that fit "
				"in a cache is negligible",
				unit_flops);
	return 0;
}

int bench_gemm_rotate(const struct bench_gemm *p, struct bench_case *c, uint64_t variants,
		      struct rotation **r_p)
{
	const struct rotation_range operands[] = {{p->a, p->a_bytes, false},
						  {p->b, p->b_bytes, false},
						  {p->c, p->c_bytes, false},
						  {p->a_scales, p->a_scale_bytes, false},
						  {p->b_scales, p->b_scale_bytes, false}};
	const struct rotation_run run = {operands, p->a_scales ? 5 : 3};
	char why[160];
	bool any = false;
	for (unsigned v = 0; v < 64; v++)
		any = any || (variants >> v & 1 && bench_variant_on(c, v));
	int status = any ? check_cold_matters(p) : 0;
	if (any && status == 0)
		status = rotation_open(c, &run, 1, r_p);
	if (status != -ENOTSUP || c->status)
		return status;
	text_fit(why, sizeof(why), "%s", err_text());
	return bench_variants_skip(c, variants, why);
}

struct bench_gemm bench_gemm_next(const struct bench_gemm *p, struct rotation *r)
{
	struct bench_gemm next = *p;
	uint32_t set = rotation_take(r, 1);
	next.a = rotation_address(r, set, p->a);
	next.b = rotation_address(r, set, p->b);
	next.c = rotation_address(r, set, p->c);
	if (p->a_scales) {
		next.a_scales = rotation_address(r, set, p->a_scales);
		next.b_scales = rotation_address(r, set, p->b_scales);
	}
	return next;
}

void bench_gemm_work(const struct bench_gemm *p, double times, struct bench_model *m)
{
	const double work = shape_flops(&p->shape) * times;
	*(dev_type_is_integer(p->type) ? &m->ops : &m->flops) = work;
}

const char *bench_gemm_rate(enum dev_type type)
{
	return dev_type_is_integer(type) ? "op_rate" : "flop_rate";
}

int bench_gemm_poison(const struct bench_gemm *p, struct bench_case *c)
{
	return dev_fill(c->dev, c->stream, p->c, 0x7f, p->c_bytes);
}

/* ---------------------------------------------------------------- the check */

static enum dev_type result_type(const struct bench_gemm *p) { return dev_types[p->type].result; }

/* Bound of the error of an entry of C by rounding; bench_gemm.h derives it. */
static double rounding_limit(const struct bench_gemm *p, uint32_t writes)
{
	const struct shape *s = &p->shape;
	if (dev_type_is_integer(p->type))
		return 0.5;
	double eps = p->type == DEV_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
	bool nearest = p->type == DEV_F32 || p->type == DEV_F64;
	double growth = nearest ? 1.0 + sqrt(s->k) / 16.0 : 1.0 + s->k / 64.0;
	double own =
		p->result_bytes == 2 ? ldexp(1.0, -dev_types[result_type(p)].mantissa_bits) : 0.0;
	double cut = p->fast_accumulation ? 0x1p-13 * s->k / 32.0 : 0.0;
	return (GEMM_TOLERANCE * eps * growth + cut + own * sqrt(writes)) *
	       sqrt((double)s->k * s->n);
}

static int compare_vectors(const struct bench_gemm *p, uint32_t writes, const double *ct,
			   const double *abt)
{
	double limit = rounding_limit(p, writes), worst = 0.0;
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
		return bench_wrong(
			"row %u: C t is %.9g, A (B t) is %.9g: %.3g times the rounding error bound",
			row, ct[row], abt[row], worst);
	return 0;
}

/* C t, of rows that are read from the device. */
static int multiply_result(struct bench_case *c, const struct bench_gemm *p, const double *t,
			   double *ct)
{
	const uint64_t row_bytes = p->shape.n * p->result_bytes;
	const uint32_t all = p->shape.m;
	uint32_t some =
		row_bytes && row_bytes < READ_BYTES ? (uint32_t)(READ_BYTES / row_bytes) : 1;
	struct bench_reader reader = {.dev = p->dev};
	const void *found = NULL;
	int status = 0;
	for (uint32_t row = 0; status == 0 && row < all; row += some) {
		some = some < all - row ? some : all - row;
		status = bench_read(c, &reader, (const char *)p->c + row * row_bytes,
				    some * row_bytes, &found);
		const struct element_matrix rows = {result_type(p), found, some, p->shape.n, 0};
		if (status == 0)
			element_gemv(&rows, false, t, ct + row);
	}
	bench_read_end(&reader);
	return status;
}

static int check_groups(const struct bench_gemm *p, struct bench_case *c, uint32_t writes)
{
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < p->groups; i++) {
		const struct bench_gemm own = bench_gemm_group(p, i);
		if (own.shape.m)
			status = bench_gemm_check(&own, c, writes);
		if (status == -EBADMSG)
			return bench_wrong("group %u: %s", i, err_text());
	}
	return status;
}

static void draw_vector(const struct bench_gemm *p, struct bench_case *c, double *t)
{
	rng_fill_f64(&c->rng, t, p->shape.n);
	for (uint32_t i = 0; i < p->shape.n && dev_type_is_integer(p->type); i++)
		t[i] = 2.0 * floor(64.0 * t[i]) + 1.0;
}

int bench_gemm_check(const struct bench_gemm *p, struct bench_case *c, uint32_t writes)
{
	const struct shape *s = &p->shape;
	if (p->groups)
		return check_groups(p, c, writes);
	if (bench_known_right(c, p->dev, p->c, p->c_bytes))
		return 0;
	double *t = calloc((size_t)s->n + s->k + 2 * (size_t)s->m, sizeof(*t));
	if (!t)
		return err_note(-ENOMEM, "check of C: out of memory");
	double *bt = t + s->n, *abt = bt + s->k, *ct = abt + s->m;
	draw_vector(p, c, t);
	int status = multiply_result(c, p, t, ct);
	if (status == 0) {
		element_gemv(&p->host_b, p->b_transposed, t, bt);
		element_gemv(&p->host_a, false, bt, abt);
		status = compare_vectors(p, writes, ct, abt);
	}
	free(t);
	if (status == 0)
		bench_note_right(c, p->dev, p->c, p->c_bytes);
	return status;
}
