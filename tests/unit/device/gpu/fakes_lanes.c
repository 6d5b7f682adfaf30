/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes on a fake GPU that begin as if nothing had run in them before.
 */
#include "tests/unit/bench/graph_scene.h"
#include "tests/unit/device/gpu/with_fakes.h"

static struct {
	uint32_t *word;
	float *from, *to;
} on;

static void open_scene(void)
{
	open_devices("cuda:0");
	on.word = alloc_memory_on(here.set.dev[0], DEV_MEM_PINNED, 256);
	*on.word = 0;
	on.from = alloc_memory_on(here.set.dev[0], DEV_MEM_PINNED, BYTES);
	on.to = alloc_floats(0, 0);
}

/* `traffic` copies once `compute` signals, whose event before that would be behind the copy if it
 * followed the last copy of `compute`. */
static void signal_behind_an_event(uint32_t compute, uint32_t traffic)
{
	const uint32_t value = 1;
	const void *const args[] = {&on.word, &value};
	work_graph_wait_value(here.g, traffic, on.word, value);
	work_graph_copy(here.g, traffic, on.to, on.from, BYTES, 0);
	work_graph_stamp_end(here.g, work_graph_mark(here.g, compute));
	work_graph_kernel(here.g, compute, "signal", 1, args);
	ok(work_graph_prepare(here.g));
	expect(run_gated() > 0);
	close_devices();
}

static void an_event_does_not_follow_a_copy_of_the_run_before(void)
{
	open_scene();
	uint32_t compute = open_lane(0), traffic = open_lane(0);
	add_empty(compute);
	work_graph_copy(here.g, compute, on.to, on.from, BYTES, 0);
	ok(work_graph_prepare(here.g));
	expect(run_gated() > 0);
	work_graph_close(here.g);
	ok(work_graph_open(here.lanes, &here.g));
	signal_behind_an_event(compute, traffic);
}

static void an_event_does_not_follow_a_copy_of_the_caller(void)
{
	struct dev_stream *stream = NULL;
	open_scene();
	struct dev *d = here.set.dev[0];
	ok(dev_stream_open(d, dev_props(d)->priority_normal, &stream));
	ok(dev_copy(d, stream, on.to, on.from, BYTES));
	ok(dev_stream_sync(d, stream));
	signal_behind_an_event(work_lane_of(here.lanes, 0, stream), open_lane(0));
}

int main(int argc, char **argv)
{
	alarm(TEST_HANGS_S);
	require(start_with_fakes(argv) == 0);
	test(an_event_does_not_follow_a_copy_of_the_run_before);
	test(an_event_does_not_follow_a_copy_of_the_caller);
	return test_done();
}
