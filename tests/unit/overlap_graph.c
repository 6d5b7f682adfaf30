/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The executor of overlap/: what an edge orders stays ordered, what none orders runs at once, over lanes and devices, run after
 * run; what goes wrong is said and hangs nobody.
 */
#include "device/kernels.h"
#include "overlap/graph/work_graph.h"
#include "tests/unit/sim.h"

enum { FLOATS = 1024, BYTES = FLOATS * sizeof(float) };

static struct {
	struct dev_set set;
	struct work_lanes *lanes;
	struct work_graph *g;
} here;

static void begin(const char *spec)
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

static void begin_plain(const char *model)
{
	ok(sim_try(model, ":0,1"));
	here.set = sim.set;
	sim.set.count = 0;
	ok(dev_peer_enable(here.set.dev[0], here.set.dev[1]));
	ok(work_lanes_open(here.set.dev, here.set.count, &here.lanes));
	ok(work_graph_open(here.lanes, &here.g));
}

static void end(void)
{
	work_graph_close(here.g);
	work_lanes_close(here.lanes);
	here.g = NULL;
	here.lanes = NULL;
	dev_close(&here.set);
	here.set.count = 0;
}

static uint32_t lane(uint32_t device) { return work_lane(here.lanes, device, dev_props(here.set.dev[device])->priority_normal); }

static float *floats(uint32_t device, float value)
{
	float *memory = get_on(here.set.dev[device], DEV_MEM_DEVICE, BYTES), filled[FLOATS];
	for (int i = 0; i < FLOATS; i++)
		filled[i] = value;
	ok(dev_upload(here.set.dev[device], memory, filled, BYTES));
	return memory;
}

static float at(uint32_t device, const float *memory)
{
	float found[FLOATS];
	ok(dev_download(here.set.dev[device], found, memory, BYTES));
	for (int i = 1; i < FLOATS; i++)
		expect(found[i] == found[0]);
	return found[0];
}

static double run(void)
{
	double seconds = -1;
	ok(work_graph_hold(here.g));
	ok(work_graph_release(here.g, work_graph_run(here.g), &seconds));
	return seconds;
}

/* a += one; b := a on the other device; c := b by a kernel; c += b; a := c: doubles after adding one. Every node in a lane of its
 * own, so that edges alone hold them together. */
static void edges_order(const char *spec)
{
	begin(spec);
	uint32_t other = (uint32_t)here.set.count - 1;
	float *a = floats(0, 1), *one = floats(0, 1), *b = floats(other, -1), *c = floats(0, -1);
	uint32_t node[5] = {work_graph_add(here.g, lane(0), a, one, BYTES, 2)};
	node[1] = work_graph_copy(here.g, lane(0), b, a, BYTES, 0);
	node[2] = work_graph_copy(here.g, lane(other), c, b, BYTES, 1);
	node[3] = work_graph_add(here.g, lane(other), c, b, BYTES, 1);
	node[4] = work_graph_copy(here.g, lane(other), a, c, BYTES, 0);
	for (int i = 1; i < 5; i++)
		work_graph_edge(here.g, node[i - 1], node[i]);
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 4);
	float due = 1;
	for (int i = 0; i < 10; i++) {
		expect(run() > 0);
		due = 2 * (due + 1);
		expect(at(0, a) == due);
		/* Also without a gate. */
		ok(work_graph_sync(here.g, work_graph_run(here.g)));
		due = 2 * (due + 1);
		expect(at(0, a) == due);
	}
	end();
}

static void edges_order_on_the_host(void) { edges_order("host:0,1"); }
static void edges_order_on_one_host_device(void) { edges_order("host"); }
static void edges_order_on_simulated_devices(void) { edges_order("sim:0,1"); }

/* Copies of 20000 bytes between peers take 1000 + 1000 ns: in one lane they follow each other, in two they run at once (two
 * engines, and the link's directions are apart), and with an edge they don't. */
