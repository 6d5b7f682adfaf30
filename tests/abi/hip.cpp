/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/hip/hip_abi.h against <hip/hip_runtime_api.h>, of ROCm 5 to 7.
 */
#define __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_HCC__
#include <hip/hip_runtime_api.h>

#include "device/gpu/hip/hip_abi.h"
#include "tests/abi/abi.hpp"

same_value(HIP_OK, hipSuccess);
same_value(HIP_INVALID_VALUE, hipErrorInvalidValue);
same_value(HIP_OUT_OF_MEMORY, hipErrorOutOfMemory);
same_value(HIP_INVALID_COPY_DIRECTION, hipErrorInvalidMemcpyDirection);
same_value(HIP_INSUFFICIENT_DRIVER, hipErrorInsufficientDriver);
same_value(HIP_PRIOR_LAUNCH_FAILURE, hipErrorPriorLaunchFailure);
same_value(HIP_NO_DEVICE, hipErrorNoDevice);
same_value(HIP_INVALID_DEVICE, hipErrorInvalidDevice);
same_value(HIP_ECC_UNCORRECTABLE, hipErrorECCNotCorrectable);
same_value(HIP_PEER_UNSUPPORTED, hipErrorPeerAccessUnsupported);
same_value(HIP_NOT_FOUND, hipErrorNotFound);
same_value(HIP_NOT_READY, hipErrorNotReady);
same_value(HIP_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
same_value(HIP_LAUNCH_TIMEOUT, hipErrorLaunchTimeOut);
same_value(HIP_PEER_ALREADY_ENABLED, hipErrorPeerAccessAlreadyEnabled);
same_value(HIP_CONTEXT_IS_DESTROYED, hipErrorContextIsDestroyed);
same_value(HIP_ASSERT, hipErrorAssert);
same_value(HIP_LAUNCH_FAILED, hipErrorLaunchFailure);
same_value(HIP_NOT_SUPPORTED, hipErrorNotSupported);
same_value(HIP_UNKNOWN, hipErrorUnknown);
same_value(HIP_ASYNC_ENGINE_COUNT, hipDeviceAttributeAsyncEngineCount);
same_value(HIP_CLOCK_RATE, hipDeviceAttributeClockRate);
same_value(HIP_KERNEL_EXEC_TIMEOUT, hipDeviceAttributeKernelExecTimeout);
same_value(HIP_INTEGRATED, hipDeviceAttributeIntegrated);
same_value(HIP_USES_HOST_PAGE_TABLES, hipDeviceAttributePageableMemoryAccessUsesHostPageTables);
same_value(HIP_L2_CACHE_SIZE, hipDeviceAttributeL2CacheSize);
same_value(HIP_MAX_BLOCKS_PER_MULTIPROCESSOR, hipDeviceAttributeMaxBlocksPerMultiProcessor);
same_value(HIP_MAX_THREADS_PER_BLOCK, hipDeviceAttributeMaxThreadsPerBlock);
same_value(HIP_MAX_THREADS_PER_MULTIPROCESSOR, hipDeviceAttributeMaxThreadsPerMultiProcessor);
same_value(HIP_MEMORY_BUS_WIDTH, hipDeviceAttributeMemoryBusWidth);
same_value(HIP_MEMORY_CLOCK_RATE, hipDeviceAttributeMemoryClockRate);
same_value(HIP_MULTIPROCESSOR_COUNT, hipDeviceAttributeMultiprocessorCount);
same_value(HIP_MAX_SHARED_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
same_value(HIP_WARP_SIZE, hipDeviceAttributeWarpSize);
same_value(HIP_MAX_SHARED_PER_MULTIPROCESSOR, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor);
same_value(HIP_CAN_WAIT_VALUE, hipDeviceAttributeCanUseStreamWaitValue);
same_value(HIP_FUNCTION_SHARED_SIZE, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
same_value(HIP_SCHEDULE_SPIN, hipDeviceScheduleSpin);
same_value(HIP_STREAM_NON_BLOCKING, hipStreamNonBlocking);
same_value(HIP_EVENT_DEFAULT, hipEventDefault);
same_value(HIP_HOST_PORTABLE, hipHostMallocPortable);
same_value(HIP_HOST_MAPPED, hipHostMallocMapped);
same_value(HIP_HOST_COHERENT, hipHostMallocCoherent);
same_value(HIP_HOSTREGISTER_PORTABLE, hipHostRegisterPortable);
same_value(HIP_HOSTREGISTER_MAPPED, hipHostRegisterMapped);
same_value(HIP_WAIT_GTE, hipStreamWaitValueGte);
same_value(HIP_CAPTURE_RELAXED, hipStreamCaptureModeRelaxed);
same_value(HIP_COPY_WITHIN_HOST, hipMemcpyHostToHost);
same_value(HIP_COPY_UP, hipMemcpyHostToDevice);
same_value(HIP_COPY_DOWN, hipMemcpyDeviceToHost);
same_value(HIP_COPY_LOCAL, hipMemcpyDeviceToDevice);
#if HIP_VERSION >= 50300000
same_value(HIP_WALL_CLOCK_RATE, hipDeviceAttributeWallClockRate);
#endif
#if HIP_VERSION >= 60000000
same_value(HIP_IPC_LAZY_PEER, hipIpcMemLazyEnablePeerAccess);
#else
static_assert(hipIpcMemLazyEnablePeerAccess == 0);
#endif
#if HIP_VERSION >= 70000000
same_value(HIP_NUMBER_OF_XCCS, hipDeviceAttributeNumberOfXccs);
#endif
#if HIP_VERSION >= 60100000
same_value(HIP_COPY_LOCAL_WITHOUT_CU, hipMemcpyDeviceToDeviceNoCU);
#endif
#if HIP_VERSION >= 60000000
same_value(HIP_PROPERTIES_ARCH_R0600, offsetof(hipDeviceProp_tR0600, gcnArchName));
static_assert(sizeof(hipDeviceProp_tR0600) <= HIP_PROPERTIES_BYTES);
#else
same_value(HIP_PROPERTIES_ARCH_R0000, offsetof(hipDeviceProp_t, gcnArchName));
static_assert(sizeof(hipDeviceProp_t) <= HIP_PROPERTIES_BYTES);
#endif
same_size(struct hip_ipc_memory, hipIpcMemHandle_t);
same_size(struct hip_uuid, hipUUID);

/* In C++ these two also have templates; these are the C functions. */
inline hipError_t (*const plain_malloc)(void **, size_t) = hipMalloc;
inline hipError_t (*const plain_host_malloc)(void **, size_t, unsigned) = hipHostMalloc;
#define hipMalloc (*plain_malloc)
#define hipHostMalloc (*plain_host_malloc)

#define same_function(name, arguments)                                                             \
	static_assert(prototypes<int arguments, std::remove_reference_t<decltype(name)>>::same,    \
		      #name);
HIP_FUNCTIONS(same_function)
#if HIP_VERSION >= 70100000
HIP_OPTIONAL_FUNCTIONS(same_function)
#elif HIP_VERSION >= 60000000
HIP_6_OPTIONAL_FUNCTIONS(same_function)
#else
HIP_OLD_OPTIONAL_FUNCTIONS(same_function)
#endif
