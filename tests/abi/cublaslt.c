/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/cuda/cublaslt_abi.h against <cublasLt.h>.
 */
#include <cublasLt.h>

#define CUBLASLT_ABI_TYPES
typedef cublasLtMatmulDesc_t cublaslt_desc;
typedef cublasLtMatrixLayout_t cublaslt_layout;
typedef cublasLtMatmulPreference_t cublaslt_preference;
typedef cublasLtMatmulAlgo_t cublaslt_algo;
typedef cublasLtMatmulHeuristicResult_t cublaslt_heuristic;
#include "device/gpu/cuda/cublaslt_abi.h"
#include "tests/abi/abi.h"

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
same_value(CUBLASLT_R_16BF, CUDA_R_16BF);
same_value(CUBLASLT_R_8F_E4M3, CUDA_R_8F_E4M3);
same_value(CUBLASLT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
same_value(CUBLASLT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
same_value(CUBLASLT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
same_value(CUBLASLT_OP_N, CUBLAS_OP_N);
same_value(CUBLASLT_OP_T, CUBLAS_OP_T);
same_value(CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
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
same_size(struct cublaslt_heuristic_layout, cublasLtMatmulHeuristicResult_t);
same_field(struct cublaslt_heuristic_layout, algo, cublasLtMatmulHeuristicResult_t, algo);
same_field(struct cublaslt_heuristic_layout, workspace_bytes, cublasLtMatmulHeuristicResult_t,
	   workspaceSize);
same_field(struct cublaslt_heuristic_layout, state, cublasLtMatmulHeuristicResult_t, state);
same_field(struct cublaslt_heuristic_layout, waves, cublasLtMatmulHeuristicResult_t, wavesCount);

same_function(cublaslt_create_fn, cublasLtCreate);
same_function(cublaslt_destroy_fn, cublasLtDestroy);
same_function(cublaslt_get_version_fn, cublasLtGetVersion);
same_function(cublaslt_get_status_name_fn, cublasLtGetStatusName);
same_function(cublaslt_get_status_string_fn, cublasLtGetStatusString);
same_function(cublaslt_desc_create_fn, cublasLtMatmulDescCreate);
same_function(cublaslt_desc_destroy_fn, cublasLtMatmulDescDestroy);
same_function(cublaslt_desc_set_fn, cublasLtMatmulDescSetAttribute);
same_function(cublaslt_layout_create_fn, cublasLtMatrixLayoutCreate);
same_function(cublaslt_layout_destroy_fn, cublasLtMatrixLayoutDestroy);
same_function(cublaslt_preference_create_fn, cublasLtMatmulPreferenceCreate);
same_function(cublaslt_preference_destroy_fn, cublasLtMatmulPreferenceDestroy);
same_function(cublaslt_preference_set_fn, cublasLtMatmulPreferenceSetAttribute);
same_function(cublaslt_heuristic_fn, cublasLtMatmulAlgoGetHeuristic);
same_function(cublaslt_config_get_fn, cublasLtMatmulAlgoConfigGetAttribute);
same_function(cublaslt_matmul_fn, cublasLtMatmul);
