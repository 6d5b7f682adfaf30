/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives behind a gate, on fakes of the vendors' libraries (tests/fakes) that connect the
 * devices at the first use of each algorithm, as NCCL does: that use waits for the gate, which ends
 * by its watchdog, and no other one does.
 */
#include "bench/bench_gate.h"
#include "bench/graph/work_graph.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"

#include <errno.h>
#include <unistd.h>

enum { DEVICES = 2, LARGE = 1 << 18, GATE_NS = 2000000000 };

static struct {
	struct dev_set set;
	struct dev_comm *comm;
	struct dev_stream *stream[DEVICES];
	float *from[DEVICES], *to[DEVICES]; /* DEVICES parts of LARGE floats each */
} here;

static void open_devices(const char *spec)
{
	ok(dev_open(spec, DEV_CAP_COLLECTIVES | DEV_CHECKED, &here.set));
	ok(dev_peer_enable(here.set.dev[0], here.set.dev[1]));
	ok(dev_comm_find(&here.set, DEV_COMM_DEFAULT, &here.comm));
	for (int d = 0; d < DEVICES; d++) {
		struct dev *dev = here.set.dev[d];
		const uint64_t bytes = sizeof(float) * DEVICES * LARGE;
		void *from, *to;
		ok(dev_stream_open(dev, dev_props(dev)->priority_normal, &here.stream[d]));
		ok(dev_alloc(dev, DEV_MEM_DEVICE, bytes, &from));
		ok(dev_alloc(dev, DEV_MEM_DEVICE, bytes, &to));
		here.from[d] = from;
		here.to[d] = to;
	}
}

/* Returns what releasing the gate does. */
static int run_gated(struct gate *gate, enum dev_collective what, uint64_t count)
{
	for (int d = 0; d < DEVICES; d++)
		ok(gate_shut(gate, here.set.dev[d], here.stream[d]));
	ok(dev_collective(here.comm, what, here.stream, here.from, here.to, count));
	const int status = gate_release(gate);
	for (int d = 0; d < DEVICES; d++)
		ok(dev_stream_sync(here.set.dev[d], here.stream[d]));
	return status;
}

/* A ring serves all but small all-reduces, and sends and receives. */
static void the_first_use_of_an_algorithm_waits(const char *spec)
{
	struct gate *gate = NULL;
	open_devices(spec);
	ok(gate_open(here.set.dev[0], GATE_NS, &gate));
	expect(run_gated(gate, DEV_ALLREDUCE, 8) == -ETIMEDOUT);
	expect(run_gated(gate, DEV_ALLREDUCE, 16) == 0);
	expect(run_gated(gate, DEV_ALLREDUCE, LARGE) == -ETIMEDOUT);
	expect(run_gated(gate, DEV_REDUCE_SCATTER, LARGE) == 0);
	expect(run_gated(gate, DEV_ALLGATHER, 8) == 0);
	expect(run_gated(gate, DEV_ALL_TO_ALL, 8) == -ETIMEDOUT);
	expect(run_gated(gate, DEV_ALL_TO_ALL, LARGE) == 0);
	gate_close(gate);
	dev_close(&here.set);
}

static void the_first_use_of_an_algorithm_waits_cuda(void)
{
	the_first_use_of_an_algorithm_waits("cuda:0,1");
}

static void the_first_use_of_an_algorithm_waits_hip(void)
{
	the_first_use_of_an_algorithm_waits("hip:0,1");
}

static void time_graph(struct work_lanes *lanes, enum dev_collective what, uint64_t count)
{
	const uint32_t lane[DEVICES] = {work_lane_normal(lanes, 0), work_lane_normal(lanes, 1)};
	struct work_graph *g = NULL;
	double seconds = 0;
	ok(work_graph_open(lanes, &g));
	work_graph_collective(g, here.comm, what, lane, here.from, here.to, count);
	ok(work_graph_prepare(g));
	ok(work_graph_time(g, &seconds));
	expect(seconds > 0);
	work_graph_close(g);
}

