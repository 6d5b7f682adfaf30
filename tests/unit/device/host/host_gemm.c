/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every element of a GEMM is computed exactly once and correctly, for every shape and cut.
 */
#include "device/host/host_gemm.h"
#include "device/host/host.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"

#include <stdbool.h>
#include <unistd.h>

static const uint32_t sizes[] = {1, 3, 17, 64, 129, 300};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* ------------------------------------------------------------------ cuts */

/* Stands in for the library: adds 1 to each element that it is asked to compute. */
static void count_calls(const char *ta, const char *tb, const int *m, const int *n, const int *k,
			const float *alpha, const float *a, const int *lda, const float *b,
			const int *ldb, const float *beta, float *c, const int *ldc)
{
	(void)ta, (void)tb, (void)k, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb,
		(void)beta;
	for (int column = 0; column < *n; column++)
		for (int row = 0; row < *m; row++)
			c[(size_t)column * (size_t)*ldc + (size_t)row] += 1;
}

static float counted[300 * 301];

static bool cut_is_valid(uint32_t m, uint32_t n, uint32_t blocks, uint32_t units)
{
	const struct host_blas fake = {.sgemm = count_calls};
	struct host_gemm job = {
		.g = {.type = DEV_F32,
		      .m = m,
		      .n = n,
		      .k = 64,
		      .a = counted,
		      .b = counted,
		      .c = counted,
		      .lda = 64,
		      .ldb = n,
		      .ldc = n + 1,
		      .blocks = blocks},
		.blas = &fake,
	};
	host_gemm_cut(&job, units);
	const uint64_t got = (uint64_t)job.rows * job.columns, whole = (uint64_t)m * n;
	if (job.rows < 1 || job.rows > m || job.columns < 1 || job.columns > n ||
	    got < (blocks < whole ? blocks : whole))
		return false;
	memset(counted, 0, sizeof(counted));
	for (uint32_t i = 0; i < job.rows * job.columns; i++)
		host_gemm_run(&(struct host_block){
			.index = i, .grid = job.rows * job.columns, .args = &job});
	for (uint32_t row = 0; row < m; row++)
		for (uint32_t column = 0; column <= n; column++)
			if (counted[row * (n + 1) + column] != (column < n ? 1.0f : 0.0f))
				return false;
	return true;
}

static void every_element_is_computed_once(void)
{
	static const uint32_t blocks[] = {0, 1, 2, 7, 61, 100}, units[] = {1, 2, 61};
	for (size_t i = 0; i < SIZES * SIZES; i++)
		for (size_t j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++)
			for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
				if (!cut_is_valid(sizes[i % SIZES], sizes[i / SIZES], blocks[j],
						  units[u])) {
					printf("# %u x %u in %u blocks on %u units\n",
					       sizes[i % SIZES], sizes[i / SIZES], blocks[j],
					       units[u]);
					expect(false);
				}
}

static void the_device_chooses_sensibly(void)
{
	struct host_gemm job = {.g = {.m = 32, .n = 32, .k = 32}};
	host_gemm_cut(&job, 8);
	expect(job.rows * job.columns == 1);
	job.g = (struct dev_gemm){.m = 2048, .n = 2048, .k = 2048};
	host_gemm_cut(&job, 2);
	expect(job.rows * job.columns == 2);
	host_gemm_cut(&job, 64);
	expect(job.rows * job.columns == 64 && job.rows == 8);
	job.g = (struct dev_gemm){.m = 1, .n = 4096, .k = 4096};
	host_gemm_cut(&job, 4);
	expect(job.rows == 1);
}

/* ------------------------------------------------------------------ results */

static struct dev *d;

enum { MAX_ELEMENTS = 300 * 310 };
static double exact[300 * 300];
static void *a, *b, *c;

static double get_element(const void *m, enum dev_type type, size_t i)
{
	return type == DEV_F32 ? (double)((const float *)m)[i] : ((const double *)m)[i];
}

static void set_element(void *m, enum dev_type type, size_t i, double value)
{
	if (type == DEV_F32)
		((float *)m)[i] = (float)value;
	else
		((double *)m)[i] = value;
}

/* Small integers, whose sums are exact in any order. */
static void fill_operands(enum dev_type type)
{
	for (size_t i = 0; i < MAX_ELEMENTS; i++) {
		set_element(a, type, i, (double)(i * 7 % 15) - 7);
		set_element(b, type, i, (double)(i * 11 % 13) - 6);
	}
}

static void multiply_reference(const struct dev_gemm *g)
{
	memset(exact, 0, sizeof(exact));
	for (uint32_t row = 0; row < g->m; row++)
		for (uint32_t inner = 0; inner < g->k; inner++) {
			const double factor = get_element(a, g->type, (size_t)row * g->lda + inner);
			for (uint32_t column = 0; column < g->n; column++)
				exact[row * g->n + column] +=
					factor *
					get_element(b, g->type, (size_t)inner * g->ldb + column);
		}
}

