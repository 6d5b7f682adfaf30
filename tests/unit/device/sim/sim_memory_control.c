/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sharing of a device's memory by computing and communication: known times from the laws of
 * device/sim/t3/memory_control.c, section MEMORY. Memory moves 100 bytes in a nanosecond.
 */
#include "tests/unit/device/sim/sim.h"

/* 1e-9 of the times here, which are below 1e6 ns. */
#define CLOSE 1e-3

/* `read` and `write` with a block for each of the four units move 20 bytes/ns, and nothing holds
 * copies but memory. */
#define MODEL                                                                                      \
	PLAIN "llc_bytes = 0\ncopy_ns = 0\nlink_down_bandwidth = 1e15\n"                           \
	      "link_up_bandwidth = 1e15\npeer_bandwidth = 1e15\nunit_bandwidth = 5e9\n"            \
	      "memory_control = 1\n"
#define SLOW_COPIES "link_down_bandwidth = 10e9\n"
#define FIRST "memory_policy = compute-first\n"
#define QUEUE "queue_wait_ns_per_kib = 4\n"

enum { N = 1 << 20, BLOCKS = 4, HALF = N / 2, BLOCK_BYTES = N / BLOCKS };

static struct dev_stream *computing, *copying;
static char *memory, *host;
static uint32_t *sink;

static void open_memory(const char *model)
{
	sim_begin(model);
	computing = open_stream();
	copying = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 8 * N);
	host = alloc_memory(DEV_MEM_PINNED, 8 * N);
	sink = alloc_memory(DEV_MEM_PINNED, 4);
	memset(memory, 0, 8 * N);
}

/* Times of a kernel and of a copy from the host that begins at the same time. */
struct times {
	double kernel_ns, copy_ns;
};

static void launch_blocks(struct dev_stream *s, const char *kernel, uint64_t bytes)
{
	const uint32_t reps = 1, word = 0;
	const void *reading[] = {&memory, &bytes, &reps, &sink};
	const void *writing[] = {&memory, &bytes, &reps, &word};
	ok(launch_kernel(s, kernel, BLOCKS, 0, kernel[0] == 'r' ? reading : writing));
}

static struct times run_both(const char *kernel, uint64_t moved, uint64_t copied)
{
	struct times t = {0};
	struct span a = span_begin(computing), b = span_begin(copying);
	if (moved)
		launch_blocks(computing, kernel, moved);
	if (copied)
		ok(dev_copy(sim.d, copying, memory + 4 * N, host, copied));
	span_end(&a, computing);
	span_end(&b, copying);
	t.kernel_ns = span_ns(&a);
	t.copy_ns = span_ns(&b);
	return t;
}

/* ------------------------------------------------------------------ the queue */

static void reads_wait_behind_communication(void)
{
	/* 4 ns for each KiB of a block, of which the queue is full, or half full. */
	const double alone_ns = N / 20.0, wait_ns = 4.0 * BLOCK_BYTES / 1024;
	open_memory(MODEL SLOW_COPIES QUEUE);
	expect_near(run_both("read", N, 0).kernel_ns, alone_ns, CLOSE);
	struct times t = run_both("read", N, N);
	expect_near(t.kernel_ns, alone_ns + wait_ns, CLOSE);
	expect_near(t.copy_ns, N / 10.0, CLOSE);
	/* A write waits for nobody. */
	expect_near(run_both("write", N, N).kernel_ns, alone_ns, CLOSE);
	sim_end();
	open_memory(MODEL SLOW_COPIES QUEUE FIRST "memory_threshold = 0.5\n");
	expect_near(run_both("read", N, N).kernel_ns, alone_ns + wait_ns / 2, CLOSE);
	expect_near(run_both("write", N, N).kernel_ns, alone_ns, CLOSE);
	sim_end();
}

