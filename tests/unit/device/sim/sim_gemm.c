/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time and results of a simulated GEMM, and when its rows are seen.
 */
#include "device/sim/machine/narrow.h"
#include "lib/minifloat.h"
#include "lib/rng.h"
#include "tests/unit/device/sim/sim.h"

#include <math.h>

#define PICOSECOND 1e-3

static double gemm_ns(struct dev_stream *s, char *memory, uint32_t m, uint32_t n, uint32_t k,
		      uint32_t blocks)
{
	struct dev_gemm g =
		PACKED_GEMM(m, n, k, .type = DEV_F32, .a = memory, .b = memory + (1 << 20),
			    .c = memory + (2 << 20), .blocks = blocks);
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

/* 6 tiles on 4 units: two waves, each of which begins gemm_block_ns late, and the first gemm_ns. */
static void gemms_and_their_blocks_begin_later(void)
{
	sim_begin(PLAIN "gemm_tile = 32\nllc_bandwidth = 1e15\nslots_per_unit = 1\nblock_ns = 20\n"
			"gemm_block_ns = 300\ngemm_ns = 5000\nlaunch_ns = 40\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	expect_near(gemm_ns(s, memory, 65, 64, 64, 0), 5040 + 2 * (320 + 2.0 * 32 * 32 * 64),
		    PICOSECOND);
	sim_end();
}

/* 6 tiles of 32 x 32 x 64, of which a quarter passes a cache of 1 byte/ns. */
static void caches_pass_a_share_of_tiles(void)
{
	sim_begin(PLAIN
		  "gemm_tile = 32\nllc_bandwidth = 1e9\nslots_per_unit = 2\nflops_f32 = 1e15\n"
		  "gemm_traffic_share = 0.25\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	expect_near(gemm_ns(s, memory, 65, 64, 64, 0),
		    6 * sizeof(float) * 0.25 * ((32 + 32) * 64 + 32 * 32), PICOSECOND);
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
	struct dev_gemm g =
		PACKED_GEMM(128, 320, 64, .type = DEV_F32, .a = memory, .b = memory + (1 << 20),
			    .c = memory + (2 << 20), .tiled = true);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		g.grid = expected[i].grid;
		g.tile_k = i % 2 ? 32 : 64;
		expect_near(gemm_ns_of(s, &g), expected[i].tiles_of_longest * 2.0 * 64 * 64 * 64,
			    PICOSECOND);
	}
	sim_end();
}

/* 1, 2, 0 and 1 tiles of 32 rows, and 2 of columns: 8 tiles on 4 units in two waves of one launch.
 * One after the other these GEMMs take a wave each, and a launch. */
