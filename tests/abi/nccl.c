/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/nccl_abi.h against <nccl.h>.
 */
#include <nccl.h>

#define NCCL_ABI_TYPES
typedef cudaStream_t nccl_stream;
typedef ncclUniqueId nccl_id;
#if NCCL_VERSION_CODE >= 21400
typedef ncclConfig_t nccl_config;
#else
typedef void nccl_config;
#endif
#if NCCL_VERSION_CODE >= 22700
typedef ncclWindow_t nccl_window;
#else
typedef void *nccl_window;
#endif
#include "device/gpu/nccl_abi.h"
#include "tests/abi/abi.h"
#include "tests/abi/nccl_functions.h"
