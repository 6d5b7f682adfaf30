/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrices of any element type on the device, and what their product must be.
 *
 * Two kinds of contents. Any: from -1 to 1, rounded to the type; the product is compared with a tolerance. Whole: integers
 * from -2 to 2; with k up to 64 every partial sum is exact in every type, and so is the result.
 */
#ifndef GPUSIG_TESTS_CONFORMANCE_PRODUCT_H
#define GPUSIG_TESTS_CONFORMANCE_PRODUCT_H

#include "tests/unit/conformance.h"
#include "tests/unit/small_floats.h"

#define WHOLE_MOST_K 64u

enum contents { ANY, WHOLE };

struct matrix {
	enum dev_type type; /* as it is stored */
	uint64_t count, bytes;
	double *values; /* as the type holds them */
	char *dev;
};

struct product {
	struct dev_gemm g;
	enum contents contents;
	struct matrix a, b, c;
};

static const char *const type_names[DEV_TYPES] = {
	[DEV_F32] = "f32", [DEV_F64] = "f64", [DEV_TF32] = "tf32", [DEV_F16] = "f16", [DEV_BF16] = "bf16", [DEV_F8] = "f8"
};

/* ------------------------------------------------------------------ elements */

static inline const struct small_float *small_format(enum dev_type type)
{
	return type == DEV_F16 ? &small_f16 : type == DEV_BF16 ? &small_bf16 : &small_e4m3;
}

static inline void element_set(void *raw, enum dev_type type, uint64_t i, double value)
{
	if (type == DEV_F64) {
		((double *)raw)[i] = value;
	} else if (type == DEV_F32 || type == DEV_TF32) {
		((float *)raw)[i] = (float)value;
	} else {
		const uint32_t code = small_encode(small_format(type), value);
		if (type == DEV_F8)
			((uint8_t *)raw)[i] = (uint8_t)code;
		else
			((uint16_t *)raw)[i] = (uint16_t)code;
	}
}

static inline double element(const void *raw, enum dev_type type, uint64_t i)
{
	if (type == DEV_F64)
		return ((const double *)raw)[i];
	if (type == DEV_F32 || type == DEV_TF32)
		return (double)((const float *)raw)[i];
	return small_decode(small_format(type), type == DEV_F8 ? ((const uint8_t *)raw)[i] : ((const uint16_t *)raw)[i]);
}

static inline enum dev_type result_type(enum dev_type type) { return type == DEV_F8 ? DEV_BF16 : type; }

/* ------------------------------------------------------------------ matrices */

static inline void *encoded(const struct matrix *m)
{
	void *raw = malloc(m->bytes);
	require(raw);
	for (uint64_t i = 0; i < m->count; i++)
		element_set(raw, m->type, i, m->values[i]);
	return raw;
}

static inline struct matrix matrix(enum dev_type type, uint64_t rows, uint64_t leading, enum contents contents, uint64_t lane)
{
	struct matrix m = { .type = type, .count = rows * leading, .bytes = rows * leading * dev_type_bytes(type) };
	struct rng r;
	rng_seed(&r, 3, lane);
	m.values = malloc(m.count * sizeof(double));
	require(m.values);
	for (uint64_t i = 0; i < m.count; i++)
		m.values[i] = contents == WHOLE ? (double)(rng_u64(&r) % 5) - 2 : rng_unit(&r) * 2 - 1;
	void *raw = encoded(&m);
	for (uint64_t i = 0; i < m.count; i++)
		m.values[i] = element(raw, type, i);
	m.dev = get(DEV_MEM_DEVICE, m.bytes);
	ok(dev_upload(on.d, m.dev, raw, m.bytes));
	free(raw);
	return m;
}

static inline void matrix_drop(struct matrix *m)
{
	free(m->values);
	put(m->dev);
}

/* ------------------------------------------------------------------ products */

/* The same shape as a type can have it: f8 takes B transposed, and multiples of 16. */
static inline struct dev_gemm shape_in(enum dev_type type, const struct dev_gemm *shape, bool b_transposed)
{
	struct dev_gemm g = *shape;
	g.type = type;
	g.b_transposed = b_transposed || type == DEV_F8;
	if (type == DEV_F8) {
		uint32_t *const sizes[] = { &g.m, &g.n, &g.k, &g.lda, &g.ldb, &g.ldc };
		for (int i = 0; i < 6; i++)
			*sizes[i] = (*sizes[i] + 15) / 16 * 16;
	}
	if (g.b_transposed)
		g.ldb = g.k + (g.ldb - g.n);
	return g;
}

