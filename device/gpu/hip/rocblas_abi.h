/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of rocBLAS's ABI that we use, the same since ROCm 5.2. tests/abi/rocblas.c compares it
 * with rocblas.h.
 */
#ifndef GPUSIG_ROCBLAS_ABI_H
#define GPUSIG_ROCBLAS_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned rocblas_abi_status;
enum {
	ROCBLAS_ABI_SUCCESS = 0,
	ROCBLAS_ABI_NOT_IMPLEMENTED = 2,
	ROCBLAS_ABI_INVALID_SIZE = 4,
	ROCBLAS_ABI_MEMORY_ERROR = 5,
	ROCBLAS_ABI_PERF_DEGRADED = 7,
	ROCBLAS_ABI_INVALID_VALUE = 11,
	ROCBLAS_ABI_EXCLUDED_FROM_BUILD = 14,
	ROCBLAS_ABI_ARCH_MISMATCH = 15,
};

enum {
	ROCBLAS_ABI_F16 = 150,
	ROCBLAS_ABI_F32 = 151,
	ROCBLAS_ABI_F64 = 152,
	ROCBLAS_ABI_BF16 = 168
};
enum { ROCBLAS_ABI_NONE = 111, ROCBLAS_ABI_TRANSPOSE = 112 };
enum { ROCBLAS_ABI_ALGO_STANDARD = 0 };
enum { ROCBLAS_ABI_FLAGS_NONE = 0 };

struct _rocblas_handle;
struct ihipStream_t;

typedef rocblas_abi_status rocblas_abi_create_fn(struct _rocblas_handle **);
typedef rocblas_abi_status rocblas_abi_destroy_fn(struct _rocblas_handle *);
typedef rocblas_abi_status rocblas_abi_set_stream_fn(struct _rocblas_handle *,
						     struct ihipStream_t *);
typedef rocblas_abi_status rocblas_abi_set_workspace_fn(struct _rocblas_handle *, void *, size_t);
typedef const char *rocblas_abi_status_string_fn(rocblas_abi_status);
typedef rocblas_abi_status rocblas_abi_version_fn(char *, size_t);
/* operations, m, n, k; alpha, A, B, beta, C, D, each with type and leading dimension; type of
 * the sums; algorithm, its number, flags */
typedef rocblas_abi_status rocblas_abi_gemm_ex_fn(struct _rocblas_handle *, unsigned, unsigned,
						  int32_t, int32_t, int32_t, const void *,
						  const void *, unsigned, int32_t, const void *,
						  unsigned, int32_t, const void *, const void *,
						  unsigned, int32_t, void *, unsigned, int32_t,
						  unsigned, unsigned, int32_t, uint32_t);

#endif
