/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The executor: an edge keeps its order, nodes without an edge run at once, over lanes and devices,
 * run after run. Errors are in work_graph_errors.c.
 */
#include "tests/unit/bench/graph_scene.h"

/* a += one; b := a on the other device; c := b by a kernel; c += b; a := c. This adds one and then
 * doubles. Every node is in a lane of its own, so that only edges order them. */
static void edges_order(const char *spec)
{
	open_devices(spec);
	uint32_t other = (uint32_t)here.set.count - 1;
	float *a = alloc_floats(0, 1), *one = alloc_floats(0, 1), *b = alloc_floats(other, -1),
	      *c = alloc_floats(0, -1);
	uint32_t node[5] = {work_graph_pass(here.g, open_lane(0), "reduce_add", a, one, BYTES, 2)};
	node[1] = work_graph_copy(here.g, open_lane(0), b, a, BYTES, 0);
	node[2] = work_graph_copy(here.g, open_lane(other), c, b, BYTES, 1);
	node[3] = work_graph_pass(here.g, open_lane(other), "reduce_add", c, b, BYTES, 1);
	node[4] = work_graph_copy(here.g, open_lane(other), a, c, BYTES, 0);
	for (int i = 1; i < 5; i++)
		work_graph_edge(here.g, node[i - 1], node[i]);
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 4);
	float due = 1;
	for (int i = 0; i < 10; i++) {
		expect(run_gated() > 0);
		due = 2 * (due + 1);
		expect(read_value(0, a) == due);
		/* Also without a gate. */
		ok(work_graph_sync(here.g, work_graph_run(here.g)));
		due = 2 * (due + 1);
		expect(read_value(0, a) == due);
	}
	close_devices();
}

static void edges_order_on_the_host(void) { edges_order("host:0,1"); }
static void edges_order_on_one_host_device(void) { edges_order("host"); }
static void edges_order_on_simulated_devices(void) { edges_order("sim:0,1"); }

/* Copies of 20000 bytes between peers take 1000 + 1000 ns. In one lane they follow each other; in
 * two lanes they run at once (two engines, separate directions of the link), except with an
 * edge. */
static double two_copies(bool one_lane, bool edge)
{
	double seconds, stamped;
	open_sim_model(PLAIN "copy_engines = 2\n");
	char *from = alloc_memory_on(here.set.dev[0], DEV_MEM_DEVICE, 40960),
	     *to = alloc_memory_on(here.set.dev[1], DEV_MEM_DEVICE, 40960);
	uint32_t first = open_lane(0), second = one_lane ? first : open_lane(1);
	uint32_t there = work_graph_copy(here.g, first, to, from, 20000, 0);
	uint32_t back = work_graph_copy(here.g, second, from + 20480, to + 20480, 20000, 0);
	if (edge)
		work_graph_edge(here.g, there, back);
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == (edge && !one_lane));
	seconds = run_gated();
	ok(work_graph_lane_seconds(here.g, first, &stamped));
	expect_near(stamped, one_lane ? 4e-6 : 2e-6, 1e-12);
	close_devices();
	return seconds;
}

static void nodes_without_an_edge_run_at_once(void)
{
	expect_near(two_copies(true, false), 4e-6, 1e-12);
	expect_near(two_copies(true, true), 4e-6, 1e-12);
	expect_near(two_copies(false, true), 4e-6, 1e-12);
	expect_near(two_copies(false, false), 2e-6, 1e-12);
}

static void implied_edges_cost_nothing(void)
{
	open_devices("sim:0,1");
	uint32_t first = open_lane(0), second = open_lane(1), from[3], to[3];
	for (int i = 0; i < 3; i++)
		from[i] = add_empty(first);
	for (int i = 0; i < 3; i++)
		to[i] = add_empty(second);
	work_graph_edge(here.g, from[0], to[0]);
	work_graph_edge(here.g, from[2], to[1]);
	work_graph_edge(here.g, from[0], to[1]); /* implied by the edge before */
	work_graph_edge(here.g, from[1], to[2]); /* to[1] has waited for from[2] */
	work_graph_edge(here.g, to[0], to[2]);   /* same lane */
	work_graph_edge(here.g, from[2], to[1]); /* a duplicate */
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 2);
	/* Three nodes, and two records or waits. */
	expect(work_graph_max_queued(here.g) == 3 + 2);
	run_gated();
	close_devices();
}

