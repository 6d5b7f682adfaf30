/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/hip/hipblaslt_abi.h and device/gpu/blaslt_abi.h against
 * <hipblaslt/hipblaslt.h>, which is C++.
 */
#define __HIP_PLATFORM_AMD__
#include <hipblaslt/hipblaslt-ext.hpp>
#include <hipblaslt/hipblaslt.h>

#define BLASLT_ABI_TYPES
typedef hipblasLtHandle_t blaslt_handle;
typedef hipblasLtMatmulDesc_t blaslt_desc;
typedef hipblasLtMatrixLayout_t blaslt_layout;
typedef hipblasLtMatmulPreference_t blaslt_preference;
typedef hipblasLtMatmulAlgo_t blaslt_algo;
typedef hipblasLtMatmulHeuristicResult_t blaslt_heuristic;
typedef hipStream_t blaslt_stream;
#include "device/gpu/hip/hipblaslt_abi.h"
#include "tests/abi/abi.hpp"

same_value(BLASLT_SUCCESS, HIPBLAS_STATUS_SUCCESS);
same_value(HIPBLASLT_NOT_INITIALIZED, HIPBLAS_STATUS_NOT_INITIALIZED);
same_value(HIPBLASLT_ALLOC_FAILED, HIPBLAS_STATUS_ALLOC_FAILED);
same_value(HIPBLASLT_INVALID_VALUE, HIPBLAS_STATUS_INVALID_VALUE);
same_value(HIPBLASLT_INTERNAL_ERROR, HIPBLAS_STATUS_INTERNAL_ERROR);
same_value(HIPBLASLT_NOT_SUPPORTED, HIPBLAS_STATUS_NOT_SUPPORTED);
same_value(HIPBLASLT_ARCH_MISMATCH, HIPBLAS_STATUS_ARCH_MISMATCH);
same_value(HIPBLASLT_NO_HANDLE, HIPBLAS_STATUS_HANDLE_IS_NULLPTR);
same_value(HIPBLASLT_INVALID_ENUM, HIPBLAS_STATUS_INVALID_ENUM);
same_value(HIPBLASLT_R_32F, HIP_R_32F);
same_value(HIPBLASLT_R_16F, HIP_R_16F);
same_value(HIPBLASLT_R_8I, HIP_R_8I);
same_value(HIPBLASLT_R_32I, HIP_R_32I);
same_value(HIPBLASLT_R_16BF, HIP_R_16BF);
#if HIP_VERSION >= 60300000
same_value(HIPBLASLT_R_8F_E4M3, HIP_R_8F_E4M3);
#endif
same_value(HIPBLASLT_R_8F_E4M3_FNUZ, HIP_R_8F_E4M3_FNUZ);
same_value(HIPBLASLT_COMPUTE_32F, HIPBLAS_COMPUTE_32F);
same_value(HIPBLASLT_COMPUTE_32I, HIPBLAS_COMPUTE_32I);
same_value(HIPBLASLT_COMPUTE_32F_FAST_TF32, HIPBLAS_COMPUTE_32F_FAST_TF32);
same_value(HIPBLASLT_OP_N, HIPBLAS_OP_N);
same_value(HIPBLASLT_OP_T, HIPBLAS_OP_T);
same_value(HIPBLASLT_DESC_TRANSA, HIPBLASLT_MATMUL_DESC_TRANSA);
same_value(HIPBLASLT_DESC_A_SCALE_POINTER, HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER);
same_value(HIPBLASLT_DESC_B_SCALE_POINTER, HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER);
#if HIP_VERSION >= 70000000
same_value(HIPBLASLT_R_4F_E2M1, HIP_R_4F_E2M1);
same_value(HIPBLASLT_DESC_A_SCALE_MODE, HIPBLASLT_MATMUL_DESC_A_SCALE_MODE);
same_value(HIPBLASLT_DESC_B_SCALE_MODE, HIPBLASLT_MATMUL_DESC_B_SCALE_MODE);
same_value(HIPBLASLT_SCALE_VEC32_UE8M0, HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
#endif
same_value(HIPBLASLT_PREFER_MAX_WORKSPACE_BYTES, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);

same_size(hipblaslt_algo_layout, hipblasLtMatmulAlgo_t);
same_value(sizeof(hipblaslt_algo_layout) + sizeof(blaslt_estimate),
	   sizeof(hipblasLtMatmulHeuristicResult_t));
same_value(0, offsetof(hipblasLtMatmulHeuristicResult_t, algo));
#define same_estimate(ours, theirs)                                                                \
	same_value(sizeof(hipblaslt_algo_layout) + offsetof(blaslt_estimate, ours),                \
		   offsetof(hipblasLtMatmulHeuristicResult_t, theirs))
same_estimate(workspace_bytes, workspaceSize);
same_estimate(state, state);
same_estimate(waves, wavesCount);

#define same_function(ours, theirs) static_assert(prototypes<ours, decltype(theirs)>::same, #theirs)
same_function(blaslt_create_fn, hipblasLtCreate);
same_function(blaslt_destroy_fn, hipblasLtDestroy);
same_function(hipblaslt_get_version_fn, hipblasLtGetVersion);
same_function(blaslt_desc_create_fn, hipblasLtMatmulDescCreate);
same_function(blaslt_desc_destroy_fn, hipblasLtMatmulDescDestroy);
same_function(blaslt_desc_set_fn, hipblasLtMatmulDescSetAttribute);
same_function(blaslt_layout_create_fn, hipblasLtMatrixLayoutCreate);
same_function(blaslt_layout_destroy_fn, hipblasLtMatrixLayoutDestroy);
same_function(blaslt_preference_create_fn, hipblasLtMatmulPreferenceCreate);
same_function(blaslt_preference_destroy_fn, hipblasLtMatmulPreferenceDestroy);
same_function(blaslt_preference_set_fn, hipblasLtMatmulPreferenceSetAttribute);
same_function(blaslt_heuristic_fn, hipblasLtMatmulAlgoGetHeuristic);
same_function(blaslt_matmul_fn, hipblasLtMatmul);

/* Its name in the library is that of these types. */
static_assert(std::is_same_v<decltype(hipblaslt_ext::getIndexFromAlgo),
			     int(struct _hipblasLtMatmulAlgo_t &)>);
same_size(hipblaslt_get_index_fn *, decltype(&hipblaslt_ext::getIndexFromAlgo));
