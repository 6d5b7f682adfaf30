/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM test cases: matrices of any element type on the device, and the expected result.
 *
 * RANDOM_REALS: from -1 to 1, rounded to the type; the result is compared with a tolerance. Of
 * integers all that the type has, of C a few thousand; the result is exact.
 * SMALL_INTEGERS: from -2 to 2; with k up to 64 every partial sum is exact in every type, and so is
 * the result. Scales are then 1, elsewhere random.
 */
#ifndef GPUSIG_CONFORMANCE_GEMM_ANSWERS_H
#define GPUSIG_CONFORMANCE_GEMM_ANSWERS_H

#include "tests/unit/conformance/conformance.h"
#include "tests/unit/device/minifloat_arrays.h"

#define SMALL_INTEGERS_MAX_K 64u

enum contents { RANDOM_REALS, SMALL_INTEGERS };

struct matrix {
	enum dev_type type; /* type of the stored elements */
	uint64_t count, bytes;
	double *values; /* rounded to the type, times the scale */
	char *dev, *scales;
};

struct gemm_case {
	struct dev_gemm g;
	enum contents contents;
	struct matrix a, b, c;
};

static inline enum dev_type result_type(enum dev_type type) { return dev_types[type].result; }

/* ------------------------------------------------------------------ matrices */

/* Draws the scales of a matrix whose rows have so many columns, and multiplies the values. */
static inline void scale_values(struct matrix *m, uint64_t rows, uint64_t columns, uint64_t leading,
				enum contents contents, struct rng *r)
{
	const struct dev_type_traits *t = &dev_types[m->type];
	const uint64_t blocks = columns / t->block;
	const bool tiles = dev_props(on.d)->scale_tiles;
	const uint64_t bytes = dev_scale_bytes(tiles, rows, blocks);
	uint8_t *codes = calloc(bytes, 1);
	require(codes);
	for (uint64_t i = 0; i < rows * blocks; i++) {
		const uint64_t row = i / blocks, block = i % blocks;
		const int power = contents == SMALL_INTEGERS ? 0 : (int)(rng_u64(r) % 3) - 1;
		codes[dev_scale_index(tiles, blocks, row, block)] =
			dev_scale_code(t->scale, ldexpf(1, power));
		for (uint32_t j = 0; j < t->block; j++)
			m->values[row * leading + block * t->block + j] *= ldexp(1, power);
	}
	m->scales = alloc_memory(DEV_MEM_DEVICE, bytes);
	ok(dev_upload(on.d, m->scales, codes, bytes));
	free(codes);
}

static inline void *matrix_encode(const struct matrix *m)
{
	void *raw = malloc(m->bytes);
	require(raw);
	for (uint64_t i = 0; i < m->count; i++)
		element_set(raw, m->type, i, m->values[i]);
	return raw;
}

static inline struct matrix matrix_create(enum dev_type type, uint64_t rows, uint64_t columns,
					  uint64_t leading, enum contents contents, uint64_t lane)
{
	struct matrix m = {.type = type,
			   .count = rows * leading,
			   .bytes = dev_type_array_bytes(type, rows * leading)};
	struct rng r;
	rng_seed(&r, 3, lane);
	m.values = malloc(m.count * sizeof(double));
	require(m.values);
	for (uint64_t i = 0; i < m.count; i++)
		m.values[i] = contents == SMALL_INTEGERS ? (double)(rng_u64(&r) % 5) - 2
			      : type == DEV_I8           ? (double)(rng_u64(&r) % 256) - 128
			      : type == DEV_I32          ? (double)(rng_u64(&r) % 9999) - 4999
							 : rng_unit(&r) * 2 - 1;
	void *raw = matrix_encode(&m);
	for (uint64_t i = 0; i < m.count; i++)
		m.values[i] = element_get(raw, type, i);
	m.dev = alloc_memory(DEV_MEM_DEVICE, m.bytes);
	ok(dev_upload(on.d, m.dev, raw, m.bytes));
	free(raw);
	if (dev_types[type].block)
		scale_values(&m, rows, columns, leading, contents, &r);
	return m;
}

static inline void matrix_free(struct matrix *m)
{
	free(m->values);
	free_memory(m->dev);
	if (m->scales)
		free_memory(m->scales);
}

/* ------------------------------------------------------------------ GEMM cases */

/* Adapts a shape to a type: some need B transposed and multiples, integers factors of 1. */
static inline struct dev_gemm shape_for_type(enum dev_type type, const struct dev_gemm *shape,
					     bool b_transposed)
{
	struct dev_gemm g = *shape;
	g.type = type;
	const uint32_t multiple = dev_types[type].multiple;
	uint32_t *const sizes[] = {&g.m, &g.n, &g.k, &g.lda, &g.ldb, &g.ldc};
	g.b_transposed = b_transposed || multiple > 1;
	for (int i = 0; i < 6; i++)
		*sizes[i] = (*sizes[i] + multiple - 1) / multiple * multiple;
	if (g.b_transposed)
		g.ldb = g.k + (g.ldb - g.n);
	if (dev_type_is_integer(type)) {
		g.alpha = 1;
		g.beta = g.beta < 0 || g.beta > 0;
	}
	return g;
}

