/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy engines of the fake drivers: which copy goes next, and which streams share an engine.
 */
#include "tests/unit/bench/graph_scene.h"
#include "tests/unit/device/gpu/with_fakes.h"

enum { STREAMS = 3, LARGE = 32 << 20, SMALL = 64, TRIES = 100 };

static struct {
	struct dev *d;
	struct dev_stream *stream[STREAMS];
	struct dev_event *large_ends;
	uint32_t *to;  /* PINNED */
	char *from[2]; /* DEVICE: words of 0 and of 1 */
} on;

static void open_streams(const char *spec, bool urgent)
{
	require(dev_open(spec, 0, &here.set) == 0);
	on.d = here.set.dev[0];
	const struct dev_props *p = dev_props(on.d);
	for (int i = 0; i < STREAMS; i++)
		ok(dev_stream_open(on.d, urgent && i ? p->priority_high : p->priority_normal,
				   &on.stream[i]));
	ok(dev_event_open(on.d, &on.large_ends));
	on.to = alloc_memory_on(on.d, DEV_MEM_PINNED, LARGE);
	for (uint8_t i = 0; i < 2; i++) {
		on.from[i] = alloc_memory_on(on.d, DEV_MEM_DEVICE, LARGE);
		ok(dev_fill(on.d, on.stream[0], on.from[i], i, LARGE));
	}
	ok(dev_stream_sync(on.d, on.stream[0]));
}

static void close_streams(void)
{
	dev_close(&here.set);
	here.set.count = 0;
}

static void copy_large(void)
{
	ok(dev_copy(on.d, on.stream[0], on.to + SMALL, on.from[0], LARGE - 4 * SMALL));
	ok(dev_event_record(on.d, on.stream[0], on.large_ends));
}

static void copy_small(int stream)
{
	ok(dev_copy(on.d, on.stream[stream], on.to, on.from[stream ? 1 : 0], SMALL));
}

static bool is_large_copied(void) { return dev_event_query(on.d, on.large_ends) == 0; }

static void sync_streams(void)
{
	for (int i = 0; i < STREAMS; i++)
		ok(dev_stream_sync(on.d, on.stream[i]));
}

/* The first stream copies twice, and the second one as soon as the first copy runs. True: its copy
 * is the last, and so left its word. All is enqueued while the first copy runs, or it is done
 * again. */
static bool second_stream_is_last(bool kernel_between)
{
	static const struct dev_launch once = {.grid = 1};
	struct dev_kernel *empty;
	bool in_time = false;
	ok(dev_kernel_find(on.d, "empty", &empty));
	for (int i = 0; i < TRIES && !in_time; i++) {
		copy_large();
		if (kernel_between)
			ok(dev_launch(on.d, on.stream[0], empty, &once));
		copy_small(0);
		copy_small(1);
		in_time = !is_large_copied();
		sync_streams();
	}
	require(in_time);
	return on.to[0] != 0;
}

static void cuda_engines_stay_with_a_stream(void)
{
	for (int urgent = 0; urgent < 2; urgent++) {
		open_streams("cuda:0", urgent);
		expect(second_stream_is_last(false));
		/* While the kernel runs no copy of the first stream is ready. */
		expect(!second_stream_is_last(true));
		close_streams();
	}
}

/* Two streams have an engine each; the third one, that of its direction. */
static void hip_streams_have_engines_of_their_own(void)
{
	bool passed = false;
	open_streams("hip:0", false);
	copy_small(1); /* takes the first engine; copies down of others take the second */
	ok(dev_stream_sync(on.d, on.stream[1]));
	for (int i = 0; i < TRIES && !passed; i++) {
		copy_large();
		copy_small(1);
		ok(dev_stream_sync(on.d, on.stream[1]));
		passed = !is_large_copied();
		sync_streams();
	}
	expect(passed);
	copy_large();
	copy_small(2);
	ok(dev_stream_sync(on.d, on.stream[2]));
	expect(is_large_copied());
	close_streams();
}

/* On the fake CUDA driver a direction has one. */
static void cuda_streams_share_the_engine_of_a_direction(void)
{
	open_streams("cuda:0", false);
	copy_large();
	copy_small(1);
	ok(dev_stream_sync(on.d, on.stream[1]));
	expect(is_large_copied());
	close_streams();
}

int main(int argc, char **argv)
{
	alarm(TEST_HANGS_S);
	require(start_with_fakes(argv) == 0);
	test(cuda_engines_stay_with_a_stream);
	test(cuda_streams_share_the_engine_of_a_direction);
	test(hip_streams_have_engines_of_their_own);
	return test_done();
}
