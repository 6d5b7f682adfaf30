/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/hip/rocblas_abi.h against <rocblas/rocblas.h>.
 */
#define __HIP_PLATFORM_AMD__
#include <rocblas/rocblas.h>

#include "device/gpu/hip/rocblas_abi.h"
#include "tests/abi/abi.h"

/* rocBLAS defines a macro of this name that counts arguments. */
#undef rocblas_gemm_ex

same_value(ROCBLAS_ABI_SUCCESS, rocblas_status_success);
same_value(ROCBLAS_ABI_NOT_IMPLEMENTED, rocblas_status_not_implemented);
same_value(ROCBLAS_ABI_INVALID_SIZE, rocblas_status_invalid_size);
same_value(ROCBLAS_ABI_MEMORY_ERROR, rocblas_status_memory_error);
same_value(ROCBLAS_ABI_PERF_DEGRADED, rocblas_status_perf_degraded);
same_value(ROCBLAS_ABI_INVALID_VALUE, rocblas_status_invalid_value);
same_value(ROCBLAS_ABI_EXCLUDED_FROM_BUILD, rocblas_status_excluded_from_build);
same_value(ROCBLAS_ABI_ARCH_MISMATCH, rocblas_status_arch_mismatch);
same_value(ROCBLAS_ABI_F16, rocblas_datatype_f16_r);
same_value(ROCBLAS_ABI_F32, rocblas_datatype_f32_r);
same_value(ROCBLAS_ABI_F64, rocblas_datatype_f64_r);
same_value(ROCBLAS_ABI_BF16, rocblas_datatype_bf16_r);
same_value(ROCBLAS_ABI_NONE, rocblas_operation_none);
same_value(ROCBLAS_ABI_TRANSPOSE, rocblas_operation_transpose);
same_value(ROCBLAS_ABI_ALGO_STANDARD, rocblas_gemm_algo_standard);
same_value(ROCBLAS_ABI_FLAGS_NONE, rocblas_gemm_flags_none);

same_function(rocblas_abi_create_fn, rocblas_create_handle);
same_function(rocblas_abi_destroy_fn, rocblas_destroy_handle);
same_function(rocblas_abi_set_stream_fn, rocblas_set_stream);
same_function(rocblas_abi_set_workspace_fn, rocblas_set_workspace);
same_function(rocblas_abi_status_string_fn, rocblas_status_to_string);
same_function(rocblas_abi_version_fn, rocblas_get_version_string);
same_function(rocblas_abi_gemm_ex_fn, rocblas_gemm_ex);