/* a -> b -> c, each in a lane of its own: a -> c follows, also for later nodes of these lanes. */
static void edges_implied_by_a_path_cost_nothing(void)
{
	open_devices("sim:0,1");
	uint32_t lane[3] = {open_lane(0), open_lane(1), open_lane(0)}, a[2], b, c[2];
	a[0] = add_empty(lane[0]);
	a[1] = add_empty(lane[0]);
	b = add_empty(lane[1]);
	c[0] = add_empty(lane[2]);
	c[1] = add_empty(lane[2]);
	work_graph_edge(here.g, a[1], b);
	work_graph_edge(here.g, b, c[0]);
	work_graph_edge(here.g, a[0], c[0]);
	work_graph_edge(here.g, a[1], c[1]);
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 2);
	run_gated();
	close_devices();
}

/* Copies of 20000 bytes take 2 us; the end of each is known, and the time between two ends. */
static void ends_are_stamped(void)
{
	double seconds = -1;
	open_sim_model(PLAIN "copy_engines = 2\n");
	char *from = alloc_memory_on(here.set.dev[0], DEV_MEM_DEVICE, 65536),
	     *to = alloc_memory_on(here.set.dev[1], DEV_MEM_DEVICE, 65536);
	uint32_t own = open_lane(0), other = open_lane(0), copy[3];
	copy[0] = work_graph_copy(here.g, own, to, from, 20000, 0);
	uint32_t mark = work_graph_mark(here.g, own);
	copy[1] = work_graph_copy(here.g, own, to + 20480, from + 20480, 20000, 0);
	copy[2] = work_graph_copy(here.g, other, to + 40960, from + 40960, 20000, 0);
	work_graph_edge(here.g, copy[1], copy[2]);
	work_graph_stamp_end(here.g, mark);
	work_graph_stamp_end(here.g, copy[2]);
	ok(work_graph_prepare(here.g));
	expect_near(run_gated(), 6e-6, 1e-12);
	ok(work_graph_seconds(here.g, WORK_GRAPH_BEGIN, mark, &seconds));
	expect_near(seconds, 2e-6, 1e-12);
	ok(work_graph_seconds(here.g, mark, copy[2], &seconds));
	expect_near(seconds, 4e-6, 1e-12);
	expect_error(work_graph_seconds(here.g, mark, copy[0], &seconds), -EINVAL);
	expect(work_graph_host_seconds(here.g) >= 6e-6);
	uint64_t copies, bytes;
	work_graph_copied(here.g, &copies, &bytes);
	expect(copies == 3 && bytes == 60000);
	close_devices();
}

/* The device's first node is in the lane that was opened last. Calls take time, so the copy in the
 * other lane would end early if it did not wait for this run's begin event. */
static void lanes_opened_before_the_first_one_wait(void)
{
	double seconds = -1;
	open_sim_model(PLAIN "copy_engines = 2\nhost_call_ns = 1000\n");
	char *from = alloc_memory_on(here.set.dev[0], DEV_MEM_DEVICE, 40960),
	     *to = alloc_memory_on(here.set.dev[1], DEV_MEM_DEVICE, 40960);
	uint32_t second = open_lane(0), first = open_lane(0);
	work_graph_copy(here.g, first, to, from, 20000, 0);
	work_graph_stamp_end(here.g, work_graph_mark(here.g, second));
	work_graph_copy(here.g, second, from + 20480, to + 20480, 20000, 0);
	ok(work_graph_prepare(here.g));
	for (int i = 0; i < 2; i++) {
		expect_near(run_gated(), 2e-6, 1e-12);
		ok(work_graph_lane_seconds(here.g, second, &seconds));
		expect_near(seconds, 2e-6, 1e-12);
	}
	close_devices();
}

