/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backends.h"
#include "device/gpu_compilers.h"
#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "device/hip_abi.h"
#include "device/kfd_topology.h"
#include "lib/err.h"

_Static_assert(sizeof(struct hip_ipc_memory) == sizeof(struct dev_ipc), "an IPC handle fits");

#define SLOT(name, arguments) int(*name) arguments;
static struct {
	HIP_FUNCTIONS(SLOT)
	HIP_OPTIONAL_FUNCTIONS(SLOT)
	const char *(*hipGetErrorName)(int);
	const char *(*hipGetErrorString)(int);
} api;
#undef SLOT

#define REQUIRED(name, arguments) {#name, &api.name, false},
#define OPTIONAL(name, arguments) {#name, &api.name, true},
static const struct gpu_symbol symbols[] = {HIP_FUNCTIONS(REQUIRED) HIP_OPTIONAL_FUNCTIONS(OPTIONAL){
						    "hipGetErrorName", &api.hipGetErrorName, false},
                                            {"hipGetErrorString", &api.hipGetErrorString, false},
                                            {NULL, NULL, false}};
#undef REQUIRED
#undef OPTIONAL

static const char *const files[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static int start(void);
static struct gpu_library library = {
	.title = "the HIP runtime (libamdhip64)", .files = files, .folders = folders, .symbols = symbols, .start = start};

/* ------------------------------------------------------------------ results */

static int errno_of(int result)
{
	switch (result) {
	case HIP_NOT_READY:
		return -EAGAIN;
	case HIP_OUT_OF_MEMORY:
		return -ENOMEM;
	case HIP_NOT_SUPPORTED:
	case HIP_PEER_UNSUPPORTED:
		return -ENOTSUP;
	case HIP_NOT_FOUND:
		return -ENOENT;
	case HIP_NO_DEVICE:
	case HIP_INVALID_DEVICE:
	case HIP_INSUFFICIENT_DRIVER:
		return -ENODEV;
	case HIP_PRIOR_LAUNCH_FAILURE:
	case HIP_ECC_UNCORRECTABLE:
	case HIP_ILLEGAL_ADDRESS:
	case HIP_LAUNCH_TIMEOUT:
	case HIP_CONTEXT_IS_DESTROYED:
	case HIP_ASSERT:
	case HIP_LAUNCH_FAILED:
	case HIP_UNKNOWN:
		return -EIO;
	default:
		return -EINVAL;
	}
}

static int failed(int result, const char *function)
{
	const char *name = api.hipGetErrorName(result), *text = api.hipGetErrorString(result);
	return err_note(errno_of(result), "%s: %s (%s, %d)", function, text ? text : "unknown error",
	                name ? name : "not a result it names", result);
}

static inline int outcome(int result, const char *function) { return result == HIP_OK ? 0 : failed(result, function); }

/* The call, and its name for the message. */
#define CALL(function, ...) outcome(api.function(__VA_ARGS__), #function)

/* ------------------------------------------------------------------ the driver */

/* Streams beyond the number of hardware queues, four if nobody asks for more, share them and then wait for each other. The
 * runtime looks when it starts. */
static void want_queues(void) { setenv("GPU_MAX_HW_QUEUES", "8", 0); }

static int start(void)
{
	want_queues();
	int rc = api.hipInit(0);
	if (rc == HIP_NO_DEVICE || rc == HIP_INVALID_DEVICE)
		return err_note(-ENODEV, "the HIP runtime is here (%s) and finds no GPU", library.path);
	if (rc == HIP_INSUFFICIENT_DRIVER)
		return err_note(-ENODEV, "the AMD driver is too old for the HIP runtime at %s", library.path);
	rc = outcome(rc, "hipInit");
	return rc ? err_note(-ENODEV, "%s", err_text()) : 0;
}

static int load(void) { return gpu_library_open(&library); }

static int count(unsigned *count_p)
{
	int devices = 0;
	int result = api.hipGetDeviceCount(&devices);
	int rc = result == HIP_NO_DEVICE ? 0 : outcome(result, "hipGetDeviceCount");
	if (!rc)
		*count_p = (unsigned)devices;
	return rc;
}

/* ------------------------------------------------------------------ devices */

/* What an older runtime does not know stays 0. */
static uint32_t attribute(int device, int which)
{
	int value = 0;
	return api.hipDeviceGetAttribute(&value, which, device) == HIP_OK && value > 0 ? (uint32_t)value : 0;
}

static int architecture(int device, char *arch, size_t room)
{
	_Alignas(8) char properties[4 * HIP_PROPERTIES_BYTES] = {0};
	bool new_layout = api.hipGetDevicePropertiesR0600 != NULL;
	const char *name = properties + (new_layout ? HIP_PROPERTIES_ARCH_R0600 : HIP_PROPERTIES_ARCH_R0000);
	int rc = new_layout ? CALL(hipGetDevicePropertiesR0600, properties, device)
	                    : CALL(hipGetDeviceProperties, properties, device);
	if (rc)
		return rc;
	if (strncmp(name, "gfx", 3) != 0)
		return err_note(-ENODEV, "the HIP runtime names no architecture of device %d: its layout of hipDeviceProp_t is unknown",
		                device);
	snprintf(arch, room, "%.*s", (int)room - 1, name);
	return 0;
}

/* The runtime knows no cache behind the L2; the kernel may. */
static uint64_t last_level(const char *bus)
{
	const char *root = getenv("GPUSIG_KFD_TOPOLOGY");
	uint64_t bytes = 0;
	return kfd_last_level(root ? root : KFD_TOPOLOGY, bus, &bytes) ? 0 : bytes;
}

static void sizes(int device, struct gpu_traits *t)
{
	t->units = attribute(device, HIP_MULTIPROCESSOR_COUNT);
	t->copy_engines = attribute(device, HIP_ASYNC_ENGINE_COUNT);
	t->warp_threads = attribute(device, HIP_WARP_SIZE);
	t->threads_per_unit = attribute(device, HIP_MAX_THREADS_PER_MULTIPROCESSOR);
	t->blocks_per_unit = attribute(device, HIP_MAX_BLOCKS_PER_MULTIPROCESSOR);
	t->threads_per_block = attribute(device, HIP_MAX_THREADS_PER_BLOCK);
	t->l2_bytes = attribute(device, HIP_L2_CACHE_SIZE);
	t->llc_bytes = last_level(t->bus);
	t->shared_per_unit_bytes = attribute(device, HIP_MAX_SHARED_PER_MULTIPROCESSOR);
	t->shared_per_block_bytes = attribute(device, HIP_MAX_SHARED_PER_BLOCK);
	t->shared_granularity_bytes = 512; /* GRANULATED_LDS_SIZE of gfx7 to gfx11 in LLVM's AMDGPU guide */
	t->unified_addressing = true;
	t->wait_value = attribute(device, HIP_CAN_WAIT_VALUE) != 0;
	t->value_takes_slot = true; /* streamOpsWait and streamOpsWrite of CLR 5.6 to 6.3 are kernels */
	t->ipc = true;
	t->timer_hz = 1e3 * attribute(device, HIP_WALL_CLOCK_RATE);
}

static int traits(unsigned index, struct gpu_traits *t)
{
	int device = (int)index, version = 0;
	size_t memory_bytes = 0;
	memset(t, 0, sizeof(*t));
	int rc = CALL(hipDeviceGetName, t->name, (int)sizeof(t->name), device);
	if (!rc)
		rc = CALL(hipDeviceGetPCIBusId, t->bus, (int)sizeof(t->bus), device);
	if (!rc)
		rc = CALL(hipDeviceTotalMem, &memory_bytes, device);
	if (!rc)
		rc = CALL(hipRuntimeGetVersion, &version);
	if (!rc)
		rc = architecture(device, t->arch, sizeof(t->arch));
	if (rc)
		return rc;
	sizes(device, t);
	t->memory_bytes = memory_bytes;
	t->numa_node = -1;
	snprintf(t->driver, sizeof(t->driver), "HIP %d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
	return CALL(hipDeviceGetStreamPriorityRange, &t->priority_least, &t->priority_greatest);
}

static int context_use(unsigned index, void *context)
{
	(void)context;
	return CALL(hipSetDevice, (int)index);
}

/* HIP has one context a device, which lives as long as the process. */
static int context_open(unsigned index, void **context_p)
{
	*context_p = NULL;
	int rc = context_use(index, NULL);
	/* A waiting host thread polls, so that a wait's end is seen at once. Refused when the device is in use already. */
	if (!rc)
		api.hipSetDeviceFlags(HIP_SCHEDULE_SPIN);
	return rc;
}

static void context_close(unsigned index, void *context) { (void)index, (void)context; }

/* ------------------------------------------------------------------ memory */

static int memory_free_bytes(uint64_t *bytes_p)
{
	size_t available = 0, total = 0;
	int rc = CALL(hipMemGetInfo, &available, &total);
	if (!rc)
		*bytes_p = available;
	return rc;
}

static int alloc(uint64_t bytes, void **ptr_p) { return CALL(hipMalloc, ptr_p, bytes); }
static int free_memory(void *ptr) { return CALL(hipFree, ptr); }

static int alloc_pinned(uint64_t bytes, void **ptr_p)
{
	return CALL(hipHostMalloc, ptr_p, bytes, HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT);
}

static int free_pinned(void *ptr) { return CALL(hipHostFree, ptr); }

static int ipc_export(void *ptr, struct dev_ipc *handle_p)
{
	struct hip_ipc_memory memory;
	int rc = CALL(hipIpcGetMemHandle, &memory, ptr);
	if (!rc)
		memcpy(handle_p->bytes, memory.reserved, sizeof(memory.reserved));
	return rc;
}

static int ipc_import(const struct dev_ipc *handle, void **ptr_p)
{
	struct hip_ipc_memory memory;
	memcpy(memory.reserved, handle->bytes, sizeof(memory.reserved));
	int result = api.hipIpcOpenMemHandle(ptr_p, memory, HIP_IPC_LAZY_PEER);
	if (result == HIP_INVALID_VALUE)
		result = api.hipIpcOpenMemHandle(ptr_p, memory, 0);
	return outcome(result, "hipIpcOpenMemHandle");
}

static int ipc_close(void *ptr) { return CALL(hipIpcCloseMemHandle, ptr); }

static int peer_can(unsigned index, unsigned other, bool *can_p)
{
	int can = 0;
	int rc = CALL(hipDeviceCanAccessPeer, &can, (int)index, (int)other);
	if (!rc)
		*can_p = can != 0;
	return rc;
}

static int peer_enable(unsigned other, void *other_context)
{
	(void)other_context;
	int result = api.hipDeviceEnablePeerAccess((int)other, 0);
	return result == HIP_PEER_ALREADY_ENABLED ? 0 : outcome(result, "hipDeviceEnablePeerAccess");
}

/* ------------------------------------------------------------------ streams and events */

static int stream_open(int priority, void **stream_p)
{
	return CALL(hipStreamCreateWithPriority, stream_p, HIP_STREAM_NON_BLOCKING, priority);
}

static int stream_close(void *stream) { return CALL(hipStreamDestroy, stream); }
static int stream_sync(void *stream) { return CALL(hipStreamSynchronize, stream); }

/* "Not ready" is an answer and is asked for in loops: no text is made of it. */
static int stream_query(void *stream)
{
	int result = api.hipStreamQuery(stream);
	return result == HIP_NOT_READY ? -EAGAIN : outcome(result, "hipStreamQuery");
}

static int stream_wait(void *stream, void *event) { return CALL(hipStreamWaitEvent, stream, event, 0); }
static int event_open(void **event_p) { return CALL(hipEventCreateWithFlags, event_p, HIP_EVENT_DEFAULT); }
static int event_close(void *event) { return CALL(hipEventDestroy, event); }
static int event_record(void *stream, void *event) { return CALL(hipEventRecord, event, stream); }

static int event_query(void *event)
{
	int result = api.hipEventQuery(event);
	return result == HIP_NOT_READY ? -EAGAIN : outcome(result, "hipEventQuery");
}

static int event_sync(void *event) { return CALL(hipEventSynchronize, event); }
static int event_elapsed_ms(void *from, void *to, float *ms_p) { return CALL(hipEventElapsedTime, ms_p, from, to); }

/* ------------------------------------------------------------------ copies, fills, values */

/* A copy between device memories runs on compute units unless one asks otherwise. ROCm before 6.1 does not look at the kind of
 * such a copy and chooses by itself. */
static int copy_without_units(void *stream, void *dst, const void *src, uint64_t bytes)
{
	int result = api.hipMemcpyAsync(dst, src, bytes, HIP_COPY_LOCAL_WITHOUT_CU, stream);
	if (result == HIP_INVALID_COPY_DIRECTION || result == HIP_INVALID_VALUE)
		result = api.hipMemcpyAsync(dst, src, bytes, HIP_COPY_LOCAL, stream);
	return outcome(result, "hipMemcpyAsync");
}

static int copy(void *stream, void *dst, const void *src, uint64_t bytes, enum gpu_direction direction, bool captured)
{
	(void)captured;
	switch (direction) {
	case GPU_UP:
		return CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_UP, stream);
	case GPU_DOWN:
		return CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_DOWN, stream);
	case GPU_WITHIN_HOST:
		return CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_WITHIN_HOST, stream);
	case GPU_LOCAL:
	case GPU_PEER:
		break;
	}
	return copy_without_units(stream, dst, src, bytes);
}

