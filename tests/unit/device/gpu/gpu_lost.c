/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GPU backend on fake drivers (tests/fakes) in difficult ends: memory that is still in use,
 * work that waits for values nobody will write, and a lost device.
 */
#include "device/dev.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define BYTES 4096u
#define TIMEOUT_NS UINT64_C(5000000000)
#define MAX_CAUSE 256

/* Two devices of a vendor, the objects that tests need of the first, and a stream of the second. */
static struct {
	struct dev_set set;
	struct dev *d, *other;
	struct dev_stream *s, *second, *other_s;
	struct dev_event *from, *to;
	struct dev_kernel *empty, *hold;
	char *device, *pinned, *on_other;
} on;

static struct dev_stream *open_stream(struct dev *d)
{
	struct dev_stream *s = NULL;
	ok(dev_stream_open(d, dev_props(d)->priority_normal, &s));
	return s;
}

static void open_devices(const char *spec)
{
	ok(dev_open(spec, DEV_CAP_ALL | DEV_CHECKED, &on.set));
	on.d = on.set.dev[0];
	on.other = on.set.dev[1];
	on.s = open_stream(on.d);
	on.second = open_stream(on.d);
	on.other_s = open_stream(on.other);
	ok(dev_event_open(on.d, &on.from));
	ok(dev_event_open(on.d, &on.to));
	ok(dev_kernel_find(on.d, "empty", &on.empty));
	ok(dev_kernel_find(on.d, "blocking_kernel", &on.hold));
	ok(dev_alloc(on.d, DEV_MEM_DEVICE, BYTES, (void **)&on.device));
	ok(dev_alloc(on.d, DEV_MEM_PINNED, BYTES, (void **)&on.pinned));
	ok(dev_alloc(on.other, DEV_MEM_DEVICE, BYTES, (void **)&on.on_other));
	memset(on.pinned, 0, BYTES);
}

static void close_devices(void) { dev_close(&on.set); }

static uint32_t *u32_at(char *memory) { return (uint32_t *)(void *)memory; }

/* Launches a block that runs until the flag at the beginning of the pinned memory is set. */
static int launch_hold(struct dev_stream *s)
{
	uint32_t *flag = u32_at(on.pinned), *arrived = flag + 64;
	uint64_t *start_ns = (uint64_t *)(void *)on.pinned + 64, timeout_ns = TIMEOUT_NS;
	const void *args[] = {&flag, &arrived, &start_ns, &timeout_ns};
	const struct dev_launch l = {.grid = 1, .args = args};
	return dev_launch(on.d, s, on.hold, &l);
}

/* ------------------------------------------------------------------ memory in use */

static void memory_of_two_streams(const char *spec)
{
	open_devices(spec);
	ok(dev_fill(on.d, on.s, on.device, 1, BYTES));
	ok(launch_hold(on.second));
	ok(dev_fill(on.d, on.second, on.device, 2, BYTES));
	ok(dev_stream_sync(on.d, on.s));
	expect(dev_free(on.d, on.device) == -EBUSY);
	dev_stream_close(on.d, on.second); /* its work continues */
	expect(dev_free(on.d, on.device) == -EBUSY);
	ok(dev_post_value(on.d, u32_at(on.pinned), 1));
	expect(dev_free(on.d, on.device) == -EBUSY);
	close_devices();
}

static void memory_of_two_streams_cuda(void) { memory_of_two_streams("cuda:0,1"); }
static void memory_of_two_streams_hip(void) { memory_of_two_streams("hip:0,1"); }

/* ------------------------------------------------------------------ closing a device with
 * unfinished waits */

static void waits_without_end(const char *spec)
{
	open_devices(spec);
	ok(dev_fill(on.d, on.s, on.device, 0, BYTES));
	ok(dev_stream_sync(on.d, on.s));
	ok(dev_wait_value(on.d, on.s, u32_at(on.device), 3));
	ok(dev_wait_value(on.d, on.s, u32_at(on.pinned), DEV_VALUE_MAX));
	ok(dev_fill(on.d, on.s, on.device + 64, 9, 64));
	ok(dev_event_record(on.d, on.s, on.from));
	ok(dev_stream_wait(on.d, on.second, on.from));
	ok(dev_stream_wait(on.other, on.other_s, on.from));
	ok(dev_fill(on.d, on.second, on.device + 128, 9, 64));
	dev_stream_close(on.d, on.s);
	expect(dev_event_query(on.d, on.from) == -EAGAIN);
	close_devices();
}