static void the_wait_ends_with_the_last_copy(void)
{
	const double alone_ns = N / 20.0, wait_ns = 4.0 * BLOCK_BYTES / 1024;
	const double copy_ns = BLOCK_BYTES / 10.0;
	open_memory(MODEL SLOW_COPIES QUEUE);
	const double done = copy_ns / (alone_ns + wait_ns);
	const struct times t = run_both("read", N, BLOCK_BYTES);
	expect_near(t.copy_ns, copy_ns, CLOSE);
	expect_near(t.kernel_ns, copy_ns + (1 - done) * alone_ns, CLOSE);
	sim_end();
}

static void the_wait_is_a_limit_of_its_own(void)
{
	/* One block that reads alone at 100 waits so that it has 1 / (1 / 100 + 1 / 256) = 71.9
	 * bytes/ns. What a copy leaves, 50, is less: it holds the block, and the wait does not. */
	const uint64_t n = N;
	const uint32_t reps = 1;
	const double x = N;
	open_memory(MODEL QUEUE "unit_bandwidth = 1e15\n");
	for (int fast = 0; fast <= 1; fast++) {
		const void *args[] = {&memory, &n, &reps, &sink};
		char *from = fast ? memory + 2 * N : host;
		struct span span = span_begin(computing);
		ok(launch_kernel(computing, "read", 1, 0, args));
		ok(dev_copy(sim.d, copying, memory + 4 * N, from, 2 * N));
		span_end(&span, computing);
		/* A copy inside memory passes it twice, and has the same share as the block. */
		expect_near(span_ns(&span), x / 50, CLOSE);
		ok(dev_stream_sync(sim.d, copying));
	}
	sim_end();
	open_memory(MODEL SLOW_COPIES QUEUE "unit_bandwidth = 1e15\n");
	const void *args[] = {&memory, &n, &reps, &sink};
	struct span span = span_begin(computing);
	ok(dev_copy(sim.d, copying, memory + 4 * N, host, N));
	ok(launch_kernel(computing, "read", 1, 0, args));
	span_end(&span, computing);
	expect_near(span_ns(&span), x / 100 + x / 256, CLOSE);
	sim_end();
}

static void noise_stretches_the_wait(void)
{
	open_memory(MODEL SLOW_COPIES QUEUE "slow_down = read 3\n");
	expect_near(run_both("read", N, 2 * N).kernel_ns, 3 * (N / 20.0 + 4.0 * BLOCK_BYTES / 1024),
		    CLOSE);
	sim_end();
}

/* ------------------------------------------------------------------ compute-first */

static void communication_has_what_computing_leaves(void)
{
	open_memory(MODEL FIRST "memory_threshold = 0.5\n");
	/* 50 - 20 until the kernel ends, then 50. */
	const double kernel_ns = N / 20.0;
	struct times t = run_both("write", N, 2 * N);
	expect_near(t.kernel_ns, kernel_ns, CLOSE);
	expect_near(t.copy_ns, kernel_ns + (2 * N - 30 * kernel_ns) / 50, CLOSE);
	expect_near(run_both("write", 0, N).copy_ns, N / 50.0, CLOSE);
	sim_end();
	open_memory(MODEL FIRST);
	t = run_both("write", N, N);
	expect_near(t.kernel_ns, kernel_ns, CLOSE);
	expect_near(t.copy_ns, N / 80.0, CLOSE);
	expect_near(run_both("write", 0, N).copy_ns, N / 100.0, CLOSE);
	sim_end();
}

static void blocks_of_a_unit_share_what_they_leave(void)
{
	/* Each of two kernels could move 20, but both together cannot. */
	open_memory(MODEL FIRST "memory_threshold = 0.5\nslots_per_unit = 4\n");
	struct dev_stream *second = open_stream();
	for (int blocks_differ = 0; blocks_differ <= 1; blocks_differ++) {
		struct span span = span_begin(copying);
		launch_blocks(computing, "write", 2 * N);
		launch_blocks(second, blocks_differ ? "read" : "write", 2 * N);
		ok(dev_copy(sim.d, copying, memory + 4 * N, host, N));
		span_end(&span, copying);
		expect_near(span_ns(&span), N / 30.0, CLOSE);
		ok(dev_stream_sync(sim.d, computing));
		ok(dev_stream_sync(sim.d, second));
	}
	sim_end();
}

