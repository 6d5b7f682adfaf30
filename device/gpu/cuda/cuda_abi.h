/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the CUDA driver's ABI (libcuda) that we use, stable since CUDA 11. The names are
 * ours, so that tests/abi/cuda.cpp can compare them with cuda.h. Functions have the names that the
 * library exports.
 */
#ifndef GPUSIG_CUDA_ABI_H
#define GPUSIG_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cuda_device;
typedef unsigned long long cuda_pointer;
typedef void *cuda_handle; /* contexts, streams, events, modules, functions, graphs */

/* The results that we tell apart. */
enum {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_STUB_LIBRARY = 34,
	CUDA_DEVICE_UNAVAILABLE = 46,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_ECC_UNCORRECTABLE = 214,
	CUDA_PEER_UNSUPPORTED = 217,
	CUDA_NVLINK_UNCORRECTABLE = 220,
	CUDA_CONTAINED = 226,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_ILLEGAL_ADDRESS = 700,
	CUDA_LAUNCH_TIMEOUT = 702,
	CUDA_PEER_ALREADY_ENABLED = 704,
	CUDA_CONTEXT_IS_DESTROYED = 709,
	CUDA_ASSERT = 710,
	CUDA_TOO_MANY_PEERS = 711,
	CUDA_HARDWARE_STACK = 714,
	CUDA_LAUNCH_FAILED = 719,
	CUDA_NOT_PERMITTED = 800,
	CUDA_NOT_SUPPORTED = 801,
	CUDA_DRIVER_MISMATCH = 803,
	CUDA_COMPAT_NOT_SUPPORTED = 804,
	CUDA_UNKNOWN = 999,
};

enum {
	CUDA_MAX_THREADS_PER_BLOCK = 1,
	CUDA_WARP_SIZE = 10,
	CUDA_CLOCK_RATE = 13, /* kHz */
	CUDA_MULTIPROCESSOR_COUNT = 16,
	CUDA_KERNEL_EXEC_TIMEOUT = 17,
	CUDA_INTEGRATED = 18,
	CUDA_MEMORY_CLOCK_RATE = 36, /* kHz */
	CUDA_MEMORY_BUS_WIDTH = 37,  /* bits */
	CUDA_L2_CACHE_SIZE = 38,
	CUDA_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CUDA_ASYNC_ENGINE_COUNT = 40,
	CUDA_UNIFIED_ADDRESSING = 41,
	CUDA_COMPUTE_CAPABILITY_MAJOR = 75,
	CUDA_COMPUTE_CAPABILITY_MINOR = 76,
	CUDA_MAX_SHARED_PER_MULTIPROCESSOR = 81,
	CUDA_HOST_NATIVE_ATOMIC = 86,
	CUDA_SINGLE_TO_DOUBLE_RATIO = 87,
	CUDA_MAX_SHARED_PER_BLOCK_OPTIN = 97,
	CUDA_USES_HOST_PAGE_TABLES = 100,
	CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	CUDA_RESERVED_SHARED_PER_BLOCK = 111,
	CUDA_DMA_BUF_SUPPORTED = 124, /* from 11.7 on */
	CUDA_HOST_NUMA_ID = 134,
};

enum { CUDA_PEER_NATIVE_ATOMIC = 3 };

enum {
	CUDA_FUNCTION_SHARED_SIZE = 1,
	CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
	CUDA_FUNCTION_CARVEOUT = 9,
	CUDA_CARVEOUT_MAX_SHARED = 100,
	CUDA_CARVEOUT_MAX_L1 = 0,
};

