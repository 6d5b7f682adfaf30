/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that the CUDA driver and the HIP runtime share but for their names. cuda.c and
 * hip.c include this after they have defined
 *
 *   NAME(cuda, hip)                    one of its arguments
 *   DEVICE_NAME(gpu)                   its name
 *   DEFAULT_VERSION                    what FAKE_DRIVER_VERSION replaces
 *   OTHER_RESULTS, OTHER_ATTRIBUTES    rows that the other vendor does not have
 *
 * and before they define enter_device() and enter_context(), with which functions begin, and
 * leave_call(), with which they end.
 */
#include "device/host/host_units.h"
#include "tests/fakes/board.h"
#include "tests/fakes/engine/engine.h"
#include "tests/fakes/faults.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Apply FAKE_FAIL and check that the function may be called now: 0, or the result to return. Of a
 * device by its index; of the calling thread's context, where a failed one is an error. */
static int enter_device(const char *function, int device, struct fake_gpu **g_p);
static int enter_context(const char *function, struct fake_gpu **g_p);
static int leave_call(int status);

/* A function that uses the context `g`, or the device `g` of its parameter `device`. */
#define CALL(name, parameters, result) WITH(enter_context(__func__, &g), name, parameters, result)
#define OF_DEVICE(name, parameters, result)                                                        \
	WITH(enter_device(__func__, device, &g), name, parameters, result)
#define WITH(enter, name, parameters, result)                                                      \
	int name parameters                                                                        \
	{                                                                                          \
		struct fake_gpu *g;                                                                \
		int status = enter;                                                                \
		return leave_call(status ? status : (result));                                     \
	}

typedef NAME(unsigned long long, void *) device_ptr;

typedef struct {
	char reserved[FAKE_IPC_BYTES];
} ipc_handle;

#define CODE(number, cuda, hip, text)                                                              \
	{                                                                                          \
		number, NAME("CUDA_" cuda, "hip" hip), text                                        \
	}
static const struct fake_result_name results[] = {
	CODE(0, "SUCCESS", "Success", "no error"),
	CODE(1, "ERROR_INVALID_VALUE", "ErrorInvalidValue", "invalid argument"),
	CODE(2, "ERROR_OUT_OF_MEMORY", "ErrorOutOfMemory", "out of memory"),
	CODE(3, "ERROR_NOT_INITIALIZED", "ErrorNotInitialized", "initialization error"),
	CODE(100, "ERROR_NO_DEVICE", "ErrorNoDevice",
	     NAME("no CUDA-capable device is detected", "no ROCm-capable device is detected")),
	CODE(101, "ERROR_INVALID_DEVICE", "ErrorInvalidDevice", "invalid device ordinal"),
	CODE(200, "ERROR_INVALID_IMAGE", "ErrorInvalidImage", "device kernel image is invalid"),
	CODE(201, "ERROR_INVALID_CONTEXT", "ErrorInvalidContext", "invalid device context"),
	CODE(209, "ERROR_NO_BINARY_FOR_GPU", "ErrorNoBinaryForGpu",
	     "no kernel image is available for execution on the device"),
	CODE(214, "ERROR_ECC_UNCORRECTABLE", "ErrorECCNotCorrectable",
	     "uncorrectable ECC error encountered"),
	CODE(217, "ERROR_PEER_ACCESS_UNSUPPORTED", "ErrorPeerAccessUnsupported",
	     "peer access is not supported between these two devices"),
	CODE(400, "ERROR_INVALID_HANDLE", "ErrorInvalidHandle", "invalid resource handle"),
	CODE(401, "ERROR_ILLEGAL_STATE", "ErrorIllegalState",
	     "the operation cannot be performed in the present state"),
	CODE(500, "ERROR_NOT_FOUND", "ErrorNotFound", "named symbol not found"),
	CODE(600, "ERROR_NOT_READY", "ErrorNotReady", "device not ready"),
	CODE(700, "ERROR_ILLEGAL_ADDRESS", "ErrorIllegalAddress",
	     "an illegal memory access was encountered"),
	CODE(701, "ERROR_LAUNCH_OUT_OF_RESOURCES", "ErrorLaunchOutOfResources",
	     "too many resources requested for launch"),
	CODE(704, "ERROR_PEER_ACCESS_ALREADY_ENABLED", "ErrorPeerAccessAlreadyEnabled",
	     "peer access is already enabled"),
	CODE(705, "ERROR_PEER_ACCESS_NOT_ENABLED", "ErrorPeerAccessNotEnabled",
	     "peer access has not been enabled"),
	CODE(709, "ERROR_CONTEXT_IS_DESTROYED", "ErrorContextIsDestroyed", "context is destroyed"),
	CODE(712, "ERROR_HOST_MEMORY_ALREADY_REGISTERED", "ErrorHostMemoryAlreadyRegistered",
	     "part or all of the requested memory range is already mapped"),
	CODE(713, "ERROR_HOST_MEMORY_NOT_REGISTERED", "ErrorHostMemoryNotRegistered",
	     "pointer does not correspond to a registered memory region"),
	CODE(719, "ERROR_LAUNCH_FAILED", "ErrorLaunchFailure", "unspecified launch failure"),
	CODE(801, "ERROR_NOT_SUPPORTED", "ErrorNotSupported", "operation not supported"),
	CODE(900, "ERROR_STREAM_CAPTURE_UNSUPPORTED", "ErrorStreamCaptureUnsupported",
	     "operation not permitted when stream is capturing"),
	CODE(901, "ERROR_STREAM_CAPTURE_INVALIDATED", "ErrorStreamCaptureInvalidated",
	     "operation failed due to a previous error during capture"),
	CODE(905, "ERROR_STREAM_CAPTURE_ISOLATION", "ErrorStreamCaptureIsolation",
	     "dependency created on uncaptured work in another stream"),
	CODE(907, "ERROR_CAPTURED_EVENT", "ErrorCapturedEvent",
	     "operation not permitted on an event last recorded in a capturing stream"),
	CODE(908, "ERROR_STREAM_CAPTURE_WRONG_THREAD", "ErrorStreamCaptureWrongThread",
	     "attempt to terminate a thread-local capture sequence from another thread"),
	CODE(999, "ERROR_UNKNOWN", "ErrorUnknown", "unknown error"),
	OTHER_RESULTS,
	{0, NULL, NULL},
};

