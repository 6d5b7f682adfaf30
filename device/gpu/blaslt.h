/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM by cuBLASLt and by hipBLASLt, which has cuBLASLt's functions with other names and numbers.
 *
 * An algorithm is valid for operands at least as well aligned as those it was found for, and for at
 * least as much workspace. With less of either, or without an algorithm, run() takes the library's
 * first choice. That choice and the descriptors are kept for every shape, type and alignment until
 * close(), about a kilobyte each, so only the first GEMM of a shape calls the library's heuristic.
 * That there is no algorithm is kept, too.
 */
#ifndef GPUSIG_BLASLT_H
#define GPUSIG_BLASLT_H

#include "device/gpu/blaslt_abi.h"
#include "device/gpu/gpu.h"

struct blaslt_functions {
	blaslt_create_fn *create;
	blaslt_destroy_fn *destroy;
	blaslt_desc_create_fn *desc_create;
	blaslt_desc_destroy_fn *desc_destroy;
	blaslt_desc_set_fn *desc_set;
	blaslt_layout_create_fn *layout_create;
	blaslt_layout_destroy_fn *layout_destroy;
	blaslt_preference_create_fn *preference_create;
	blaslt_preference_destroy_fn *preference_destroy;
	blaslt_preference_set_fn *preference_set;
	blaslt_heuristic_fn *heuristic;
	blaslt_matmul_fn *matmul;
};

/* Rows of a dynlib's symbols. */
#define BLASLT_SYMBOLS(prefix, functions)                                                          \
	{prefix "Create", &(functions).create, false},                                             \
		{prefix "Destroy", &(functions).destroy, false},                                   \
		{prefix "MatmulDescCreate", &(functions).desc_create, false},                      \
		{prefix "MatmulDescDestroy", &(functions).desc_destroy, false},                    \
		{prefix "MatmulDescSetAttribute", &(functions).desc_set, false},                   \
		{prefix "MatrixLayoutCreate", &(functions).layout_create, false},                  \
		{prefix "MatrixLayoutDestroy", &(functions).layout_destroy, false},                \
		{prefix "MatmulPreferenceCreate", &(functions).preference_create, false},          \
		{prefix "MatmulPreferenceDestroy", &(functions).preference_destroy, false},        \
		{prefix "MatmulPreferenceSetAttribute", &(functions).preference_set, false},       \
		{prefix "MatmulAlgoGetHeuristic", &(functions).heuristic, false},                  \
	{                                                                                          \
		prefix "Matmul", &(functions).matmul, false                                        \
	}

/* A library as one device takes it. */
struct blaslt {
	const char *title, *prefix; /* "cuBLASLt", and "cublasLt" before every function's name */
	const struct blaslt_functions *functions;
	size_t algo_bytes;
	unsigned type[DEV_ALL_TYPES], compute[DEV_TYPES]; /* of matrices; how sums are made */
	int32_t normal, transposed;                       /* operations */
	unsigned transpose_first, fast_accumulation;      /* attributes of a GEMM */
	unsigned max_workspace;                           /* attributes of a preference */
	/* Attributes of a GEMM, of A and of B: how scales are laid out, and where they are; and the
	 * former's values by enum dev_scale. */
	unsigned scale_mode[2], scale_pointer[2];
	int32_t scale_modes[3];
	const unsigned *alignments; /* of A, B, C and D; NULL: any will do */
	double f8_scale;    /* of alpha: makes up for another bias of the elements' exponents */
	bool one_at_a_time; /* matmul() and heuristic() write to the descriptor; so do we, of types
			       with scales */
	int (*errno_of)(blaslt_status);
	void (*describe_status)(blaslt_status, char *text, size_t capacity);
};

struct blaslt_algorithm {
	uint64_t algo[8];         /* the library's, of at most 64 bytes */
	uint64_t workspace_bytes; /* that it needs */
	uint32_t alignment[3];    /* that it was found for: first, second, c */
};

/* Opens a handle of the current device. `types`: 1u << enum dev_type, of those that run() may get.
 * -errno by errno_of(). */
int blaslt_open(const struct blaslt *library, uint32_t types, void **blas_p);
blaslt_handle blaslt_handle_of(void *blas);

/* Asks the library about the types in `asked`, and forgets those that it lacks or for which it has
 * no algorithm for an ordinary GEMM; *types_p are the others of blaslt_open(). `why`: the first
 * such type and what the library says, or "". -errno of any other failure. */
int blaslt_keep_types(void *blas, uint32_t asked, uint32_t *types_p, char *why, size_t capacity);

/* -ENOTSUP: the library has no algorithm for this GEMM. */
int blaslt_find(void *blas, const struct gpu_gemm_problem *p);

/* Members of struct gpu_blas. A stream's state is a handle of its own. */
void blaslt_close(void *blas, bool usable);
int blaslt_stream_open(void *blas, void **state_p);
void blaslt_stream_close(void *blas, void *state);
int blaslt_algorithms(void *blas, const struct gpu_gemm_problem *p, void *algorithms,
		      size_t capacity, size_t *count_p);
int blaslt_run(void *blas, void *stream, const struct gpu_gemm_problem *p, const void *algorithm);

#endif