enum {
	CUDA_SCHED_SPIN = 0x1,
	CUDA_STREAM_NON_BLOCKING = 0x1,
	CUDA_EVENT_DEFAULT = 0x0,
	CUDA_HOSTALLOC_PORTABLE = 0x1,
	CUDA_HOSTALLOC_DEVICEMAP = 0x2,
	CUDA_HOSTREGISTER_PORTABLE = 0x1,
	CUDA_HOSTREGISTER_DEVICEMAP = 0x2,
	CUDA_WAIT_GEQ = 0x0, /* (int32_t)(*at - value) >= 0 */
	CUDA_WRITE_DEFAULT = 0x0,
	CUDA_CAPTURE_RELAXED = 2,
	CUDA_IPC_LAZY_PEER = 0x1,
	CUDA_COPY_ORDER_STREAM = 0x1,
	CUDA_COPY_PREFER_OVERLAP = 0x1,
	CUDA_RESOURCE_UNITS = 1,
	CUDA_GREEN_DEFAULT_STREAM = 0x1, /* must be given */
};

struct cuda_location {
	int type, id;
};

struct cuda_copy_attributes {
	int source_order;
	struct cuda_location source, destination;
	unsigned flags;
};

struct cuda_uuid {
	char bytes[16];
};

/* Resources of a device, of which only the driver knows the rest; larger than any so far. */
struct cuda_resource {
	int type;
	char reserved[92];
	unsigned units;
	unsigned smallest_part, alignment; /* since CUDA 13; 0 before */
	char more[148];
};

struct cuda_ipc_memory {
	char reserved[64];
};

/* X(name, arguments); every function returns int */
#define CUDA_FUNCTIONS(X)                                                                          \
	X(cuInit, (unsigned))                                                                      \
	X(cuDriverGetVersion, (int *))                                                             \
	X(cuGetErrorName, (int, const char **))                                                    \
	X(cuGetErrorString, (int, const char **))                                                  \
	X(cuDeviceGetCount, (int *))                                                               \
	X(cuDeviceGet, (cuda_device *, int))                                                       \
	X(cuDeviceGetName, (char *, int, cuda_device))                                             \
	X(cuDeviceGetAttribute, (int *, int, cuda_device))                                         \
	X(cuDeviceTotalMem_v2, (size_t *, cuda_device))                                            \
	X(cuDeviceGetPCIBusId, (char *, int, cuda_device))                                         \
	X(cuDevicePrimaryCtxRetain, (cuda_handle *, cuda_device))                                  \
	X(cuDevicePrimaryCtxRelease_v2, (cuda_device))                                             \
	X(cuDevicePrimaryCtxSetFlags_v2, (cuda_device, unsigned))                                  \
	X(cuCtxSetCurrent, (cuda_handle))                                                          \
	X(cuCtxGetStreamPriorityRange, (int *, int *))                                             \
	X(cuMemGetInfo_v2, (size_t *, size_t *))                                                   \
	X(cuMemAlloc_v2, (cuda_pointer *, size_t))                                                 \
	X(cuMemFree_v2, (cuda_pointer))                                                            \
	X(cuMemHostAlloc, (void **, size_t, unsigned))                                             \
	X(cuMemFreeHost, (void *))                                                                 \
	X(cuMemHostRegister_v2, (void *, size_t, unsigned))                                        \
	X(cuMemHostUnregister, (void *))                                                           \
	X(cuMemHostGetDevicePointer_v2, (cuda_pointer *, void *, unsigned))                        \
	X(cuStreamCreateWithPriority, (cuda_handle *, unsigned, int))                              \
	X(cuStreamDestroy_v2, (cuda_handle))                                                       \
	X(cuStreamSynchronize, (cuda_handle))                                                      \
	X(cuStreamQuery, (cuda_handle))                                                            \
	X(cuStreamWaitEvent, (cuda_handle, cuda_handle, unsigned))                                 \
	X(cuEventCreate, (cuda_handle *, unsigned))                                                \
	X(cuEventDestroy_v2, (cuda_handle))                                                        \
	X(cuEventRecord, (cuda_handle, cuda_handle))                                               \
	X(cuEventQuery, (cuda_handle))                                                             \
	X(cuEventSynchronize, (cuda_handle))                                                       \
	X(cuEventElapsedTime, (float *, cuda_handle, cuda_handle))                                 \
	X(cuMemcpyAsync, (cuda_pointer, cuda_pointer, size_t, cuda_handle))                        \
	X(cuMemcpyHtoDAsync_v2, (cuda_pointer, const void *, size_t, cuda_handle))                 \
	X(cuMemcpyDtoHAsync_v2, (void *, cuda_pointer, size_t, cuda_handle))                       \
	X(cuMemsetD8Async, (cuda_pointer, unsigned char, size_t, cuda_handle))                     \
	X(cuStreamWaitValue32_v2, (cuda_handle, cuda_pointer, uint32_t, unsigned))                 \
	X(cuStreamWriteValue32_v2, (cuda_handle, cuda_pointer, uint32_t, unsigned))                \
	X(cuModuleLoadData, (cuda_handle *, const void *))                                         \
	X(cuModuleUnload, (cuda_handle))                                                           \
	X(cuModuleGetFunction, (cuda_handle *, cuda_handle, const char *))                         \
	X(cuFuncGetAttribute, (int *, int, cuda_handle))                                           \
	X(cuFuncSetAttribute, (cuda_handle, int, int))                                             \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, cuda_handle, int, size_t))          \
	X(cuLaunchKernel, (cuda_handle, unsigned, unsigned, unsigned, unsigned, unsigned,          \
			   unsigned, unsigned, cuda_handle, void **, void **))                     \
	X(cuStreamBeginCapture_v2, (cuda_handle, int))                                             \
	X(cuStreamEndCapture, (cuda_handle, cuda_handle *))                                        \
	X(cuGraphInstantiateWithFlags, (cuda_handle *, cuda_handle, unsigned long long))           \
	X(cuGraphLaunch, (cuda_handle, cuda_handle))                                               \
	X(cuGraphExecDestroy, (cuda_handle))                                                       \
	X(cuGraphDestroy, (cuda_handle))                                                           \
	X(cuDeviceCanAccessPeer, (int *, cuda_device, cuda_device))                                \
	X(cuDeviceGetP2PAttribute, (int *, int, cuda_device, cuda_device))                         \
	X(cuCtxEnablePeerAccess, (cuda_handle, unsigned))                                          \
	X(cuIpcGetMemHandle, (struct cuda_ipc_memory *, cuda_pointer))                             \
	X(cuIpcOpenMemHandle_v2, (cuda_pointer *, struct cuda_ipc_memory, unsigned))               \
	X(cuIpcCloseMemHandle, (cuda_pointer))