static inline struct gemm_case gemm_case_create(const struct dev_gemm *shape,
						enum contents contents)
{
	struct gemm_case p = {.g = *shape, .contents = contents};
	const enum dev_type type = p.g.type;
	p.a = matrix_create(type, p.g.m, p.g.k, p.g.lda, contents, 1);
	p.b = matrix_create(type,
			    (p.g.b_transposed ? p.g.n : p.g.k) * (p.g.groups ? p.g.groups : 1),
			    p.g.b_transposed ? p.g.k : p.g.n, p.g.ldb, contents, 2);
	p.c = matrix_create(result_type(type), p.g.m, p.g.n, p.g.ldc, contents, 3);
	p.g.a = p.a.dev;
	p.g.b = p.b.dev;
	p.g.c = p.c.dev;
	p.g.a_scales = p.a.scales;
	p.g.b_scales = p.b.scales;
	return p;
}

static inline void gemm_case_free(struct gemm_case *p)
{
	matrix_free(&p->a);
	matrix_free(&p->b);
	matrix_free(&p->c);
}

/* Relative error of one multiplication or addition, and of rounding to the type of C. Matrix units
 * for small types truncate sums instead of rounding; those for f8 keep 13 bits.
 */
static inline double arithmetic_error(enum dev_type type)
{
	return type == DEV_F64   ? 0x1p-52
	       : type == DEV_F32 ? 0x1p-23
	       : type == DEV_F8  ? 0x1p-13
				 : 0x1p-22;
}

static inline double rounding_error(enum dev_type type)
{
	return ldexp(1.0, -dev_types[result_type(type)].mantissa_bits);
}

/* The first element of the matrix of B that row i is multiplied by. */
static inline uint64_t start_of_b(const struct dev_gemm *g, uint32_t i)
{
	uint32_t group = 0, end = g->group_rows[0];
	while (g->groups && i >= end)
		end += g->group_rows[++group];
	return group * dev_gemm_group_stride(g);
}

/* The expected element (i, j) of C, and the allowed error. */
static inline double expected_element(const struct gemm_case *p, uint32_t i, uint32_t j,
				      double *tolerance_p)
{
	const struct dev_gemm *g = &p->g;
	const double old = p->c.values[(uint64_t)i * g->ldc + j];
	const double *b = p->b.values + start_of_b(g, i);
	double sum = 0, mass = 0;
	*tolerance_p = 0;
	if (j >= g->n)
		return old; /* padding between rows must not change */
	for (uint32_t k = 0; k < g->k; k++) {
		const uint64_t at =
			g->b_transposed ? (uint64_t)j * g->ldb + k : (uint64_t)k * g->ldb + j;
		const double term = p->a.values[(uint64_t)i * g->lda + k] * b[at];
		sum += term;
		mass += fabs(term);
	}
	const double want = g->alpha * sum + g->beta * old;
	if (p->contents == SMALL_INTEGERS || dev_type_is_integer(g->type))
		return want;
	*tolerance_p =
		4 * (g->k + 2) * arithmetic_error(g->type) * (1 + fabs(g->alpha) + fabs(g->beta));
	/* tf32 keeps 10 bits of mantissa of both factors. */
	*tolerance_p += g->type == DEV_TF32 ? 0x1p-9 * fabs(g->alpha) * mass : 0;
	*tolerance_p += rounding_error(g->type) * (fabs(want) + fabs(g->alpha * sum)) +
			0x1p-24 * (g->type == DEV_F16);
	return want;
}

/* Counts wrong elements in `rows` rows of C from row `first` on. `got` begins at that row. */
static inline uint64_t count_wrong_elements(const struct gemm_case *p, const void *got,
					    uint32_t first, uint32_t rows)
{
	uint64_t wrong = 0;
	double tolerance;
	for (uint32_t i = 0; i < rows; i++) {
		for (uint32_t j = 0; j < p->g.ldc && (i + 1 < rows || j < p->g.n); j++) {
			const double want = expected_element(p, first + i, j, &tolerance);
			const double is = element_get(got, p->c.type, (uint64_t)i * p->g.ldc + j);
			wrong += !(fabs(is - want) <= tolerance);
		}
	}
	if (wrong)
		printf("# %s%s %u x %u x %u, B%s, alpha %g, beta %g, shared %llu: %llu wrong from "
		       "row %u on\n",
		       p->g.tiled ? "tiled " : "", dev_type_names[p->g.type], p->g.m, p->g.n,
		       p->g.k, p->g.b_transposed ? " transposed" : "", p->g.alpha, p->g.beta,
		       (unsigned long long)p->g.shared_bytes, (unsigned long long)wrong, first);
	return wrong;
}

/* Downloads C; the caller frees it. */
static inline void *download_c(const struct gemm_case *p)
{
	void *got = malloc(p->c.bytes);
	require(got);
	ok(dev_download(on.d, got, p->c.dev, p->c.bytes));
	return got;
}

static inline void expect_gemm_result(const struct gemm_case *p)
{
	void *got = download_c(p);
	expect(count_wrong_elements(p, got, 0, p->g.m) == 0);
	free(got);
}

/* Restores C to its initial contents. */
static inline void gemm_case_restore_c(const struct gemm_case *p)
{
	void *raw = matrix_encode(&p->c);
	ok(dev_upload(on.d, p->c.dev, raw, p->c.bytes));
	free(raw);
}

#endif
