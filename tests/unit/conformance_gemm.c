/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gemm against a plain product.
 */
#include "tests/unit/conformance.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------ gemm */

struct matrix {
	uint32_t rows, columns, leading;
	uint64_t bytes;
	double *values; /* as the type holds them */
	char *dev;
};

static double value_at(const void *raw, enum dev_type type, uint64_t i)
{
	return type == DEV_F32 ? (double)((const float *)raw)[i] : ((const double *)raw)[i];
}

static struct matrix matrix(enum dev_type type, uint32_t rows, uint32_t columns, uint32_t leading, uint64_t lane)
{
	struct matrix m = { .rows = rows, .columns = columns, .leading = leading };
	uint64_t count = (uint64_t)rows * leading, size = type == DEV_F32 ? 4 : 8;
	struct rng r;
	m.bytes = count * size;
	m.values = malloc(count * sizeof(double));
	void *raw = malloc(m.bytes);
	require(m.values && raw);
	rng_seed(&r, 3, lane);
	if (type == DEV_F32)
		rng_fill_f32(&r, raw, count);
	else
		rng_fill_f64(&r, raw, count);
	for (uint64_t i = 0; i < count; i++)
		m.values[i] = value_at(raw, type, i);
	m.dev = get(DEV_MEM_DEVICE, m.bytes);
	ok(dev_upload(on.d, m.dev, raw, m.bytes));
	free(raw);
	return m;
}

static void expect_product(const struct dev_gemm *g, const struct matrix *a, const struct matrix *b, const struct matrix *c)
{
	void *got = malloc(c->bytes);
	require(got);
	ok(dev_download(on.d, got, c->dev, c->bytes));
	double tolerance = 4 * (g->k + 2) * (g->type == DEV_F32 ? 1.2e-7 : 2.3e-16) * (1 + fabs(g->alpha) + fabs(g->beta));
	uint64_t wrong = 0;
	for (uint32_t i = 0; i < g->m; i++) {
		for (uint32_t j = 0; j < c->leading; j++) {
			double sum = 0, old = c->values[(uint64_t)i * c->leading + j];
			for (uint32_t k = 0; k < g->k && j < g->n; k++)
				sum += a->values[(uint64_t)i * a->leading + k] * b->values[(uint64_t)k * b->leading + j];
			double want = j < g->n ? g->alpha * sum + g->beta * old : old; /* between rows nothing changes */
			wrong += !(fabs(value_at(got, g->type, (uint64_t)i * c->leading + j) - want) <= tolerance);
		}
	}
	if (wrong)
		printf("# gemm %u x %u x %u, alpha %g, beta %g: %llu wrong\n", g->m, g->n, g->k, g->alpha, g->beta,
		       (unsigned long long)wrong);
	expect(wrong == 0);
	free(got);
}

static void drop_matrix(struct matrix *m)
{
	free(m->values);
	put(m->dev);
}

static void one_gemm(struct dev_stream *s, const struct dev_gemm *shape)
{
	struct dev_gemm g = *shape;
	struct matrix a = matrix(g.type, g.m, g.k, g.lda, 1), b = matrix(g.type, g.k, g.n, g.ldb, 2);
	struct matrix c = matrix(g.type, g.m, g.n, g.ldc, 3);
	g.a = a.dev;
	g.b = b.dev;
	g.c = c.dev;
	int rc = dev_gemm(on.d, s, &g);
	if (rc == -ENOTSUP) {
		printf("# gemm of type %d: %s\n", (int)g.type, err_text());
	} else {
		ok(rc);
		ok(dev_stream_sync(on.d, s));
		expect_product(&g, &a, &b, &c);
	}
	drop_matrix(&a);
	drop_matrix(&b);
	drop_matrix(&c);
}

static void gemm_multiplies(void)
{
	need(DEV_CAP_GEMM);
	static const struct dev_gemm shapes[] = {
		{ .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1 },
		{ .m = 64, .n = 64, .k = 64, .alpha = 1, .lda = 64, .ldb = 64, .ldc = 64 },
		{ .m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33 },
		{ .m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137 },
		{ .m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5 },
		{ .m = 128, .n = 96, .k = 80, .alpha = 0.5, .lda = 80, .ldb = 96, .ldc = 100, .blocks = 7 },
		{ .m = 100, .n = 100, .k = 10, .alpha = 1, .beta = 1, .lda = 10, .ldb = 100, .ldc = 100, .blocks = 1 },
		{ .m = 90, .n = 90, .k = 90, .alpha = 1, .lda = 90, .ldb = 90, .ldc = 90, .blocks = 64 },
	};
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct dev_gemm g = shapes[i];
		g.type = DEV_F32;
		one_gemm(s, &g);
		g.type = DEV_F64;
		one_gemm(s, &g);
	}
	dev_stream_close(on.d, s);
}

static void gemm_is_checked(void)
{
	need(DEV_CAP_GEMM);
	static float pageable[64 * 64];
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_DEVICE, 3 * 64 * 64 * 4);
	const struct dev_gemm good = { .type = DEV_F32, .m = 64, .n = 64, .k = 64, .alpha = 1, .a = a, .b = a + 64 * 64,
		                       .c = a + 2 * 64 * 64, .lda = 64, .ldb = 64, .ldc = 64 };
	struct dev_gemm g = good;
	ok(dev_fill(on.d, s, a, 0, 3 * 64 * 64 * 4));
	ok(dev_gemm(on.d, s, &g));
	g.m = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.n = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.k = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.ldb = 63;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.a = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.c = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.m = 65;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.shared_bytes = 1024;
	int rc = dev_gemm(on.d, s, &g);
	expect(rc == 0 || rc == -ENOTSUP);
	ok(dev_stream_sync(on.d, s));
	put(a);
	dev_stream_close(on.d, s);
}

static void gemm_waits_for_its_turn(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_PINNED, 16 * 4), *c = get(DEV_MEM_PINNED, 16 * 4);
	for (int i = 0; i < 16; i++)
		a[i] = 1, c[i] = 100;
	struct dev_gemm g = { .type = DEV_F32, .m = 4, .n = 4, .k = 4, .alpha = 1, .a = a, .b = a, .c = c,
		              .lda = 4, .ldb = 4, .ldc = 4 };
	struct gate gate = gate_shut(s);
	ok(dev_gemm(on.d, s, &g));
	memset(&g, 0, sizeof(g)); /* the description is copied, too */
	pass(MS);
	expect_near((double)c[5], 100, 0);
	gate_open(&gate);
	ok(dev_stream_sync(on.d, s));
	expect_near((double)c[5], 4, 1e-6);
	gate_done(&gate);
	put(a);
	put(c);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(gemm_multiplies),
		RULE(gemm_is_checked),
		RULE(gemm_waits_for_its_turn),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