static const struct attribute {
	int which, value;
	const char *board; /* NULL, or what FAKE_BOARD calls it */
} device_attributes[] = {
#define ATTRIBUTE(which, value)                                                                    \
	{                                                                                          \
		which, value, NULL                                                                 \
	}
	ATTRIBUTE(NAME(1, 56), FAKE_THREADS_PER_BLOCK),         /* MAX_THREADS_PER_BLOCK */
	ATTRIBUTE(NAME(8, 74), NAME(48, 64) << 10),             /* MAX_SHARED_MEMORY_PER_BLOCK */
	ATTRIBUTE(NAME(10, 87), NAME(32, 64)),                  /* WARP_SIZE */
	ATTRIBUTE(NAME(13, 5), 1500000),                        /* CLOCK_RATE, kHz */
	{NAME(36, 60), NAME(2619000, 1600000), "memory_clock"}, /* MEMORY_CLOCK_RATE, kHz */
	{NAME(37, 59), NAME(5120, 4096), "memory_bits"},        /* GLOBAL_MEMORY_BUS_WIDTH */
	ATTRIBUTE(NAME(38, 19), 1 << 20),                       /* L2_CACHE_SIZE */
	ATTRIBUTE(NAME(39, 57), FAKE_THREADS_PER_UNIT),         /* MAX_THREADS_PER_MULTIPROCESSOR */
	ATTRIBUTE(NAME(40, 2), HOST_ENGINES),                   /* ASYNC_ENGINE_COUNT */
	ATTRIBUTE(NAME(106, 25), HOST_SLOTS),                   /* MAX_BLOCKS_PER_MULTIPROCESSOR */
	{NAME(17, 18), 0, "display"},                           /* KERNEL_EXEC_TIMEOUT */
	/* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
	{NAME(81, 10002), NAME(128, 64) << 10, "shared_per_unit"},
	/* PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, Integrated */
	{NAME(100, 16), 1, "coherent"},
	OTHER_ATTRIBUTES,
};

/* Settings that the driver reads from the environment when it starts. */
static struct {
	unsigned queues;
	uint64_t peer_kernel_bytes, kernel_bytes;
} settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static void read_settings(void);

