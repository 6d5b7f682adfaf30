/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcublasLt, of CUDA 13.0 unless MAJOR and MINOR are defined: cublasLtMatmul() with
 * FAKE_ALGORITHMS algorithms. Two of three need a workspace and operands aligned as the preference
 * says. One of eight is refused when it runs, as the real library may do. The thirtieth is the
 * fastest; the others take one to five times FAKE_ALGORITHM_US longer.
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	NOT_INITIALIZED = 1,
	ALLOC_FAILED = 3,
	INVALID_VALUE = 7,
	EXECUTION_FAILED = 13,
	NOT_SUPPORTED = 15
};
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77 };
enum { OP_N = 0, OP_T = 1 };

#ifndef MAJOR
#define MAJOR 13
#define MINOR 0
#endif
#define VERSION (10000u * MAJOR + 100u * MINOR)
#define WORKSPACE_BYTES ((uint64_t)1 << 20)
#define ALGORITHM_MAGIC 0x6661736b77617931u
#define ALIGNMENTS 4
#define ALGORITHMS 40u
#define FASTEST 29u
#define EXTRA_US 100u
/* Of f8 operands and of the workspace. */
#define MIN_ALIGNMENT 16u

struct handle {
	int unused;
};

struct desc {
	int compute, scale;
	int32_t a_op, b_op;
	int8_t fast_accumulation;
};

struct layout {
	int type;
	uint64_t rows, columns;
	int64_t ld;
};

struct preference {
	uint64_t workspace_bytes;
	uint32_t alignment[ALIGNMENTS];
};

/* cublasLtMatmulAlgo_t: 64 bytes. */
struct algo {
	uint64_t magic, workspace_bytes;
	uint32_t alignment[ALIGNMENTS];
	uint32_t index, rest[7];
};

/* cublasLtMatmulHeuristicResult_t */
struct heuristic {
	struct algo algo;
	size_t workspace_bytes;
	int state;
	float waves;
	int reserved[4];
};
_Static_assert(sizeof(struct algo) == 64 && sizeof(struct heuristic) == 96,
	       "as cublasLt.h lays them out");

static int new_object(size_t bytes, void *object_p)
{
	void *object = calloc(1, bytes);
	if (object)
		memcpy(object_p, &object, sizeof(object));
	return object ? SUCCESS : ALLOC_FAILED;
}

static int find_dev_type(const struct desc *d, const struct layout *l, enum dev_type *type_p)
{
	switch (l->type) {
	case R_32F:
		*type_p = d->compute == COMPUTE_32F_FAST_TF32 ? DEV_TF32 : DEV_F32;
		return SUCCESS;
	case R_64F:
		*type_p = DEV_F64;
		return SUCCESS;
	case R_16F:
		*type_p = DEV_F16;
		return SUCCESS;
	case R_16BF:
		*type_p = DEV_BF16;
		return SUCCESS;
	case R_8F_E4M3:
		*type_p = DEV_F8;
		return SUCCESS;
	default:
		return INVALID_VALUE;
	}
}

/* Fills *p. INVALID_VALUE: dimensions do not match; NOT_SUPPORTED: the types cannot be combined. */
static int describe_gemm(const struct desc *d, const struct layout *a, const struct layout *b,
			 const struct layout *c, struct fake_gemm *p)
{
	const bool wide = a->type == R_64F;
	int status = find_dev_type(d, a, &p->type);
	if (!status)
		status = find_dev_type(d, c, &p->result);
	if (status)
		return status;
	/* Only the elements of A and B are rounded to TF32. */
	p->result = p->result == DEV_TF32 ? DEV_F32 : p->result;
	p->a_transposed = d->a_op == OP_T;
	p->b_transposed = d->b_op == OP_T;
	p->m = c->rows;
	p->n = c->columns;
	p->k = p->a_transposed ? a->rows : a->columns;
	p->lda = (uint64_t)a->ld;
	p->ldb = (uint64_t)b->ld;
	p->ldc = p->ldd = (uint64_t)c->ld;
	p->fast_accumulation = d->fast_accumulation;
	if (p->lda < a->rows || p->ldb < b->rows || p->ldc < c->rows ||
	    (p->a_transposed ? a->columns : a->rows) != p->m ||
	    (p->b_transposed ? b->columns : b->rows) != p->k ||
	    (p->b_transposed ? b->rows : b->columns) != p->n)
		return INVALID_VALUE;
	if (a->type != b->type || wide != (d->compute == COMPUTE_64F) ||
	    wide != (d->scale == R_64F) || c->type != (a->type == R_8F_E4M3 ? R_16BF : a->type))
		return NOT_SUPPORTED;
	/* Fast accumulation is documented for f8, on Ada and Hopper. */
	if (d->fast_accumulation && dev_type_bytes(p->type) != 1)
		return NOT_SUPPORTED;
	if (dev_type_bytes(p->type) == 1 && (!p->a_transposed || p->b_transposed || p->m % 16 ||
					     p->k % 16 || p->lda % 16 || p->ldb % 16))
		return NOT_SUPPORTED;
	return SUCCESS;
}

