/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a simulated cache holds, by the time of what it lacks: memory moves a byte in a nanosecond,
 * and nothing else takes time. The cache has 64 KiB, a matrix 16 KiB.
 */
#include "tests/unit/sim.h"

#define TRACKED                                                                                    \
	PLAIN "llc_tracked = 1\nllc_bytes = 64K\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e15\n"   \
	      "flops_f32 = 1e18\n"
#define NANOSECOND 1.0

enum { SIDE = 64, MATRIX = SIDE * SIDE * 4, ALL = 16 * MATRIX };

static struct dev_stream *stream;
static char *memory; /* A, B, C and more */

static void open_memory(const char *model)
{
	sim_begin(model);
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, ALL);
	ok(dev_fill(sim.d, stream, memory, 0, ALL));
}

static double gemm_ns(void)
{
	const struct dev_gemm g = {.type = DEV_F32,
				   .m = SIDE,
				   .n = SIDE,
				   .k = SIDE,
				   .alpha = 1,
				   .a = memory,
				   .b = memory + MATRIX,
				   .c = memory + 2 * MATRIX,
				   .lda = SIDE,
				   .ldb = SIDE,
				   .ldc = SIDE};
	struct span span = span_begin(stream);
	ok(dev_gemm(sim.d, stream, &g));
	span_end(&span, stream);
	return span_ns(&span);
}

static double copy_ns(char *to, char *from)
{
	uint64_t bytes = MATRIX;
	uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	const struct dev_launch launch = {.grid = 4, .args = args};
	struct dev_kernel *kernel;
	struct span span = span_begin(stream);
	ok(dev_kernel_find(sim.d, "copy", &kernel));
	ok(dev_launch(sim.d, stream, kernel, &launch));
	span_end(&span, stream);
	return span_ns(&span);
}

static void use_bytes(char *at, uint64_t bytes) { ok(dev_fill(sim.d, stream, at, 1, bytes)); }

static void what_was_used_last_is_there(void)
{
	open_memory(TRACKED);
	expect_near(gemm_ns(), 3 * MATRIX, NANOSECOND);
	expect_near(gemm_ns(), 0, NANOSECOND);
	use_bytes(memory + 4 * MATRIX, MATRIX);
	expect_near(gemm_ns(), 0, NANOSECOND);
	/* These and C and B fill it, so A is gone. */
	use_bytes(memory + 4 * MATRIX, 2 * MATRIX);
	expect_near(gemm_ns(), MATRIX, NANOSECOND);
	/* More than it holds leaves nothing. */
	use_bytes(memory + 4 * MATRIX, 5 * MATRIX);
	expect_near(gemm_ns(), 3 * MATRIX, NANOSECOND);
	sim_end();
}

static void a_range_may_be_there_in_parts(void)
{
	open_memory(TRACKED);
	gemm_ns();
	use_bytes(memory + MATRIX / 4, MATRIX / 2);
	expect_near(gemm_ns(), 0, NANOSECOND);
	/* A and one half of B go: they were used before the other half and C. */
	use_bytes(memory + MATRIX, MATRIX / 2);
	use_bytes(memory + 4 * MATRIX, 5 * MATRIX / 2);
	expect_near(gemm_ns(), 2 * MATRIX, NANOSECOND);
	sim_end();
}

static void kernels_miss_too(void)
{
	open_memory(TRACKED);
	expect_near(copy_ns(memory, memory + MATRIX), 2 * MATRIX, NANOSECOND);
	expect_near(copy_ns(memory, memory + MATRIX), 0, NANOSECOND);
	/* One side that is missing takes both from memory. */
	expect_near(copy_ns(memory, memory + 4 * MATRIX), 2 * MATRIX, NANOSECOND);
	sim_end();
}

static void without_the_key_it_is_always_warm(void)
{
	open_memory(PLAIN "llc_bytes = 64K\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e15\n"
			  "flops_f32 = 1e18\n");
	expect_near(gemm_ns(), 0, NANOSECOND);
	expect_near(copy_ns(memory, memory + 4 * MATRIX), 0, NANOSECOND);
	sim_end();
}

/* Many small ranges, more than it keeps apart. */
static void the_oldest_range_is_forgotten(void)
{
	open_memory(TRACKED);
	gemm_ns();
	for (int i = 0; i < 600; i++)
		use_bytes(memory + 4 * MATRIX + 16 * i, 8);
	expect_near(gemm_ns(), 3 * MATRIX, NANOSECOND);
	sim_end();
}

int main(void)
{
	test(what_was_used_last_is_there);
	test(a_range_may_be_there_in_parts);
	test(kernels_miss_too);
	test(without_the_key_it_is_always_warm);
	test(the_oldest_range_is_forgotten);
	return test_done();
}
