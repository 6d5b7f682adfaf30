/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work graphs that are wrong or that fail: the first error is reported, and nothing waits for ever.
 */
#include "tests/unit/bench/graph_scene.h"

static void bad_nodes_and_edges_are_reported(void)
{
	open_devices("sim:0,1");
	float *a = alloc_floats(0, 1);
	uint32_t l = open_lane(0);
	uint32_t first = add_empty(l), second = add_empty(l);
	work_graph_edge(here.g, second, first);
	work_graph_copy(here.g, l, a, a + 512, 100, 1); /* only the first error counts */
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "an edge from node 1 to 0") != NULL);
	close_devices();
	open_devices("sim:0,1");
	a = alloc_floats(0, 1);
	work_graph_copy(here.g, open_lane(0), a, a + 512, 100, 1);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect(strstr(err_text(), "multiple of 256") != NULL);
	close_devices();
}

static void forks_are_first_and_joins_need_them(void)
{
	open_devices("sim:0,1");
	uint32_t lane = open_lane(0);
	add_empty(lane);
	work_graph_fork(here.g, lane);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect_str(err_text(), "a fork must be the first node");
	close_devices();
	open_devices("sim:0,1");
	add_empty(open_lane(0));
	work_graph_join(here.g);
	expect_error(work_graph_prepare(here.g), -EINVAL);
	expect_str(err_text(), "a join without a fork");
	close_devices();
	expect(work_lane(NULL, 0, 0) == 0 && work_graph_mark(NULL, 0) == 0);
}

static void bad_lanes_are_reported(void)
{
	open_devices("sim:0,1");
	add_empty(0);
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
		add_empty(l);
	expect_error(work_graph_prepare(here.g), -ENOTSUP);
	close_devices();
	open_sim_model(PLAIN "max_queued = 9\n");
	l = open_lane(0);
	for (int i = 0; i < 6; i++)
		add_empty(l);
	ok(work_graph_prepare(here.g));
	run_gated();
	add_empty(l);
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
	work_graph_edge(here.g, copy, add_empty(open_lane(1)));
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
	test(bad_nodes_and_edges_are_reported);
	test(forks_are_first_and_joins_need_them);
	test(bad_lanes_are_reported);
	test(full_queues_are_reported);
	test(a_failure_is_reported_and_blocks_nothing);
	return test_done();
}