static unsigned env_unsigned(const char *name, unsigned fallback)
{
	const char *text = getenv(name);
	return text ? (unsigned)strtoul(text, NULL, 10) : fallback;
}

static unsigned algorithm_extra_us(uint32_t index)
{
	return index == FASTEST ? 0
				: env_unsigned("FAKE_ALGORITHM_US", EXTRA_US) * (1 + index * 7 % 5);
}

static bool is_aligned(const void *pointer, uint32_t bytes)
{
	return bytes == 0 || (uintptr_t)pointer % bytes == 0;
}

#pragma GCC visibility push(default)

size_t cublasLtGetVersion(void) { return VERSION; }

const char *cublasLtGetStatusName(int status)
{
	return status == NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
	       : status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
	       : status == ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
	       : status == SUCCESS       ? "CUBLAS_STATUS_SUCCESS"
					 : "CUBLAS_STATUS_EXECUTION_FAILED";
}

const char *cublasLtGetStatusString(int status)
{
	return status ? "refused by the fake library" : "success";
}

/* A driver of an older major release does not run it. */
int cublasLtCreate(struct handle **handle)
{
	int status = driver_fault(__func__);
	if (!status && env_unsigned("FAKE_DRIVER_VERSION", 13000) / 1000 < MAJOR)
		status = NOT_INITIALIZED;
	return status ? status : new_object(sizeof(**handle), handle);
}

int cublasLtDestroy(struct handle *handle)
{
	free(handle);
	return handle ? SUCCESS : NOT_INITIALIZED;
}

int cublasLtMatmulDescCreate(struct desc **desc, int compute, int scale)
{
	int status = driver_fault(__func__);
	if (!status)
		status = new_object(sizeof(**desc), desc);
	if (!status)
		**desc = (struct desc){.compute = compute, .scale = scale};
	return status;
}

int cublasLtMatmulDescDestroy(struct desc *desc)
{
	free(desc);
	return SUCCESS;
}

int cublasLtMatmulDescSetAttribute(struct desc *desc, int which, const void *value, size_t bytes)
{
	int32_t op;
	int status = driver_fault(__func__);
	if (!status && which == 25 && bytes == sizeof(desc->fast_accumulation)) { /* FAST_ACCUM */
		memcpy(&desc->fast_accumulation, value, bytes);
		return SUCCESS;
	}
	if (status || bytes != sizeof(op) || (which != 3 && which != 4)) /* TRANSA, TRANSB */
		return status ? status : INVALID_VALUE;
	memcpy(&op, value, sizeof(op));
	*(which == 3 ? &desc->a_op : &desc->b_op) = op;
	return op == OP_N || op == OP_T ? SUCCESS : NOT_SUPPORTED;
}

int cublasLtMatrixLayoutCreate(struct layout **layout, int type, uint64_t rows, uint64_t columns,
			       int64_t ld)
{
	int status = driver_fault(__func__);
	if (!status)
		status = new_object(sizeof(**layout), layout);
	if (!status)
		**layout =
			(struct layout){.type = type, .rows = rows, .columns = columns, .ld = ld};
	return status;
}

int cublasLtMatrixLayoutDestroy(struct layout *layout)
{
	free(layout);
	return SUCCESS;
}

int cublasLtMatmulPreferenceCreate(struct preference **preference)
{
	int status = driver_fault(__func__);
	if (!status)
		status = new_object(sizeof(**preference), preference);
	for (int i = 0; i < ALIGNMENTS && !status; i++)
		(*preference)->alignment[i] = 256;
	return status;
}

int cublasLtMatmulPreferenceDestroy(struct preference *preference)
{
	free(preference);
	return SUCCESS;
}

int cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int which,
					 const void *value, size_t bytes)
{
	int status = driver_fault(__func__);
	if (status)
		return status;
	if (which == 1 && bytes == sizeof(uint64_t)) /* MAX_WORKSPACE_BYTES */
		memcpy(&preference->workspace_bytes, value, bytes);
	else if (which >= 5 && which <= 8 &&
		 bytes == sizeof(uint32_t)) /* MIN_ALIGNMENT_A_BYTES to _D_ */
		memcpy(&preference->alignment[which - 5], value, bytes);
	else
		return INVALID_VALUE;
	return SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(struct handle *handle, struct desc *desc, struct layout *a,
				   struct layout *b, struct layout *c, struct layout *d,
				   struct preference *preference, int max_results,
				   struct heuristic *results, int *count)
{
	struct fake_gemm p = {0};
	int status = driver_fault(__func__);
	if (!status)
		status = !handle || max_results < 1 || d->rows != c->rows
				 ? INVALID_VALUE
				 : describe_gemm(desc, a, b, c, &p);
	if (!status && dev_type_bytes(p.type) == 1 &&
	    (preference->alignment[0] < MIN_ALIGNMENT || preference->alignment[1] < MIN_ALIGNMENT))
		status = NOT_SUPPORTED;
	*count = 0;
	for (uint32_t i = 0;
	     i < env_unsigned("FAKE_ALGORITHMS", ALGORITHMS) && !status && *count < max_results;
	     i++) {
		const bool needs_workspace = i % 3 != 1;
		struct algo algo = {.magic = ALGORITHM_MAGIC,
				    .index = i,
				    .workspace_bytes = needs_workspace ? WORKSPACE_BYTES : 0};
		if (preference->workspace_bytes < algo.workspace_bytes)
			continue;
		if (needs_workspace)
			memcpy(algo.alignment, preference->alignment, sizeof(algo.alignment));
		results[(*count)++] = (struct heuristic){
			.algo = algo, .workspace_bytes = algo.workspace_bytes, .waves = 1};
	}
	return status;
}

int cublasLtMatmulAlgoConfigGetAttribute(const struct algo *algo, int which, void *value,
					 size_t bytes, size_t *written)
{
	int status = driver_fault(__func__);
	const size_t wanted_bytes =
		which == 7 || which == 8 ? sizeof(uint16_t)
					 : sizeof(uint32_t); /* INNER_SHAPE_ID, CLUSTER_SHAPE_ID */
	const uint16_t narrow = 0;
	const uint32_t wide = which == 0 ? algo->index : which == 2; /* ID; SPLITK_NUM is 1 */
	if (status || which < 0 || which > 8 || bytes != wanted_bytes)
		return status ? status : INVALID_VALUE;
	memcpy(value, wanted_bytes == sizeof(narrow) ? (const void *)&narrow : &wide, wanted_bytes);
	*written = wanted_bytes;
	return SUCCESS;
}

int cublasLtMatmul(struct handle *handle, struct desc *desc, const void *alpha, const void *a,
		   struct layout *a_layout, const void *b, struct layout *b_layout,
		   const void *beta, const void *c, struct layout *c_layout, void *d,
		   struct layout *d_layout, const struct algo *algo, void *workspace,
		   size_t workspace_bytes, void *stream)
{
	struct fake_gemm p = {.a = a, .b = b, .c = c, .d = d};
	int status = driver_fault(__func__);
	if (!status)
		status = handle ? describe_gemm(desc, a_layout, b_layout, c_layout, &p)
				: INVALID_VALUE;
	if (status)
		return status;
	const void *operands[ALIGNMENTS] = {a, b, c, d};
	if (algo && (algo->magic != ALGORITHM_MAGIC || workspace_bytes < algo->workspace_bytes ||
		     (algo->workspace_bytes && !workspace)))
		return INVALID_VALUE;
	if (!is_aligned(workspace, MIN_ALIGNMENT))
		return INVALID_VALUE;
	for (int i = 0; i < ALIGNMENTS; i++)
		if (!is_aligned(operands[i], algo ? algo->alignment[i] : 0) ||
		    (dev_type_bytes(p.type) == 1 && !is_aligned(operands[i], MIN_ALIGNMENT)))
			return INVALID_VALUE;
	if (algo && algo->index % 8 == 3)
		return NOT_SUPPORTED;
	p.extra_us = algo ? algorithm_extra_us(algo->index) : 0;
	p.alpha = desc->scale == R_64F ? *(const double *)alpha : (double)*(const float *)alpha;
	p.beta = desc->scale == R_64F ? *(const double *)beta : (double)*(const float *)beta;
	p.ldd = (uint64_t)d_layout->ld;
	return fake_gemm_enqueue(stream, &p) ? EXECUTION_FAILED : SUCCESS;
}
