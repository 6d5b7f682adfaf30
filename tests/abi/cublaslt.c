/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/cuda/cublaslt_abi.h and device/gpu/blaslt_abi.h against
 * <cublasLt.h>, and the part of cuBLAS against <cublas_v2.h>.
 */
#include <cublasLt.h>
#include <cublas_v2.h>

#define BLASLT_ABI_TYPES
typedef cublasLtHandle_t blaslt_handle;
typedef cublasLtMatmulDesc_t blaslt_desc;
typedef cublasLtMatrixLayout_t blaslt_layout;
typedef cublasLtMatmulPreference_t blaslt_preference;
typedef cublasLtMatmulAlgo_t blaslt_algo;
typedef cublasLtMatmulHeuristicResult_t blaslt_heuristic;
typedef cudaStream_t blaslt_stream;
#define CUBLAS_ABI_TYPES
typedef cublasHandle_t cublas_handle;
typedef cudaStream_t cublas_stream;
typedef cublasOperation_t cublas_operation;
#include "device/gpu/cuda/cublaslt_abi.h"
#include "tests/abi/abi.h"

same_value(BLASLT_SUCCESS, CUBLAS_STATUS_SUCCESS);
same_value(CUBLASLT_SUCCESS, CUBLAS_STATUS_SUCCESS);
same_value(CUBLASLT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
same_value(CUBLASLT_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR);
same_value(CUBLASLT_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
same_value(CUBLASLT_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
same_value(CUBLASLT_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH);
same_value(CUBLASLT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
same_value(CUBLASLT_R_32F, CUDA_R_32F);
same_value(CUBLASLT_R_64F, CUDA_R_64F);
same_value(CUBLASLT_R_16F, CUDA_R_16F);
same_value(CUBLASLT_R_8I, CUDA_R_8I);
same_value(CUBLASLT_R_32I, CUDA_R_32I);
same_value(CUBLASLT_R_16BF, CUDA_R_16BF);
same_value(CUBLASLT_R_8F_E4M3, CUDA_R_8F_E4M3);
same_value(CUBLASLT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
same_value(CUBLASLT_COMPUTE_32I, CUBLAS_COMPUTE_32I);
same_value(CUBLASLT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
same_value(CUBLASLT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
same_value(CUBLASLT_OP_N, CUBLAS_OP_N);
same_value(CUBLASLT_OP_T, CUBLAS_OP_T);
same_value(CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
#if CUBLAS_VERSION >= 120800
same_value(CUBLASLT_R_4F_E2M1, CUDA_R_4F_E2M1);
same_value(CUBLASLT_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
same_value(CUBLASLT_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
same_value(CUBLASLT_SCALE_VEC16_UE4M3, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
same_value(CUBLASLT_SCALE_VEC32_UE8M0, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
#endif
same_value(CUBLASLT_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
same_value(CUBLASLT_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
same_value(CUBLASLT_DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
same_value(CUBLASLT_CONFIG_ID, CUBLASLT_ALGO_CONFIG_ID);
same_value(CUBLASLT_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_TILE_ID);
same_value(CUBLASLT_CONFIG_SPLITK_NUM, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
same_value(CUBLASLT_CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
same_value(CUBLASLT_CONFIG_CTA_SWIZZLING, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
same_value(CUBLASLT_CONFIG_CUSTOM_OPTION, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
same_value(CUBLASLT_CONFIG_STAGES_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID);
same_value(CUBLASLT_CONFIG_INNER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
same_value(CUBLASLT_CONFIG_CLUSTER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
same_value(CUBLASLT_PREFER_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
same_value(CUBLASLT_PREFER_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
same_value(CUBLASLT_PREFER_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
same_value(CUBLASLT_PREFER_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
same_value(CUBLASLT_PREFER_MIN_ALIGNMENT_D_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

same_size(struct cublaslt_algo_layout, cublasLtMatmulAlgo_t);
same_value(sizeof(struct cublaslt_algo_layout) + sizeof(struct blaslt_estimate),
	   sizeof(cublasLtMatmulHeuristicResult_t));
same_value(0, offsetof(cublasLtMatmulHeuristicResult_t, algo));
#define same_estimate(ours, theirs)                                                                \
	same_value(sizeof(struct cublaslt_algo_layout) + offsetof(struct blaslt_estimate, ours),   \
		   offsetof(cublasLtMatmulHeuristicResult_t, theirs))
same_estimate(workspace_bytes, workspaceSize);
same_estimate(state, state);
same_estimate(waves, wavesCount);

same_function(blaslt_create_fn, cublasLtCreate);
same_function(blaslt_destroy_fn, cublasLtDestroy);
same_function(cublaslt_get_version_fn, cublasLtGetVersion);
same_function(cublaslt_get_status_name_fn, cublasLtGetStatusName);
same_function(cublaslt_get_status_string_fn, cublasLtGetStatusString);
same_function(blaslt_desc_create_fn, cublasLtMatmulDescCreate);
same_function(blaslt_desc_destroy_fn, cublasLtMatmulDescDestroy);
same_function(blaslt_desc_set_fn, cublasLtMatmulDescSetAttribute);
same_function(blaslt_layout_create_fn, cublasLtMatrixLayoutCreate);
same_function(blaslt_layout_destroy_fn, cublasLtMatrixLayoutDestroy);
same_function(blaslt_preference_create_fn, cublasLtMatmulPreferenceCreate);
same_function(blaslt_preference_destroy_fn, cublasLtMatmulPreferenceDestroy);
same_function(blaslt_preference_set_fn, cublasLtMatmulPreferenceSetAttribute);
same_function(blaslt_heuristic_fn, cublasLtMatmulAlgoGetHeuristic);
same_function(cublaslt_config_get_fn, cublasLtMatmulAlgoConfigGetAttribute);
same_function(blaslt_matmul_fn, cublasLtMatmul);

same_function(cublas_create_fn, cublasCreate_v2);
same_function(cublas_destroy_fn, cublasDestroy_v2);
same_function(cublas_get_version_fn, cublasGetVersion_v2);
same_function(cublas_set_stream_fn, cublasSetStream_v2);
same_function(cublas_set_workspace_fn, cublasSetWorkspace_v2);
same_function(cublas_gemm_grouped_fn, cublasGemmGroupedBatchedEx);