static double two_copies(bool one_lane, bool edge)
{
	double seconds, stamped;
	begin_plain(PLAIN "copy_engines = 2\n");
	char *from = get_on(here.set.dev[0], DEV_MEM_DEVICE, 40960), *to = get_on(here.set.dev[1], DEV_MEM_DEVICE, 40960);
	uint32_t first = lane(0), second = one_lane ? first : lane(1);
	uint32_t there = work_graph_copy(here.g, first, to, from, 20000, 0);
	uint32_t back = work_graph_copy(here.g, second, from + 20480, to + 20480, 20000, 0);
	if (edge)
		work_graph_edge(here.g, there, back);
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == (edge && !one_lane));
	seconds = run();
	ok(work_graph_lane_seconds(here.g, first, &stamped));
	expect_near(stamped, one_lane ? 4e-6 : 2e-6, 1e-12);
	end();
	return seconds;
}

static void what_no_edge_orders_runs_at_once(void)
{
	expect_near(two_copies(true, false), 4e-6, 1e-12);
	expect_near(two_copies(true, true), 4e-6, 1e-12);
	expect_near(two_copies(false, true), 4e-6, 1e-12);
	expect_near(two_copies(false, false), 2e-6, 1e-12);
}

static void implied_edges_cost_nothing(void)
{
	begin("sim:0,1");
	uint32_t first = lane(0), second = lane(1), from[3], to[3];
	for (int i = 0; i < 3; i++)
		from[i] = work_graph_empty(here.g, first);
	for (int i = 0; i < 3; i++)
		to[i] = work_graph_empty(here.g, second);
	work_graph_edge(here.g, from[0], to[0]);
	work_graph_edge(here.g, from[2], to[1]);
	work_graph_edge(here.g, from[0], to[1]); /* since the one before */
	work_graph_edge(here.g, from[1], to[2]); /* since from[2] was waited for */
	work_graph_edge(here.g, to[0], to[2]);   /* since they share a lane */
	work_graph_edge(here.g, from[2], to[1]); /* twice */
	ok(work_graph_prepare(here.g));
	expect(work_graph_waits(here.g) == 2);
	/* A gate and two stamps, three nodes, and two records or waits. */
	expect(work_graph_most_queued(here.g) == 3 + 3 + 2);
	run();
	end();
}

/* Two graphs over the same lanes, one of which leaves a lane alone; another lane is nobody's. */
static void graphs_share_lanes(void)
{
	struct work_graph *other = NULL;
	double seconds;
	begin("host:0,1");
	float *a = floats(0, 1), *b = floats(1, 2), *c = floats(1, 3);
	uint32_t idle = lane(0), first = lane(0), second = lane(1);
	ok(work_graph_open(here.lanes, &other));
	uint32_t there = work_graph_copy(here.g, first, b, a, BYTES, 0);
	work_graph_edge(here.g, there, work_graph_copy(here.g, second, c, b, BYTES, 0));
	work_graph_add(other, second, c, b, BYTES, 1);
	ok(work_graph_prepare(here.g));
	ok(work_graph_prepare(other));
	lane(1); /* one more doesn't concern them */
	for (int i = 0; i < 3; i++) {
		expect(run() > 0);
		expect(at(1, c) == 1);
		ok(work_graph_hold(other));
		ok(work_graph_release(other, work_graph_run(other), &seconds));
		expect(at(1, c) == 2);
	}
	ok(work_graph_lane_seconds(other, second, &seconds));
	expect_error(work_graph_lane_seconds(other, first, &seconds), -ENOENT);
	expect_error(work_graph_lane_seconds(here.g, idle, &seconds), -ENOENT);
	expect(work_graph_lanes(here.g) == 3);
	work_graph_close(other);
	end();
}