static int fill(void *stream, void *dst, uint8_t byte, uint64_t bytes)
{
	return CALL(hipMemsetAsync, dst, byte, bytes, stream);
}

static int wait_value(void *stream, uint32_t *at, uint32_t value)
{
	return CALL(hipStreamWaitValue32, stream, at, value, HIP_WAIT_GTE, UINT32_MAX);
}

static int write_value(void *stream, uint32_t *at, uint32_t value)
{
	return CALL(hipStreamWriteValue32, stream, at, value, 0);
}

/* ------------------------------------------------------------------ kernels and graphs */

static int module_load(const void *image, void **module_p) { return CALL(hipModuleLoadData, module_p, image); }
static int module_unload(void *module) { return CALL(hipModuleUnload, module); }

static int function(void *module, const char *name, void **function_p)
{
	return CALL(hipModuleGetFunction, function_p, module, name);
}

/* Blocks may claim the whole LDS as it is, and it is not divided with a cache. */
static int function_allow_shared(void *kernel, uint64_t bytes)
{
	(void)kernel, (void)bytes;
	return 0;
}

static int function_static_shared(void *kernel, uint64_t *bytes_p)
{
	int bytes = 0;
	int rc = CALL(hipFuncGetAttribute, &bytes, HIP_FUNCTION_SHARED_SIZE, kernel);
	if (!rc)
		*bytes_p = (uint64_t)bytes;
	return rc;
}

