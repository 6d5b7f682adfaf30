/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/nccl_abi.h against <rccl/rccl.h>.
 */
#define __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>

#define NCCL_ABI_TYPES
typedef hipStream_t nccl_stream;
#include "device/gpu/nccl_abi.h"
#include "tests/abi/abi.h"

same_value(NCCL_ABI_SUCCESS, ncclSuccess);
same_value(NCCL_ABI_INVALID_ARGUMENT, ncclInvalidArgument);
same_value(NCCL_ABI_INVALID_USAGE, ncclInvalidUsage);
same_value(NCCL_ABI_FLOAT, ncclFloat);
same_value(NCCL_ABI_SUM, ncclSum);

same_function(nccl_get_version_fn, ncclGetVersion);
same_function(nccl_get_error_string_fn, ncclGetErrorString);
same_function(nccl_get_last_error_fn, ncclGetLastError);
same_function(nccl_comm_init_all_fn, ncclCommInitAll);
same_function(nccl_comm_end_fn, ncclCommDestroy);
same_function(nccl_comm_end_fn, ncclCommAbort);
same_function(nccl_group_fn, ncclGroupStart);
same_function(nccl_group_fn, ncclGroupEnd);
same_function(nccl_all_reduce_fn, ncclAllReduce);
same_function(nccl_reduce_scatter_fn, ncclReduceScatter);
same_function(nccl_all_gather_fn, ncclAllGather);
same_function(nccl_send_fn, ncclSend);
same_function(nccl_recv_fn, ncclRecv);
