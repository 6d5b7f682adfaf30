/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of cuBLASLt's ABI that we use beside device/gpu/blaslt_abi.h, the same in CUDA 11, 12
 * and 13, and of cuBLAS's. tests/abi/cublaslt.c compares them with cublasLt.h and cublas_v2.h.
 *
 * Enumerations are unsigned here, as the compiler makes them.
 */
#ifndef GPUSIG_CUBLASLT_ABI_H
#define GPUSIG_CUBLASLT_ABI_H

#include "device/gpu/blaslt_abi.h"

typedef blaslt_status cublaslt_status;
enum {
	CUBLASLT_SUCCESS = 0,
	CUBLASLT_NOT_INITIALIZED = 1,
	CUBLASLT_ALLOC_FAILED = 3,
	CUBLASLT_INVALID_VALUE = 7,
	CUBLASLT_ARCH_MISMATCH = 8,
	CUBLASLT_INTERNAL_ERROR = 14,
	CUBLASLT_NOT_SUPPORTED = 15,
};

enum {
	CUBLASLT_R_32F = 0,
	CUBLASLT_R_64F = 1,
	CUBLASLT_R_16F = 2,
	CUBLASLT_R_8I = 3,
	CUBLASLT_R_32I = 10,
	CUBLASLT_R_16BF = 14,
	CUBLASLT_R_8F_E4M3 = 28,
	CUBLASLT_R_4F_E2M1 = 33 /* CUDA 12.8 */
};
enum {
	CUBLASLT_COMPUTE_32F = 68,
	CUBLASLT_COMPUTE_64F = 70,
	CUBLASLT_COMPUTE_32I = 72,
	CUBLASLT_COMPUTE_32F_FAST_TF32 = 77
};
enum { CUBLASLT_OP_N = 0, CUBLASLT_OP_T = 1 };
/* Those of modes came with CUDA 12.8. */
enum {
	CUBLASLT_DESC_TRANSA = 3,
	CUBLASLT_DESC_A_SCALE_POINTER = 17,
	CUBLASLT_DESC_B_SCALE_POINTER = 18,
	CUBLASLT_DESC_FAST_ACCUM = 25,
	CUBLASLT_DESC_A_SCALE_MODE = 31,
	CUBLASLT_DESC_B_SCALE_MODE = 32
};
enum { CUBLASLT_SCALE_VEC16_UE4M3 = 1, CUBLASLT_SCALE_VEC32_UE8M0 = 2 };
/* The last two came with CUDA 11.8. */
enum {
	CUBLASLT_CONFIG_ID = 0,
	CUBLASLT_CONFIG_TILE_ID = 1,
	CUBLASLT_CONFIG_SPLITK_NUM = 2,
	CUBLASLT_CONFIG_REDUCTION_SCHEME = 3,
	CUBLASLT_CONFIG_CTA_SWIZZLING = 4,
	CUBLASLT_CONFIG_CUSTOM_OPTION = 5,
	CUBLASLT_CONFIG_STAGES_ID = 6,
	CUBLASLT_CONFIG_INNER_SHAPE_ID = 7,
	CUBLASLT_CONFIG_CLUSTER_SHAPE_ID = 8,
};
enum {
	CUBLASLT_PREFER_MAX_WORKSPACE_BYTES = 1,
	CUBLASLT_PREFER_MIN_ALIGNMENT_A_BYTES = 5,
	CUBLASLT_PREFER_MIN_ALIGNMENT_B_BYTES = 6,
	CUBLASLT_PREFER_MIN_ALIGNMENT_C_BYTES = 7,
	CUBLASLT_PREFER_MIN_ALIGNMENT_D_BYTES = 8,
};

struct cublaslt_algo_layout {
	uint64_t data[8];
};

typedef size_t cublaslt_get_version_fn(void);
typedef const char *cublaslt_get_status_name_fn(cublaslt_status);
typedef const char *cublaslt_get_status_string_fn(cublaslt_status);
/* attribute, its value, bytes of it, bytes written */
typedef cublaslt_status cublaslt_config_get_fn(const blaslt_algo *, unsigned, void *, size_t,
					       size_t *);

/* cuBLAS, of CUDA 12.5 and newer, with the same numbers. tests/abi defines these as its own types.
 */
#ifndef CUBLAS_ABI_TYPES
typedef struct cublas_handle *cublas_handle;
typedef void *cublas_stream;
typedef unsigned cublas_operation;
#endif

typedef cublaslt_status cublas_create_fn(cublas_handle *);
typedef cublaslt_status cublas_destroy_fn(cublas_handle);
typedef cublaslt_status cublas_get_version_fn(cublas_handle, int *);
typedef cublaslt_status cublas_set_stream_fn(cublas_handle, cublas_stream);
typedef cublaslt_status cublas_set_workspace_fn(cublas_handle, void *, size_t);
/* operations, m, n and k, alpha, A, its type and leading dimensions, B, beta, C, the number of
 * groups and of GEMMs in each, kind of sums. Arrays of pointers to matrices are in the device's
 * memory, all others in the host's, where they are read before the call returns. */
typedef cublaslt_status cublas_gemm_grouped_fn(cublas_handle, const cublas_operation *,
					       const cublas_operation *, const int *, const int *,
					       const int *, const void *, const void *const *,
					       unsigned, const int *, const void *const *, unsigned,
					       const int *, const void *, void *const *, unsigned,
					       const int *, int, const int *, unsigned);

#endif
