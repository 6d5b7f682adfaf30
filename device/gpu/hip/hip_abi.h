/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of the HIP runtime's ABI (libamdhip64) that we use, as of ROCm 5.2 and unchanged in 6.
 * The names are ours, so that tests/abi/hip.cpp can compare them with hip_runtime_api.h. Functions
 * have the names that the library exports.
 */
#ifndef GPUSIG_HIP_ABI_H
#define GPUSIG_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *hip_handle; /* streams, events, modules, functions, graphs */

/* The results that we tell apart. */
enum {
	HIP_OK = 0,
	HIP_INVALID_VALUE = 1,
	HIP_OUT_OF_MEMORY = 2,
	HIP_INVALID_COPY_DIRECTION = 21,
	HIP_INSUFFICIENT_DRIVER = 35,
	HIP_PRIOR_LAUNCH_FAILURE = 53,
	HIP_NO_DEVICE = 100,
	HIP_INVALID_DEVICE = 101,
	HIP_ECC_UNCORRECTABLE = 214,
	HIP_PEER_UNSUPPORTED = 217,
	HIP_NOT_FOUND = 500,
	HIP_NOT_READY = 600,
	HIP_ILLEGAL_ADDRESS = 700,
	HIP_LAUNCH_TIMEOUT = 702,
	HIP_PEER_ALREADY_ENABLED = 704,
	HIP_CONTEXT_IS_DESTROYED = 709,
	HIP_ASSERT = 710,
	HIP_LAUNCH_FAILED = 719,
	HIP_NOT_SUPPORTED = 801,
	HIP_UNKNOWN = 999,
};

enum {
	HIP_ASYNC_ENGINE_COUNT = 2,
	HIP_CLOCK_RATE = 5, /* kHz */
	HIP_INTEGRATED = 16,
	HIP_KERNEL_EXEC_TIMEOUT = 18,
	HIP_L2_CACHE_SIZE = 19,
	HIP_MAX_BLOCKS_PER_MULTIPROCESSOR = 25,
	HIP_MAX_THREADS_PER_BLOCK = 56,
	HIP_MAX_THREADS_PER_MULTIPROCESSOR = 57,
	HIP_MEMORY_BUS_WIDTH = 59,  /* bits */
	HIP_MEMORY_CLOCK_RATE = 60, /* kHz */
	HIP_MULTIPROCESSOR_COUNT = 63,
	HIP_USES_HOST_PAGE_TABLES = 66,
	HIP_MAX_SHARED_PER_BLOCK = 74,
	HIP_WARP_SIZE = 87,
	HIP_MAX_SHARED_PER_MULTIPROCESSOR = 10002,
	HIP_CAN_WAIT_VALUE = 10013,
	HIP_WALL_CLOCK_RATE = 10017, /* kHz; since ROCm 5.3 */
	HIP_NUMBER_OF_XCCS = 10018,  /* since ROCm 7 */
};

enum {
	HIP_FUNCTION_SHARED_SIZE = 1,
};

enum {
	HIP_SCHEDULE_SPIN = 0x1,
	HIP_STREAM_NON_BLOCKING = 0x1,
	HIP_EVENT_DEFAULT = 0x0,
	HIP_HOST_PORTABLE = 0x1,
	HIP_HOST_MAPPED = 0x2,
	HIP_HOST_COHERENT = 0x40000000,
	HIP_HOSTREGISTER_PORTABLE = 0x1,
	HIP_HOSTREGISTER_MAPPED = 0x2,
	HIP_WAIT_GTE = 0x0, /* (*at & mask) >= value */
	HIP_CAPTURE_RELAXED = 2,
	HIP_IPC_LAZY_PEER = 0x1, /* 0 before ROCm 6; each runtime accepts only its own value */
	HIP_COPY_WITHIN_HOST = 0,
	HIP_COPY_UP = 1,
	HIP_COPY_DOWN = 2,
	HIP_COPY_LOCAL = 3,
	HIP_COPY_LOCAL_WITHOUT_CU = 1024, /* since ROCm 6.1; older runtimes ignore it */
};

/* Size of hipDeviceProp_t, and the offset of the architecture's name in it. The offset changed
 * with ROCm 6, which kept the old function. */
enum {
	HIP_PROPERTIES_BYTES = 1472,
	HIP_PROPERTIES_ARCH_R0000 = 396,  /* hipGetDeviceProperties */
	HIP_PROPERTIES_ARCH_R0600 = 1160, /* hipGetDevicePropertiesR0600 */
};

struct hip_uuid {
	char bytes[16];
};

struct hip_ipc_memory {
	char reserved[64];
};

