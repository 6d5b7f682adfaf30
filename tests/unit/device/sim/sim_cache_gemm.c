/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic of a GEMM between a tracked cache of 64 KiB and memory, which moves a byte in a
 * nanosecond. Nothing else takes time.
 */
#include "tests/unit/device/sim/sim.h"

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
	return (struct dev_gemm)PACKED_GEMM(m, n, k, .type = DEV_F32, .a = memory,
					    .b = memory + AREA, .c = memory + 2 * AREA);
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
	expect_near(gemm_ns_of(stream, &g), 2 * MATRIX, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), 0, PICOSECOND);
	/* The latest are C, B and a half of A. */
	expect_near(read_ns(memory + 3 * AREA, 3 * MATRIX / 2), 3 * MATRIX / 2, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), MATRIX / 2, PICOSECOND);
	expect_near(flush_ns(), MATRIX, PICOSECOND);
	/* C is read where something is added to it. */
	g.beta = 1;
	expect_near(gemm_ns_of(stream, &g), 3 * MATRIX, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), 0, PICOSECOND);
	expect_near(flush_ns(), MATRIX, PICOSECOND);
	sim_end();
	open_memory(TRACKED THROUGH);
	g = gemm_of(SIDE, SIDE, SIDE);
	expect_near(gemm_ns_of(stream, &g), 3 * MATRIX, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), MATRIX, PICOSECOND);
	expect_near(flush_ns(), 0, PICOSECOND);
	sim_end();
}

static void a_matrix_takes_its_gaps_along(void)
{
	open_memory(TRACKED);
	struct dev_gemm g = gemm_of(SIDE, SIDE, SIDE / 2);
	g.lda = SIDE;
	const double a = MATRIX - SIDE / 2 * 4.0, b = MATRIX / 2;
	expect_near(gemm_ns_of(stream, &g), a + b, PICOSECOND);
	/* The other half of A, but for the end of its last row; B is the same. */
	g.a = memory + SIDE / 2 * 4;
	expect_near(gemm_ns_of(stream, &g), SIDE / 2 * 4, PICOSECOND);
	sim_end();
}

static void other_memory_is_not_in_it(void)
{
	open_memory(TRACKED);
	struct dev_gemm g = gemm_of(SIDE, SIDE, SIDE);
	g.a = alloc_memory(DEV_MEM_PINNED, MATRIX);
	expect_near(gemm_ns_of(stream, &g), MATRIX, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), 0, PICOSECOND);
	expect_near(read_ns(memory + AREA, MATRIX), 0, PICOSECOND);
	sim_end();
}

/* ------------------------------------------------------------------ larger than the cache */

/* Four blocks at once, a wave of 2 x 2 tiles of 32 x 32. */
#define WAVES TRACKED "gemm_tile = 32\nslots_per_unit = 1\n"

static double bytes_of(const struct dev_gemm *g, double a_passes, double b_passes, double c_passes)
{
	return 4.0 * (a_passes * g->m * g->k + b_passes * g->k * g->n + c_passes * g->m * g->n);
}

static void operands_pass_with_the_waves(void)
{
	static const struct {
		uint32_t m, n, k, a_passes, b_passes;
	} cases[] = {
		{256, 300, 256, 5, 4}, /* ceil(300 / 64), 256 / 64 */
		{256, 300, 128, 1, 4}, /* 64 rows of A are half of the cache */
		{256, 300, 129, 5, 4}, /* and now more */
		{256, 32, 256, 1, 1},  /* all of B is half of the cache */
		{256, 32, 257, 1, 2},  /* and now more. One column of tiles: waves of 4 x 1 */
		{256, 33, 256, 1, 4},  /* two columns: 2 x 2 */
		{32, 300, 256, 1, 1},  /* one row: 1 x 4 */
		{64, 64, 512, 1, 1},   /* one wave */
	};
	open_memory(WAVES THROUGH);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dev_gemm g = gemm_of(cases[i].m, cases[i].n, cases[i].k);
		for (int beta = 0; beta <= 1; beta++) {
			g.beta = beta;
			expect_near(gemm_ns_of(stream, &g),
				    bytes_of(&g, cases[i].a_passes, cases[i].b_passes, 1 + beta),
				    PICOSECOND);
		}
	}
	sim_end();
}

static void a_wave_has_the_resident_blocks(void)
{
	open_memory(WAVES THROUGH "slots_per_unit = 8\n");
	struct dev_gemm g = gemm_of(256, 300, 256);
	g.tiled = true;
	/* 32 blocks, 5 x 6 of them. Claims of half a unit leave 8, 2 x 4. */
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 2, 2, 1), PICOSECOND);
	g.shared_bytes = 32 << 10;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 3, 4, 1), PICOSECOND);
	/* Textbook tiles are 64 x 64; the grid limits the wave to 1 x 2 and 1 x 1. */
	g.shared_bytes = 0;
	g.tile_k = 32;
	g.grid = 2;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 3, 4, 1), PICOSECOND);
	g.grid = 1;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 5, 4, 1), PICOSECOND);
	sim_end();
	/* 7 blocks, 2 x 3. */
	open_memory(WAVES THROUGH "units = 7\n");
	g = gemm_of(256, 300, 256);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 4, 4, 1), PICOSECOND);
	sim_end();
}

static void the_last_bytes_stay_in_the_order_of_use(void)
{
	open_memory(WAVES);
	struct dev_gemm g = gemm_of(256, 300, 256);
	const uint64_t c_bytes = 256 * 300 * 4;
	/* The last of C is not written yet, and the next time that is what passes first. */
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 5, 4, 1) - CACHE, PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 5, 4, 1), PICOSECOND);
	expect_near(read_ns((char *)g.c + c_bytes - CACHE, CACHE), 0, PICOSECOND);
	expect_near(flush_ns(), CACHE, PICOSECOND);
	/* A smaller C leaves space for the end of B. */
	g = gemm_of(SIDE, SIDE, 512);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 0), PICOSECOND);
	expect_near(read_ns(g.c, MATRIX), 0, PICOSECOND);
	expect_near(read_ns(memory + AREA + 8 * MATRIX - 3 * MATRIX, 3 * MATRIX), 0, PICOSECOND);
	expect_near(flush_ns(), MATRIX, PICOSECOND);
	sim_end();
}

static void without_the_key_they_pass_once(void)
{
	open_memory(WAVES "llc_tracked = 0\n");
	struct dev_gemm g = gemm_of(256, 300, 256);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 1), PICOSECOND);
	g.beta = 1;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 2), PICOSECOND);
	sim_end();
}

int main(void)
{
	test(operands_that_fit_pass_where_they_are_missing);
	test(a_matrix_takes_its_gaps_along);
	test(other_memory_is_not_in_it);
	test(operands_pass_with_the_waves);
	test(a_wave_has_the_resident_blocks);
	test(the_last_bytes_stay_in_the_order_of_use);
	test(without_the_key_they_pass_once);
	return test_done();
}
