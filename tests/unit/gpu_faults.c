/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GPU backend on fake drivers (tests/fakes) of which one function fails, whose kernels fail, or that have no device: an error with
 * its cause goes up, closing works, and nothing hangs.
 *
 *     gpu_faults              the tests; each starts this program again, with a fault in its environment
 *     gpu_faults on SPEC      uses everything of SPEC's devices once: prints the first call that fails, its result and text
 *     gpu_faults again SPEC   the same, then once more without faults
 */
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda_abi.h"
#include "device/dev.h"
#include "device/hip_abi.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#define BYTES 8192u
#define N 16u
#define SECONDS 100u

/* ------------------------------------------------------------------ the child */

struct used {
	struct dev *d, *other;
	struct dev_stream *s, *other_s;
	struct dev_event *from, *to;
	char *device, *pinned, *there;
	struct dev_graph *graph;
	struct dev_crew *crew;
};

static const char *failed_call;
static int failed_rc;

/* The first failure is kept. */
static int report(int rc, const char *call)
{
	if (rc && !failed_rc) {
		failed_rc = rc;
		failed_call = call;
	}
	return rc;
}
#define try(call)                                                                                                      \
	do {                                                                                                           \
		if (report(call, #call))                                                                               \
			return;                                                                                        \
	} while (0)

static void open_things(struct used *u)
{
	try(dev_alloc(u->d, DEV_MEM_DEVICE, 2 * BYTES, (void **)&u->device));
	try(dev_alloc(u->d, DEV_MEM_PINNED, BYTES, (void **)&u->pinned));
	try(dev_alloc(u->other, DEV_MEM_DEVICE, BYTES, (void **)&u->there));
	try(dev_stream_open(u->d, dev_props(u->d)->priority_high, &u->s));
	try(dev_stream_open(u->other, dev_props(u->other)->priority_normal, &u->other_s));
	try(dev_event_open(u->d, &u->from));
	try(dev_event_open(u->d, &u->to));
}

static void use_streams(struct used *u)
{
	struct dev_kernel *copy;
	char *half = u->device + BYTES;
	uint64_t bytes = BYTES;
	uint32_t reps = 1, blocks;
	double ns = 0;
	const void *args[] = {&half, &u->device, &bytes, &reps};
	const struct dev_launch l = {.grid = 2, .args = args};
	memset(u->pinned, 5, BYTES);
	try(dev_kernel_find(u->d, "copy", &copy));
	try(dev_occupancy(u->d, copy, 0, 1024, &blocks));
	try(dev_event_record(u->d, u->s, u->from));
	try(dev_copy(u->d, u->s, u->device, u->pinned, BYTES));
	try(dev_fill(u->d, u->s, u->device, 6, BYTES / 2));
	try(dev_launch(u->d, u->s, copy, &l));
	try(dev_copy(u->d, u->s, u->device, half, BYTES / 4));
	try(dev_copy(u->d, u->s, u->pinned, half, BYTES));
	try(dev_event_record(u->d, u->s, u->to));
	try(dev_stream_wait(u->other, u->other_s, u->to));
	try(dev_event_sync(u->d, u->to));
	try(dev_event_query(u->d, u->to));
	try(dev_event_elapsed_ns(u->d, u->from, u->to, &ns));
	try(dev_stream_sync(u->d, u->s));
	try(dev_stream_sync(u->other, u->other_s));
	try(u->pinned[0] == 6 && u->pinned[BYTES - 1] == 5 ? 0 : err_note(-EILSEQ, "wrong bytes"));
}

static void use_values(struct used *u)
{
	uint32_t *at = (uint32_t *)(void *)u->pinned;
	*at = 0;
	try(dev_write_value(u->d, u->s, at, 3));
	try(dev_wait_value(u->d, u->s, at, 3));
	try(dev_stream_sync(u->d, u->s));
	try(dev_post_value(u->d, at, 4));
	try(*at == 4 ? 0 : err_note(-EILSEQ, "wrong value"));
}

static void use_products(struct used *u)
{
	float *c = (float *)(void *)u->pinned;
	struct dev_gemm g = {.type = DEV_F32, .m = N, .n = N, .k = N, .alpha = 1, .a = u->pinned + 1024, .b = u->pinned + 2048, .c = c,
	                     .lda = N, .ldb = N, .ldc = N};
	for (uint32_t i = 0; i < 3 * N * N; i++)
		c[i] = 1;
	for (int tiled = 0; tiled < 2; tiled++) {
		g.tiled = tiled;
		memset(c, 0, N * N * sizeof(*c));
		try(dev_gemm_prepare(u->d, &g));
		try(dev_gemm(u->d, u->s, &g));
		try(dev_stream_sync(u->d, u->s));
		try(c[0] == (float)N && c[N * N - 1] == (float)N ? 0 : err_note(-EILSEQ, "wrong product"));
	}
}

static void use_graph(struct used *u)
{
	try(dev_graph_begin(u->d, u->s));
	int rc = dev_fill(u->d, u->s, u->device, 9, BYTES);
	rc = rc ? rc : dev_copy(u->d, u->s, u->device + BYTES, u->device, BYTES);
	rc = rc ? rc : dev_copy(u->d, u->s, u->pinned, u->device + BYTES, BYTES);
	const int end = dev_graph_end(u->d, u->s, &u->graph);
	try(rc);
	try(end);
	try(dev_graph_launch(u->d, u->s, u->graph));
	try(dev_stream_sync(u->d, u->s));
	try(u->pinned[BYTES - 1] == 9 ? 0 : err_note(-EILSEQ, "wrong bytes"));
}

static void use_neighbours(struct used *u, const struct dev_set *set)
{
	struct dev_stream *streams[] = {u->s, u->other_s};
	float *buffers[] = {(float *)(void *)u->device, (float *)(void *)u->there};
	struct dev_ipc handle;
	void *imported;
	try(dev_peer_enable(u->d, u->other));
	try(dev_fill(u->d, u->s, u->device, 0, BYTES));
	try(dev_copy(u->d, u->s, u->there, u->device, BYTES));
	try(dev_stream_sync(u->d, u->s));
	try(dev_ipc_export(u->d, u->device, &handle));
	if (getenv("FAKE_IPC_SELF")) {
		try(dev_ipc_import(u->d, &handle, BYTES, &imported));
		try(dev_free(u->d, imported));
	}
	try(dev_crew_open(set, &u->crew));
	try(dev_allreduce(u->crew, streams, buffers, BYTES / sizeof(float)));
	try(dev_stream_sync(u->d, u->s));
	try(dev_stream_sync(u->other, u->other_s));
}

static void use_clocks(struct used *u)
{
	struct dev_reading readings[DEV_READINGS];
	size_t count;
	double hz;
	try(dev_clock_rate(u->d, &hz));
	try(dev_read_state(u->d, readings, &count));
	try(count > 0 ? 0 : err_note(-EILSEQ, "no readings"));
}

static void free_things(struct used *u)
{
	dev_graph_close(u->d, u->graph);
	dev_crew_close(u->crew);
	u->graph = NULL;
	u->crew = NULL;
	try(dev_free(u->d, u->device));
	try(dev_free(u->d, u->pinned));
	try(dev_free(u->other, u->there));
	dev_event_close(u->d, u->from);
	dev_event_close(u->d, u->to);
	dev_stream_close(u->d, u->s);
	dev_stream_close(u->other, u->other_s);
}

static int use_everything(const char *spec)
{
	struct dev_set set;
	struct used u = {0};
	char text[512] = "";
	alarm(SECONDS);
	failed_rc = 0;
	report(dev_open(spec, UINT32_MAX, &set), "dev_open");
	if (!failed_rc) {
		u.d = set.dev[0];
		u.other = set.dev[1];
		void (*const parts[])(struct used *) = {open_things, use_streams, use_values, use_products, use_graph, use_clocks};
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !failed_rc; i++)
			parts[i](&u);
		if (!failed_rc)
			use_neighbours(&u, &set);
		if (!failed_rc)
			free_things(&u);
		snprintf(text, sizeof(text), "%s", err_text());
		dev_crew_close(u.crew);
		dev_close(&set);
	} else {
		snprintf(text, sizeof(text), "%s", err_text());
	}
	if (failed_rc)
		printf("%d %s: %s\n", failed_rc, failed_call, text);
	else
		printf("0\n");
	return 0;
}

/* ------------------------------------------------------------------ the parent */

static char folder[4096], program[4096];

/* What the child prints: its first line, and its last one at `again` if it is to run twice. Its end by a signal, a sanitizer or the
 * alarm is a failure here. */
static void start_times(const char *spec, char *line, char *again, size_t room)
{
	char command[2 * sizeof(folder) + 128];
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%s/fakes' '%s' %s %s", folder, program,
	         again ? "again" : "on", spec);
	FILE *child = popen(command, "r");
	require(child);
	line[0] = '\0';
	if (!fgets(line, (int)room, child))
		line[0] = '\0';
	if (again && !fgets(again, (int)room, child))
		again[0] = '\0';
	const int status = pclose(child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		printf("# %s: status %#x after '%s'\n", spec, (unsigned)status, line);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void start(const char *spec, char *line, size_t room) { start_times(spec, line, NULL, room); }

static void begins_with(const char *line, const char *wanted)
{
	if (strncmp(line, wanted, strlen(wanted)) != 0)
		printf("# wanted '%s', got %s\n", wanted, line[0] ? line : "nothing\n");
	expect(strncmp(line, wanted, strlen(wanted)) == 0);
}

static void has(const char *line, const char *wanted)
{
	if (!strstr(line, wanted))
		printf("# '%s' is not in %s\n", wanted, line[0] ? line : "nothing\n");
	expect(strstr(line, wanted));
}

static const char *const specs[] = {"cuda:0,1", "hip:0,1"};

static void without_a_fault_all_works(void)
{
	char line[1024];
	for (int i = 0; i < 2; i++) {
		start(specs[i], line, sizeof(line));
		begins_with(line, "0");
	}
}

/* Functions without which something that use_everything() does can't be done: of libraries beside the driver, and those of which
 * a single failure may concern something of our own. */
static const char *const needed[2][8] = {
	{"cublasLtMatmul", "ncclCommInitAll", "ncclAllReduce", "ncclGroupEnd", "cuMemFree_v2", "cuMemFreeHost", NULL},
	{"rocblas_gemm_ex", "ncclCommInitAll", "ncclAllReduce", "ncclGroupEnd", "hipFree", "hipHostFree", NULL}};

static void fail_at(int vendor, const char *function, const char *when, const char *result, char *line, size_t room)
{
	char fault[128];
	snprintf(fault, sizeof(fault), "%s%s=%s", function, when, result);
	setenv("FAKE_FAIL", fault, 1);
	start(specs[vendor], line, room);
	unsetenv("FAKE_FAIL");
}

static void a_failing_function_is_named(void)
{
	char line[1024];
	for (int vendor = 0; vendor < 2; vendor++) {
		for (const char *const *f = needed[vendor]; *f; f++) {
			fail_at(vendor, *f, "", "1", line, sizeof(line));
			begins_with(line, "-");
			has(line, *f);
		}
	}
}

#define NAME(name, arguments) #name,
static const char *const all[2][72] = {{CUDA_FUNCTIONS(NAME) CUDA_OPTIONAL_FUNCTIONS(NAME) NULL},
                                       {HIP_FUNCTIONS(NAME) HIP_OPTIONAL_FUNCTIONS(NAME) NULL}};

/* Of which one failure is no failure of ours: they only end things, describe errors, or are asked again; the device's own
 * scheduling flag may be refused, there is another way to copy, and another compiler. hipGetDeviceProperties is for runtimes without the other one. */
static const char *const tolerated[] = {
	"cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxSetFlags_v2",
	"cuMemFree_v2", "cuMemFreeHost", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleLoadData", "cuModuleUnload", "cuGraphExecDestroy",
	"cuGraphDestroy", "cuIpcOpenMemHandle_v2", "cuIpcCloseMemHandle", "cuMemcpyAsync", "cuMemcpyBatchAsync",
	"cuMemcpyBatchAsync_v2", "cuStreamQuery",
	"cuDeviceCanAccessPeer", "hipSetDeviceFlags", "hipFree", "hipHostFree", "hipStreamDestroy",
	"hipEventDestroy", "hipModuleUnload", "hipGraphExecDestroy", "hipGraphDestroy", "hipIpcOpenMemHandle", "hipIpcCloseMemHandle",
	"hipStreamQuery", "hipDeviceCanAccessPeer", "hipMemcpyAsync", "hipGetDeviceProperties", NULL};

/* What a driver does not know of a device is 0, and only that is complained of. */
static const char *const unnamed[] = {"cuDeviceGetAttribute", "hipDeviceGetAttribute", NULL};

/* Answers that are kept for the life of the process. */
static const char *const kept[] = {"cuInit", "hipInit", NULL};

static bool is_in(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

static void fails_once(int vendor, const char *function)
{
	char line[1024], again[1024], fault[128];
	snprintf(fault, sizeof(fault), "%s:1=1", function);
	setenv("FAKE_FAIL", fault, 1);
	start_times(specs[vendor], line, vendor == 0 ? again : NULL, sizeof(line));
	unsetenv("FAKE_FAIL");
	if (!is_in(tolerated, function) || line[0] != '0')
		begins_with(line, "-");
	if (line[0] != '0' && !is_in(unnamed, function))
		has(line, function);
	if (vendor == 0 && !is_in(kept, function)) /* from the dialect up both are the same code */
		begins_with(again, "0\n");
}

static void any_function_may_fail_once(void)
{
	for (int vendor = 0; vendor < 2; vendor++)
		for (const char *const *f = all[vendor]; *f; f++)
			fails_once(vendor, *f);
}

/* By one vendor: from the dialect up it is the same code. */
static void a_late_failure_is_survived(void)
{
	char line[1024];
	for (const char *const *f = all[0]; *f; f++)
		fail_at(0, *f, ":2", "2", line, sizeof(line));
}

/* Drivers refuse batches of some memory, and on some devices: the copy is then asked for in the older way. Other failures are ours. */
static void a_refused_batch_is_copied_without(void)
{
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_NOT_SUPPORTED", line, sizeof(line));
	begins_with(line, "0");
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_INVALID_VALUE", line, sizeof(line));
	begins_with(line, "0");
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_CONTAINED", line, sizeof(line));
	begins_with(line, eio);
	has(line, "cuMemcpyBatchAsync");
}

/* What only a new context mends is -EIO. */
static void errors_that_end_a_context_lose_the_device(void)
{
	static const char *const names[] = {"CUDA_ERROR_CONTAINED", "CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	                                    "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_UNKNOWN"};
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fail_at(0, "cuStreamSynchronize", ":1", names[i], line, sizeof(line));
		begins_with(line, eio);
		has(line, names[i]);
	}
}

static void no_memory_is_enomem(void)
{
	char line[1024], enomem[16];
	snprintf(enomem, sizeof(enomem), "%d", -ENOMEM);
	fail_at(0, "cuMemAlloc_v2", "", "CUDA_ERROR_OUT_OF_MEMORY", line, sizeof(line));
	begins_with(line, enomem);
	has(line, "out of memory (CUDA_ERROR_OUT_OF_MEMORY");
	fail_at(1, "hipMalloc", "", "hipErrorOutOfMemory", line, sizeof(line));
	begins_with(line, enomem);
	has(line, "out of memory (hipErrorOutOfMemory");
}

static void a_failed_kernel_loses_the_device(void)
{
	static const char *const names[] = {"CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"};
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	setenv("FAKE_KERNEL_FAIL", "gpusig_copy", 1);
	for (int vendor = 0; vendor < 2; vendor++) {
		start(specs[vendor], line, sizeof(line));
		begins_with(line, eio);
		has(line, names[vendor]);
	}
	unsetenv("FAKE_KERNEL_FAIL");
}

static void a_device_may_be_lost_at_any_launch(void)
{
	char line[1024], launches[8];
	for (int i = 0; i < 8; i++) {
		snprintf(launches, sizeof(launches), "%d", i);
		setenv("FAKE_LOST", launches, 1);
		start(specs[i % 2], line, sizeof(line));
		begins_with(line, "-");
	}
	unsetenv("FAKE_LOST");
}

static void no_device_is_enodev(void)
{
	char line[1024], enodev[16];
	snprintf(enodev, sizeof(enodev), "%d", -ENODEV);
	setenv("FAKE_GPUS", "0", 1);
	for (int vendor = 0; vendor < 2; vendor++) {
		start(specs[vendor], line, sizeof(line));
		begins_with(line, enodev);
		has(line, "finds no GPU");
	}
	unsetenv("FAKE_GPUS");
	setenv("FAKE_DRIVER_VERSION", "11060", 1);
	start("cuda:0,1", line, sizeof(line));
	begins_with(line, enodev);
	has(line, "CUDA 11.6");
	has(line, "11.7");
	unsetenv("FAKE_DRIVER_VERSION");
}

/* The flags of imported handles and the kinds of copies differ between these: ROCm 5.7, 6.0 and 6.2. */
static void old_and_new_runtimes_of_amd_do(void)
{
	static const char *const versions[] = {"50731921", "60032830", "60241133"};
	char line[1024];
	setenv("FAKE_IPC_SELF", "1", 1);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		setenv("FAKE_DRIVER_VERSION", versions[i], 1);
		start("hip:0,1", line, sizeof(line));
		begins_with(line, "0\n");
	}
	unsetenv("FAKE_DRIVER_VERSION");
	unsetenv("FAKE_IPC_SELF");
}

/* The second copy of use_streams() is the first within the device. */
static void a_refused_kind_of_copy_is_replaced(void)
{
	char line[1024];
	fail_at(1, "hipMemcpyAsync", ":2", "hipErrorInvalidMemcpyDirection", line, sizeof(line));
	begins_with(line, "0\n");
	fail_at(1, "hipMemcpyAsync", ":2", "hipErrorLaunchFailure", line, sizeof(line));
	begins_with(line, "-");
}

/* The fakes are beside this program's folder, as the Makefile builds them. */
static int find_fakes(void)
{
	static char copy[sizeof(program)];
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
		return -errno;
	memcpy(copy, program, sizeof(copy));
	snprintf(folder, sizeof(folder), "%s", dirname(dirname(dirname(copy))));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		use_everything(argv[2]);
		unsetenv("FAKE_FAIL");
		return strcmp(argv[1], "again") == 0 ? use_everything(argv[2]) : 0;
	}
	if (find_fakes())
		return 1;
	test(without_a_fault_all_works);
	test(a_failing_function_is_named);
	test(any_function_may_fail_once);
	test(a_late_failure_is_survived);
	test(a_refused_batch_is_copied_without);
	test(errors_that_end_a_context_lose_the_device);
	test(no_memory_is_enomem);
	test(a_failed_kernel_loses_the_device);
	test(a_device_may_be_lost_at_any_launch);
	test(no_device_is_enodev);
	test(old_and_new_runtimes_of_amd_do);
	test(a_refused_kind_of_copy_is_replaced);
	return test_done();
}