static void products_add_over_their_edges(void)
{
	begin("host:0,1");
	if (!dev_can(here.set.dev[0], DEV_CAP_GEMM)) {
		end();
		skip("no BLAS");
	}
	struct dev_gemm gemm = {.type = DEV_F32, .m = 32, .n = 32, .k = 32, .alpha = 1, .lda = 32, .ldb = 32, .ldc = 32};
	float *a = floats(0, 2), *b = floats(0, 3), *c = floats(0, -1);
	gemm.a = a;
	gemm.b = b;
	gemm.c = c;
	uint32_t first = work_graph_gemm(here.g, lane(0), &gemm);
	gemm.beta = 1;
	work_graph_edge(here.g, first, work_graph_gemm(here.g, lane(0), &gemm));
	ok(work_graph_prepare(here.g));
	run();
	expect(at(0, c) == 2 * 32 * 6);
	end();
}

static void mistakes_are_said(void)
{
	begin("sim:0,1");
	float *a = floats(0, 1);
	uint32_t l = lane(0);
	uint32_t first = work_graph_empty(here.g, l), second = work_graph_empty(here.g, l);
	work_graph_edge(here.g, second, first);
	work_graph_copy(here.g, l, a, a + 512, 100, 1); /* only the first mistake counts */
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "an edge from node 1 to 0") != NULL);
	end();
	begin("sim:0,1");
	work_graph_empty(here.g, 0);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect_str(err_text(), "a node in lane 0: there are 0");
	work_graph_close(here.g);
	work_lane(here.lanes, 2, 0);
	lane(0);
	expect_error(work_graph_open(here.lanes, &here.g), -EINVAL);
	expect_str(err_text(), "a lane of device 2: there are 2");
	here.g = NULL;
	end();
	begin("sim:0,1");
	a = floats(0, 1);
	work_graph_copy(here.g, lane(0), a, a + 512, 100, 1);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "multiples of 256") != NULL);
	end();
	begin_plain(PLAIN "max_queued = 8\n");
	l = lane(0);
	for (int i = 0; i < 6; i++)
		work_graph_empty(here.g, l);
	expect_error(work_graph_prepare(here.g), -ENOTSUP);
	end();
	begin_plain(PLAIN "max_queued = 9\n");
	l = lane(0);
	for (int i = 0; i < 6; i++)
		work_graph_empty(here.g, l);
	ok(work_graph_prepare(here.g));
	run();
	work_graph_empty(here.g, l);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	end();
	ok(sim_try(PLAIN "lacks = wait_value\n", ":0,1"));
	expect_error(work_lanes_open(sim.set.dev, 2, &here.lanes), -ENOTSUP);
	dev_close(&sim.set);
}

static void a_failure_is_reported_and_hangs_nobody(void)
{
	double seconds = -1;
	begin_plain(PLAIN "fail_copy_at = 1\n");
	char *from = get_on(here.set.dev[0], DEV_MEM_DEVICE, BYTES), *to = get_on(here.set.dev[1], DEV_MEM_DEVICE, BYTES);
	uint32_t copy = work_graph_copy(here.g, lane(0), to, from, BYTES, 0);
	work_graph_edge(here.g, copy, work_graph_empty(here.g, lane(1)));
	ok(work_graph_prepare(here.g));
	ok(work_graph_hold(here.g));
	expect_error(work_graph_release(here.g, work_graph_run(here.g), &seconds), -EIO);
	expect(seconds == -1);
	/* A run that was not even enqueued lets the lanes go too. */
	ok(work_graph_hold(here.g));
	expect_error(work_graph_release(here.g, err_note(-EPROTO, "told so"), &seconds), -EPROTO);
	expect_str(err_text(), "told so");
	expect(run() > 0);
	end();
}

int main(void)
{
	test(edges_order_on_the_host);
	test(edges_order_on_one_host_device);
	test(edges_order_on_simulated_devices);
	test(what_no_edge_orders_runs_at_once);
	test(implied_edges_cost_nothing);
	test(graphs_share_lanes);
	test(products_add_over_their_edges);
	test(mistakes_are_said);
	test(a_failure_is_reported_and_hangs_nobody);
	return test_done();
}
