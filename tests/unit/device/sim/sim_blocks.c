/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resident blocks of a unit, tiles of a GEMM, and blocks simulated together, which take the time of
 * blocks simulated one by one.
 */
#include "tests/unit/device/sim/sim.h"

#include <math.h>

#define PICOSECOND 1e-3

static uint32_t kernel_residents(const char *kernel, uint64_t shared_bytes)
{
	struct dev_kernel *k = NULL;
	uint32_t blocks = 0;
	ok(dev_kernel_find(sim.d, kernel, &k));
	ok(dev_occupancy(sim.d, k, 0, shared_bytes, &blocks));
	return blocks;
}

static uint32_t gemm_residents(enum dev_type type, uint32_t tile_k, uint64_t shared_bytes)
{
	const struct dev_gemm g = PACKED_GEMM(512, 512, 64, .type = type, .tiled = true,
					      .tile_k = tile_k, .shared_bytes = shared_bytes);
	uint32_t blocks = 0;
	ok(dev_gemm_occupancy(sim.d, &g, &blocks));
	return blocks;
}

/* As an A40: 100 KiB, of which each block takes 1 KiB more; 256 KiB of registers; opt1 and opt2 of
 * resource-aware overlap with elements of 4 bytes. */
static void slots_shared_memory_and_registers_decide_residents(void)
{
	sim_begin(PLAIN "slots_per_unit = 6\nshared_per_unit_bytes = 100K\n"
			"shared_per_block_bytes = 99K\nshared_reserved_bytes = 1K\n"
			"shared_granularity_bytes = 128\nregisters_per_unit_bytes = 256K\n"
			"block_register_bytes = 32K\ngemm_tile = 128\ngemm_tile_columns = 64\n"
			"gemm_tile_shared_bytes = 24K\n");
	expect(kernel_residents("copy", 0) == 6);
	expect(kernel_residents("copy", 24 << 10) == 4);
	expect(gemm_residents(DEV_F32, 32, 0) == 5);        /* 17 KiB, 48 KiB of registers */
	expect(gemm_residents(DEV_F32, 64, 0) == 3);        /* 33 KiB */
	expect(gemm_residents(DEV_F32, 32, 24 << 10) == 2); /* 41 KiB */
	expect(gemm_residents(DEV_F32, 0, 0) == 4);         /* 25 KiB, 64 KiB of registers */
	expect(gemm_residents(DEV_F64, 0, 0) == 2);         /* 96 KiB of registers */
	sim_end();
}

static double gemm_ns(struct dev_stream *s, char *memory, uint32_t m, uint32_t n, uint32_t k)
{
	const struct dev_gemm g = PACKED_GEMM(m, n, k, .type = DEV_F32, .a = memory,
					      .b = memory + (1 << 20), .c = memory + (2 << 20));
	struct span span = span_begin(s);
	ok(dev_gemm(sim.d, s, &g));
	span_end(&span, s);
	return span_ns(&span);
}

/* 4 units of 1 flop/ns, one block on each. */
static void tiles_follow_the_model(void)
{
	static const struct {
		const char *keys;
		uint32_t m, n;
		double ns;
	} cases[] = {
		{"gemm_tile = 64\ngemm_tile_columns = 32\n", 128, 64, 2.0 * 64 * 32 * 16},
		{"gemm_tile = 64\n", 64, 128, 2.0 * 64 * 64 * 16}, /* two units idle */
		{"gemm_tile = 64\ngemm_tile_min = 32\n", 64, 128, 2.0 * 64 * 32 * 16},
		{"gemm_tile = 64\ngemm_tile_min = 64\n", 64, 128, 2.0 * 64 * 64 * 16},
		{"gemm_tile = 64\ngemm_tile_min = 16\n", 32, 32, 2.0 * 16 * 16 * 16},
		/* the sums of 64 x 64 floats do not fit */
		{"gemm_tile = 64\nregisters_per_unit_bytes = 8K\n", 64, 128, 2.0 * 32 * 64 * 16},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char model[1024];
		snprintf(model, sizeof(model), "%s%s",
			 PLAIN "llc_bandwidth = 1e15\nslots_per_unit = 1\n", cases[i].keys);
		sim_begin(model);
		char *memory = alloc_memory(DEV_MEM_DEVICE, 4 << 20);
		ok(dev_fill(sim.d, open_stream(), memory, 0, 4 << 20));
		expect_near(gemm_ns(open_stream(), memory, cases[i].m, cases[i].n, 16), cases[i].ns,
			    PICOSECOND);
		sim_end();
	}
}

static void registers_that_a_block_lacks_are_an_error(void)
{
	sim_begin(PLAIN "registers_per_unit_bytes = 8K\nblock_register_bytes = 1K\n");
	const struct dev_gemm g =
		PACKED_GEMM(64, 64, 64, .type = DEV_F32, .tiled = true, .tile_k = 32);
	uint32_t blocks;
	expect_error(dev_gemm_occupancy(sim.d, &g, &blocks), -EINVAL);
	expect(strstr(err_text(), "17408 bytes of registers; a unit has 8192") != NULL);
	sim_end();
}

/* ------------------------------------------------------------------ together and one by one */

