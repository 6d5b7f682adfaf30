/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The prototypes that cuBLASLt and hipBLASLt have in common, but for their names and the types of
 * their pointers. The numbers differ: device/gpu/cuda/cublaslt_abi.h, device/gpu/hip/
 * hipblaslt_abi.h.
 *
 * Enumerations are unsigned here, as the compilers make them.
 */
#ifndef GPUSIG_BLASLT_ABI_H
#define GPUSIG_BLASLT_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned blaslt_status;
#define BLASLT_SUCCESS 0u

/* Fields after the algorithm in a result of the heuristic. */
struct blaslt_estimate {
	size_t workspace_bytes;
	blaslt_status state;
	float waves;
	int reserved[4];
};

/* tests/abi defines these as a library's own types, so that it can compare whole prototypes. */
#ifndef BLASLT_ABI_TYPES
typedef struct blaslt_handle *blaslt_handle;
typedef struct blaslt_desc *blaslt_desc;
typedef struct blaslt_layout *blaslt_layout;
typedef struct blaslt_preference *blaslt_preference;
typedef void blaslt_algo;
typedef void blaslt_heuristic; /* algorithm and estimate */
typedef void *blaslt_stream;
#endif

typedef blaslt_status blaslt_create_fn(blaslt_handle *);
typedef blaslt_status blaslt_destroy_fn(blaslt_handle);
/* compute type, type of alpha and beta */
typedef blaslt_status blaslt_desc_create_fn(blaslt_desc *, unsigned, unsigned);
typedef blaslt_status blaslt_desc_destroy_fn(blaslt_desc);
typedef blaslt_status blaslt_desc_set_fn(blaslt_desc, unsigned, const void *, size_t);
/* type, rows, columns, leading dimension */
typedef blaslt_status blaslt_layout_create_fn(blaslt_layout *, unsigned, uint64_t, uint64_t,
					      int64_t);
typedef blaslt_status blaslt_layout_destroy_fn(blaslt_layout);
typedef blaslt_status blaslt_preference_create_fn(blaslt_preference *);
typedef blaslt_status blaslt_preference_destroy_fn(blaslt_preference);
typedef blaslt_status blaslt_preference_set_fn(blaslt_preference, unsigned, const void *, size_t);
typedef blaslt_status blaslt_heuristic_fn(blaslt_handle, blaslt_desc, blaslt_layout, blaslt_layout,
					  blaslt_layout, blaslt_layout, blaslt_preference, int,
					  blaslt_heuristic *, int *);
/* alpha, A, B, beta, C, D, algorithm, workspace and its bytes */
typedef blaslt_status blaslt_matmul_fn(blaslt_handle, blaslt_desc, const void *, const void *,
				       blaslt_layout, const void *, blaslt_layout, const void *,
				       const void *, blaslt_layout, void *, blaslt_layout,
				       const blaslt_algo *, void *, size_t, blaslt_stream);

#endif
