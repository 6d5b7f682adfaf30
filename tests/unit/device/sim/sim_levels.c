/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known truth of the levels in front of the last-level cache: the times must be those of
 * device/sim/machine/kernels.c, to the picosecond.
 */
#include "tests/unit/device/sim/sim.h"

/* Four units, each with an L1 of 16 KiB, two of them with an L2 of 64 KiB. */
#define LEVELS                                                                                     \
	PLAIN "memory_control = 1\nllc_bandwidth = 40e9\nunit_bandwidth = 25e9\nl1_bytes = 16K\n"  \
	      "l1_bandwidth = 50e9\nl1_latency_ns = 20\nl2_bytes = 64K\nl2_units = 2\n"            \
	      "l2_latency_ns = 60\n"
#define PICOSECOND 1e-3

enum { KIB = 1024, UNITS = 4, REPS = 10 };

static struct dev_stream *stream;
static char *memory;
static uint32_t *sink;

static void open_levels(const char *model)
{
	sim_begin(model);
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 1 << 20);
	sink = alloc_memory(DEV_MEM_PINNED, KIB);
	memset(memory, 0, 1 << 20);
}

static double launch_ns(const char *name, uint32_t grid, bool prefer_cache, const void *const *args)
{
	const struct dev_launch launch = {.grid = grid, .args = args, .prefer_cache = prefer_cache};
	struct dev_kernel *kernel = NULL;
	ok(dev_kernel_find(sim.d, name, &kernel));
	struct span span = span_begin(stream);
	ok(dev_launch(sim.d, stream, kernel, &launch));
	span_end(&span, stream);
	return span_ns(&span);
}

static double read_ns(uint32_t grid, uint64_t bytes, uint32_t reps, bool prefer_cache)
{
	const void *const args[] = {&memory, &bytes, &reps, &sink};
	return launch_ns("read", grid, prefer_cache, args);
}

static double copy_ns(const char *name, uint64_t bytes)
{
	const uint32_t reps = REPS;
	char *from = memory + bytes;
	const void *const args[] = {&memory, &from, &bytes, &reps};
	return launch_ns(name, UNITS, false, args);
}

static double write_ns(uint64_t bytes)
{
	const uint32_t reps = REPS, word = 1;
	const void *const args[] = {&memory, &bytes, &reps, &word};
	return launch_ns("write", UNITS, false, args);
}

static void the_first_level_that_holds_it_is_read(void)
{
	open_levels(LEVELS);
	const struct dev_props *p = dev_props(sim.d);
	expect(p->l1_bytes == 16 * KIB && p->l2_bytes == 32 * KIB);
	expect(!dev_can(sim.d, DEV_CAP_CARVEOUT));
	expect_near(read_ns(4, 64 * KIB, REPS, false), (REPS - 1) * 16384 / 50.0, PICOSECOND);
	expect_near(read_ns(4, 68 * KIB, REPS, false), REPS * 17408 / 25.0, PICOSECOND);
	expect_near(read_ns(4, 128 * KIB, REPS, false), REPS * 32768 / 25.0, PICOSECOND);
	expect_near(read_ns(4, 132 * KIB, REPS, false), REPS * 135168 / 40.0, PICOSECOND);
	/* Two units, as much a unit. */
	expect_near(read_ns(2, 32 * KIB, REPS, false), (REPS - 1) * 16384 / 50.0, PICOSECOND);
	expect_near(read_ns(2, 36 * KIB, REPS, false), REPS * 18432 / 25.0, PICOSECOND);
	/* A launch begins with nothing. */
	expect_near(read_ns(4, 64 * KIB, 1, false), 65536 / 40.0, PICOSECOND);
	sim_end();
}

