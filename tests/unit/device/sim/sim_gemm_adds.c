/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs that add: several to one C at once lose nothing, and what they move is what
 * device/sim/machine/gemm.c says, where C's memory adds and where it does not. Memory moves a byte
 * in a nanosecond, and nothing else takes time but links of 0.1 bytes/ns where a test says so.
 */
#include "tests/unit/device/minifloat_arrays.h"
#include "tests/unit/device/sim/sim.h"

#define MODEL                                                                                      \
	PLAIN "memory_control = 1\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e18\n"                 \
	      "flops_f32 = 1e18\nflops_f64 = 1e18\nflops_tf32 = 1e18\nflops_f16 = 1e18\n"          \
	      "flops_bf16 = 1e18\nflops_f8 = 1e18\nflops_i8 = 1e18\nunit_bandwidth = 1e18\n"       \
	      "peer_bandwidth = 1e18\ngemm_tile = 32\nslots_per_unit = 1\n"
#define ADDING MODEL "memory_adds = 1\n"
#define TRACKED "llc_tracked = 1\nllc_bytes = 64K\nllc_writes = through\n"
#define PICOSECOND 1e-3

enum { AREA = 1 << 20 };

static struct dev_stream *stream;
static char *memory; /* A, B, C and others, an area each */
static char *peer;

static void open_memory(const char *model)
{
	sim_begin(model);
	ok(dev_peer_enable(sim.d, sim.other));
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 4 * AREA);
	peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 4 * AREA);
	memset(memory, 0, 4 * AREA);
	memset(peer, 0, 4 * AREA);
}

static struct dev_gemm gemm_of(enum dev_type type, uint32_t m, uint32_t n, uint32_t k)
{
	return (struct dev_gemm)PACKED_GEMM(m, n, k, .type = type, .a = memory, .b = memory + AREA,
					    .c = memory + 2 * AREA, .tiled = true, .adds = true);
}

/* ------------------------------------------------------------------ results */

/* Small numbers, whose sums are exact in every type. */
static double small_number(uint64_t i, uint32_t salt) { return (double)((i * 7 + salt) % 5) - 2; }

static void set_operands(char *at, const struct dev_gemm *g, uint32_t salt)
{
	for (uint64_t i = 0; i < (uint64_t)g->m * g->k; i++)
		element_set(at, g->type, i, small_number(i, salt));
	for (uint64_t i = 0; i < (uint64_t)g->k * g->n; i++)
		element_set(at + AREA, g->type, i, small_number(i, salt + 1));
}

static double expected_sum(const struct dev_gemm *g, uint32_t i, uint32_t j, uint32_t salt)
{
	double sum = 0;
	for (uint64_t k = 0; k < g->k; k++)
		sum += small_number(i * (uint64_t)g->k + k, salt) *
		       small_number(g->b_transposed ? j * (uint64_t)g->k + k : k * g->n + j,
				    salt + 1);
	return g->alpha * sum;
}

static void set_c(char *at, enum dev_type result, uint64_t elements)
{
	for (uint64_t i = 0; i < elements; i++)
		element_set(at, result, i, (double)(i % 9));
}

static void a_gemm_adds_twice(enum dev_type type)
{
	const enum dev_type result = dev_types[type].result;
	struct dev_gemm g = gemm_of(type, 48, 64, 16);
	require(dev_props(sim.d)->gemm_adding_types >> type & 1);
	g.alpha = dev_type_is_integer(type) ? 1 : 2;
	if (dev_types[type].multiple > 1) {
		g.b_transposed = true;
		g.ldb = g.k;
	}
	set_operands(memory, &g, 3);
	set_c(memory + 2 * AREA, result, 48 * 64);
	for (int times = 1; times <= 2; times++) {
		ok(dev_gemm(sim.d, stream, &g));
		ok(dev_stream_sync(sim.d, stream));
		for (uint32_t i = 0; i < 48 * 64; i++)
			expect_near(element_get(g.c, result, i),
				    i % 9 + times * expected_sum(&g, i / 64, i % 64, 3), 0);
	}
}

static void gemms_of_every_type_add(const char *model)
{
	open_memory(model);
	/* With scales: conformance_adding. */
	for (int type = 0; type < DEV_TYPES && !dev_types[type].block; type++)
		a_gemm_adds_twice((enum dev_type)type);
	sim_end();
}

static void gemms_add_in_memory(void) { gemms_of_every_type_add(ADDING); }
static void gemms_add_without_such_memory(void) { gemms_of_every_type_add(MODEL); }