/* A signal in one lane releases a wait in another; the value can change between runs. */
static void waits_for_values_end(const char *spec)
{
	open_devices(spec);
	uint32_t *word = alloc_memory_on(here.set.dev[0], DEV_MEM_PINNED, 256), value = 7;
	float *a = alloc_floats(0, 1), *one = alloc_floats(0, 1);
	const void *const args[] = {&word, &value};
	ok(dev_post_value(here.set.dev[0], word, 0));
	uint32_t waiting = open_lane(0), signalling = open_lane(0);
	uint32_t wait = work_graph_wait_value(here.g, waiting, word, 7);
	work_graph_pass(here.g, waiting, "reduce_add", a, one, BYTES, 1);
	work_graph_kernel(here.g, signalling, "signal", 1, args);
	ok(work_graph_prepare(here.g));
	expect(run_gated() > 0);
	expect(read_value(0, a) == 2);
	work_graph_set_value(here.g, wait, 8);
	ok(work_graph_hold(here.g));
	int status = work_graph_run(here.g);
	ok(dev_post_value(here.set.dev[0], word, 8));
	double seconds;
	ok(work_graph_release(here.g, status, &seconds));
	expect(read_value(0, a) == 3);
	close_devices();
}

static void waits_for_values_end_on_the_host(void) { waits_for_values_end("host"); }
static void waits_for_values_end_on_a_simulated_device(void) { waits_for_values_end("sim"); }

/* Ten runs queued behind each other in a stream of the caller, with a fill before them and a copy
 * behind: every run starts after the one before, though only the fork's lane is the caller's. */
static void forked_runs_follow_each_other(const char *spec)
{
	struct dev_stream *own = NULL;
	open_devices(spec);
	struct dev *dev = here.set.dev[0];
	uint32_t other = (uint32_t)here.set.count - 1;
	ok(dev_stream_open(dev, dev_props(dev)->priority_normal, &own));
	float *a = alloc_floats(0, 5), *one = alloc_floats(0, 1), *b = alloc_floats(other, 9),
	      *result = alloc_floats(0, -1);
	uint32_t lane = work_lane_of(here.lanes, 0, own);
	expect(work_lane_stream(here.lanes, lane) == own);
	work_graph_fork(here.g, lane);
	uint32_t add = work_graph_pass(here.g, open_lane(0), "reduce_add", a, one, BYTES, 1);
	uint32_t there = work_graph_copy(here.g, open_lane(other), b, a, BYTES, 0);
	uint32_t twice = work_graph_pass(here.g, open_lane(0), "reduce_add", a, b, BYTES, 1);
	work_graph_edge(here.g, add, there);
	work_graph_edge(here.g, there, twice);
	work_graph_join(here.g);
	ok(work_graph_prepare(here.g));
	/* The fork's, the two of the chain, and the join's. */
	expect(work_graph_waits(here.g) == 4);
	ok(dev_fill(dev, own, a, 0, BYTES));
	float due = 0;
	for (int i = 0; i < 10; i++) {
		ok(work_graph_run(here.g));
		due = 2 * (due + 1);
	}
	ok(dev_copy(dev, own, result, a, BYTES));
	ok(dev_stream_sync(dev, own));
	expect(read_value(0, result) == due);
	work_graph_close(here.g);
	work_lanes_close(here.lanes);
	here.g = NULL;
	here.lanes = NULL;
	dev_stream_close(dev, own);
	close_devices();
}

static void forked_runs_follow_each_other_on_the_host(void)
{
	forked_runs_follow_each_other("host:0,1");
}
static void forked_runs_follow_each_other_on_simulated_devices(void)
{
	forked_runs_follow_each_other("sim:0,1");
}

/* Two graphs over the same lanes; one does not use all of them, and one lane is idle. */
static void graphs_share_lanes(void)
{
	struct work_graph *other = NULL;
	double seconds;
	open_devices("host:0,1");
	float *a = alloc_floats(0, 1), *b = alloc_floats(1, 2), *c = alloc_floats(1, 3);
	uint32_t idle = open_lane(0), first = open_lane(0), second = open_lane(1);
	ok(work_graph_open(here.lanes, &other));
	uint32_t there = work_graph_copy(here.g, first, b, a, BYTES, 0);
	work_graph_edge(here.g, there, work_graph_copy(here.g, second, c, b, BYTES, 0));
	work_graph_pass(other, second, "reduce_add", c, b, BYTES, 1);
	ok(work_graph_prepare(here.g));
	ok(work_graph_prepare(other));
	open_lane(1); /* a later lane does not affect them */
	for (int i = 0; i < 3; i++) {
		expect(run_gated() > 0);
		expect(read_value(1, c) == 1);
		ok(work_graph_hold(other));
		ok(work_graph_release(other, work_graph_run(other), &seconds));
		expect(read_value(1, c) == 2);
	}
	ok(work_graph_lane_seconds(other, second, &seconds));
	expect_error(work_graph_lane_seconds(other, first, &seconds), -ENOENT);
	expect_error(work_graph_lane_seconds(here.g, idle, &seconds), -ENOENT);
	expect(work_graph_lanes(here.g) == 3);
	work_graph_close(other);
	close_devices();
}