static inline struct product product(const struct dev_gemm *shape, enum contents contents)
{
	struct product p = { .g = *shape, .contents = contents };
	const enum dev_type type = p.g.type;
	p.a = matrix(type, p.g.m, p.g.lda, contents, 1);
	p.b = matrix(type, p.g.b_transposed ? p.g.n : p.g.k, p.g.ldb, contents, 2);
	p.c = matrix(result_type(type), p.g.m, p.g.ldc, contents, 3);
	p.g.a = p.a.dev;
	p.g.b = p.b.dev;
	p.g.c = p.c.dev;
	return p;
}

static inline void product_drop(struct product *p)
{
	matrix_drop(&p->a);
	matrix_drop(&p->b);
	matrix_drop(&p->c);
}

/* Relative error of a multiplication or addition inside, and of rounding to the type of C. Units that add up tensors of small
 * types cut instead of rounding; those for f8 keep 13 bits on the way. */
static inline double inner_error(enum dev_type type)
{
	return type == DEV_F64 ? 0x1p-52 : type == DEV_F32 ? 0x1p-23 : type == DEV_F8 ? 0x1p-13 : 0x1p-22;
}

static inline double outer_error(enum dev_type type)
{
	static const double errors[DEV_TYPES] = { [DEV_F32] = 0x1p-23, [DEV_F64] = 0x1p-52, [DEV_TF32] = 0x1p-23,
		                                  [DEV_F16] = 0x1p-10, [DEV_BF16] = 0x1p-7, [DEV_F8] = 0x1p-7 };
	return errors[type];
}

/* Element (i, j) of C as it must be, and how far off it may be. */
static inline double wanted(const struct product *p, uint32_t i, uint32_t j, double *tolerance_p)
{
	const struct dev_gemm *g = &p->g;
	const double old = p->c.values[(uint64_t)i * g->ldc + j];
	double sum = 0, mass = 0;
	*tolerance_p = 0;
	if (j >= g->n)
		return old; /* between rows nothing changes */
	for (uint32_t k = 0; k < g->k; k++) {
		const uint64_t at = g->b_transposed ? (uint64_t)j * g->ldb + k : (uint64_t)k * g->ldb + j;
		const double term = p->a.values[(uint64_t)i * g->lda + k] * p->b.values[at];
		sum += term;
		mass += fabs(term);
	}
	const double want = g->alpha * sum + g->beta * old;
	if (p->contents == WHOLE)
		return want;
	*tolerance_p = 4 * (g->k + 2) * inner_error(g->type) * (1 + fabs(g->alpha) + fabs(g->beta));
	/* Both factors of a tf32 product lose bits below the tenth. */
	*tolerance_p += g->type == DEV_TF32 ? 0x1p-9 * fabs(g->alpha) * mass : 0;
	*tolerance_p += outer_error(g->type) * (fabs(want) + fabs(g->alpha * sum)) + 0x1p-24 * (g->type == DEV_F16);
	return want;
}

/* Elements of `rows` rows of C, from `first` on, that are not what they must be; `got` begins at the first row. */
static inline uint64_t wrong_rows(const struct product *p, const void *got, uint32_t first, uint32_t rows)
{
	uint64_t wrong = 0;
	double tolerance;
	for (uint32_t i = 0; i < rows; i++) {
		for (uint32_t j = 0; j < p->g.ldc && (i + 1 < rows || j < p->g.n); j++) {
			const double want = wanted(p, first + i, j, &tolerance);
			const double is = element(got, p->c.type, (uint64_t)i * p->g.ldc + j);
			wrong += !(fabs(is - want) <= tolerance);
		}
	}
	if (wrong)
		printf("# %s%s %u x %u x %u, B%s, alpha %g, beta %g, shared %llu: %llu wrong from row %u on\n",
		       p->g.tiled ? "tiled " : "", type_names[p->g.type], p->g.m, p->g.n, p->g.k,
		       p->g.b_transposed ? " transposed" : "", p->g.alpha, p->g.beta, (unsigned long long)p->g.shared_bytes,
		       (unsigned long long)wrong, first);
	return wrong;
}

/* C as it is now; the caller frees it. */
static inline void *result(const struct product *p)
{
	void *got = malloc(p->c.bytes);
	require(got);
	ok(dev_download(on.d, got, p->c.dev, p->c.bytes));
	return got;
}

static inline void expect_product(const struct product *p)
{
	void *got = result(p);
	expect(wrong_rows(p, got, 0, p->g.m) == 0);
	free(got);
}

/* C as it was before. */
static inline void product_again(const struct product *p)
{
	void *raw = encoded(&p->c);
	ok(dev_upload(on.d, p->c.dev, raw, p->c.bytes));
	free(raw);
}

#endif