static void communication_is_never_starved(void)
{
	/* 80 of 100 are left alone, although 50 - 80 is less than nothing. */
	open_memory(MODEL FIRST "memory_threshold = 0.5\nmemory_starvation = 0.1\n"
				"unit_bandwidth = 20e9\n");
	struct times t = run_both("write", 8 * N, HALF);
	expect_near(t.copy_ns, HALF / 10.0, CLOSE);
	expect_near(t.kernel_ns, 8 * N / 80.0, CLOSE);
	sim_end();
	/* Computing would take all. While the copy is there, it has 90. */
	open_memory(MODEL FIRST "memory_starvation = 0.1\nunit_bandwidth = 1e15\n");
	t = run_both("write", 8 * N, HALF);
	const double copy_ns = HALF / 10.0;
	expect_near(t.copy_ns, copy_ns, CLOSE);
	expect_near(t.kernel_ns, copy_ns + (8 * N - 90 * copy_ns) / 100, CLOSE);
	sim_end();
}

static void a_class_shares_max_min(void)
{
	/* Two copies share the 80 that a kernel leaves; a third one, slow, takes less. */
	open_memory(MODEL FIRST "copy_engines = 4\n");
	struct dev_stream *other = open_stream();
	struct span a = span_begin(copying), b = span_begin(other);
	launch_blocks(computing, "write", 2 * N);
	ok(dev_copy(sim.d, copying, memory + 4 * N, host, N));
	ok(dev_copy(sim.d, other, memory + 6 * N, host + 2 * N, HALF));
	span_end(&a, copying);
	span_end(&b, other);
	expect_near(span_ns(&b), HALF / 40.0, CLOSE);
	expect_near(span_ns(&a), HALF / 40.0 + HALF / 80.0, CLOSE);
	ok(dev_stream_sync(sim.d, computing));
	sim_end();
}

/* ------------------------------------------------------------------ classes */

static void a_stream_of_communication_gives_way(void)
{
	open_memory(MODEL FIRST
		    "memory_threshold = 0.5\nslots_per_unit = 4\nunit_bandwidth = 40e9\n"
		    "block_share = 0.125\n");
	/* Blocks have 5 of their unit's 40. So 20 are computing's, 10 are left by a second kernel
	 * of it, and a third one, communication, has what is left of 50. */
	struct dev_stream *second = open_stream(), *third = open_stream();
	ok(dev_stream_class(sim.d, third, DEV_COMMUNICATION));
	struct span span = span_begin(third);
	launch_blocks(computing, "write", 2 * N);
	launch_blocks(second, "write", 2 * N);
	launch_blocks(third, "write", N);
	span_end(&span, third);
	expect_near(span_ns(&span), N / 10.0, CLOSE);
	expect_error(dev_stream_class(sim.d, third, (enum dev_traffic_class)2), -EINVAL);
	ok(dev_stream_sync(sim.d, computing));
	ok(dev_stream_sync(sim.d, second));
	/* And back. */
	ok(dev_stream_class(sim.d, third, DEV_COMPUTING));
	span = span_begin(third);
	launch_blocks(computing, "write", 2 * N);
	launch_blocks(second, "write", 2 * N);
	launch_blocks(third, "write", N);
	span_end(&span, third);
	expect_near(span_ns(&span), N / 20.0, CLOSE);
	expect_error(dev_stream_class(sim.d, computing, DEV_COMMUNICATION), -EBUSY);
	ok(dev_stream_sync(sim.d, computing));
	ok(dev_stream_sync(sim.d, second));
	sim_end();
}