/* Since CUDA 12.5. */
#define CUDA_GREEN_FUNCTIONS(X)                                                                    \
	X(cuDeviceGetDevResource, (cuda_device, struct cuda_resource *, int))                      \
	X(cuDevSmResourceSplitByCount,                                                             \
	  (struct cuda_resource *, unsigned *, const struct cuda_resource *,                       \
	   struct cuda_resource *, unsigned, unsigned))                                            \
	X(cuDevResourceGenerateDesc, (cuda_handle *, struct cuda_resource *, unsigned))            \
	X(cuGreenCtxCreate, (cuda_handle *, cuda_handle, cuda_device, unsigned))                   \
	X(cuGreenCtxDestroy, (cuda_handle))                                                        \
	X(cuGreenCtxStreamCreate, (cuda_handle *, cuda_handle, unsigned, int))                     \
	X(cuStreamGetGreenCtx, (cuda_handle, cuda_handle *))

/* Missing in the oldest driver that we support, or not needed. The second batch has no `failed`
 * argument since CUDA 13. */
#define CUDA_OPTIONAL_FUNCTIONS(X)                                                                 \
	CUDA_GREEN_FUNCTIONS(X)                                                                    \
	X(cuDeviceGetUuid_v2, (struct cuda_uuid *, cuda_device))                                   \
	X(cuMemcpyBatchAsync,                                                                      \
	  (cuda_pointer *, cuda_pointer *, size_t *, size_t, struct cuda_copy_attributes *,        \
	   size_t *, size_t, size_t *, cuda_handle))                                               \
	X(cuMemcpyBatchAsync_v2, (cuda_pointer *, cuda_pointer *, size_t *, size_t,                \
				  struct cuda_copy_attributes *, size_t *, size_t, cuda_handle))

#endif