static void writes_and_streams_pass_it(void)
{
	open_levels(LEVELS);
	expect_near(write_ns(64 * KIB), REPS * 65536 / 40.0, PICOSECOND);
	expect_near(copy_ns("copy", 32 * KIB), (REPS + 1) * 32768 / 40.0, PICOSECOND);
	expect_near(copy_ns("copy_nt", 32 * KIB), REPS * 2 * 8192 / 25.0, PICOSECOND);
	sim_end();
}

static void memory_is_passed_once(void)
{
	struct dev_memory_bytes before, after;
	open_levels(LEVELS "llc_bytes = 0\n");
	for (uint64_t kib = 64; kib <= 68; kib += 4) {
		ok(dev_memory_bytes(sim.d, &before));
		read_ns(4, kib * KIB, REPS, false);
		ok(dev_memory_bytes(sim.d, &after));
		expect_near(after.read[DEV_COMPUTING] - before.read[DEV_COMPUTING],
			    (double)(kib * KIB), 1e-6);
	}
	open_levels(LEVELS "llc_tracked = 1\n");
	ok(dev_memory_bytes(sim.d, &before));
	read_ns(4, 64 * KIB, REPS, false);
	read_ns(4, 64 * KIB, REPS, false);
	ok(dev_memory_bytes(sim.d, &after));
	expect_near(after.read[DEV_COMPUTING] - before.read[DEV_COMPUTING], 65536, 1e-6);
	sim_end();
}

/* A ring of one line: a step is as long in every line. */
static double step_ns(uint64_t bytes, bool prefer_cache)
{
	const uint64_t steps = 100, *begin = (uint64_t *)(void *)memory;
	*(const uint64_t **)(void *)memory = begin;
	const void *const args[] = {&memory, &bytes, &steps, &sink};
	return launch_ns("chase", 1, prefer_cache, args) / (double)steps;
}

static void a_step_takes_the_latency_of_its_level(void)
{
	open_levels(LEVELS "llc_bytes = 256K\nllc_latency_ns = 250\nmemory_latency_ns = 500\n");
	expect_near(step_ns(16 * KIB, false), 20, PICOSECOND);
	expect_near(step_ns(20 * KIB, false), 60, PICOSECOND);
	expect_near(step_ns(64 * KIB, false), 60, PICOSECOND);
	expect_near(step_ns(68 * KIB, false), 250, PICOSECOND);
	expect_near(step_ns(512 * KIB, false), 500, PICOSECOND);
	sim_end();
}

static void shared_memory_may_be_part_of_it(void)
{
	open_levels(LEVELS "l1_divided = 1\nshared_per_unit_bytes = 12K\n"
			   "shared_per_block_bytes = 12K\n");
	expect(dev_can(sim.d, DEV_CAP_CARVEOUT));
	expect_near(read_ns(4, 64 * KIB, REPS, true), (REPS - 1) * 16384 / 50.0, PICOSECOND);
	expect_near(read_ns(4, 16 * KIB, REPS, false), (REPS - 1) * 4096 / 50.0, PICOSECOND);
	expect_near(read_ns(4, 20 * KIB, REPS, false), REPS * 5120 / 25.0, PICOSECOND);
	expect_near(step_ns(16 * KIB, true), 20, PICOSECOND);
	expect_near(step_ns(16 * KIB, false), 60, PICOSECOND);
	sim_end();
}

static void without_the_keys_there_is_none(void)
{
	open_levels(PLAIN "llc_bandwidth = 40e9\n");
	expect(dev_props(sim.d)->l1_bytes == 0 && dev_props(sim.d)->l2_bytes == 0);
	expect_near(read_ns(4, 4 * KIB, REPS, false), REPS * 4096 / 40.0, PICOSECOND);
	expect_near(step_ns(4 * KIB, false), 250, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(the_first_level_that_holds_it_is_read);
	test(writes_and_streams_pass_it);
	test(memory_is_passed_once);
	test(a_step_takes_the_latency_of_its_level);
	test(shared_memory_may_be_part_of_it);
	test(without_the_keys_there_is_none);
	return test_done();
}
