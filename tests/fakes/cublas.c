/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcublas of CUDA 13.0: grouped GEMMs alone, as cuBLAS's manual describes them. The addresses of
 * the matrices are read from the device's memory when the work runs, everything else in the call.
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/gemm.h"

#include <pthread.h>
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
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77 };
enum { OP_N = 0, OP_T = 1 };
enum { GROUPS_MAX = 64, BLOCKS = 8, WORKSPACE_ALIGNMENT = 256 };

struct handle {
	struct handle *next;
	void *stream;
};

/* Handles that are never destroyed stay in the list, so that they are not lost. */
static struct handle *handles;
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

/* A GEMM of each group, without its addresses. More than a launch takes, so it is kept, until the
 * process ends: a graph may run it again. */
struct grouped {
	const struct grouped *next;
	const void *const *a, *const *b;
	void *const *c;
	int count;
	struct fake_gemm gemm[GROUPS_MAX];
	uintptr_t alignment[GROUPS_MAX];
};

/* An address that is not aligned is a fault of a device's kernel. */
static void grouped_block(uint32_t block, uint32_t blocks, void *argument)
{
	const struct grouped *p;
	memcpy(&p, argument, sizeof(p));
	for (int i = 0; i < p->count; i++) {
		struct fake_gemm gemm = p->gemm[i];
		gemm.a = p->a[i];
		gemm.b = p->b[i];
		gemm.c = gemm.d = p->c[i];
		if (((uintptr_t)gemm.a | (uintptr_t)gemm.b | (uintptr_t)gemm.c) % p->alignment[i]) {
			fprintf(stderr, "fake: cuBLAS reads a matrix that is not aligned to %u\n",
				(unsigned)p->alignment[i]);
			abort();
		}
		fake_gemm_compute(&gemm, block, blocks);
	}
}

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct grouped *kept;

/* NULL: out of memory. */
static const struct grouped *keep_grouped(const struct grouped *wanted)
{
	pthread_mutex_lock(&list_lock);
	const struct grouped *found = kept;
	while (found && memcmp(&found->a, &wanted->a, sizeof(*found) - sizeof(found->next)) != 0)
		found = found->next;
	struct grouped *added = found ? NULL : malloc(sizeof(*added));
	if (added) {
		memcpy(added, wanted, sizeof(*added));
		added->next = kept;
		found = kept = added;
	}
	pthread_mutex_unlock(&list_lock);
	return found;
}

static int find_type(int data, int compute, enum dev_type *type_p)
{
	*type_p = data == R_64F                      ? DEV_F64
		  : data == R_16F                    ? DEV_F16
		  : data == R_16BF                   ? DEV_BF16
		  : compute == COMPUTE_32F_FAST_TF32 ? DEV_TF32
						     : DEV_F32;
	if (data == R_64F)
		return compute == COMPUTE_64F ? SUCCESS : NOT_SUPPORTED;
	if (data == R_32F && compute == COMPUTE_32F_FAST_TF32)
		return SUCCESS;
	return compute == COMPUTE_32F && (data == R_32F || data == R_16F || data == R_16BF)
		       ? SUCCESS
		       : NOT_SUPPORTED;
}

/* Arrays of the call. */
struct arrays {
	enum dev_type type;
	const int *a_op, *b_op, *m, *n, *k, *lda, *ldb, *ldc, *size;
	const void *alpha, *beta;
};

static bool is_operation(int op) { return op == OP_N || op == OP_T; }
static bool is_shorter(int ld, int rows) { return ld < (rows > 1 ? rows : 1); }

static bool is_valid(const struct arrays *x, int i)
{
	return x->m[i] >= 0 && x->n[i] >= 0 && x->k[i] >= 0 && x->size[i] == 1 &&
	       is_operation(x->a_op[i]) && is_operation(x->b_op[i]) &&
	       !is_shorter(x->lda[i], x->a_op[i] == OP_N ? x->m[i] : x->k[i]) &&
	       !is_shorter(x->ldb[i], x->b_op[i] == OP_N ? x->k[i] : x->n[i]) &&
	       !is_shorter(x->ldc[i], x->m[i]);
}

static double scale_at(const struct arrays *x, const void *scales, int i)
{
	return x->type == DEV_F64 ? ((const double *)scales)[i]
				  : (double)((const float *)scales)[i];
}

static struct fake_gemm gemm_of_group(const struct arrays *x, int i)
{
	return (struct fake_gemm){.type = x->type,
				  .result = x->type == DEV_TF32 ? DEV_F32 : x->type,
				  .a_transposed = x->a_op[i] == OP_T,
				  .b_transposed = x->b_op[i] == OP_T,
				  .m = (uint64_t)x->m[i],
				  .n = (uint64_t)x->n[i],
				  .k = (uint64_t)x->k[i],
				  .lda = (uint64_t)x->lda[i],
				  .ldb = (uint64_t)x->ldb[i],
				  .ldc = (uint64_t)x->ldc[i],
				  .ldd = (uint64_t)x->ldc[i],
				  .alpha = scale_at(x, x->alpha, i),
				  .beta = scale_at(x, x->beta, i)};
}