static bool gemm_is_right(struct dev_stream *s, struct dev_gemm g)
{
	for (size_t i = 0; i < MAX_ELEMENTS; i++)
		set_element(c, g.type, i, 2);
	if (dev_gemm(d, s, &g) || dev_stream_sync(d, s))
		return false;
	for (uint32_t row = 0; row < g.m; row++)
		for (uint32_t column = 0; column < g.ldc; column++) {
			const double wanted =
				column < g.n ? g.alpha * exact[row * g.n + column] + g.beta * 2 : 2;
			if (get_element(c, g.type, (size_t)row * g.ldc + column) != wanted)
				return false;
		}
	return true;
}

static void check_shape(struct dev_stream *s, enum dev_type type, uint32_t m, uint32_t n,
			uint32_t k)
{
	static const double betas[] = {0, 1, -0.5};
	struct dev_gemm g = {.type = type,
			     .m = m,
			     .n = n,
			     .k = k,
			     .a = a,
			     .b = b,
			     .c = c,
			     .lda = k + 3,
			     .ldb = n + 1,
			     .ldc = n + 2};
	multiply_reference(&g);
	for (size_t i = 0; i < 3; i++) {
		g.alpha = i ? 1 : 0.5;
		g.beta = betas[i];
		g.blocks = i == 2 ? 5 : 0;
		g.shared_bytes = i == 2 ? 1000 : 0;
		if (gemm_is_right(s, g))
			continue;
		printf("# type %d, %u x %u x %u, beta %g: %s\n", (int)type, m, n, k, g.beta,
		       err_text());
		expect(false);
	}
}

static void gemms_are_exact(void)
{
	struct dev_stream *s;
	if (!dev_can(d, DEV_CAP_GEMM))
		skip("no BLAS here");
	ok(dev_stream_open(d, 0, &s));
	for (int type = DEV_F32; type <= DEV_F64; type++) {
		fill_operands((enum dev_type)type);
		for (size_t i = 0; i < SIZES * SIZES * SIZES; i++)
			check_shape(s, (enum dev_type)type, sizes[i % SIZES],
				    sizes[i / SIZES % SIZES], sizes[i / SIZES / SIZES]);
	}
	dev_stream_close(d, s);
}

/* Blocks of both streams call the library at the same time, on every slot. */
static void gemms_may_run_at_once(void)
{
	struct dev_stream *s[2];
	void *other;
	if (!dev_can(d, DEV_CAP_GEMM))
		skip("no BLAS here");
	fill_operands(DEV_F32);
	ok(dev_alloc(d, DEV_MEM_DEVICE, MAX_ELEMENTS * sizeof(float), &other));
	struct dev_gemm g = PACKED_GEMM(300, 300, 300, .type = DEV_F32, .a = a, .b = b, .c = c,
					.blocks = 16, .shared_bytes = 256);
	multiply_reference(&g);
	for (int i = 0; i < 2; i++)
		ok(dev_stream_open(d, 0, &s[i]));
	for (int i = 0; i < 20; i++) {
		g.c = i % 2 ? c : other;
		ok(dev_gemm(d, s[i % 2], &g));
	}
	for (int i = 0; i < 2; i++) {
		ok(dev_stream_sync(d, s[i]));
		dev_stream_close(d, s[i]);
	}
	for (size_t i = 0; i < 300 * 300; i++)
		require(((float *)c)[i] == (float)exact[i] &&
			((float *)other)[i] == (float)exact[i]);
	ok(dev_free(d, other));
}

static void library_is_named(void)
{
	if (!dev_can(d, DEV_CAP_GEMM))
		skip("no BLAS here");
	expect(strstr(dev_props(d)->blas, "BLAS") || strstr(dev_props(d)->blas, "BLIS"));
}

static void gemm_is_absent_unless_requested(void)
{
	struct dev_set plain;
	ok(dev_open("host", DEV_CHECKED, &plain));
	expect(!dev_can(plain.dev[0], DEV_CAP_GEMM));
	expect(dev_props(plain.dev[0])->blas[0] == '\0');
	dev_close(&plain);
}

int main(void)
{
	struct dev_set devices;
	alarm(TEST_HANGS_S);
	test(every_element_is_computed_once);
	test(the_device_chooses_sensibly);
	if (dev_open("host", DEV_CAP_GEMM | DEV_CHECKED, &devices))
		return 1;
	d = devices.dev[0];
	if (dev_alloc(d, DEV_MEM_DEVICE, MAX_ELEMENTS * 8, &a) ||
	    dev_alloc(d, DEV_MEM_DEVICE, MAX_ELEMENTS * 8, &b) ||
	    dev_alloc(d, DEV_MEM_DEVICE, MAX_ELEMENTS * 8, &c))
		return 1;
	test(gemms_are_exact);
	test(gemms_may_run_at_once);
	test(library_is_named);
	test(gemm_is_absent_unless_requested);
	dev_close(&devices);
	return test_done();
}
