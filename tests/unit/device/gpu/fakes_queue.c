/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events, values, graphs and faults of the fake CUDA driver (tests/fakes).
 */
#include "tests/unit/device/gpu/fakes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* ------------------------------------------------------------------ streams, events, values,
 * graphs */

static void events_have_states(void)
{
	void *from, *to, *untimed;
	uint32_t *flag = alloc_pinned(4);
	float ms = -1;
	ok(api.cuEventCreate(&from, 0));
	ok(api.cuEventCreate(&to, 0));
	ok(api.cuEventCreate(&untimed, 2));
	gives(api.cuEventQuery(from), 0);
	gives(api.cuEventElapsedTime(&ms, from, to), 400);
	ok(api.cuEventRecord(from, on.stream));
	ok(api.cuEventRecord(untimed, on.stream));
	ok(api.cuStreamWaitValue32_v2(on.stream, flag, 5, 0));
	ok(api.cuEventRecord(to, on.stream));
	gives(api.cuEventQuery(to), 600);
	gives(api.cuStreamQuery(on.stream), 600);
	gives(api.cuEventElapsedTime(&ms, from, to), 600);
	gives(api.cuEventElapsedTime(&ms, untimed, from), 400);
	__atomic_store_n(flag, 6, __ATOMIC_RELEASE);
	ok(api.cuEventSynchronize(to));
	gives(api.cuEventElapsedTime(&ms, from, to), 0);
	expect(ms > 0);
	ok(api.cuEventDestroy_v2(from));
	ok(api.cuEventDestroy_v2(to));
	ok(api.cuEventDestroy_v2(untimed));
	gives(api.cuEventDestroy_v2(to), 400);
	ok(api.cuMemFreeHost(flag));
}

static void a_busy_stream_may_be_destroyed(void)
{
	void *busy, *done;
	uint32_t *flag = alloc_pinned(8);
	ok(api.cuStreamCreateWithPriority(&busy, 1, -5));
	ok(api.cuEventCreate(&done, 0));
	ok(api.cuStreamWaitValue32_v2(busy, flag, 1, 0));
	ok(api.cuStreamWriteValue32_v2(busy, flag + 1, 77, 0));
	ok(api.cuEventRecord(done, busy));
	ok(api.cuStreamDestroy_v2(busy));
	gives(api.cuStreamSynchronize(busy), 400);
	expect(__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE) == 0);
	ok(api.cuStreamWriteValue32_v2(on.stream, flag, 1, 0));
	ok(api.cuEventSynchronize(done));
	expect(__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE) == 77);
	ok(api.cuEventDestroy_v2(done));
	ok(api.cuMemFreeHost(flag));
}

/* There are two queues, so the third stream has that of the first, and waits with it; but a stream
 * whose own work is done is idle, whatever follows it in its queue. Other priorities have others.
 */
static void streams_share_queues(void)
{
	void *stream[3], *other;
	uint32_t *flag = alloc_pinned(16);
	for (int i = 0; i < 3; i++)
		ok(api.cuStreamCreateWithPriority(&stream[i], 1, -5));
	ok(api.cuStreamCreateWithPriority(&other, 1, 0));
	ok(api.cuStreamWriteValue32_v2(stream[2], flag + 3, 7, 0));
	ok(api.cuStreamSynchronize(stream[2]));
	ok(api.cuStreamWaitValue32_v2(stream[0], flag, 1, 0));
	gives(api.cuStreamQuery(stream[0]), 600);
	gives(api.cuStreamQuery(stream[2]), 0);
	ok(api.cuStreamSynchronize(stream[2]));
	for (int i = 1; i < 3; i++)
		ok(api.cuStreamWriteValue32_v2(stream[i], flag + i, 7, 0));
	ok(api.cuStreamWriteValue32_v2(other, flag + 3, 8, 0));
	ok(api.cuStreamSynchronize(stream[1]));
	ok(api.cuStreamSynchronize(other));
	usleep(20000);
	expect(__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE) == 7);
	expect(__atomic_load_n(flag + 2, __ATOMIC_ACQUIRE) == 0);
	gives(api.cuStreamQuery(stream[2]), 600);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	ok(api.cuStreamSynchronize(stream[2]));
	expect(__atomic_load_n(flag + 2, __ATOMIC_ACQUIRE) == 7);
	for (int i = 0; i < 3; i++)
		ok(api.cuStreamDestroy_v2(stream[i]));
	ok(api.cuStreamDestroy_v2(other));
	ok(api.cuMemFreeHost(flag));
}

/* A thread fills a stream that waits for a value. */
struct filling {
	void *graph; /* NULL: single launches */
	int calls, failed;
	atomic_int done;
};

