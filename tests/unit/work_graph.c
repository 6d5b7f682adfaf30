/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The executor of overlap/: an edge keeps its order, nodes without an edge run at once, over lanes
 * and devices, run after run; errors are reported and block nothing for ever.
 */
#include "bench/work_graph.h"
#include "device/kernels.h"
#include "tests/unit/sim.h"

enum { FLOATS = 1024, BYTES = FLOATS * sizeof(float) };

static struct {
	struct dev_set set;
	struct work_lanes *lanes;
	struct work_graph *g;
} here;

static void open_devices(const char *spec)
{
	int status = dev_open(spec, DEV_CAP_GEMM, &here.set);
	if (status)
		printf("# %s: %s\n", spec, err_text());
	require(status == 0);
	for (size_t i = 1; i < here.set.count; i++)
		for (size_t k = 0; k < i; k++)
			ok(dev_peer_enable(here.set.dev[i], here.set.dev[k]));
	ok(work_lanes_open(here.set.dev, here.set.count, &here.lanes));
	ok(work_graph_open(here.lanes, &here.g));
}

static void open_sim_model(const char *model)
{
	ok(sim_try(model, ":0,1"));
	here.set = sim.set;
	sim.set.count = 0;
	ok(dev_peer_enable(here.set.dev[0], here.set.dev[1]));
	ok(work_lanes_open(here.set.dev, here.set.count, &here.lanes));
	ok(work_graph_open(here.lanes, &here.g));
}

static void close_devices(void)
{
	work_graph_close(here.g);
	work_lanes_close(here.lanes);
	here.g = NULL;
	here.lanes = NULL;
	dev_close(&here.set);
	here.set.count = 0;
}

static uint32_t open_lane(uint32_t device)
{
	return work_lane(here.lanes, device, dev_props(here.set.dev[device])->priority_normal);
}

static float *alloc_floats(uint32_t device, float value)
{
	float *memory = alloc_memory_on(here.set.dev[device], DEV_MEM_DEVICE, BYTES),
	      filled[FLOATS];
	for (int i = 0; i < FLOATS; i++)
		filled[i] = value;
	ok(dev_upload(here.set.dev[device], memory, filled, BYTES));
	return memory;
}

static float read_value(uint32_t device, const float *memory)
{
	float found[FLOATS];
	ok(dev_download(here.set.dev[device], found, memory, BYTES));
	for (int i = 1; i < FLOATS; i++)
		expect(found[i] == found[0]);
	return found[0];
}

static double run_gated(void)
{
	double seconds = -1;
	ok(work_graph_hold(here.g));
	ok(work_graph_release(here.g, work_graph_run(here.g), &seconds));
	return seconds;
}

/* a += one; b := a on the other device; c := b by a kernel; c += b; a := c. This adds one and then
 * doubles. Every node is in a lane of its own, so that only edges order them. */
static void edges_order(const char *spec)
{
	open_devices(spec);
	uint32_t other = (uint32_t)here.set.count - 1;
	float *a = alloc_floats(0, 1), *one = alloc_floats(0, 1), *b = alloc_floats(other, -1),
	      *c = alloc_floats(0, -1);
	uint32_t node[5] = {work_graph_add(here.g, open_lane(0), a, one, BYTES, 2)};
	node[1] = work_graph_copy(here.g, open_lane(0), b, a, BYTES, 0);
	node[2] = work_graph_copy(here.g, open_lane(other), c, b, BYTES, 1);
	node[3] = work_graph_add(here.g, open_lane(other), c, b, BYTES, 1);
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
		from[i] = work_graph_empty(here.g, first);
	for (int i = 0; i < 3; i++)
		to[i] = work_graph_empty(here.g, second);
	work_graph_edge(here.g, from[0], to[0]);
	work_graph_edge(here.g, from[2], to[1]);
	work_graph_edge(here.g, from[0], to[1]); /* implied by the edge before */
	work_graph_edge(here.g, from[1], to[2]); /* to[1] has waited for from[2] */
	work_graph_edge(here.g, to[0], to[2]);   /* same lane */
	work_graph_edge(here.g, from[2], to[1]); /* a duplicate */
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 2);
	/* The gate and two events, three nodes, and two records or waits. */
	expect(work_graph_max_queued(here.g) == 3 + 3 + 2);
	run_gated();
	close_devices();
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
	work_graph_add(other, second, c, b, BYTES, 1);
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
	struct dev_gemm gemm = {.type = DEV_F32,
				.m = 32,
				.n = 32,
				.k = 32,
				.alpha = 1,
				.lda = 32,
				.ldb = 32,
				.ldc = 32};
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