static void gemms_add_after_their_edges(void)
{
	open_devices("host:0,1");
	if (!dev_can(here.set.dev[0], DEV_CAP_GEMM)) {
		close_devices();
		skip("no BLAS");
	}
	struct dev_gemm gemm = PACKED_GEMM(32, 32, 32, .type = DEV_F32);
	float *a = alloc_floats(0, 2), *b = alloc_floats(0, 3), *c = alloc_floats(0, -1);
	gemm.a = a;
	gemm.b = b;
	gemm.c = c;
	uint32_t first = work_graph_gemm(here.g, open_lane(0), &gemm);
	gemm.beta = 1;
	work_graph_edge(here.g, first, work_graph_gemm(here.g, open_lane(0), &gemm));
	ok(work_graph_prepare(here.g));
	run_gated();
	expect(read_value(0, c) == 2 * 32 * 6);
	close_devices();
}

/* A held device is unfinished until it is released. */
static void unfinished_devices_are_counted(void)
{
	size_t devices = 9;
	double seconds;
	open_devices("host:0,1");
	add_empty(open_lane(0));
	add_empty(open_lane(1));
	ok(work_graph_prepare(here.g));
	expect(work_graph_devices(here.g) == 2);
	ok(work_graph_hold(here.g));
	ok(work_graph_run(here.g));
	ok(work_graph_unfinished(here.g, &devices));
	expect(devices == 2);
	ok(work_graph_release(here.g, 0, &seconds));
	close_devices();
}

/* A lane of one device is busy ten times as long as a run takes; neither device's timed part starts
 * before that ends. */
static void what_comes_before_the_beginning_is_not_timed(void)
{
	double alone, after;
	open_sim_model(PLAIN "copy_engines = 2\n");
	float *a = alloc_floats(0, 1), *b = alloc_floats(0, 2), *c = alloc_floats(1, 3),
	      *d = alloc_floats(1, 4);
	work_graph_copy(here.g, open_lane(0), b, a, BYTES, 0);
	work_graph_copy(here.g, open_lane(1), d, c, BYTES, 0);
	uint32_t busy = open_lane(1);
	work_graph_copy(here.g, busy, d, c, 256, 0);
	ok(work_graph_prepare(here.g));
	alone = run_gated();
	ok(work_graph_hold(here.g));
	ok(work_graph_run(here.g));
	for (int i = 0; i < 10; i++)
		ok(dev_copy(here.set.dev[1], work_lane_stream(here.lanes, busy), d, c, BYTES));
	ok(work_graph_begin(here.g));
	ok(work_graph_release(here.g, work_graph_run(here.g), &after));
	expect_near(after, alone, 0.01 * alone);
	expect(work_graph_host_seconds(here.g) > 10 * alone);
	close_devices();
}

int main(void)
{
	test(edges_order_on_the_host);
	test(edges_order_on_one_host_device);
	test(edges_order_on_simulated_devices);
	test(nodes_without_an_edge_run_at_once);
	test(implied_edges_cost_nothing);
	test(edges_implied_by_a_path_cost_nothing);
	test(ends_are_stamped);
	test(lanes_opened_before_the_first_one_wait);
	test(waits_for_values_end_on_the_host);
	test(waits_for_values_end_on_a_simulated_device);
	test(forked_runs_follow_each_other_on_the_host);
	test(forked_runs_follow_each_other_on_simulated_devices);
	test(graphs_share_lanes);
	test(gemms_add_after_their_edges);
	test(unfinished_devices_are_counted);
	test(what_comes_before_the_beginning_is_not_timed);
	return test_done();
}