static unsigned long read_variable(const char *name, unsigned long unset)
{
	const char *text = getenv(name);
	return text && *text ? strtoul(text, NULL, 10) : unset;
}

static unsigned queue_limit(void) { return settings.queues ? settings.queues : 1; }

static void *to_pointer(device_ptr ptr) { return (void *)(uintptr_t)ptr; }

static int driver_version(void)
{
	const char *text = getenv("FAKE_DRIVER_VERSION");
	return text && *text ? (int)strtol(text, NULL, 10) : DEFAULT_VERSION;
}

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ devices */

static int read_version(const char *function, int *version)
{
	*version = driver_version();
	return leave_call(fake_fault(function, fake_result_by_name));
}

int NAME(cuDriverGetVersion, hipDriverGetVersion)(int *version)
{
	return read_version(__func__, version);
}

static int write_text(char *to, int capacity, const char *text)
{
	snprintf(to, (size_t)capacity, "%s", text);
	return FAKE_OK;
}
OF_DEVICE(NAME(cuDeviceGetName, hipDeviceGetName), (char *name, int capacity, int device),
	  write_text(name, capacity, DEVICE_NAME(g)))

/* With capital digits, as the CUDA driver writes it. */
static int write_bus_id(char *to, int capacity, const struct fake_gpu *g)
{
	snprintf(to, (size_t)capacity, NAME("0000:%02X:00.0", "0000:%02x:00.0"),
		 fake_pci_bus(g->index));
	return FAKE_OK;
}
OF_DEVICE(NAME(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId), (char *text, int capacity, int device),
	  write_bus_id(text, capacity, g))

OF_DEVICE(NAME(cuDeviceTotalMem_v2, hipDeviceTotalMem), (size_t * bytes, int device),
	  (*bytes = fake_memory_bytes(), FAKE_OK))

static int find_attribute(const struct fake_gpu *g, int which, int *value)
{
	if (which == NAME(16, 63)) { /* MULTIPROCESSOR_COUNT */
		*value = (int)fake_units(g);
		return FAKE_OK;
	}
	for (size_t i = 0; i < sizeof(device_attributes) / sizeof(device_attributes[0]); i++) {
		const struct attribute *a = &device_attributes[i];
		if (a->which == which) {
			*value = a->board ? (int)fake_board(g->index, (uint64_t)a->value, "%s",
							    a->board)
					  : a->value;
			return FAKE_OK;
		}
	}
	return FAKE_INVALID_VALUE;
}
OF_DEVICE(NAME(cuDeviceGetAttribute, hipDeviceGetAttribute), (int *value, int which, int device),
	  find_attribute(g, which, value))

CALL(NAME(cuCtxGetStreamPriorityRange, hipDeviceGetStreamPriorityRange),
     (int *least, int *greatest),
     (*least = fake_model.priority_min, *greatest = fake_model.priority_greatest, FAKE_OK))

int NAME(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer)(int *can, int device, int peer)
{
	struct fake_gpu *g, *other;
	int status = enter_device(__func__, device, &g);
	if (!status)
		status = enter_device(__func__, peer, &other);
	if (!status)
		*can = g != other && fake_board(g->index, 1, "peers");
	return leave_call(status);
}

bool fake_is_device_memory(const void *ptr, size_t bytes)
{
	fake_lock();
	const bool is = fake_memory_kind_of(ptr, bytes) == FAKE_DEVICE_MEMORY;
	fake_unlock();
	return is;
}

bool fake_reaches_peers(unsigned device) { return fake_board(device, 1, "peers"); }

/* ------------------------------------------------------------------ memory */

static int read_memory_info(struct fake_gpu *g, size_t *available, size_t *total)
{
	uint64_t free_bytes, bytes;
	int status = fake_memory_info(g, &free_bytes, &bytes);
	if (!status) {
		*available = free_bytes;
		*total = bytes;
	}
	return status;
}
CALL(NAME(cuMemGetInfo_v2, hipMemGetInfo), (size_t * available, size_t *total),
     read_memory_info(g, available, total))

/* FAKE_BOARD's offset: as of runtimes that align memory to less than the vendors' do. */
static size_t memory_offset(const struct fake_gpu *g) { return fake_board(g->index, 0, "offset"); }