static int occupancy(void *kernel, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	int blocks = 0;
	int rc = CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernel, (int)block, shared_bytes);
	if (!rc)
		*blocks_p = (uint32_t)blocks;
	return rc;
}

static int launch(void *stream, void *kernel, uint32_t grid, uint32_t block, uint64_t shared_bytes, void **args)
{
	return CALL(hipModuleLaunchKernel, kernel, grid, 1, 1, block, 1, 1, (unsigned)shared_bytes, stream, args, NULL);
}

static int capture_begin(void *stream) { return CALL(hipStreamBeginCapture, stream, HIP_CAPTURE_RELAXED); }

static int capture_end(void *stream, void **graph_p)
{
	void *graph = NULL;
	int rc = CALL(hipStreamEndCapture, stream, &graph);
	if (rc)
		return rc;
	rc = CALL(hipGraphInstantiate, graph_p, graph, NULL, NULL, 0);
	api.hipGraphDestroy(graph);
	return rc;
}

static int graph_launch(void *stream, void *graph) { return CALL(hipGraphLaunch, graph, stream); }
static int graph_close(void *graph) { return CALL(hipGraphExecDestroy, graph); }

static const struct gpu_driver driver = {
	.load = load,
	.count = count,
	.traits = traits,
	.context_open = context_open,
	.context_close = context_close,
	.context_use = context_use,
	.memory_free_bytes = memory_free_bytes,
	.alloc = alloc,
	.free = free_memory,
	.alloc_pinned = alloc_pinned,
	.free_pinned = free_pinned,
	.stream_open = stream_open,
	.stream_close = stream_close,
	.stream_sync = stream_sync,
	.stream_query = stream_query,
	.stream_wait = stream_wait,
	.event_open = event_open,
	.event_close = event_close,
	.event_record = event_record,
	.event_query = event_query,
	.event_sync = event_sync,
	.event_elapsed_ms = event_elapsed_ms,
	.copy = copy,
	.fill = fill,
	.wait_value = wait_value,
	.write_value = write_value,
	.module_load = module_load,
	.module_unload = module_unload,
	.function = function,
	.function_allow_shared = function_allow_shared,
	.function_static_shared = function_static_shared,
	.occupancy = occupancy,
	.launch = launch,
	.capture_begin = capture_begin,
	.capture_end = capture_end,
	.graph_launch = graph_launch,
	.graph_close = graph_close,
	.peer_can = peer_can,
	.peer_enable = peer_enable,
	.ipc_export = ipc_export,
	.ipc_import = ipc_import,
	.ipc_close = ipc_close,
};

static int probe(unsigned *count_p) { return gpu_probe(&hip_vendor, count_p); }

static int open_device(const char *model, unsigned index, unsigned listed, uint32_t want, struct dev **dev_p)
{
	(void)listed;
	return gpu_open(&hip_vendor, model, index, want, dev_p);
}

const struct dev_ops hip_ops = {.name = "hip", .probe = probe, .open = open_device, GPU_SLOTS};

const struct gpu_vendor hip_vendor = {
	.name = "hip",
	.ops = &hip_ops,
	.driver = &driver,
	.compiler = &hip_compiler,
	.blas = &hip_blas,
	.manager = &hip_manager,
	.collectives = &hip_collectives,
};