static void all_that_adds_at_once_is_there(void)
{
	/* Two devices and a copy, to the first one's C, at the same time. */
	open_memory(ADDING "gemm_tile = 8\njitter_sigma = 0.3\nblock_jitter_sigma = 0.3\n");
	struct dev_gemm g = gemm_of(DEV_F32, 40, 56, 24), far;
	struct dev_stream *copying = open_stream(), *s = NULL;
	ok(dev_stream_open(sim.other, 0, &s));
	far = g;
	far.a = peer;
	far.b = peer + AREA;
	far.alpha = -3;
	set_operands(memory, &g, 1);
	set_operands(peer, &far, 2);
	set_c(g.c, DEV_F32, 40 * 56);
	set_c(memory + 3 * AREA, DEV_F32, 40 * 56);
	for (int i = 0; i < 3; i++) {
		ok(dev_gemm(sim.d, stream, &g));
		ok(dev_gemm(sim.other, s, &far));
		ok(dev_copy_add(sim.d, copying, g.c, memory + 3 * AREA, 40 * 56 * 4, DEV_F32));
	}
	ok(dev_stream_sync(sim.d, stream));
	ok(dev_stream_sync(sim.d, copying));
	ok(dev_stream_sync(sim.other, s));
	for (uint32_t i = 0; i < 40 * 56; i++)
		expect_near(element_get(g.c, DEV_F32, i),
			    4 * (i % 9) + 3 * (expected_sum(&g, i / 56, i % 56, 1) +
					       expected_sum(&far, i / 56, i % 56, 2)),
			    0);
	sim_end();
}

/* ------------------------------------------------------------------ what passes */

static double bytes_of(const struct dev_gemm *g, double a_passes, double b_passes, double c_passes)
{
	return 4.0 * (a_passes * g->m * g->k + b_passes * g->k * g->n + c_passes * g->m * g->n);
}

static void c_takes_no_place_in_the_cache(void)
{
	/* The cases of tests/unit/device/sim/sim_cache_gemm.c, with twice the place. */
	static const struct {
		uint32_t m, n, k, a_passes, b_passes;
	} cases[] = {
		{256, 300, 256, 1, 4},                       /* 64 rows of A are all of the cache */
		{256, 300, 257, 5, 4}, {256, 32, 512, 1, 1}, /* and all of B */
		{256, 32, 513, 1, 2},  {64, 64, 512, 1, 1},
	};
	open_memory(ADDING TRACKED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct dev_gemm g = gemm_of(DEV_F32, cases[i].m, cases[i].n, cases[i].k);
		expect_near(gemm_ns_of(stream, &g),
			    bytes_of(&g, cases[i].a_passes, cases[i].b_passes, 1), PICOSECOND);
	}
	sim_end();
	/* A and B stay in a cache that C would not leave them: 32 KiB each, and C 16. */
	open_memory(ADDING TRACKED);
	struct dev_gemm g = gemm_of(DEV_F32, 64, 64, 128);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 1), PICOSECOND);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 0, 0, 1), PICOSECOND);
	g.adds = false;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 1), PICOSECOND);
	sim_end();
}

static void an_addition_costs_memory_more(void)
{
	open_memory(ADDING TRACKED "add_cost = 3\n");
	struct dev_gemm g = gemm_of(DEV_F32, 64, 60, 64);
	struct dev_memory_bytes b;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 3), PICOSECOND);
	ok(dev_memory_bytes(sim.d, &b));
	expect_near(b.read[DEV_COMPUTING], bytes_of(&g, 1, 1, 0), 0);
	expect_near(b.written[DEV_COMPUTING], bytes_of(&g, 0, 0, 1), 0);
	/* Without adding it costs a write. */
	g.adds = false;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 0, 0, 1), PICOSECOND);
	sim_end();
}

static void without_a_tracked_cache_a_and_b_pass_once(void)
{
	open_memory(ADDING "llc_bytes = 64K\n");
	struct dev_gemm g = gemm_of(DEV_F32, 256, 300, 256);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 1), PICOSECOND);
	/* A and B fit, for C is not in the cache. */
	g = gemm_of(DEV_F32, 64, 64, 128);
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 0, 0, 1), PICOSECOND);
	g.adds = false;
	expect_near(gemm_ns_of(stream, &g), bytes_of(&g, 1, 1, 1), PICOSECOND);
	sim_end();
}