static void *fill_stream_thread(void *argument)
{
	struct filling *f = argument;
	f->failed = api.cuCtxSetCurrent(on.context);
	for (int i = 0; i < f->calls && !f->failed; i++) {
		f->failed = f->graph ? api.cuGraphLaunch(f->graph, on.stream)
				     : launch_kernel("gpusig_empty", 1, 32, NULL);
		atomic_fetch_add(&f->done, 1);
	}
	return NULL;
}

static void *query_stream_thread(void *argument)
{
	int failed = api.cuCtxSetCurrent(on.context);
	int answer = failed ? failed : api.cuStreamQuery(on.stream);
	atomic_store((atomic_int *)argument, 1);
	return answer && answer != 600 ? argument : NULL;
}

/* Exactly `calls` calls return. The next one waits until the stream goes on, and so does any other
 * call. */
static void check_queue_capacity(struct filling f, int calls)
{
	pthread_t thread, other;
	atomic_int asked = 0;
	void *wrong;
	uint32_t *flag = alloc_pinned(4);
	f.calls = calls + 1;
	ok(api.cuStreamWaitValue32_v2(on.stream, flag, 1, 0));
	ok(pthread_create(&thread, NULL, fill_stream_thread, &f));
	while (atomic_load(&f.done) < calls)
		usleep(1000);
	usleep(50000);
	expect(atomic_load(&f.done) == calls);
	ok(pthread_create(&other, NULL, query_stream_thread, &asked));
	usleep(20000);
	expect(atomic_load(&asked) == 0);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	ok(pthread_join(thread, NULL));
	ok(pthread_join(other, &wrong));
	expect(wrong == NULL);
	expect(atomic_load(&f.done) == calls + 1 && f.failed == 0);
	sync_stream();
	ok(api.cuMemFreeHost(flag));
}

static void a_full_queue_makes_the_call_wait(void)
{
	void *graph = NULL, *exec = NULL;
	check_queue_capacity((struct filling){0}, 1023);
	setenv("FAKE_QUEUE", "16", 1);
	check_queue_capacity((struct filling){0}, 15);
	ok(api.cuStreamBeginCapture_v2(on.stream, 2));
	for (int i = 0; i < 40; i++) /* captured operations need no capacity */
		ok(launch_kernel("gpusig_empty", 1, 32, NULL));
	ok(api.cuStreamEndCapture(on.stream, &graph));
	ok(api.cuGraphInstantiateWithFlags(&exec, graph, 0));
	check_queue_capacity((struct filling){.graph = exec}, 0);
	ok(api.cuGraphLaunch(exec, on.stream)); /* a graph longer than the queue completes */
	sync_stream();
	unsetenv("FAKE_QUEUE");
	ok(api.cuGraphExecDestroy(exec));
	ok(api.cuGraphDestroy(graph));
}

static void *allocate_thread(void *argument)
{
	atomic_int *done = argument;
	void *memory[2] = {NULL, NULL};
	int failed = api.cuCtxSetCurrent(on.context);
	for (int kind = 0; kind < 2 && !failed; kind++) {
		failed = kind ? api.cuMemHostAlloc(&memory[1], 16, 3)
			      : api.cuMemAlloc_v2(&memory[0], 16);
		atomic_fetch_add(done, failed ? 100 : 1);
	}
	return failed || api.cuMemFree_v2(memory[0]) || api.cuMemFreeHost(memory[1]) ? argument
										     : NULL;
}

static void allocating_waits_for_what_is_queued(void)
{
	pthread_t thread;
	atomic_int done = 0;
	void *wrong;
	uint32_t *flag = alloc_pinned(4);
	ok(api.cuStreamWaitValue32_v2(on.stream, flag, 1, 0));
	ok(pthread_create(&thread, NULL, allocate_thread, &done));
	usleep(50000);
	expect(atomic_load(&done) == 0);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	ok(pthread_join(thread, &wrong));
	expect(atomic_load(&done) == 2 && wrong == NULL);
	sync_stream();
	ok(api.cuMemFreeHost(flag));
}

