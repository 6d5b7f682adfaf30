/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/backends.h"
#include "device/cuda_abi.h"
#include "device/gpu_compilers.h"
#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "lib/err.h"

/* 11.7 is the first driver with everything in CUDA_FUNCTIONS: cuStreamWaitValue32_v2 and cuStreamWriteValue32_v2 came last. */
#define OLDEST_DRIVER 11070

_Static_assert(sizeof(cuda_pointer) == sizeof(void *), "device pointers are passed as void *");
_Static_assert(sizeof(struct cuda_ipc_memory) == sizeof(struct dev_ipc), "an IPC handle fits");

#define SLOT(name, arguments) int(*name) arguments;
static struct {
	CUDA_FUNCTIONS(SLOT)
	CUDA_OPTIONAL_FUNCTIONS(SLOT)
} api;
#undef SLOT

#define REQUIRED(name, arguments) {#name, &api.name, false},
#define OPTIONAL(name, arguments) {#name, &api.name, true},
static const struct gpu_symbol symbols[] = {CUDA_FUNCTIONS(REQUIRED) CUDA_OPTIONAL_FUNCTIONS(OPTIONAL){NULL, NULL, false}};
#undef REQUIRED
#undef OPTIONAL

static const char *const files[] = {"libcuda.so.1", "libcuda.so", NULL};
static int start(void);
static struct gpu_library library = {
	.title = "the NVIDIA driver (libcuda)", .files = files, .symbols = symbols, .start = start};

/* ------------------------------------------------------------------ results */

static int errno_of(int result)
{
	switch (result) {
	case CUDA_NOT_READY:
		return -EAGAIN;
	case CUDA_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_NOT_SUPPORTED:
	case CUDA_PEER_UNSUPPORTED:
	case CUDA_TOO_MANY_PEERS:
	case CUDA_NOT_PERMITTED:
		return -ENOTSUP;
	case CUDA_NOT_FOUND:
		return -ENOENT;
	case CUDA_NO_DEVICE:
	case CUDA_INVALID_DEVICE:
	case CUDA_DEVICE_UNAVAILABLE:
	case CUDA_STUB_LIBRARY:
	case CUDA_DRIVER_MISMATCH:
	case CUDA_COMPAT_NOT_SUPPORTED:
		return -ENODEV;
	case CUDA_ECC_UNCORRECTABLE:
	case CUDA_NVLINK_UNCORRECTABLE:
	case CUDA_CONTAINED:
	case CUDA_CONTEXT_IS_DESTROYED:
	case CUDA_UNKNOWN:
		return -EIO;
	default:
		break;
	}
	/* Exceptions of a running kernel, which end the context: illegal address to illegal program counter. */
	bool exception = result == CUDA_ILLEGAL_ADDRESS || result == CUDA_LAUNCH_TIMEOUT || result == CUDA_ASSERT ||
	                 (result >= CUDA_HARDWARE_STACK && result <= CUDA_LAUNCH_FAILED);
	return exception ? -EIO : -EINVAL;
}

static int failed(int result, const char *function)
{
	const char *name = NULL, *text = NULL;
	if (api.cuGetErrorName(result, &name) != CUDA_OK || !name)
		name = "not a result it names";
	if (api.cuGetErrorString(result, &text) != CUDA_OK || !text)
		text = "unknown error";
	return err_note(errno_of(result), "%s: %s (%s, %d)", function, text, name, result);
}

static inline int outcome(int result, const char *function) { return result == CUDA_OK ? 0 : failed(result, function); }

/* The call, and its name for the message. */
#define CALL(function, ...) outcome(api.function(__VA_ARGS__), #function)

static cuda_pointer address(const void *ptr) { return (cuda_pointer)(uintptr_t)ptr; }

/* ------------------------------------------------------------------ the driver */

/* Streams beyond the number of hardware queues share them, and then wait for each other: as many as there can be, unless the
 * user says otherwise. The driver looks when it starts. */