static void groups_are_one_launch_of_all_tiles(void)
{
	sim_begin(PLAIN
		  "gemm_tile = 32\nllc_bandwidth = 1e15\nslots_per_unit = 1\nlaunch_ns = 40\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	struct dev_gemm g =
		PACKED_GEMM(98, 64, 64, .type = DEV_F32, .a = memory, .b = memory + (1 << 20),
			    .c = memory + (2 << 20), .groups = 4, .group_rows = {32, 34, 0, 32});
	expect_near(gemm_ns_of(s, &g), 40 + 2 * 2.0 * 32 * 32 * 64, PICOSECOND);
	double alone_ns = 0;
	for (uint32_t i = 0; i < g.groups; i++)
		alone_ns += g.group_rows[i] ? gemm_ns(s, memory, g.group_rows[i], 64, 64, 0) : 0;
	expect_near(alone_ns, 3 * (40 + 2.0 * 32 * 32 * 64), PICOSECOND);
	sim_end();
}

/* 4 units: alone, a row of 64 columns has 4 tiles of 1 x 16; so has each of 4 groups. */
static void groups_have_the_tiles_of_one_gemm(void)
{
	sim_begin(PLAIN "gemm_tile = 64\ngemm_tile_min = 16\nllc_bandwidth = 1e15\n"
			"slots_per_unit = 1\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	struct dev_gemm g =
		PACKED_GEMM(4, 64, 64, .type = DEV_F32, .a = memory, .b = memory + (1 << 20),
			    .c = memory + (2 << 20), .groups = 4, .group_rows = {1, 1, 1, 1});
	const double alone_ns = gemm_ns(s, memory, 1, 64, 64, 0);
	expect_near(alone_ns, 2.0 * 1 * 16 * 64, PICOSECOND);
	expect_near(gemm_ns_of(s, &g), 4 * alone_ns, PICOSECOND);
	sim_end();
}

/* The matrices of B of the groups with rows pass memory, of 1 byte/ns, once. */
static void groups_with_rows_read_their_weights(void)
{
	sim_begin(PLAIN "gemm_tile = 32\nllc_bandwidth = 1e15\nflops_f32 = 1e15\n"
			"memory_bandwidth = 1e9\nllc_bytes = 4096\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	struct dev_gemm g =
		PACKED_GEMM(3, 64, 64, .type = DEV_F32, .a = memory, .b = memory + (1 << 20),
			    .c = memory + (2 << 20), .groups = 4, .group_rows = {1, 0, 0, 2});
	expect_near(gemm_ns_of(s, &g), sizeof(float) * (2 * 64 * 64 + 2 * 3 * 64), PICOSECOND);
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
	struct dev_gemm g = PACKED_GEMM(M, N, K, .type = DEV_F64, .a = a, .b = b, .c = c);
	for (int i = 0; i < 8 * K; i++)
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

/* ------------------------------------------------------------------ narrow types */

#define NARROW                                                                                     \
	"flops_tf32 = 2e9\nflops_f16 = 4e9\nflops_bf16 = 8e9\nflops_f8 = 16e9\nflops_i8 = 32e9\n"  \
	"flops_mxf8 = 16e9\nflops_mxf4 = 64e9\nflops_nvf4 = 64e9\n"

static const struct {
	enum dev_type type;
	double speed; /* of NARROW, in flops of f32 */
} narrow[] = {{DEV_F32, 1}, {DEV_TF32, 2},  {DEV_F16, 4},   {DEV_BF16, 8}, {DEV_F8, 16},
	      {DEV_I8, 32}, {DEV_MXF8, 16}, {DEV_MXF4, 64}, {DEV_NVF4, 64}};

static struct dev_gemm gemm_of_type(enum dev_type type, char *memory, uint32_t side)
{
	return (struct dev_gemm)PACKED_GEMM(
		side, side, side, .type = type, .a = memory, .b = memory + (1 << 20),
		.c = memory + (2 << 20), .b_transposed = dev_types[type].multiple > 1,
		.a_scales = dev_types[type].block ? memory + (3 << 20) : NULL,
		.b_scales = dev_types[type].block ? memory + (3 << 20) + (1 << 19) : NULL);
}

static void every_type_has_its_rate(void)
{
	sim_begin(PLAIN NARROW "gemm_tile = 32\nllc_bandwidth = 1e15\nslots_per_unit = 1\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		struct dev_gemm g = gemm_of_type(narrow[i].type, memory, 64);
		const double tile_ns = 2.0 * 32 * 32 * 64 / narrow[i].speed;
		expect_near(gemm_ns_of(s, &g), tile_ns, PICOSECOND); /* 4 tiles on 4 units */
		g.beta = 1;
		expect_near(gemm_ns_of(s, &g), tile_ns, PICOSECOND);
	}
	sim_end();
}

/* One tile of 64^2 at 400 bytes/ns: A and B of their type, with their scales, C of its own. */
static void every_type_moves_its_bytes(void)
{
	sim_begin(PLAIN "flops_f32 = 1e18\nflops_tf32 = 1e18\nflops_f16 = 1e18\n"
			"flops_bf16 = 1e18\nflops_f8 = 1e18\nflops_i8 = 1e18\n"
			"flops_mxf8 = 1e18\nflops_mxf4 = 1e18\nflops_nvf4 = 1e18\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	ok(dev_fill(sim.d, s, memory, 0, 4 << 20));
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		struct dev_gemm g = gemm_of_type(narrow[i].type, memory, 64);
		const struct dev_type_traits *t = &dev_types[g.type];
		const double scales = t->block ? 2.0 * 64 * (64.0 / t->block) : 0,
			     in = 2.0 * 64 * 64 * t->bits / 8 + scales,
			     out = 64.0 * 64 * dev_type_result_bytes(g.type);
		expect_near(gemm_ns_of(s, &g), (in + out) / 400, PICOSECOND);
		g.beta = 1;
		expect_near(gemm_ns_of(s, &g), (in + 2 * out) / 400, PICOSECOND);
	}
	sim_end();
}

static struct minifloat_format format_of(enum dev_type type)
{
	const struct dev_type_traits *t = &dev_types[type];
	return (struct minifloat_format){t->exponent_bits, t->mantissa_bits, t->infinite};
}

static uint16_t load_16(const char *at, uint64_t i)
{
	uint16_t code;
	memcpy(&code, at + 2 * i, sizeof(code));
	return code;
}

/* A and B of 32^2 random codes, of which few are large: the same bytes are other numbers in f16 and
 * in bf16, and results that are cached must not be those of the other type, or of another beta. */
static void narrow_results_are_rounded_sums_of_f32(void)
{
	enum { SIDE = 32 };
	sim_begin(PLAIN NARROW);
	struct dev_stream *s = open_stream();
	struct rng r;
	char *memory = alloc_memory(DEV_MEM_PINNED, 4 << 20);
	rng_seed(&r, 5, 1);
	for (unsigned round = 0; round < 12; round++) {
		const enum dev_type type = round % 2 ? DEV_F16 : DEV_BF16;
		const struct minifloat_format format = format_of(type);
		struct dev_gemm g = gemm_of_type(type, memory, SIDE);
		char *c = g.c;
		unsigned wrong = 0;
		g.beta = round / 2 % 2 ? 0.5 : 0;
		for (uint64_t i = 0; i < SIDE * SIDE && round == 0; i++) {
			const uint16_t a = (uint16_t)(0x3800 | (rng_u64(&r) & 0x87ff)),
				       b = (uint16_t)(0x3800 | (rng_u64(&r) & 0x87ff));
			memcpy(memory + 2 * i, &a, sizeof(a));
			memcpy(memory + (1 << 20) + 2 * i, &b, sizeof(b));
		}
		memset(c, 0x3c, SIDE * SIDE * 2);
		ok(dev_gemm(sim.d, s, &g));
		ok(dev_stream_sync(sim.d, s));
		for (uint64_t i = 0; i < SIDE * SIDE; i++) {
			float sum = 0;
			for (uint64_t k = 0; k < SIDE; k++)
				sum += minifloat_decode(format, load_16(g.a, i / SIDE * SIDE + k)) *
				       minifloat_decode(format, load_16(g.b, k * SIDE + i % SIDE));
			if (g.beta > 0)
				sum += 0.5f * minifloat_decode(format, 0x3c3c);
			wrong += load_16(c, i) != minifloat_encode(format, sum);
		}
		expect(wrong == 0);
	}
	sim_end();
}

/* A sum of 2^17 products of -128 and -128 is 2^31, which wraps; all others are those of a wide sum,
 * also where the tile is narrower than a vector, and where C is added to. */
static void integers_are_multiplied_exactly(void)
{
	enum { N = 28, K = 1 << 17 };
	sim_begin(PLAIN NARROW "gemm_tile = 16\n");
	struct dev_stream *s = open_stream();
	struct rng r;
	int8_t *a = alloc_memory(DEV_MEM_PINNED, 8 * K), *b = a + K;
	int32_t *c = alloc_memory(DEV_MEM_PINNED, 12 * N * sizeof(*c));
	struct dev_gemm g = PACKED_GEMM(8, N, 4096, .type = DEV_I8, .b_transposed = true, .a = a,
					.b = b, .c = c);
	unsigned wrong = 0;
	g.ldb = g.k;
	rng_seed(&r, 5, 2);
	for (int i = 0; i < 8 * K; i++)
		a[i] = (int8_t)(rng_u64(&r) & 0xff);
	for (int adds = 0; adds < 2; adds++) {
		g.beta = adds;
		ok(dev_gemm(sim.d, s, &g));
		ok(dev_stream_sync(sim.d, s));
		for (uint32_t i = 0; i < 8 * N; i++) {
			int64_t sum = 0;
			for (uint32_t k = 0; k < g.k; k++)
				sum += a[i / N * g.k + k] * b[i % N * g.k + k];
			wrong += c[i] != (1 + adds) * sum;
		}
	}
	expect(wrong == 0);
	memset(a, -128, 8 * K);
	g.m = g.n = g.ldc = 4;
	g.k = g.lda = g.ldb = K;
	g.b = a;
	g.beta = 0;
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, s));
	expect(c[0] == INT32_MIN && c[15] == INT32_MIN);
	sim_end();
}

/* Codes of OCP's Microscaling Formats and scales by their definitions: e2m1 has these values, e8m0
 * is 2^(code - 127), and nvf4's scale is e4m3. One element and one scale are other than 1. */
static void scaled_elements_are_what_their_formats_say(void)
{
	static const float e2m1[16] = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
				       0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
	enum { SIDE = 32, K = 64 };
	sim_begin(PLAIN NARROW);
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_PINNED, 4 << 20);
	for (unsigned code = 0; code < 16; code++) {
		struct dev_gemm g = gemm_of_type(DEV_NVF4, memory, SIDE);
		uint8_t *a = (uint8_t *)memory, *scales = a + (3 << 20);
		uint16_t *c = g.c;
		g.k = g.lda = g.ldb = K;
		memset(a, 0, SIDE * K / 2);
		memset(memory + (1 << 20), 0x22, SIDE * K / 2);
		memset(scales, 0x38, SIDE * K / 16);
		memset(memory + (3 << 20) + (1 << 19), 0x38, SIDE * K / 16);
		a[5 * K / 2 + 17] = (uint8_t)(code << 4); /* row 5, element 35: block 2 */
		scales[5 * 4 + 2] = 0x4c;                 /* e4m3 of 6 */
		ok(dev_gemm(sim.d, s, &g));
		ok(dev_stream_sync(sim.d, s));
		for (unsigned i = 0; i < SIDE * SIDE; i++)
			expect(c[i] == (i / SIDE == 5 ? minifloat_encode(format_of(DEV_BF16),
									 6 * e2m1[code])
						      : 0));
		g.type = DEV_MXF4;
		memset(scales, 127, SIDE * K / 32);
		memset(memory + (3 << 20) + (1 << 19), 127, SIDE * K / 32);
		scales[5 * 2 + 1] = 130;
		ok(dev_gemm(sim.d, s, &g));
		ok(dev_stream_sync(sim.d, s));
		for (unsigned i = 0; i < SIDE * SIDE; i++)
			expect(c[i] == (i / SIDE == 5 ? minifloat_encode(format_of(DEV_BF16),
									 8 * e2m1[code])
						      : 0));
	}
	sim_end();
}

/* Every upper half of a float, and lower halves around a tie. */
static void c_is_rounded_to_nearest(void)
{
	static const uint32_t low[] = {0,      1,      0x0fff, 0x1000, 0x1001,
				       0x7fff, 0x8000, 0x8001, 0xffff};
	const struct minifloat_format formats[] = {format_of(DEV_F16), format_of(DEV_BF16)};
	int wrong[2] = {0};
	for (uint32_t high = 0; high <= 0xffff; high++) {
		for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++) {
			const uint32_t bits = high << 16 | low[i];
			float x;
			uint16_t code;
			memcpy(&x, &bits, sizeof(x));
			for (int f = 0; f < 2; f++) {
				sim_narrow_round(f ? DEV_BF16 : DEV_F16, &x, 1, &code);
				if (isnan(x))
					wrong[f] += !isnan(minifloat_decode(formats[f], code));
				else
					wrong[f] += code != minifloat_encode(formats[f], x);
			}
		}
	}
	expect(wrong[0] == 0 && wrong[1] == 0);
}