#define HIP_FUNCTIONS(X)                                                                           \
	X(hipInit, (unsigned))                                                                     \
	X(hipRuntimeGetVersion, (int *))                                                           \
	X(hipGetDeviceCount, (int *))                                                              \
	X(hipSetDevice, (int))                                                                     \
	X(hipSetDeviceFlags, (unsigned))                                                           \
	X(hipDeviceGetName, (char *, int, int))                                                    \
	X(hipDeviceGetAttribute, (int *, int, int))                                                \
	X(hipDeviceTotalMem, (size_t *, int))                                                      \
	X(hipDeviceGetPCIBusId, (char *, int, int))                                                \
	X(hipDeviceGetStreamPriorityRange, (int *, int *))                                         \
	X(hipMemGetInfo, (size_t *, size_t *))                                                     \
	X(hipMalloc, (void **, size_t))                                                            \
	X(hipFree, (void *))                                                                       \
	X(hipHostMalloc, (void **, size_t, unsigned))                                              \
	X(hipHostFree, (void *))                                                                   \
	X(hipHostRegister, (void *, size_t, unsigned))                                             \
	X(hipHostUnregister, (void *))                                                             \
	X(hipHostGetDevicePointer, (void **, void *, unsigned))                                    \
	X(hipStreamCreateWithPriority, (hip_handle *, unsigned, int))                              \
	X(hipStreamDestroy, (hip_handle))                                                          \
	X(hipStreamSynchronize, (hip_handle))                                                      \
	X(hipStreamQuery, (hip_handle))                                                            \
	X(hipStreamWaitEvent, (hip_handle, hip_handle, unsigned))                                  \
	X(hipEventCreateWithFlags, (hip_handle *, unsigned))                                       \
	X(hipEventDestroy, (hip_handle))                                                           \
	X(hipEventRecord, (hip_handle, hip_handle))                                                \
	X(hipEventQuery, (hip_handle))                                                             \
	X(hipEventSynchronize, (hip_handle))                                                       \
	X(hipEventElapsedTime, (float *, hip_handle, hip_handle))                                  \
	X(hipMemcpyAsync, (void *, const void *, size_t, int, hip_handle))                         \
	X(hipMemsetAsync, (void *, int, size_t, hip_handle))                                       \
	X(hipStreamWaitValue32, (hip_handle, void *, uint32_t, unsigned, uint32_t))                \
	X(hipStreamWriteValue32, (hip_handle, void *, uint32_t, unsigned))                         \
	X(hipModuleLoadData, (hip_handle *, const void *))                                         \
	X(hipModuleUnload, (hip_handle))                                                           \
	X(hipModuleGetFunction, (hip_handle *, hip_handle, const char *))                          \
	X(hipFuncGetAttribute, (int *, int, hip_handle))                                           \
	X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *, hip_handle, int, size_t))    \
	X(hipModuleLaunchKernel, (hip_handle, unsigned, unsigned, unsigned, unsigned, unsigned,    \
				  unsigned, unsigned, hip_handle, void **, void **))               \
	X(hipStreamBeginCapture, (hip_handle, int))                                                \
	X(hipStreamEndCapture, (hip_handle, hip_handle *))                                         \
	X(hipGraphInstantiate, (hip_handle *, hip_handle, hip_handle *, char *, size_t))           \
	X(hipGraphLaunch, (hip_handle, hip_handle))                                                \
	X(hipGraphExecDestroy, (hip_handle))                                                       \
	X(hipGraphDestroy, (hip_handle))                                                           \
	X(hipDeviceCanAccessPeer, (int *, int, int))                                               \
	X(hipDeviceEnablePeerAccess, (int, unsigned))                                              \
	X(hipIpcGetMemHandle, (struct hip_ipc_memory *, void *))                                   \
	X(hipIpcOpenMemHandle, (void **, struct hip_ipc_memory, unsigned))                         \
	X(hipIpcCloseMemHandle, (void *))

/* One of the two functions for properties is needed: the second, since ROCm 6, or the first.
 * Batches came with ROCm 7.1; of their attributes, a struct of the runtime, we give none. */
#define HIP_OLD_OPTIONAL_FUNCTIONS(X)                                                              \
	X(hipDeviceGetUuid, (struct hip_uuid *, int))                                              \
	X(hipExtStreamCreateWithCUMask, (hip_handle *, uint32_t, const uint32_t *))                \
	X(hipGetDeviceProperties, (void *, int))
#define HIP_6_OPTIONAL_FUNCTIONS(X)                                                                \
	HIP_OLD_OPTIONAL_FUNCTIONS(X)                                                              \
	X(hipGetDevicePropertiesR0600, (void *, int))
#define HIP_OPTIONAL_FUNCTIONS(X)                                                                  \
	HIP_6_OPTIONAL_FUNCTIONS(X)                                                                \
	X(hipMemcpyBatchAsync,                                                                     \
	  (void **, void **, size_t *, size_t, void *, size_t *, size_t, size_t *, hip_handle))

#endif
