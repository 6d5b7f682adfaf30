/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "device/gpu/hip/hip_blas_libraries.h"
#include "device/gpu/hip/rocblas_abi.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	rocblas_abi_create_fn *create;
	rocblas_abi_destroy_fn *destroy;
	rocblas_abi_set_stream_fn *set_stream;
	rocblas_abi_set_workspace_fn *set_workspace;
	rocblas_abi_status_string_fn *status_string;
	rocblas_abi_version_fn *version;
	rocblas_abi_gemm_ex_fn *gemm_ex;
} roc;

static const struct dynlib_symbol symbols[] = {
	{"rocblas_create_handle", &roc.create, false},
	{"rocblas_destroy_handle", &roc.destroy, false},
	{"rocblas_set_stream", &roc.set_stream, false},
	{"rocblas_set_workspace", &roc.set_workspace, false},
	{"rocblas_status_to_string", &roc.status_string, false},
	{"rocblas_get_version_string", &roc.version, true},
	{"rocblas_gemm_ex", &roc.gemm_ex, false},
	{NULL, NULL, false},
};

static const char *const files[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3",
				    "librocblas.so.0", "librocblas.so",   NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct dynlib library = {.title = "rocBLAS",
				.files = files,
				.folders = folders,
				.above = &hip_runtime,
				.symbols = symbols};

struct blas {
	struct _rocblas_handle *handle;
	pthread_mutex_t
		lock; /* guards the handle, which has the stream and the workspace as state */
};

#define TYPES (1u << DEV_F32 | 1u << DEV_F64 | 1u << DEV_F16 | 1u << DEV_BF16)

static int note_status(const char *function, rocblas_abi_status result)
{
	int status = -EIO;
	if (result == ROCBLAS_ABI_NOT_IMPLEMENTED || result == ROCBLAS_ABI_EXCLUDED_FROM_BUILD ||
	    result == ROCBLAS_ABI_ARCH_MISMATCH)
		status = -ENOTSUP;
	else if (result == ROCBLAS_ABI_INVALID_SIZE || result == ROCBLAS_ABI_INVALID_VALUE)
		status = -EINVAL;
	else if (result == ROCBLAS_ABI_MEMORY_ERROR)
		status = -ENOMEM;
	return err_note(status, "%s: %s", function, roc.status_string(result));
}

static unsigned data_type(enum dev_type type)
{
	return type == DEV_F64    ? ROCBLAS_ABI_F64
	       : type == DEV_F16  ? ROCBLAS_ABI_F16
	       : type == DEV_BF16 ? ROCBLAS_ABI_BF16
				  : ROCBLAS_ABI_F32;
}

/* Only the version's numbers, of a text like "4.4.0.6f8a2b1c-dirty". */
static void describe_version(char *text, size_t capacity)
{
	char version[128] = "";
	unsigned major, minor, patch;
	if (roc.version && roc.version(version, sizeof(version)) == ROCBLAS_ABI_SUCCESS &&
	    sscanf(version, "%u.%u.%u", &major, &minor, &patch) == 3)
		snprintf(text, capacity, "rocBLAS %u.%u.%u", major, minor, patch);
	else
		snprintf(text, capacity, "rocBLAS");
}

static int blas_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		     size_t capacity)
{
	int status = dynlib_open(&library);
	if (status)
		return status;
	struct blas *blas = calloc(1, sizeof(*blas));
	if (!blas)
		return err_note(-ENOMEM, "rocBLAS: out of memory for a handle");
	const rocblas_abi_status result = roc.create(&blas->handle);
	if (result != ROCBLAS_ABI_SUCCESS) {
		free(blas);
		return note_status("rocblas_create_handle", result);
	}
	pthread_mutex_init(&blas->lock, NULL);
	describe_version(text, capacity);
	*types_p = TYPES;
	*blas_p = blas;
	return 0;
}