/* A graph waits at every launch. On AMD a graph cannot contain values. */
static void a_graph_without_end(const char *spec)
{
	struct dev_graph *graph = NULL;
	open_devices(spec);
	ok(dev_graph_begin(on.d, on.s));
	ok(dev_wait_value(on.d, on.s, u32_at(on.pinned), 1));
	ok(dev_write_value(on.d, on.s, u32_at(on.pinned), 0));
	ok(dev_graph_end(on.d, on.s, &graph));
	ok(dev_post_value(on.d, u32_at(on.pinned), 1));
	ok(dev_graph_launch(on.d, on.s, graph));
	ok(dev_stream_sync(on.d, on.s));
	ok(dev_graph_launch(on.d, on.s, graph));
	close_devices();
}

static void a_graph_without_end_cuda(void) { a_graph_without_end("cuda:0,1"); }

static void waits_without_end_cuda(void) { waits_without_end("cuda:0,1"); }
static void waits_without_end_hip(void) { waits_without_end("hip:0,1"); }

static void a_graph_half_captured(const char *spec)
{
	open_devices(spec);
	ok(dev_graph_begin(on.d, on.second));
	ok(dev_fill(on.d, on.second, on.device, 1, BYTES));
	dev_stream_close(on.d, on.second);
	ok(dev_free(on.d, on.device));
	on.second = open_stream(on.d);
	ok(launch_hold(on.second));
	ok(dev_graph_begin(on.d, on.second));
	dev_stream_close(on.d, on.second); /* work enqueued before the capture continues */
	expect(dev_free(on.d, on.pinned) == -EBUSY);
	ok(dev_graph_begin(on.d, on.s));
	ok(dev_fill(on.d, on.s, on.pinned + 1024, 1, 1024));
	ok(dev_post_value(on.d, u32_at(on.pinned), 1));
	close_devices();
}

static void a_graph_half_captured_cuda(void) { a_graph_half_captured("cuda:0,1"); }
static void a_graph_half_captured_hip(void) { a_graph_half_captured("hip:0,1"); }

/* ------------------------------------------------------------------ a device that is lost */

static int launch_empty(struct dev_stream *s)
{
	const struct dev_launch l = {.grid = 1};
	return dev_launch(on.d, s, on.empty, &l);
}

static void expect_lost(int status, const char *what, const char *cause)
{
	if (status != -EIO || !strstr(err_text(), cause))
		printf("# %s: %d: %s\n", what, status, err_text());
	expect(status == -EIO && strstr(err_text(), cause));
	err_clear();
}
#define lost(call) expect_lost(call, #call, cause)

static void expect_memory_lost(const char *cause)
{
	void *memory = NULL;
	struct dev_ipc handle;
	lost(dev_alloc(on.d, DEV_MEM_DEVICE, BYTES, &memory));
	lost(dev_alloc(on.d, DEV_MEM_PINNED, BYTES, &memory));
	lost(dev_alloc(on.d, DEV_MEM_PAGEABLE, BYTES, &memory));
	lost(dev_free(on.d, on.device));
	lost(dev_free(on.d, on.pinned));
	lost(dev_copy(on.d, on.s, on.pinned, on.device, BYTES));
	lost(dev_fill(on.d, on.s, on.device, 0, BYTES));
	lost(dev_ipc_export(on.d, on.device, &handle));
	lost(dev_peer_enable(on.d, on.other));
	lost(dev_peer_enable(on.other, on.d));
	expect(memory == NULL);
}

static void expect_queues_lost(const char *cause)
{
	struct dev_stream *s = NULL;
	struct dev_event *e = NULL;
	double ns = -1;
	lost(dev_stream_open(on.d, 0, &s));
	lost(dev_stream_sync(on.d, on.s));
	lost(dev_stream_sync(on.d, on.second));
	lost(dev_stream_wait(on.d, on.s, on.from));
	lost(dev_event_open(on.d, &e));
	lost(dev_event_record(on.d, on.s, on.to));
	lost(dev_event_query(on.d, on.from));
	lost(dev_event_sync(on.d, on.from));
	lost(dev_event_elapsed_ns(on.d, on.from, on.from, &ns));
	lost(dev_wait_value(on.d, on.s, u32_at(on.pinned), 1));
	lost(dev_write_value(on.d, on.s, u32_at(on.pinned), 1));
	lost(dev_post_value(on.d, u32_at(on.pinned), 1));
	lost(dev_post_value(on.d, u32_at(on.device), 1));
	expect(!s && !e && ns < 0 && *u32_at(on.pinned) == 0);
}