static int alloc_device(struct fake_gpu *g, size_t bytes, device_ptr *ptr)
{
	void *start = NULL;
	int status = fake_alloc(g, bytes ? bytes + memory_offset(g) : 0, &start);
	if (!status)
		*ptr = (device_ptr)((uintptr_t)start + memory_offset(g));
	return status;
}
CALL(NAME(cuMemAlloc_v2, hipMalloc), (device_ptr * ptr, size_t bytes), alloc_device(g, bytes, ptr))
CALL(NAME(cuMemFree_v2, hipFree), (device_ptr ptr),
     fake_free(g, to_pointer(ptr) ? (char *)to_pointer(ptr) - memory_offset(g) : NULL))

static int alloc_pinned(struct fake_gpu *g, size_t bytes, void **ptr)
{
	void *start = NULL;
	int status = fake_alloc_pinned(g, bytes ? bytes + memory_offset(g) : 0, &start);
	if (!status)
		*ptr = (char *)start + memory_offset(g);
	return status;
}
CALL(NAME(cuMemHostAlloc, hipHostMalloc), (void **ptr, size_t bytes, unsigned flags),
     flags & ~NAME(7u, 0xe000000fu) ? FAKE_INVALID_VALUE : alloc_pinned(g, bytes, ptr))
CALL(NAME(cuMemFreeHost, hipHostFree), (void *ptr),
     fake_free_pinned(g, ptr ? (char *)ptr - memory_offset(g) : NULL))
CALL(NAME(cuMemHostRegister_v2, hipHostRegister), (void *ptr, size_t bytes, unsigned flags),
     flags & ~NAME(0xfu, 0xbu) ? FAKE_INVALID_VALUE : fake_pin(g, ptr, bytes))
CALL(NAME(cuMemHostUnregister, hipHostUnregister), (void *ptr), fake_unpin(g, ptr))

static int find_pinned(void *ptr, unsigned flags, device_ptr *seen)
{
	int status = flags ? FAKE_INVALID_VALUE : fake_pinned_address(ptr);
	if (!status)
		*seen = (device_ptr)(uintptr_t)ptr;
	return status;
}
CALL(NAME(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer),
     (device_ptr * seen, void *ptr, unsigned flags), find_pinned(ptr, flags, seen))

CALL(NAME(cuIpcGetMemHandle, hipIpcGetMemHandle), (ipc_handle * handle, device_ptr ptr),
     fake_ipc_export(g, to_pointer(ptr), handle))

/* LAZY_ENABLE_PEER_ACCESS, the only flag, is 1; of HIP since ROCm 6, and was 0 before. */
static int open_ipc(struct fake_gpu *g, device_ptr *ptr, ipc_handle handle, unsigned flags)
{
	void *start = NULL;
	const unsigned lazy = NAME(1, driver_version() >= 60000000);
	int status = flags == lazy ? fake_ipc_import(g, &handle, &start) : FAKE_INVALID_VALUE;
	if (!status)
		*ptr = (device_ptr)(uintptr_t)start;
	return status;
}
CALL(NAME(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle),
     (device_ptr * ptr, ipc_handle handle, unsigned flags), open_ipc(g, ptr, handle, flags))
CALL(NAME(cuIpcCloseMemHandle, hipIpcCloseMemHandle), (device_ptr ptr),
     fake_ipc_close(g, to_pointer(ptr)))

/* ------------------------------------------------------------------ streams and events */

CALL(NAME(cuStreamCreateWithPriority, hipStreamCreateWithPriority),
     (void **stream, unsigned flags, int priority),
     flags > 1 ? FAKE_INVALID_VALUE : fake_stream_open(g, priority, stream))
CALL(NAME(cuStreamDestroy_v2, hipStreamDestroy), (void *stream), fake_stream_close(g, stream))
CALL(NAME(cuStreamSynchronize, hipStreamSynchronize), (void *stream), fake_stream_sync(g, stream))
CALL(NAME(cuStreamQuery, hipStreamQuery), (void *stream), fake_stream_query(g, stream))
CALL(NAME(cuStreamWaitEvent, hipStreamWaitEvent), (void *stream, void *event, unsigned flags),
     flags ? FAKE_INVALID_VALUE : fake_stream_wait(g, stream, event))

CALL(NAME(cuEventCreate, hipEventCreateWithFlags), (void **event, unsigned flags),
     flags > 3 ? FAKE_INVALID_VALUE : fake_event_open(g, !(flags & 2), event))
