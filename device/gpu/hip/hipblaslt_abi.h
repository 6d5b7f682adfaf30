/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of hipBLASLt's ABI that we use beside device/gpu/blaslt_abi.h, the same from 0.6 (ROCm
 * 6.0) on; before, the numbers of types were others. tests/abi/hipblaslt.cpp compares both with
 * hipblaslt.h.
 */
#ifndef GPUSIG_HIPBLASLT_ABI_H
#define GPUSIG_HIPBLASLT_ABI_H

#include "device/gpu/blaslt_abi.h"

enum {
	HIPBLASLT_NOT_INITIALIZED = 1,
	HIPBLASLT_ALLOC_FAILED = 2,
	HIPBLASLT_INVALID_VALUE = 3,
	HIPBLASLT_INTERNAL_ERROR = 6,
	HIPBLASLT_NOT_SUPPORTED = 7,
	HIPBLASLT_ARCH_MISMATCH = 8,
	HIPBLASLT_NO_HANDLE = 9,
	HIPBLASLT_INVALID_ENUM = 10,
};

enum {
	HIPBLASLT_R_32F = 0,
	HIPBLASLT_R_16F = 2,
	HIPBLASLT_R_8I = 3,
	HIPBLASLT_R_32I = 10,
	HIPBLASLT_R_16BF = 14,
	HIPBLASLT_R_8F_E4M3 = 28,
	HIPBLASLT_R_4F_E2M1 = 33, /* ROCm 7.0 */
	HIPBLASLT_R_8F_E4M3_FNUZ = 1000
};
enum { HIPBLASLT_COMPUTE_32F = 2, HIPBLASLT_COMPUTE_32F_FAST_TF32 = 6, HIPBLASLT_COMPUTE_32I = 9 };
enum { HIPBLASLT_OP_N = 111, HIPBLASLT_OP_T = 112 };
/* Those of modes came with ROCm 7.0. */
enum {
	HIPBLASLT_DESC_TRANSA = 0,
	HIPBLASLT_DESC_A_SCALE_POINTER = 5,
	HIPBLASLT_DESC_B_SCALE_POINTER = 6,
	HIPBLASLT_DESC_A_SCALE_MODE = 31,
	HIPBLASLT_DESC_B_SCALE_MODE = 32
};
enum { HIPBLASLT_SCALE_VEC32_UE8M0 = 2 };
enum { HIPBLASLT_PREFER_MAX_WORKSPACE_BYTES = 1 };

struct hipblaslt_algo_layout {
	uint8_t data[16];
	size_t max_workspace_bytes;
};

/* 100000 * major + 100 * minor + patch */
typedef blaslt_status hipblaslt_get_version_fn(blaslt_handle, int *);
/* hipblaslt_ext::getIndexFromAlgo(hipblasLtMatmulAlgo_t &) */
#define HIPBLASLT_GET_INDEX "_ZN13hipblaslt_ext16getIndexFromAlgoER22_hipblasLtMatmulAlgo_t"
typedef int hipblaslt_get_index_fn(struct hipblaslt_algo_layout *);

#endif
