/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librocblas: GEMM with rocblas_gemm_ex().
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	INVALID_HANDLE = 1,
	NOT_IMPLEMENTED = 2,
	INVALID_POINTER = 3,
	INVALID_SIZE = 4,
	MEMORY_ERROR = 5,
	INTERNAL_ERROR = 6,
	INVALID_VALUE = 11
};
enum { F16 = 150, F32 = 151, F64 = 152, BF16 = 168 };
enum { NONE = 111, TRANSPOSE = 112 };

struct handle {
	void *stream;
};

static int find_dev_type(int type, enum dev_type *type_p)
{
	*type_p = type == F16 ? DEV_F16 : type == F64 ? DEV_F64 : type == BF16 ? DEV_BF16 : DEV_F32;
	return type == F16 || type == F32 || type == F64 || type == BF16 ? SUCCESS
									 : NOT_IMPLEMENTED;
}

static bool leading_dimensions_fit(const struct fake_gemm *p)
{
	return p->lda >= (p->a_transposed ? p->k : p->m) &&
	       p->ldb >= (p->b_transposed ? p->n : p->k) && p->ldc >= p->m && p->ldd >= p->m;
}

#pragma GCC visibility push(default)

int rocblas_create_handle(struct handle **handle)
{
	int status = driver_fault(__func__);
	if (!status)
		*handle = calloc(1, sizeof(**handle));
	return status ? status : *handle ? SUCCESS : MEMORY_ERROR;
}

int rocblas_destroy_handle(struct handle *handle)
{
	free(handle);
	return handle ? SUCCESS : INVALID_HANDLE;
}

int rocblas_set_stream(struct handle *handle, void *stream)
{
	int status = driver_fault(__func__);
	if (!status)
		handle->stream = stream;
	return status;
}

int rocblas_set_workspace(struct handle *handle, void *workspace, size_t bytes)
{
	int status = driver_fault(__func__);
	return status                                ? status
	       : !handle                             ? INVALID_HANDLE
	       : (workspace == NULL) != (bytes == 0) ? INVALID_POINTER
						     : SUCCESS;
}

const char *rocblas_status_to_string(int status)
{
	switch (status) {
	case SUCCESS:
		return "rocblas_status_success";
	case NOT_IMPLEMENTED:
		return "rocblas_status_not_implemented";
	case INVALID_SIZE:
		return "rocblas_status_invalid_size";
	case MEMORY_ERROR:
		return "rocblas_status_memory_error";
	case INVALID_VALUE:
		return "rocblas_status_invalid_value";
	default:
		return "rocblas_status_internal_error";
	}
}

int rocblas_get_version_string(char *text, size_t capacity)
{
	snprintf(text, capacity, "5.0.0.fake");
	return driver_fault(__func__);
}

int rocblas_gemm_ex(struct handle *handle, int a_op, int b_op, int32_t m, int32_t n, int32_t k,
		    const void *alpha, const void *a, int a_type, int32_t lda, const void *b,
		    int b_type, int32_t ldb, const void *beta, const void *c, int c_type,
		    int32_t ldc, void *d, int d_type, int32_t ldd, int sums, int algorithm,
		    int32_t solution, uint32_t flags)
{
	struct fake_gemm p = {.a_transposed = a_op == TRANSPOSE,
			      .b_transposed = b_op == TRANSPOSE,
			      .a = a,
			      .b = b,
			      .c = c,
			      .d = d,
			      .m = (uint64_t)m,
			      .n = (uint64_t)n,
			      .k = (uint64_t)k,
			      .lda = (uint64_t)lda,
			      .ldb = (uint64_t)ldb,
			      .ldc = (uint64_t)ldc,
			      .ldd = (uint64_t)ldd};
	const bool wide = sums == F64;
	int status = driver_fault(__func__);
	if (status || !handle)
		return status ? status : INVALID_HANDLE;
	if (m < 0 || n < 0 || k < 0 || !leading_dimensions_fit(&p))
		return INVALID_SIZE;
	status = find_dev_type(a_type, &p.type);
	if (!status)
		status = find_dev_type(c_type, &p.result);
	if (status || a_type != b_type || c_type != a_type || d_type != a_type ||
	    wide != (a_type == F64) || (!wide && sums != F32))
		return NOT_IMPLEMENTED;
	if ((a_op != NONE && a_op != TRANSPOSE) || (b_op != NONE && b_op != TRANSPOSE) ||
	    algorithm || solution || flags)
		return INVALID_VALUE;
	p.alpha = wide ? *(const double *)alpha : (double)*(const float *)alpha;
	p.beta = wide ? *(const double *)beta : (double)*(const float *)beta;
	return fake_gemm_enqueue(handle->stream, &p) ? INTERNAL_ERROR : SUCCESS;
}