CALL(NAME(cuEventDestroy_v2, hipEventDestroy), (void *event), fake_event_close(g, event))
CALL(NAME(cuEventRecord, hipEventRecord), (void *event, void *stream),
     fake_event_record(g, stream, event))
CALL(NAME(cuEventQuery, hipEventQuery), (void *event), fake_event_query(g, event))
CALL(NAME(cuEventSynchronize, hipEventSynchronize), (void *event), fake_event_sync(g, event))
CALL(NAME(cuEventElapsedTime, hipEventElapsedTime), (float *ms, void *from, void *to),
     fake_event_elapsed_ms(g, from, to, ms))

CALL(NAME(cuMemsetD8Async, hipMemsetAsync),
     (device_ptr dst, NAME(unsigned char, int) byte, size_t bytes, void *stream),
     fake_fill(g, stream, to_pointer(dst), (uint8_t)byte, bytes))
CALL(NAME(cuStreamWriteValue32_v2, hipStreamWriteValue32),
     (void *stream, device_ptr at, uint32_t value, unsigned flags),
     flags > NAME(1, 0) ? FAKE_INVALID_VALUE : fake_write_value(g, stream, to_pointer(at), value))

/* ------------------------------------------------------------------ kernels */

CALL(NAME(cuModuleUnload, hipModuleUnload), (void *module), fake_module_unload(g, module))
/* FAKE_FAIL with FUNCTION.KERNEL applies to that kernel only. */
static int find_function(const char *call, struct fake_gpu *g, void *module, const char *name,
			 void **function)
{
	char of_kernel[128];
	snprintf(of_kernel, sizeof(of_kernel), "%s.%s", call, name);
	const int status = fake_fault(of_kernel, fake_result_by_name);
	return status ? status : fake_module_function(g, module, name, function);
}
CALL(NAME(cuModuleGetFunction, hipModuleGetFunction),
     (void **function, void *module, const char *name),
     find_function(__func__, g, module, name, function))

static int read_function_attribute(struct fake_gpu *g, int *value, int which, void *function)
{
	uint64_t own, dynamic;
	int status = fake_function_shared(g, function, &own, &dynamic);
	if (status)
		return status;
	switch (which) {
	case 0: /* MAX_THREADS_PER_BLOCK */
		*value = (int)fake_function_threads();
		return FAKE_OK;
	case 1: /* SHARED_SIZE_BYTES */
		*value = (int)own;
		return FAKE_OK;
	case 8: /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
		*value = (int)dynamic;
		return FAKE_OK;
	default:
		return FAKE_INVALID_VALUE;
	}
}
CALL(NAME(cuFuncGetAttribute, hipFuncGetAttribute), (int *value, int which, void *function),
     read_function_attribute(g, value, which, function))

CALL(NAME(cuOccupancyMaxActiveBlocksPerMultiprocessor,
	  hipModuleOccupancyMaxActiveBlocksPerMultiprocessor),
     (int *blocks, void *function, int threads, size_t shared_bytes),
     fake_occupancy(g, function, threads, shared_bytes, blocks))

CALL(NAME(cuLaunchKernel, hipModuleLaunchKernel),
     (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
      unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
      void **extra),
     extra || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1
	     ? FAKE_NOT_SUPPORTED /* by this fake */
	     : fake_launch(g, stream, function, grid_x, block_x, shared_bytes, arguments))

/* ------------------------------------------------------------------ graphs */

CALL(NAME(cuStreamBeginCapture_v2, hipStreamBeginCapture), (void *stream, int mode),
     fake_capture_begin(g, stream, mode))
CALL(NAME(cuStreamEndCapture, hipStreamEndCapture), (void *stream, void **graph),
     fake_capture_end(g, stream, graph))
CALL(NAME(cuGraphLaunch, hipGraphLaunch), (void *exec, void *stream),
     fake_graph_launch(g, exec, stream))
CALL(NAME(cuGraphExecDestroy, hipGraphExecDestroy), (void *exec),
     fake_graph_close(g, exec, FAKE_GRAPH_EXEC))
CALL(NAME(cuGraphDestroy, hipGraphDestroy), (void *graph), fake_graph_close(g, graph, FAKE_GRAPH))

#pragma GCC visibility pop