/* Bytes that a matrix must be aligned to, where matrix units multiply the type. */
static uintptr_t needed_alignment(const struct arrays *x, int i)
{
	const uint64_t row_bytes = (uint64_t)x->k[i] * dev_type_bytes(x->type);
	return x->type == DEV_F32 || x->type == DEV_F64 ? 1
	       : row_bytes % 16 == 0                    ? 16
	       : row_bytes % 4 == 0                     ? 4
							: 1;
}

static void need_device_memory(const void *addresses, int count)
{
	if (count && !driver_is_device_memory(addresses, (size_t)count * sizeof(void *))) {
		fprintf(stderr, "fake: cuBLAS reads addresses that are not in device memory\n");
		abort();
	}
}

#pragma GCC visibility push(default)

int cublasCreate_v2(struct handle **handle)
{
	int status = driver_fault(__func__);
	struct handle *created = status ? NULL : calloc(1, sizeof(*created));
	if (!created)
		return status ? status : ALLOC_FAILED;
	pthread_mutex_lock(&handles_lock);
	created->next = handles;
	handles = created;
	pthread_mutex_unlock(&handles_lock);
	*handle = created;
	return SUCCESS;
}

int cublasDestroy_v2(struct handle *handle)
{
	pthread_mutex_lock(&handles_lock);
	struct handle **at = &handles;
	while (*at && *at != handle)
		at = &(*at)->next;
	const bool found = *at != NULL;
	if (found)
		*at = handle->next;
	pthread_mutex_unlock(&handles_lock);
	if (found)
		free(handle);
	return found ? SUCCESS : NOT_INITIALIZED;
}

int cublasGetVersion_v2(struct handle *handle, int *version)
{
	*version = 130000;
	return handle ? SUCCESS : NOT_INITIALIZED;
}

int cublasSetStream_v2(struct handle *handle, void *stream)
{
	int status = driver_fault(__func__);
	if (!status && handle)
		handle->stream = stream;
	return status ? status : handle ? SUCCESS : NOT_INITIALIZED;
}

int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes)
{
	int status = driver_fault(__func__);
	if (status || !handle)
		return status ? status : NOT_INITIALIZED;
	return (uintptr_t)workspace % WORKSPACE_ALIGNMENT ||
			       (bytes && !driver_is_device_memory(workspace, bytes))
		       ? INVALID_VALUE
		       : SUCCESS;
}

int cublasGemmGroupedBatchedEx(struct handle *handle, const int *a_op, const int *b_op,
			       const int *m, const int *n, const int *k, const void *alpha,
			       const void *const *a, int a_type, const int *lda,
			       const void *const *b, int b_type, const int *ldb, const void *beta,
			       void *const *c, int c_type, const int *ldc, int count,
			       const int *size, int compute)
{
	struct grouped p;
	struct arrays x = {.a_op = a_op,
			   .b_op = b_op,
			   .m = m,
			   .n = n,
			   .k = k,
			   .lda = lda,
			   .ldb = ldb,
			   .ldc = ldc,
			   .size = size,
			   .alpha = alpha,
			   .beta = beta};
	int status = driver_fault(__func__);
	if (status || !handle)
		return status ? status : NOT_INITIALIZED;
	if (!a_op || !b_op || !m || !n || !k || !alpha || !lda || !ldb || !beta || !ldc || !size ||
	    count < 0 || count > GROUPS_MAX)
		return INVALID_VALUE;
	status = a_type == b_type && a_type == c_type ? find_type(a_type, compute, &x.type)
						      : NOT_SUPPORTED;
	if (status)
		return status;
	memset(&p, 0, sizeof(p)); /* its padding is compared, too */
	p.a = a, p.b = b, p.c = c, p.count = count;
	for (int i = 0; i < count; i++) {
		if (!is_valid(&x, i))
			return INVALID_VALUE;
		p.gemm[i] = gemm_of_group(&x, i);
		p.alignment[i] = needed_alignment(&x, i);
	}
	need_device_memory(a, count);
	need_device_memory(b, count);
	need_device_memory(c, count);
	const struct grouped *found = keep_grouped(&p);
	if (!found)
		return ALLOC_FAILED;
	return driver_enqueue(handle->stream, BLOCKS, grouped_block, &found, sizeof(found))
		       ? EXECUTION_FAILED
		       : SUCCESS;
}
