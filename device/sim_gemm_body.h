/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One type's product for sim_gemm.c, which defines before: REAL, VECTOR (16 bytes of them), NAME(x).
 *
 * Two rows and four vectors of columns at a time: eight sums fit into the registers of any machine, and no compiler
 * finds that alone. The order of additions is the same everywhere, and so are the results.
 */
#define LANES (sizeof(VECTOR) / sizeof(REAL))
#define STRIP (4 * LANES)

static VECTOR NAME(load)(const REAL *at)
{
	VECTOR v;
	memcpy(&v, at, sizeof(v));
	return v;
}

/* out := alpha*A*B for two rows of A and STRIP columns of B. */
static void NAME(strip)(const struct dev_gemm *g, const REAL *a0, const REAL *a1, const REAL *b, REAL *out0, REAL *out1)
{
	VECTOR s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 }, t0 = { 0 }, t1 = { 0 }, t2 = { 0 }, t3 = { 0 };
	for (uint32_t k = 0; k < g->k; k++, b += g->ldb) {
		const VECTOR b0 = NAME(load)(b), b1 = NAME(load)(b + LANES);
		const VECTOR b2 = NAME(load)(b + 2 * LANES), b3 = NAME(load)(b + 3 * LANES);
		s0 += a0[k] * b0, s1 += a0[k] * b1, s2 += a0[k] * b2, s3 += a0[k] * b3;
		t0 += a1[k] * b0, t1 += a1[k] * b1, t2 += a1[k] * b2, t3 += a1[k] * b3;
	}
	const REAL alpha = (REAL)g->alpha;
	const VECTOR s[4] = { alpha * s0, alpha * s1, alpha * s2, alpha * s3 };
	const VECTOR t[4] = { alpha * t0, alpha * t1, alpha * t2, alpha * t3 };
	memcpy(out0, s, sizeof(s));
	memcpy(out1, t, sizeof(t));
}

static REAL NAME(single)(const struct dev_gemm *g, const REAL *a, const REAL *b)
{
	REAL sum = 0;
	for (uint32_t k = 0; k < g->k; k++, b += g->ldb)
		sum += a[k] * *b;
	return (REAL)g->alpha * sum;
}

/* out := alpha*A*B for the rows and columns of a tile; rows of `out` are g->n apart. */
static void NAME(multiply)(const struct dev_gemm *g, const struct tile *t, REAL *out)
{
	const REAL *a = g->a, *b = g->b;
	for (uint32_t i = t->row; i < t->rows_end; i += 2) {
		uint32_t twin = i + 1 < t->rows_end ? i + 1 : i;
		const REAL *a0 = a + (uint64_t)i * g->lda, *a1 = a + (uint64_t)twin * g->lda;
		REAL *out0 = out + (uint64_t)i * g->n, *out1 = out + (uint64_t)twin * g->n;
		uint32_t j = t->column;
		for (; j + STRIP <= t->columns_end; j += (uint32_t)STRIP)
			NAME(strip)(g, a0, a1, b + j, out0 + j, out1 + j);
		for (; j < t->columns_end; j++) {
			out0[j] = NAME(single)(g, a0, b + j);
			out1[j] = NAME(single)(g, a1, b + j);
		}
	}
}

/* C := product + beta*C. BLAS: with beta 0, C isn't read. */
static void NAME(finish)(const struct dev_gemm *g, const struct tile *t, const REAL *product)
{
	const REAL beta = (REAL)g->beta;
	for (uint32_t i = t->row; i < t->rows_end; i++) {
		const REAL *from = product + (uint64_t)i * g->n;
		REAL *c = (REAL *)g->c + (uint64_t)i * g->ldc;
		if (is_zero(g->beta))
			memcpy(c + t->column, from + t->column, (t->columns_end - t->column) * sizeof(REAL));
		for (uint32_t j = t->column; j < t->columns_end && !is_zero(g->beta); j++)
			c[j] = from[j] + beta * c[j];
	}
}

#undef LANES
#undef STRIP
