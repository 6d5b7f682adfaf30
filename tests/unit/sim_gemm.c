/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a simulated GEMM takes, what it computes, and when its rows are seen.
 */
#include "tests/unit/sim.h"

#define PICOSECOND 1e-3

static double gemm_ns_of(struct dev_stream *s, const struct dev_gemm *g)
{
	struct span span = span_begin(s);
	ok(dev_gemm(sim.d, s, g));
	span_end(&span, s);
	return span_ns(&span);
}

static double gemm_ns(struct dev_stream *s, char *memory, uint32_t m, uint32_t n, uint32_t k,
		      uint32_t blocks)
{
	struct dev_gemm g = {.type = DEV_F32,
			     .m = m,
			     .n = n,
			     .k = k,
			     .alpha = 1,
			     .a = memory,
			     .b = memory + (1 << 20),
			     .c = memory + (2 << 20),
			     .lda = k,
			     .ldb = n,
			     .ldc = n,
			     .blocks = blocks};
	return gemm_ns_of(s, &g);
}

static void gemm_costs_its_tiles(void)
{
	sim_begin(PLAIN "gemm_tile = 32\nllc_bandwidth = 1e15\nslots_per_unit = 1\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	const double tile_ns = 2.0 * 32 * 32 * 64;
	expect_near(gemm_ns(s, memory, 64, 64, 64, 0), tile_ns,
		    PICOSECOND); /* 4 tiles on 4 units */
	expect_near(gemm_ns(s, memory, 64, 64, 128, 0), 2 * tile_ns,
		    PICOSECOND); /* twice as deep */
	expect_near(gemm_ns(s, memory, 65, 64, 64, 0), 2 * tile_ns,
		    PICOSECOND); /* 6 tiles: a second wave */
	expect_near(gemm_ns(s, memory, 33, 33, 64, 0), tile_ns,
		    PICOSECOND); /* edges cost whole tiles */
	expect_near(gemm_ns(s, memory, 64, 64, 64, 8), tile_ns,
		    PICOSECOND); /* 8 halves in 2 waves */
	sim_end();
}

/* 10 tiles on 4 units: the block with the most tiles decides. tile_k is its claim alone. */
static void blocks_share_textbook_tiles(void)
{
	static const struct {
		uint32_t grid, tiles_of_longest;
	} expected[] = {{1, 10}, {2, 5}, {3, 4}, {4, 3}, {0, 3}, {100, 3}};
	sim_begin(PLAIN "llc_bandwidth = 1e15\nslots_per_unit = 1\nshared_per_block_bytes = 64K\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	struct dev_gemm g = {.type = DEV_F32,
			     .m = 128,
			     .n = 320,
			     .k = 64,
			     .alpha = 1,
			     .a = memory,
			     .b = memory + (1 << 20),
			     .c = memory + (2 << 20),
			     .lda = 64,
			     .ldb = 320,
			     .ldc = 320,
			     .tiled = true};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		g.grid = expected[i].grid;
		g.tile_k = i % 2 ? 32 : 64;
		expect_near(gemm_ns_of(s, &g), expected[i].tiles_of_longest * 2.0 * 64 * 64 * 64,
			    PICOSECOND);
	}
	sim_end();
}

/* Results are cached by the content of the matrices: every change of them must have its effect. */
static void gemm_follows_its_matrices(void)
{
	enum { M = 40, N = 24, K = 33 };
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream();
	double *a = alloc_memory(DEV_MEM_PINNED, M * K * 8),
	       *b = alloc_memory(DEV_MEM_PINNED, K * N * 8),
	       *c = alloc_memory(DEV_MEM_PINNED, M * N * 8);
	struct dev_gemm g = {.type = DEV_F64,
			     .m = M,
			     .n = N,
			     .k = K,
			     .alpha = 1,
			     .a = a,
			     .b = b,
			     .c = c,
			     .lda = K,
			     .ldb = N,
			     .ldc = N};
	for (int i = 0; i < M * K; i++)
		a[i] = i % 7;
	for (int i = 0; i < K * N; i++)
		b[i] = i % 5;
	for (int round = 0; round < 6; round++) {
		a[K * 39 + 32] = round / 2; /* every second round repeats */
		g.beta = round == 5 ? 1 : 0;
		g.alpha = round == 4 ? 2 : 1;
		double want = g.beta > 0 ? c[N * 39 + 23] : 0;
		for (int k = 0; k < K; k++)
			want += g.alpha * a[K * 39 + k] * b[N * k + 23];
		ok(dev_gemm(sim.d, s, &g));
		ok(dev_stream_sync(sim.d, s));
		expect_near(c[N * 39 + 23], want, 1e-9);
	}
	sim_end();
}

/* One slot runs the four tiles one after the other. A stream that waits for the second one goes on
 * when that tile ends, not when the GEMM does. */
static void finished_rows_are_seen_when_their_tile_ends(void)
{
	sim_begin(PLAIN "gemm_tile = 16\nunits = 1\nslots_per_unit = 1\nvalue_ns = 10\n");
	struct dev_stream *s = open_stream(), *waits = open_stream();
	float *a = alloc_memory(DEV_MEM_DEVICE, 1 << 16);
	uint32_t *done = alloc_memory(DEV_MEM_PINNED, 16);
	memset(a, 0, 1 << 16);
	memset(done, 0, 16);
	const struct dev_gemm g = {.type = DEV_F32,
				   .m = 64,
				   .n = 16,
				   .k = 64,
				   .alpha = 1,
				   .a = a,
				   .b = a,
				   .c = a + 8192,
				   .lda = 64,
				   .ldb = 16,
				   .ldc = 16,
				   .tiled = true,
				   .done = done,
				   .done_rows = 16};
	struct span whole = span_begin(s), second = span_begin(waits);
	ok(dev_wait_value(sim.d, waits, done + 1, 16 * 16));
	span_end(&second, waits);
	ok(dev_gemm(sim.d, s, &g));
	span_end(&whole, s);
	const double tile = 2.0 * 16 * 16 * 64, all = span_ns(&whole);
	expect_near(all, 4 * tile, 4 * tile / 1000);
	expect_near(span_ns(&second), all / 2 + 10, PICOSECOND);
	ok(dev_stream_sync(sim.d, waits));
	sim_end();
}

int main(void)
{
	test(gemm_costs_its_tiles);
	test(blocks_share_textbook_tiles);
	test(gemm_follows_its_matrices);
	test(finished_rows_are_seen_when_their_tile_ends);
	return test_done();
}