static void want_queues(void) { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

static int start(void)
{
	int version = 0, rc = api.cuDriverGetVersion(&version);
	want_queues();
	if (rc == CUDA_OK && version && version < OLDEST_DRIVER)
		return err_note(-ENODEV, "the NVIDIA driver is for CUDA %d.%d, too old: it must be for %d.%d or later",
		                version / 1000, version % 1000 / 10, OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
	rc = api.cuInit(0);
	if (rc == CUDA_NO_DEVICE)
		return err_note(-ENODEV, "the NVIDIA driver is here (%s) and finds no GPU", library.path);
	if (rc == CUDA_STUB_LIBRARY)
		return err_note(-ENODEV, "%s is a toolkit's stub for linking, not a driver", library.path);
	rc = outcome(rc, "cuInit");
	return rc ? err_note(-ENODEV, "%s", err_text()) : 0;
}

static int load(void) { return gpu_library_open(&library); }

static int count(unsigned *count_p)
{
	int devices = 0;
	int rc = CALL(cuDeviceGetCount, &devices);
	if (!rc)
		*count_p = (unsigned)devices;
	return rc;
}

/* ------------------------------------------------------------------ devices */

/* What an older driver does not know stays 0. */
static int attribute(cuda_device device, int which)
{
	int value = 0;
	return api.cuDeviceGetAttribute(&value, which, device) == CUDA_OK ? value : 0;
}

static void sizes(cuda_device device, struct gpu_traits *t)
{
	t->units = (uint32_t)attribute(device, CUDA_MULTIPROCESSOR_COUNT);
	t->copy_engines = (uint32_t)attribute(device, CUDA_ASYNC_ENGINE_COUNT);
	t->warp_threads = (uint32_t)attribute(device, CUDA_WARP_SIZE);
	t->threads_per_unit = (uint32_t)attribute(device, CUDA_MAX_THREADS_PER_MULTIPROCESSOR);
	t->blocks_per_unit = (uint32_t)attribute(device, CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR);
	t->threads_per_block = (uint32_t)attribute(device, CUDA_MAX_THREADS_PER_BLOCK);
	t->l2_bytes = (uint64_t)attribute(device, CUDA_L2_CACHE_SIZE);
	t->shared_per_unit_bytes = (uint64_t)attribute(device, CUDA_MAX_SHARED_PER_MULTIPROCESSOR);
	t->shared_per_block_bytes = (uint64_t)attribute(device, CUDA_MAX_SHARED_PER_BLOCK_OPTIN);
	t->shared_reserved_bytes = (uint64_t)attribute(device, CUDA_RESERVED_SHARED_PER_BLOCK);
	t->shared_granularity_bytes = 128; /* CUDA's occupancy calculator, compute capability 7.0 and later */
	t->unified_addressing = attribute(device, CUDA_UNIFIED_ADDRESSING) != 0;
	t->wait_value = true; /* of every device, by the v2 functions */
	t->ipc = true;
	t->timer_hz = 1e9; /* %globaltimer counts nanoseconds */
}

static int traits(unsigned index, struct gpu_traits *t)
{
	cuda_device device = 0;
	size_t memory_bytes = 0;
	int version = 0;
	memset(t, 0, sizeof(*t));
	int rc = CALL(cuDeviceGet, &device, (int)index);
	if (!rc)
		rc = CALL(cuDeviceGetName, t->name, (int)sizeof(t->name), device);
	if (!rc)
		rc = CALL(cuDeviceGetPCIBusId, t->bus, (int)sizeof(t->bus), device);
	if (!rc)
		rc = CALL(cuDeviceTotalMem_v2, &memory_bytes, device);
	if (!rc)
		rc = CALL(cuDriverGetVersion, &version);
	if (rc)
		return rc;
	sizes(device, t);
	t->memory_bytes = memory_bytes;
	t->driver_version = version;
	snprintf(t->driver, sizeof(t->driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
	snprintf(t->arch, sizeof(t->arch), "sm_%d%d", attribute(device, CUDA_COMPUTE_CAPABILITY_MAJOR),
	         attribute(device, CUDA_COMPUTE_CAPABILITY_MINOR));
	if (api.cuDeviceGetAttribute(&t->numa_node, CUDA_HOST_NUMA_ID, device) != CUDA_OK)
		t->numa_node = -1;
	return CALL(cuCtxGetStreamPriorityRange, &t->priority_least, &t->priority_greatest);
}

static int context_open(unsigned index, void **context_p)
{
	cuda_device device = 0;
	int rc = CALL(cuDeviceGet, &device, (int)index);
	if (rc)
		return rc;
	/* A waiting host thread polls, so that a wait's end is seen at once. Refused when the context is in use already. */
	api.cuDevicePrimaryCtxSetFlags_v2(device, CUDA_SCHED_SPIN);
	return CALL(cuDevicePrimaryCtxRetain, context_p, device);
}

static void context_close(unsigned index, void *context)
{
	cuda_device device = 0;
	(void)context;
	if (api.cuDeviceGet(&device, (int)index) == CUDA_OK)
		api.cuDevicePrimaryCtxRelease_v2(device);
}

static int context_use(unsigned index, void *context)
{
	(void)index;
	return CALL(cuCtxSetCurrent, context);
}

/* ------------------------------------------------------------------ memory */

static int memory_free_bytes(uint64_t *bytes_p)
{
	size_t available = 0, total = 0;
	int rc = CALL(cuMemGetInfo_v2, &available, &total);
	if (!rc)
		*bytes_p = available;
	return rc;
}

static int alloc(uint64_t bytes, void **ptr_p)
{
	cuda_pointer ptr = 0;
	int rc = CALL(cuMemAlloc_v2, &ptr, bytes);
	if (!rc)
		*ptr_p = (void *)(uintptr_t)ptr;
	return rc;
}

static int free_memory(void *ptr) { return CALL(cuMemFree_v2, address(ptr)); }

static int alloc_pinned(uint64_t bytes, void **ptr_p)
{
	return CALL(cuMemHostAlloc, ptr_p, bytes, CUDA_HOSTALLOC_PORTABLE | CUDA_HOSTALLOC_DEVICEMAP);
}

static int free_pinned(void *ptr) { return CALL(cuMemFreeHost, ptr); }

static int ipc_export(void *ptr, struct dev_ipc *handle_p)
{
	struct cuda_ipc_memory memory;
	int rc = CALL(cuIpcGetMemHandle, &memory, address(ptr));
	if (!rc)
		memcpy(handle_p->bytes, memory.reserved, sizeof(memory.reserved));
	return rc;
}

static int ipc_import(const struct dev_ipc *handle, void **ptr_p)
{
	struct cuda_ipc_memory memory;
	cuda_pointer ptr = 0;
	memcpy(memory.reserved, handle->bytes, sizeof(memory.reserved));
	int rc = CALL(cuIpcOpenMemHandle_v2, &ptr, memory, CUDA_IPC_LAZY_PEER);
	if (!rc)
		*ptr_p = (void *)(uintptr_t)ptr;
	return rc;
}

static int ipc_close(void *ptr) { return CALL(cuIpcCloseMemHandle, address(ptr)); }

static int peer_can(unsigned index, unsigned other, bool *can_p)
{
	cuda_device device = 0, peer = 0;
	int can = 0;
	int rc = CALL(cuDeviceGet, &device, (int)index);
	if (!rc)
		rc = CALL(cuDeviceGet, &peer, (int)other);
	if (!rc)
		rc = CALL(cuDeviceCanAccessPeer, &can, device, peer);
	if (!rc)
		*can_p = can != 0;
	return rc;
}

static int peer_enable(unsigned other, void *other_context)
{
	(void)other;
	int result = api.cuCtxEnablePeerAccess(other_context, 0);
	return result == CUDA_PEER_ALREADY_ENABLED ? 0 : outcome(result, "cuCtxEnablePeerAccess");
}

/* ------------------------------------------------------------------ streams and events */

static int stream_open(int priority, void **stream_p)
{
	return CALL(cuStreamCreateWithPriority, stream_p, CUDA_STREAM_NON_BLOCKING, priority);
}

static int stream_close(void *stream) { return CALL(cuStreamDestroy_v2, stream); }
static int stream_sync(void *stream) { return CALL(cuStreamSynchronize, stream); }

/* "Not ready" is an answer and is asked for in loops: no text is made of it. */
static int stream_query(void *stream)
{
	int result = api.cuStreamQuery(stream);
	return result == CUDA_NOT_READY ? -EAGAIN : outcome(result, "cuStreamQuery");
}

static int stream_wait(void *stream, void *event) { return CALL(cuStreamWaitEvent, stream, event, 0); }
static int event_open(void **event_p) { return CALL(cuEventCreate, event_p, CUDA_EVENT_DEFAULT); }
static int event_close(void *event) { return CALL(cuEventDestroy_v2, event); }
static int event_record(void *stream, void *event) { return CALL(cuEventRecord, event, stream); }

static int event_query(void *event)
{
	int result = api.cuEventQuery(event);
	return result == CUDA_NOT_READY ? -EAGAIN : outcome(result, "cuEventQuery");
}

static int event_sync(void *event) { return CALL(cuEventSynchronize, event); }
static int event_elapsed_ms(void *from, void *to, float *ms_p) { return CALL(cuEventElapsedTime, ms_p, from, to); }

/* ------------------------------------------------------------------ copies, fills, values */

/* A copy within a device may run on its multiprocessors; since CUDA 12.8 one may ask for an engine. */
static int copy_overlapping(void *stream, void *dst, const void *src, uint64_t bytes)
{
	cuda_pointer to = address(dst), from = address(src);
	size_t size = bytes, first = 0, wrong = 0;
	struct cuda_copy_attributes attributes = {.source_order = CUDA_COPY_ORDER_STREAM, .flags = CUDA_COPY_PREFER_OVERLAP};
	if (api.cuMemcpyBatchAsync_v2)
		return api.cuMemcpyBatchAsync_v2(&to, &from, &size, 1, &attributes, &first, 1, stream);
	return api.cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &first, 1, &wrong, stream);
}

/* Drivers refuse a batch while a stream is captured, and for memory or devices that they do not serve this way: what
 * cuMemcpyAsync then says counts. */
static int copy_in_device_memory(void *stream, void *dst, const void *src, uint64_t bytes, bool captured)
{
	const bool can_ask = api.cuMemcpyBatchAsync_v2 || api.cuMemcpyBatchAsync;
	int result = CUDA_NOT_SUPPORTED;
	if (can_ask && bytes && !captured)
		result = copy_overlapping(stream, dst, src, bytes);
	if (result == CUDA_NOT_SUPPORTED || result == CUDA_INVALID_VALUE)
		return CALL(cuMemcpyAsync, address(dst), address(src), bytes, stream);
	return outcome(result, "cuMemcpyBatchAsync");
}

static int copy(void *stream, void *dst, const void *src, uint64_t bytes, enum gpu_direction direction, bool captured)
{
	switch (direction) {
	case GPU_UP:
		return CALL(cuMemcpyHtoDAsync_v2, address(dst), src, bytes, stream);
	case GPU_DOWN:
		return CALL(cuMemcpyDtoHAsync_v2, dst, address(src), bytes, stream);
	case GPU_LOCAL:
	case GPU_PEER:
		return copy_in_device_memory(stream, dst, src, bytes, captured);
	case GPU_WITHIN_HOST:
		break;
	}
	return CALL(cuMemcpyAsync, address(dst), address(src), bytes, stream);
}

static int fill(void *stream, void *dst, uint8_t byte, uint64_t bytes)
{
	return CALL(cuMemsetD8Async, address(dst), byte, bytes, stream);
}

static int wait_value(void *stream, uint32_t *at, uint32_t value)
{
	return CALL(cuStreamWaitValue32_v2, stream, address(at), value, CUDA_WAIT_GEQ);
}

static int write_value(void *stream, uint32_t *at, uint32_t value)
{
	return CALL(cuStreamWriteValue32_v2, stream, address(at), value, CUDA_WRITE_DEFAULT);
}

/* ------------------------------------------------------------------ kernels and graphs */

static int module_load(const void *image, void **module_p) { return CALL(cuModuleLoadData, module_p, image); }
static int module_unload(void *module) { return CALL(cuModuleUnload, module); }

static int function(void *module, const char *name, void **function_p)
{
	return CALL(cuModuleGetFunction, function_p, module, name);
}

static int function_allow_shared(void *kernel, uint64_t bytes)
{
	int rc = CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes);
	return rc ? rc : CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_CARVEOUT, CUDA_CARVEOUT_MAX_SHARED);
}

static int function_prefer_cache(void *kernel)
{
	return CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_CARVEOUT, CUDA_CARVEOUT_MAX_L1);
}