static void a_prepared_graph_waits_for_nothing(void)
{
	struct work_lanes *lanes = NULL;
	open_devices("cuda:0,1");
	ok(work_lanes_open(here.set.dev, DEVICES, &lanes));
	for (int what = 0; what < DEV_COLLECTIVES; what++) {
		time_graph(lanes, (enum dev_collective)what, 8);
		time_graph(lanes, (enum dev_collective)what, LARGE);
	}
	expect(gate_overdue() == 0);
	work_lanes_close(lanes);
	dev_close(&here.set);
}

/* The second opening would fail. */
static void a_set_opens_the_library_once(void)
{
	setenv("FAKE_FAIL", "ncclCommInitAll:2=1", 1);
	open_devices("cuda:0,1");
	ok(dev_comm_find(&here.set, DEV_COMM_DEFAULT, &here.comm));
	dev_close(&here.set);
	unsetenv("FAKE_FAIL");
}

/* The library's words stay, without it being asked again. */
static void a_library_that_fails_is_not_opened_again(void)
{
	struct dev_comm *comm = NULL;
	setenv("FAKE_FAIL", "ncclCommInitAll:1=1", 1);
	ok(dev_open("cuda:0,1", DEV_CAP_COLLECTIVES, &here.set));
	for (int i = 0; i < 2; i++) {
		err_clear();
		expect(dev_comm_find(&here.set, DEV_COMM_DEFAULT, &comm) == -ENOTSUP && !comm);
		expect_str(err_text(), "ncclCommInitAll: unhandled cuda error");
	}
	dev_close(&here.set);
	unsetenv("FAKE_FAIL");
}

/* One device has begun its part, in which it waits for the other's. */
static void a_collective_that_fails_is_given_up(void)
{
	const uint64_t start = clock_ns();
	open_devices("cuda:0,1");
	setenv("FAKE_FAIL", "ncclLaunchKernel:2=3", 1);
	expect(dev_collective(here.comm, DEV_ALLREDUCE, here.stream, here.from, here.to, 8) ==
	       -ENOTSUP);
	expect_str(err_text(), "ncclGroupEnd: internal error");
	unsetenv("FAKE_FAIL");
	expect(dev_collective(here.comm, DEV_ALLREDUCE, here.stream, here.from, here.to, 8) ==
	       -ENOTSUP);
	expect_str(err_text(), "ncclGroupEnd: internal error");
	for (int d = 0; d < DEVICES; d++) {
		ok(dev_fill(here.set.dev[d], here.stream[d], here.to[d], 1, 8));
		ok(dev_stream_sync(here.set.dev[d], here.stream[d]));
	}
	expect(clock_ns() - start < 8000000000u); /* the block itself gives up after 10 s */
	dev_close(&here.set);
}

/* A value that nobody writes holds up one device; the other waits for it in its kernel. */
static void a_collective_without_end_is_closed(void)
{
	void *at;
	open_devices("cuda:0,1");
	ok(dev_collective(here.comm, DEV_ALLREDUCE, here.stream, here.from, here.to, 8));
	for (int d = 0; d < DEVICES; d++)
		ok(dev_stream_sync(here.set.dev[d], here.stream[d]));
	ok(dev_alloc(here.set.dev[0], DEV_MEM_PINNED, 256, &at));
	*(uint32_t *)at = 0;
	ok(dev_wait_value(here.set.dev[0], here.stream[0], at, 1));
	ok(dev_collective(here.comm, DEV_ALLREDUCE, here.stream, here.from, here.to, 8));
	dev_close(&here.set);
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(a_prepared_graph_waits_for_nothing); /* before a gate is overdue */
	test(the_first_use_of_an_algorithm_waits_cuda);
	test(the_first_use_of_an_algorithm_waits_hip);
	test(a_set_opens_the_library_once);
	test(a_library_that_fails_is_not_opened_again);
	test(a_collective_that_fails_is_given_up);
	test(a_collective_without_end_is_closed);
	return test_done();
}