static void graphs_replay(void)
{
	void *graph = NULL, *exec = NULL;
	uint64_t bytes = 1024;
	uint32_t reps = 1, word = 3;
	uint32_t *memory = alloc_device(bytes), *back = alloc_pinned(bytes);
	void *arguments[] = {&memory, &bytes, &reps, &word};
	gives(api.cuStreamEndCapture(on.stream, &graph), 401);
	ok(api.cuStreamBeginCapture_v2(on.stream, 2));
	ok(launch_kernel("gpusig_write", 2, 32, arguments));
	ok(api.cuMemcpyDtoHAsync_v2(back, memory, bytes, on.stream));
	ok(api.cuStreamEndCapture(on.stream, &graph));
	ok(api.cuGraphInstantiateWithFlags(&exec, graph, 0));
	ok(api.cuGraphDestroy(graph));
	word = 4;
	sync_stream();
	expect(back[0] == 0);
	for (int i = 0; i < 3; i++) {
		back[0] = back[255] = 0;
		ok(api.cuGraphLaunch(exec, on.stream));
		sync_stream();
		expect(back[0] == 3 && back[255] == 3);
	}
	ok(api.cuStreamBeginCapture_v2(on.stream, 0));
	gives(api.cuStreamSynchronize(on.stream), 900);
	gives(api.cuStreamEndCapture(on.stream, &graph), 901);
	ok(api.cuGraphExecDestroy(exec));
	ok(api.cuMemFree_v2(memory));
	ok(api.cuMemFreeHost(back));
}

static void devices_are_apart(void)
{
	void *first = on.context, *stream = on.stream, *module = on.module,
	     *function = find_kernel("gpusig_empty"), *event;
	ok(api.cuEventCreate(&event, 0));
	use_device(1);
	gives(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, on.stream, NULL, NULL), 400);
	gives(api.cuLaunchKernel(find_kernel("gpusig_empty"), 1, 1, 1, 32, 1, 1, 0, stream, NULL,
				 NULL),
	      400);
	gives(api.cuEventRecord(event, on.stream), 400);
	ok(api.cuEventRecord(event, stream));
	ok(api.cuStreamWaitEvent(on.stream, event, 0));
	sync_stream();
	gives(api.cuCtxEnablePeerAccess(first, 0), 0);
	gives(api.cuCtxEnablePeerAccess(first, 0), 704);
	leave_device(1);
	on.context = first;
	on.stream = stream;
	on.module = module;
	ok(api.cuCtxSetCurrent(first));
	ok(api.cuEventDestroy_v2(event));
}

/* ------------------------------------------------------------------ faults */

static void calls_fail_as_asked(void)
{
	void *memory = NULL, *event;
	setenv("FAKE_FAIL", "cuMemAlloc_v2:2=CUDA_ERROR_OUT_OF_MEMORY,cuEventCreate=719", 1);
	ok(api.cuMemAlloc_v2(&memory, 16));
	gives(api.cuMemAlloc_v2(&event, 16), 2);
	gives(api.cuEventCreate(&event, 0), 719);
	gives(api.cuEventCreate(&event, 0), 719);
	unsetenv("FAKE_FAIL");
	ok(api.cuEventCreate(&event, 0));
	ok(api.cuEventDestroy_v2(event));
	ok(api.cuMemFree_v2(memory));
}

static void a_failed_kernel_takes_its_context(void)
{
	void *event, *waits;
	uint32_t *flag = alloc_pinned(4);
	ok(api.cuEventCreate(&event, 0));
	ok(api.cuStreamCreateWithPriority(&waits, 1, 0));
	ok(api.cuStreamWaitValue32_v2(waits, flag, 1, 0));
	setenv("FAKE_KERNEL_FAIL", "gpusig_empty", 1);
	ok(launch_kernel("gpusig_empty", 2, 32, NULL));
	unsetenv("FAKE_KERNEL_FAIL");
	gives(api.cuStreamSynchronize(on.stream), 719);
	gives(api.cuStreamSynchronize(waits), 719);
	gives(api.cuEventRecord(event, on.stream), 719);
	gives(api.cuMemFreeHost(flag), 719);
	leave_device(0);
	use_device(0);
	ok(launch_kernel("gpusig_empty", 2, 32, NULL));
	sync_stream();
}

static void a_lost_device_stays_lost(void)
{
	void *context;
	setenv("FAKE_LOST", "0", 1);
	ok(launch_kernel("gpusig_empty", 1, 32, NULL));
	gives(api.cuStreamSynchronize(on.stream), 999);
	unsetenv("FAKE_LOST");
	leave_device(0);
	gives(api.cuDevicePrimaryCtxRetain(&context, 0), 46);
}

int main(void)
{
	alarm(TEST_HANGS_S);
	setenv("FAKE_GPUS", "2", 1);
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1);
	if (!setup_succeeds(load_fakes) || api.cuInit(0) || !setup_succeeds(use_first_device))
		return 1;
	test(events_have_states);
	test(a_busy_stream_may_be_destroyed);
	test(streams_share_queues);
	test(a_full_queue_makes_the_call_wait);
	test(allocating_waits_for_what_is_queued);
	test(graphs_replay);
	test(devices_are_apart);
	test(calls_fail_as_asked);
	test(a_failed_kernel_takes_its_context);
	test(a_lost_device_stays_lost);
	return test_done();
}