static void kernels_of_other_devices_communicate(void)
{
	open_memory(MODEL FIRST "memory_threshold = 0.5\nunit_bandwidth = 1e15\n"
				"memory_starvation = 0.25\n");
	ok(dev_peer_enable(sim.d, sim.other));
	char *own = alloc_memory_on(sim.other, DEV_MEM_DEVICE, N);
	struct dev_stream *s = NULL;
	struct dev_kernel *k = NULL;
	struct dev_event *from = NULL, *to = NULL;
	const uint64_t n = N;
	const uint32_t reps = 1;
	double ns = 0;
	const void *args[] = {&own, &memory, &n, &reps};
	ok(dev_stream_open(sim.other, 0, &s));
	ok(dev_event_open(sim.other, &from));
	ok(dev_event_open(sim.other, &to));
	ok(dev_kernel_find(sim.other, "copy", &k));
	ok(dev_event_record(sim.other, s, from));
	launch_blocks(computing, "write", 4 * N);
	ok(dev_launch(sim.other, s, k, &(struct dev_launch){.grid = 4, .args = args}));
	ok(dev_event_record(sim.other, s, to));
	ok(dev_event_sync(sim.other, to));
	ok(dev_event_elapsed_ns(sim.other, from, to, &ns));
	expect_near(ns, N / 25.0, CLOSE);
	ok(dev_stream_sync(sim.d, computing));
	struct dev_memory_bytes here, there;
	ok(dev_memory_bytes(sim.d, &here));
	ok(dev_memory_bytes(sim.other, &there));
	expect_near(here.read[DEV_COMMUNICATION], N, 0);
	expect_near(here.written[DEV_COMPUTING], 4 * N, 0);
	expect_near(there.written[DEV_COMPUTING], N, 0);
	expect_near(here.read[DEV_COMPUTING] + here.written[DEV_COMMUNICATION], 0, 0);
	expect_near(there.read[DEV_COMPUTING] + there.read[DEV_COMMUNICATION], 0, 0);
	dev_event_close(sim.other, from);
	dev_event_close(sim.other, to);
	dev_stream_close(sim.other, s);
	sim_end();
}

static void both_ends_of_a_copy_have_their_own_memory(void)
{
	/* Only the other device computes: 100 - 40 are left there. */
	open_memory(MODEL FIRST "unit_bandwidth = 10e9\n");
	ok(dev_peer_enable(sim.d, sim.other));
	char *far = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 2 * N);
	struct dev_stream *s = NULL;
	struct dev_kernel *k = NULL;
	const uint64_t n = 2 * N;
	const uint32_t reps = 1, word = 0;
	const void *args[] = {&far, &n, &reps, &word};
	ok(dev_stream_open(sim.other, 0, &s));
	ok(dev_kernel_find(sim.other, "write", &k));
	ok(dev_launch(sim.other, s, k, &(struct dev_launch){.grid = 4, .args = args}));
	struct span span = span_begin(copying);
	ok(dev_copy(sim.d, copying, far + N, memory, N));
	span_end(&span, copying);
	expect_near(span_ns(&span), N / 60.0, CLOSE);
	ok(dev_stream_sync(sim.other, s));
	sim_end();
}

/* ------------------------------------------------------------------ changes */