static int function_static_shared(void *kernel, uint64_t *bytes_p)
{
	int bytes = 0;
	int rc = CALL(cuFuncGetAttribute, &bytes, CUDA_FUNCTION_SHARED_SIZE, kernel);
	if (!rc)
		*bytes_p = (uint64_t)bytes;
	return rc;
}

static int occupancy(void *kernel, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	int blocks = 0;
	int rc = CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernel, (int)block, shared_bytes);
	if (!rc)
		*blocks_p = (uint32_t)blocks;
	return rc;
}

static int launch(void *stream, void *kernel, uint32_t grid, uint32_t block, uint64_t shared_bytes, void **args)
{
	return CALL(cuLaunchKernel, kernel, grid, 1, 1, block, 1, 1, (unsigned)shared_bytes, stream, args, NULL);
}

static int capture_begin(void *stream) { return CALL(cuStreamBeginCapture_v2, stream, CUDA_CAPTURE_RELAXED); }

static int capture_end(void *stream, void **graph_p)
{
	void *graph = NULL;
	int rc = CALL(cuStreamEndCapture, stream, &graph);
	if (rc)
		return rc;
	rc = CALL(cuGraphInstantiateWithFlags, graph_p, graph, 0);
	api.cuGraphDestroy(graph);
	return rc;
}

static int graph_launch(void *stream, void *graph) { return CALL(cuGraphLaunch, graph, stream); }
static int graph_close(void *graph) { return CALL(cuGraphExecDestroy, graph); }

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
	.function_prefer_cache = function_prefer_cache,
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

static int probe(unsigned *count_p) { return gpu_probe(&cuda_vendor, count_p); }

static int open_device(const char *model, unsigned index, unsigned listed, uint32_t want, struct dev **dev_p)
{
	(void)listed;
	return gpu_open(&cuda_vendor, model, index, want, dev_p);
}

const struct dev_ops cuda_ops = {.name = "cuda", .probe = probe, .open = open_device, GPU_SLOTS};

const struct gpu_vendor cuda_vendor = {
	.name = "cuda",
	.ops = &cuda_ops,
	.driver = &driver,
	.compiler = &cuda_compiler,
	.ready_image = cuda_kernels_ptx,
	.blas = &cuda_blas,
	.manager = &cuda_manager,
	.collectives = &cuda_collectives,
};