static void expect_work_lost(struct dev_comm *comm, const char *cause)
{
	struct dev_graph *graph = NULL;
	struct dev_stream *streams[] = {on.s, on.other_s};
	float *buffers[] = {(float *)(void *)on.device, (float *)(void *)on.on_other},
	      *others[] = {buffers[0] + 16, buffers[1] + 16};
	const struct dev_gemm g = PACKED_GEMM(8, 8, 8, .type = DEV_F32, .a = on.device,
					      .b = on.device, .c = on.device);
	void *memory[DEV_MAX] = {NULL};
	uint32_t blocks = 77;
	double hz = -1;
	lost(launch_empty(on.s));
	lost(dev_occupancy(on.d, on.empty, 0, 0, &blocks));
	lost(dev_gemm(on.d, on.s, &g));
	lost(dev_gemm_prepare(on.d, &g));
	lost(dev_graph_begin(on.d, on.s));
	lost(dev_clock_rate(on.d, &hz));
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		lost(dev_collective(comm, (enum dev_collective)what, streams, buffers, others, 8));
	lost(dev_comm_alloc(comm, 64, memory));
	expect(!graph && blocks == 77 && hz < 0 && !memory[0]);
}

/* HIP's context lives as long as the process, so this is the last test of that vendor. */
static void a_lost_device(const char *spec)
{
	char cause[MAX_CAUSE];
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	struct dev_comm *comm = NULL;
	size_t count = 0;
	open_devices(spec);
	ok(dev_comm_find(&on.set, DEV_COMM_DEFAULT, &comm));
	ok(dev_event_record(on.d, on.s, on.from));
	ok(dev_stream_sync(on.d, on.s));
	ok(dev_wait_value(on.d, on.second, u32_at(on.pinned), 1));
	setenv("FAKE_KERNEL_FAIL", "gpusig_empty", 1);
	ok(launch_empty(on.s));
	unsetenv("FAKE_KERNEL_FAIL");
	expect(dev_stream_sync(on.d, on.s) == -EIO);
	expect(strstr(err_text(), "StreamSynchronize: unspecified launch failure"));
	snprintf(cause, sizeof(cause), "%s", err_text());
	expect_memory_lost(cause);
	expect_queues_lost(cause);
	expect_work_lost(comm, cause);
	ok(dev_telemetry_read(on.d, samples,
			      &count)); /* its samples have a reason instead of a value */
	expect(count > 0);
	ok(dev_fill(on.other, on.other_s, on.pinned, 1, 0) == -EFAULT ? 0 : -1);
	ok(dev_stream_sync(on.other, on.other_s));
	dev_event_close(on.d, on.to);
	dev_stream_close(on.d, on.s);
	close_devices();
}

static void a_lost_device_cuda(void)
{
	a_lost_device("cuda:0,1");
	open_devices("cuda:0,1"); /* a context of its own */
	ok(launch_empty(on.s));
	ok(dev_stream_sync(on.d, on.s));
	close_devices();
}

/* The driver reports the loss by mistake: closing must not wait for work that continues. */
static void a_device_called_lost(void)
{
	open_devices("cuda:0,1");
	ok(dev_wait_value(on.d, on.second, u32_at(on.pinned), 1));
	ok(dev_wait_value(on.d, on.s, u32_at(on.pinned) + 1, 1));
	setenv("FAKE_FAIL", "cuLaunchKernel=700", 1);
	expect(launch_empty(on.s) == -EIO);
	unsetenv("FAKE_FAIL");
	dev_stream_close(on.d, on.s);
	close_devices();
}

static void a_lost_device_hip(void) { a_lost_device("hip:0,1"); }

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(memory_of_two_streams_cuda);
	test(memory_of_two_streams_hip);
	test(waits_without_end_cuda);
	test(waits_without_end_hip);
	test(a_graph_without_end_cuda);
	test(a_graph_half_captured_cuda);
	test(a_graph_half_captured_hip);
	test(a_device_called_lost);
	test(a_lost_device_cuda);
	test(a_lost_device_hip);
	return test_done();
}