static void memory_that_does_not_add_reads_and_writes(void)
{
	open_memory(MODEL TRACKED);
	struct dev_gemm adds = gemm_of(DEV_F32, 256, 300, 256), beta = adds;
	beta.adds = false;
	beta.beta = 1;
	expect_near(gemm_ns_of(stream, &beta), bytes_of(&beta, 5, 4, 2), PICOSECOND);
	expect_near(gemm_ns_of(stream, &adds), bytes_of(&adds, 5, 4, 2), PICOSECOND);
	sim_end();
}

/* Bytes that pass a link of 0.1 bytes/ns take ten times as long as in memory. The links from the
 * peer are slower still. */
static void only_the_sum_passes_the_link(void)
{
	static const char links[] = "peer_bandwidth = 1e8\npeer_bandwidth 1>0 = 5e7\n";
	static const struct {
		const char *model, *cache;
		double reads;
	} cases[] = {{ADDING, "llc_bytes = 4M\n", 0},
		     {MODEL, "llc_bytes = 4M\n", 1},
		     {ADDING, TRACKED, 0},
		     {MODEL, TRACKED, 1}};
	for (int i = 0; i < 4; i++) {
		char model[2048];
		struct dev_memory_bytes there;
		snprintf(model, sizeof(model), "%s%s%s", cases[i].model, cases[i].cache, links);
		open_memory(model);
		struct dev_gemm g = gemm_of(DEV_F32, 64, 64, 32);
		const double c = bytes_of(&g, 0, 0, 1);
		g.c = peer;
		expect_near(gemm_ns_of(stream, &g), 10 * c, PICOSECOND);
		ok(dev_memory_bytes(sim.other, &there));
		expect_near(there.written[DEV_COMMUNICATION], c, 0);
		expect_near(there.read[DEV_COMMUNICATION], cases[i].reads * c, 0);
		expect_near(there.written[DEV_COMPUTING] + there.read[DEV_COMPUTING], 0, 0);
		/* With beta it is read here. */
		g.adds = false;
		g.beta = 1;
		expect_near(gemm_ns_of(stream, &g), 20 * c, PICOSECOND);
		sim_end();
	}
}

static void a_peer_that_caches_adds_in_its_cache(void)
{
	/* Without memory that adds: the second time nothing is read from memory. */
	struct dev_memory_bytes there;
	open_memory(MODEL "llc_tracked = 1\nllc_bytes = 64K\nengine_cache = through\n");
	struct dev_gemm g = gemm_of(DEV_F32, 64, 64, 32);
	g.c = peer;
	for (int i = 0; i < 2; i++) {
		gemm_ns_of(stream, &g);
		ok(dev_memory_bytes(sim.other, &there));
		expect_near(there.read[DEV_COMMUNICATION], bytes_of(&g, 0, 0, 1), 0);
		expect_near(there.written[DEV_COMMUNICATION], 0, 0);
	}
	sim_end();
}

static void time_alone_is_the_same(void)
{
	double ns[2];
	for (int none = 0; none < 2; none++) {
		open_memory(none ? ADDING TRACKED "data = none\n" : ADDING TRACKED);
		const struct dev_gemm g = gemm_of(DEV_F32, 256, 300, 257);
		ns[none] = gemm_ns_of(stream, &g);
		sim_end();
	}
	expect_near(ns[1], ns[0], PICOSECOND);
}

static void what_does_not_go_together_is_refused(void)
{
	open_memory(ADDING);
	struct dev_gemm g = gemm_of(DEV_F32, 64, 64, 64);
	g.beta = 1;
	expect_error(dev_gemm(sim.d, stream, &g), -EINVAL);
	g.beta = 0;
	g.tile_k = 32;
	expect_error(dev_gemm(sim.d, stream, &g), -EINVAL);
	g.tile_k = 0;
	g.tiled = false;
	expect_error(dev_gemm(sim.d, stream, &g), -EINVAL);
	sim_end();
}

int main(void)
{
	test(gemms_add_in_memory);
	test(gemms_add_without_such_memory);
	test(all_that_adds_at_once_is_there);
	test(c_takes_no_place_in_the_cache);
	test(an_addition_costs_memory_more);
	test(without_a_tracked_cache_a_and_b_pass_once);
	test(memory_that_does_not_add_reads_and_writes);
	test(only_the_sum_passes_the_link);
	test(a_peer_that_caches_adds_in_its_cache);
	test(time_alone_is_the_same);
	test(what_does_not_go_together_is_refused);
	return test_done();
}
