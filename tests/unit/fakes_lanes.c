/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes on a fake GPU that begin as if nothing had run in them before.
 */
#include "tests/unit/graph_scene.h"
#include "tests/unit/with_fakes.h"

/* A kernel, and a copy up behind it in the same lane. */
static void run_serial(uint32_t lane, float *to, const float *from)
{
	add_empty(lane);
	work_graph_copy(here.g, lane, to, from, BYTES, 0);
	ok(work_graph_prepare(here.g));
	expect(run_gated() > 0);
	work_graph_close(here.g);
	ok(work_graph_open(here.lanes, &here.g));
}

/* The copy of another lane waits for a signal of this one, which begins with an event: it would be
 * behind that copy if it followed this lane's own copy of the run before. */
static void an_event_does_not_follow_a_copy_of_another_lane(void)
{
	const uint32_t value = 1;
	open_devices("cuda:0");
	uint32_t *word = alloc_memory_on(here.set.dev[0], DEV_MEM_PINNED, 256);
	*word = 0;
	float *from = alloc_memory_on(here.set.dev[0], DEV_MEM_PINNED, BYTES),
	      *to = alloc_floats(0, 0);
	const void *const args[] = {&word, &value};
	uint32_t compute = open_lane(0), traffic = open_lane(0);
	run_serial(compute, to, from);
	work_graph_wait_value(here.g, traffic, word, value);
	work_graph_copy(here.g, traffic, to, from, BYTES, 0);
	work_graph_stamp_end(here.g, work_graph_mark(here.g, compute));
	work_graph_kernel(here.g, compute, "signal", 1, args);
	ok(work_graph_prepare(here.g));
	expect(run_gated() > 0);
	close_devices();
}

int main(int argc, char **argv)
{
	(void)argc;
	alarm(TEST_HANGS_S);
	require(start_with_fakes(argv) == 0);
	test(an_event_does_not_follow_a_copy_of_another_lane);
	return test_done();
}