static void blas_close(void *opened, bool usable)
{
	struct blas *blas = opened;
	roc.destroy(blas->handle);
	pthread_mutex_destroy(&blas->lock);
	free(blas);
}

static int check_problem(const struct gpu_gemm_problem *p)
{
	const uint64_t numbers[] = {p->m, p->n, p->k, p->ld_first, p->ld_second, p->ld_c};
	if (p->type >= DEV_TYPES || !(TYPES & 1u << p->type))
		return err_note(-ENOTSUP, "rocBLAS does not support a GEMM of this type");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] > INT32_MAX)
			return err_note(-EINVAL, "rocBLAS supports dimensions up to %d, not %llu",
					INT32_MAX, (unsigned long long)numbers[i]);
	return 0;
}

/* The only algorithm is the library's own choice, which has no name: an entry of one unused
 * byte. */
static int blas_algorithms(void *blas, const struct gpu_gemm_problem *p, void *algorithms,
			   size_t capacity, size_t *count_p)
{
	const int status = check_problem(p);
	if (status)
		return status;
	if (capacity > 0)
		*(unsigned char *)algorithms = 0;
	*count_p = capacity > 0;
	return 0;
}

static int set_state(const struct blas *blas, void *stream, const struct gpu_gemm_problem *p)
{
	rocblas_abi_status result = roc.set_stream(blas->handle, stream);
	if (result != ROCBLAS_ABI_SUCCESS)
		return note_status("rocblas_set_stream", result);
	if (!p->workspace)
		return 0;
	result = roc.set_workspace(blas->handle, p->workspace, p->workspace_bytes);
	return result == ROCBLAS_ABI_SUCCESS ? 0 : note_status("rocblas_set_workspace", result);
}

static int run_gemm(const struct blas *blas, const struct gpu_gemm_problem *p)
{
	const float alpha = (float)p->alpha, beta = (float)p->beta;
	const bool is_f64 = p->type == DEV_F64;
	const unsigned data = data_type(p->type), sums = is_f64 ? ROCBLAS_ABI_F64 : ROCBLAS_ABI_F32;
	const rocblas_abi_status result = roc.gemm_ex(
		blas->handle, p->first_transposed ? ROCBLAS_ABI_TRANSPOSE : ROCBLAS_ABI_NONE,
		ROCBLAS_ABI_NONE, (int32_t)p->m, (int32_t)p->n, (int32_t)p->k,
		is_f64 ? (const void *)&p->alpha : &alpha, p->first, data, (int32_t)p->ld_first,
		p->second, data, (int32_t)p->ld_second, is_f64 ? (const void *)&p->beta : &beta,
		p->c, data, (int32_t)p->ld_c, p->c, data, (int32_t)p->ld_c, sums,
		ROCBLAS_ABI_ALGO_STANDARD, 0, ROCBLAS_ABI_FLAGS_NONE);
	/* The GEMM has run, only slower for lack of workspace. */
	if (result == ROCBLAS_ABI_SUCCESS || result == ROCBLAS_ABI_PERF_DEGRADED)
		return 0;
	return note_status("rocblas_gemm_ex", result);
}

static int blas_run(void *opened, void *stream, const struct gpu_gemm_problem *p,
		    const void *algorithm)
{
	struct blas *blas = opened;
	int status = check_problem(p);
	if (status)
		return status;
	pthread_mutex_lock(&blas->lock);
	status = set_state(blas, stream, p);
	if (!status)
		status = run_gemm(blas, p);
	pthread_mutex_unlock(&blas->lock);
	return status;
}

static void blas_describe(const void *algorithm, char *text, size_t capacity)
{
	snprintf(text, capacity, "rocBLAS's first choice");
}

const struct gpu_blas hip_rocblas = {
	.open = blas_open,
	.close = blas_close,
	.algorithms = blas_algorithms,
	.run = blas_run,
	.describe = blas_describe,
	.algorithm_bytes = 1,
};