#define BIG                                                                                        \
	PLAIN "launch_ns = 300\nblock_ns = 20\nunits = 12\nslots_per_unit = 3\ngemm_tile = 32\n"   \
	      "memory_bandwidth = 60e9\nllc_bandwidth = 400e9\nunit_bandwidth = 20e9\n"            \
	      "block_share = 0.5\nllc_bytes = 256K\nflops_f32 = 20e9\nhost_memory_bytes = 1G\n"    \
	      "peer_bandwidth = 10e9\ninjection_bandwidth = 15e9\nmemory_bytes = 1G\n"
#define ONE_BY_ONE "block_jitter_sigma = 1e-12\n"
#define SCENES 6u

struct scene {
	struct dev_stream *gemm, *copy, *urgent;
	struct dev_event *begin, *gemm_end, *copy_end;
	char *a, *b, *other;
};

static struct scene open_scene(void)
{
	struct scene s = {.gemm = open_stream(), .copy = open_stream()};
	ok(dev_peer_enable(sim.d, sim.other));
	ok(dev_stream_open(sim.d, 1, &s.urgent));
	ok(dev_event_open(sim.d, &s.begin));
	ok(dev_event_open(sim.d, &s.gemm_end));
	ok(dev_event_open(sim.d, &s.copy_end));
	s.a = alloc_memory(DEV_MEM_DEVICE, 16 << 20);
	s.b = alloc_memory(DEV_MEM_DEVICE, 16 << 20);
	s.other = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 16 << 20);
	return s;
}

static void queue_gemm(const struct scene *s, uint32_t m, uint32_t k)
{
	const struct dev_gemm g = PACKED_GEMM(m, 512, k, .type = DEV_F32, .a = s->a,
					      .b = s->a + (4 << 20), .c = s->a + (8 << 20));
	ok(dev_gemm(sim.d, s->gemm, &g));
}

static void queue_copy_kernels(const struct scene *s, struct dev_stream *on, unsigned count,
			       uint64_t bytes)
{
	const uint32_t reps = 1;
	const void *const args[] = {&s->other, &s->b, &bytes, &reps};
	for (unsigned i = 0; i < count; i++)
		ok(launch_kernel(on, "copy", 5, 0, args));
}

static void queue_scene(const struct scene *s, unsigned scene)
{
	static const uint32_t rows[SCENES] = {2048, 2048, 2000, 1024, 1024, 2048};
	for (unsigned i = 0; i < (scene == 3 ? 6u : 1u); i++)
		queue_gemm(s, rows[scene], scene == 4 ? 48 : 256);
	for (unsigned i = 0; (scene == 1 || scene == 3) && i < 3; i++)
		ok(dev_copy(sim.d, s->copy, s->other, s->b, 3 << 20));
	if (scene == 2)
		queue_copy_kernels(s, s->urgent, 4, 1 << 20);
	if (scene == 4)
		queue_copy_kernels(s, s->copy, 4, 1 << 20);
	if (scene == 5)
		queue_copy_kernels(s, s->urgent, 20, 5 * 40960);
}

/* Nanoseconds until the GEMMs and the copies have ended. */
static void run_scene(const char *keys, unsigned scene, double ns[2])
{
	char model[2048];
	snprintf(model, sizeof(model), "%s%s", BIG, keys);
	sim_begin(model);
	struct scene s = open_scene();
	struct dev_stream *copies = scene == 2 || scene == 5 ? s.urgent : s.copy;
	ok(dev_event_record(sim.d, s.gemm, s.begin));
	queue_scene(&s, scene);
	ok(dev_event_record(sim.d, s.gemm, s.gemm_end));
	ok(dev_event_record(sim.d, copies, s.copy_end));
	ok(dev_event_sync(sim.d, s.gemm_end));
	ok(dev_event_sync(sim.d, s.copy_end));
	ok(dev_event_elapsed_ns(sim.d, s.begin, s.gemm_end, &ns[0]));
	ok(dev_event_elapsed_ns(sim.d, s.begin, s.copy_end, &ns[1]));
	sim_end();
}

static void compare_scenes(const char *keys, double within)
{
	for (unsigned scene = 0; scene < SCENES; scene++) {
		double single[2], together[2];
		run_scene(ONE_BY_ONE, scene, single);
		run_scene(keys, scene, together);
		for (int i = 0; i < (scene ? 2 : 1); i++) {
			if (fabs(together[i] / single[i] - 1) > within)
				printf("# scene %u: %s end after %.6g ns, one by one %.6g ns\n",
				       scene, i ? "copies" : "GEMMs", together[i], single[i]);
			expect(fabs(together[i] / single[i] - 1) <= within);
		}
	}
}

static void groups_change_no_time(void) { compare_scenes("", 1e-6); }
static void waves_simulated_together_take_their_time(void)
{
	compare_scenes("data = none\n", 0.01);
}

static void waves_without_work_take_their_starts(void)
{
	sim_begin(BIG "data = none\n");
	struct dev_stream *s = open_stream();
	struct span span = span_begin(s);
	ok(launch_kernel(s, "empty", 12 * 3 * 9, 0, NULL));
	span_end(&span, s);
	expect_near(span_ns(&span), 300 + 9 * 20, 1e-3);
	sim_end();
}

int main(void)
{
	test(slots_shared_memory_and_registers_decide_residents);
	test(tiles_follow_the_model);
	test(registers_that_a_block_lacks_are_an_error);
	test(groups_change_no_time);
	test(waves_simulated_together_take_their_time);
	test(waves_without_work_take_their_starts);
	return test_done();
}