static void a_type_without_a_rate_is_refused(void)
{
	sim_begin(PLAIN "flops_bf16 = 1e9\n");
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
	expect(dev_props(sim.d)->gemm_types == (1u << DEV_F32 | 1u << DEV_F64 | 1u << DEV_BF16));
	expect(dev_props(sim.d)->fma_peak_types == (1u << DEV_F32 | 1u << DEV_F64));
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		struct dev_gemm g = gemm_of_type(narrow[i].type, memory, 32);
		if (g.type == DEV_F32 || g.type == DEV_BF16)
			ok(dev_gemm(sim.d, s, &g));
		else
			expect_error(dev_gemm(sim.d, s, &g), -ENOTSUP);
		g.fast_accumulation = true;
		expect_error(dev_gemm(sim.d, s, &g), -ENOTSUP);
	}
	ok(dev_stream_sync(sim.d, s));
	sim_end();
	sim_begin("lacks = gemm\nflops_bf16 = 1e9\n");
	expect(dev_props(sim.d)->gemm_types == 0 && dev_props(sim.d)->fma_peak_types == 0);
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
	const struct dev_gemm g =
		PACKED_GEMM(64, 16, 64, .type = DEV_F32, .a = a, .b = a, .c = a + 8192,
			    .tiled = true, .done = done, .done_rows = 16);
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
	test(gemms_and_their_blocks_begin_later);
	test(caches_pass_a_share_of_tiles);
	test(blocks_share_textbook_tiles);
	test(groups_are_one_launch_of_all_tiles);
	test(groups_have_the_tiles_of_one_gemm);
	test(groups_with_rows_read_their_weights);
	test(gemm_follows_its_matrices);
	test(every_type_has_its_rate);
	test(every_type_moves_its_bytes);
	test(narrow_results_are_rounded_sums_of_f32);
	test(scaled_elements_are_what_their_formats_say);
	test(c_is_rounded_to_nearest);
	test(integers_are_multiplied_exactly);
	test(a_type_without_a_rate_is_refused);
	test(finished_rows_are_seen_when_their_tile_ends);
	return test_done();
}
