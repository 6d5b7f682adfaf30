/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a GEMM moves between a tracked cache of 64 KiB and memory, which moves a byte in a
 * nanosecond. Nothing else takes time.
 */
#include "tests/unit/sim.h"

#define TRACKED                                                                                    \
	PLAIN "llc_tracked = 1\nllc_bytes = 64K\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e18\n"   \
	      "flops_f32 = 1e18\nunit_bandwidth = 1e18\nlink_down_bandwidth = "                    \
	      "1e18\nhost_bandwidth = 1e18\n"
#define THROUGH "llc_writes = through\n"
#define PICOSECOND 1e-3

enum { SIDE = 64, MATRIX = SIDE * SIDE * 4, CACHE = 4 * MATRIX, AREA = 1 << 20 };

static struct dev_stream *stream;
static char *memory; /* A, B, C and others, an area each */

static void open_memory(const char *model)
{
	sim_begin(model);
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 4 * AREA);
	memset(memory, 0, 4 * AREA);
}

static struct dev_gemm gemm_of(uint32_t m, uint32_t n, uint32_t k)
{
	return (struct dev_gemm){.type = DEV_F32,
				 .m = m,
				 .n = n,
				 .k = k,
				 .alpha = 1,
				 .a = memory,
				 .b = memory + AREA,
				 .c = memory + 2 * AREA,
				 .lda = k,
				 .ldb = n,
				 .ldc = n};
}

static double gemm_ns(const struct dev_gemm *g)
{
	struct span span = span_begin(stream);
	ok(dev_gemm(sim.d, stream, g));
	span_end(&span, stream);
	return span_ns(&span);
}

static double read_ns(char *at, uint64_t bytes)
{
	const uint32_t reps = 1;
	uint32_t *sink = alloc_memory(DEV_MEM_PINNED, 4);
	const void *const args[] = {&at, &bytes, &reps, &sink};
	struct span span = span_begin(stream);
	ok(launch_kernel(stream, "read", 4, 0, args));
	span_end(&span, stream);
	double ns = span_ns(&span);
	ok(dev_free(sim.d, sink));
	return ns;
}

/* The rest of what it takes is what was dirty. */
static double flush_ns(void)
{
	static int second;
	second = !second;
	return read_ns(memory + 3 * AREA + CACHE * (1 + second), CACHE) - CACHE;
}

static void operands_that_fit_pass_where_they_are_missing(void)
{
	open_memory(TRACKED);
	struct dev_gemm g = gemm_of(SIDE, SIDE, SIDE);
	expect_near(gemm_ns(&g), 2 * MATRIX, PICOSECOND);
	expect_near(gemm_ns(&g), 0, PICOSECOND);
	/* The latest are C, B and a half of A. */
	expect_near(read_ns(memory + 3 * AREA, 3 * MATRIX / 2), 3 * MATRIX / 2, PICOSECOND);
	expect_near(gemm_ns(&g), MATRIX / 2, PICOSECOND);
	expect_near(flush_ns(), MATRIX, PICOSECOND);
	/* C is read where something is added to it. */
	g.beta = 1;
	expect_near(gemm_ns(&g), 3 * MATRIX, PICOSECOND);
	expect_near(gemm_ns(&g), 0, PICOSECOND);
	expect_near(flush_ns(), MATRIX, PICOSECOND);
	sim_end();
	open_memory(TRACKED THROUGH);
	g = gemm_of(SIDE, SIDE, SIDE);
	expect_near(gemm_ns(&g), 3 * MATRIX, PICOSECOND);
	expect_near(gemm_ns(&g), MATRIX, PICOSECOND);
	expect_near(flush_ns(), 0, PICOSECOND);
	sim_end();
}

static void a_matrix_takes_its_gaps_along(void)
{
	open_memory(TRACKED);
	struct dev_gemm g = gemm_of(SIDE, SIDE, SIDE / 2);
	g.lda = SIDE;
	const double a = MATRIX - SIDE / 2 * 4.0, b = MATRIX / 2;
	expect_near(gemm_ns(&g), a + b, PICOSECOND);
	/* The other half of A, but for the end of its last row; B is the same. */
	g.a = memory + SIDE / 2 * 4;
	expect_near(gemm_ns(&g), SIDE / 2 * 4, PICOSECOND);
	sim_end();
}

static void other_memory_is_not_in_it(void)
{
	open_memory(TRACKED);
	struct dev_gemm g = gemm_of(SIDE, SIDE, SIDE);
	g.a = alloc_memory(DEV_MEM_PINNED, MATRIX);
	expect_near(gemm_ns(&g), MATRIX, PICOSECOND);
	expect_near(gemm_ns(&g), 0, PICOSECOND);
	expect_near(read_ns(memory + AREA, MATRIX), 0, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(operands_that_fit_pass_where_they_are_missing);
	test(a_matrix_takes_its_gaps_along);
	test(other_memory_is_not_in_it);
	return test_done();
}