static void bad_nodes_and_edges_are_reported(void)
{
	open_devices("sim:0,1");
	float *a = alloc_floats(0, 1);
	uint32_t l = open_lane(0);
	uint32_t first = work_graph_empty(here.g, l), second = work_graph_empty(here.g, l);
	work_graph_edge(here.g, second, first);
	work_graph_copy(here.g, l, a, a + 512, 100, 1); /* only the first error counts */
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "an edge from node 1 to 0") != NULL);
	close_devices();
	open_devices("sim:0,1");
	a = alloc_floats(0, 1);
	work_graph_copy(here.g, open_lane(0), a, a + 512, 100, 1);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "multiples of 256") != NULL);
	close_devices();
}

static void bad_lanes_are_reported(void)
{
	open_devices("sim:0,1");
	work_graph_empty(here.g, 0);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect_str(err_text(), "a node in lane 0 of 0");
	work_graph_close(here.g);
	work_lane(here.lanes, 2, 0);
	open_lane(0);
	expect_error(work_graph_open(here.lanes, &here.g), -EINVAL);
	expect_str(err_text(), "a lane of device 2 of 2");
	here.g = NULL;
	close_devices();
	ok(sim_try(PLAIN "lacks = wait_value\n", ":0,1"));
	expect_error(work_lanes_open(sim.set.dev, 2, &here.lanes), -ENOTSUP);
	dev_close(&sim.set);
}

static void full_queues_are_reported(void)
{
	open_sim_model(PLAIN "max_queued = 8\n");
	uint32_t l = open_lane(0);
	for (int i = 0; i < 6; i++)
		work_graph_empty(here.g, l);
	expect_error(work_graph_prepare(here.g), -ENOTSUP);
	close_devices();
	open_sim_model(PLAIN "max_queued = 9\n");
	l = open_lane(0);
	for (int i = 0; i < 6; i++)
		work_graph_empty(here.g, l);
	ok(work_graph_prepare(here.g));
	run_gated();
	work_graph_empty(here.g, l);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	close_devices();
}

static void a_failure_is_reported_and_blocks_nothing(void)
{
	double seconds = -1;
	open_sim_model(PLAIN "fail_copy_at = 1\n");
	char *from = alloc_memory_on(here.set.dev[0], DEV_MEM_DEVICE, BYTES),
	     *to = alloc_memory_on(here.set.dev[1], DEV_MEM_DEVICE, BYTES);
	uint32_t copy = work_graph_copy(here.g, open_lane(0), to, from, BYTES, 0);
	work_graph_edge(here.g, copy, work_graph_empty(here.g, open_lane(1)));
	ok(work_graph_prepare(here.g));
	ok(work_graph_hold(here.g));
	expect_error(work_graph_release(here.g, work_graph_run(here.g), &seconds), -EIO);
	expect(seconds == -1);
	/* release also opens the gate when nothing was enqueued. */
	ok(work_graph_hold(here.g));
	expect_error(work_graph_release(here.g, err_note(-EPROTO, "not enqueued"), &seconds),
		     -EPROTO);
	expect_str(err_text(), "not enqueued");
	expect(run_gated() > 0);
	close_devices();
}

int main(void)
{
	test(edges_order_on_the_host);
	test(edges_order_on_one_host_device);
	test(edges_order_on_simulated_devices);
	test(nodes_without_an_edge_run_at_once);
	test(implied_edges_cost_nothing);
	test(graphs_share_lanes);
	test(gemms_add_after_their_edges);
	test(bad_nodes_and_edges_are_reported);
	test(bad_lanes_are_reported);
	test(full_queues_are_reported);
	test(a_failure_is_reported_and_blocks_nothing);
	return test_done();
}