static void the_policy_can_be_changed(void)
{
	const struct dev_memory_control first = {DEV_MEMORY_COMPUTE_FIRST, 0.5, 0.1};
	struct dev_memory_control got = {0};
	open_memory(MODEL);
	ok(dev_memory_control_read(sim.d, &got));
	expect(got.policy == DEV_MEMORY_FAIR);
	expect_near(got.threshold, 1, 0);
	expect_near(got.starvation, 0.02, 0);
	expect_near(run_both("write", 0, N).copy_ns, N / 100.0, CLOSE);
	ok(dev_memory_control(sim.d, &first));
	ok(dev_memory_control_read(sim.d, &got));
	expect(got.policy == first.policy);
	expect_near(got.threshold, first.threshold, 0);
	expect_near(got.starvation, first.starvation, 0);
	expect_near(run_both("write", 0, N).copy_ns, N / 50.0, CLOSE);
	/* That of the other device is its own. */
	ok(dev_memory_control_read(sim.other, &got));
	expect(got.policy == DEV_MEMORY_FAIR);
	ok(dev_memory_control(sim.d, &got));
	expect_near(run_both("write", 0, N).copy_ns, N / 100.0, CLOSE);
	sim_end();
}

static void bad_changes_are_refused(void)
{
	static const struct dev_memory_control bad[] = {
		{(enum dev_memory_policy)2, 1, 0.1},  {DEV_MEMORY_COMPUTE_FIRST, 0, 0.1},
		{DEV_MEMORY_COMPUTE_FIRST, 1.1, 0.1}, {DEV_MEMORY_COMPUTE_FIRST, 1, 0},
		{DEV_MEMORY_COMPUTE_FIRST, 1, 1},     {DEV_MEMORY_COMPUTE_FIRST, NAN, 0.1},
	};
	const struct dev_memory_control first = {DEV_MEMORY_COMPUTE_FIRST, 1, 0.1};
	struct dev_memory_control got = {0};
	open_memory(MODEL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_error(dev_memory_control(sim.d, &bad[i]), -EINVAL);
	launch_blocks(computing, "write", N);
	expect_error(dev_memory_control(sim.d, &first), -EBUSY);
	ok(dev_memory_control(sim.other, &first));
	ok(dev_stream_sync(sim.d, computing));
	/* Work of the other device that uses this memory. */
	struct dev_stream *s = NULL;
	ok(dev_peer_enable(sim.d, sim.other));
	ok(dev_stream_open(sim.other, 0, &s));
	ok(dev_fill(sim.other, s, memory, 1, N));
	expect_error(dev_memory_control(sim.d, &first), -EBUSY);
	ok(dev_stream_sync(sim.other, s));
	ok(dev_memory_control_read(sim.d, &got));
	expect(got.policy == DEV_MEMORY_FAIR);
	ok(dev_memory_control(sim.d, &first));
	sim_end();
}

static void a_device_without_it_says_so(void)
{
	struct dev_memory_control control = {DEV_MEMORY_FAIR, 1, 0.1};
	struct dev_memory_bytes bytes = {{-1, -1}, {-1, -1}};
	sim_begin(PLAIN "memory_control = 1\nlacks = memory_control\n");
	struct dev_stream *s = open_stream();
	expect(!dev_can(sim.d, DEV_CAP_MEMORY_CONTROL));
	expect_error(dev_memory_control(sim.d, &control), -ENOTSUP);
	expect_error(dev_memory_control_read(sim.d, &control), -ENOTSUP);
	expect_error(dev_memory_bytes(sim.d, &bytes), -ENOTSUP);
	expect_error(dev_stream_class(sim.d, s, DEV_COMMUNICATION), -ENOTSUP);
	expect_near(bytes.read[0], -1, 0);
	sim_end();
}

int main(void)
{
	test(reads_wait_behind_communication);
	test(the_wait_ends_with_the_last_copy);
	test(the_wait_is_a_limit_of_its_own);
	test(noise_stretches_the_wait);
	test(communication_has_what_computing_leaves);
	test(blocks_of_a_unit_share_what_they_leave);
	test(communication_is_never_starved);
	test(a_class_shares_max_min);
	test(a_stream_of_communication_gives_way);
	test(kernels_of_other_devices_communicate);
	test(both_ends_of_a_copy_have_their_own_memory);
	test(the_policy_can_be_changed);
	test(bad_changes_are_refused);
	test(a_device_without_it_says_so);
	return test_done();
}
