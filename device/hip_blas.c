/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "device/rocblas_abi.h"
#include "lib/err.h"

/* What rocBLAS gives itself on gfx94x; elsewhere it is content with a quarter. */
#define WORKSPACE_BYTES (128u << 20)

static struct {
	rocblas_abi_create_fn *create;
	rocblas_abi_destroy_fn *destroy;
	rocblas_abi_set_stream_fn *set_stream;
	rocblas_abi_set_workspace_fn *set_workspace;
	rocblas_abi_status_string_fn *status_string;
	rocblas_abi_version_fn *version;
	rocblas_abi_gemm_ex_fn *gemm_ex;
} roc;

static const struct gpu_symbol symbols[] = {
	{"rocblas_create_handle", &roc.create, false},
	{"rocblas_destroy_handle", &roc.destroy, false},
	{"rocblas_set_stream", &roc.set_stream, false},
	{"rocblas_set_workspace", &roc.set_workspace, false},
	{"rocblas_status_to_string", &roc.status_string, false},
	{"rocblas_get_version_string", &roc.version, true},
	{"rocblas_gemm_ex", &roc.gemm_ex, false},
	{NULL, NULL, false},
};

static const char *const files[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so",
                                    NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct gpu_library library = {.title = "rocBLAS", .files = files, .folders = folders, .symbols = symbols};

struct blas {
	struct _rocblas_handle *handle;
	pthread_mutex_t lock; /* of the handle, whose state the stream and the workspace are */
};

#define TYPES (1u << DEV_F32 | 1u << DEV_F64 | 1u << DEV_F16 | 1u << DEV_BF16)

static int note(const char *function, rocblas_abi_status status)
{
	int code = -EIO;
	if (status == ROCBLAS_ABI_NOT_IMPLEMENTED || status == ROCBLAS_ABI_EXCLUDED_FROM_BUILD ||
	    status == ROCBLAS_ABI_ARCH_MISMATCH)
		code = -ENOTSUP;
	else if (status == ROCBLAS_ABI_INVALID_SIZE || status == ROCBLAS_ABI_INVALID_VALUE)
		code = -EINVAL;
	else if (status == ROCBLAS_ABI_MEMORY_ERROR)
		code = -ENOMEM;
	return err_note(code, "%s: %s", function, roc.status_string(status));
}

static unsigned data_type(enum dev_type type)
{
	return type == DEV_F64    ? ROCBLAS_ABI_F64
	       : type == DEV_F16  ? ROCBLAS_ABI_F16
	       : type == DEV_BF16 ? ROCBLAS_ABI_BF16
	                          : ROCBLAS_ABI_F32;
}

/* "4.4.0.6f8a2b1c-dirty" and the like: the version's numbers are enough. */
static void describe(char *text, size_t room)
{
	char version[128] = "";
	unsigned major, minor, patch;
	if (roc.version && roc.version(version, sizeof(version)) == ROCBLAS_ABI_SUCCESS &&
	    sscanf(version, "%u.%u.%u", &major, &minor, &patch) == 3)
		snprintf(text, room, "rocBLAS %u.%u.%u", major, minor, patch);
	else
		snprintf(text, room, "rocBLAS");
}

static int blas_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text, size_t room)
{
	(void)traits;
	int rc = gpu_library_open(&library);
	if (rc)
		return rc;
	struct blas *blas = calloc(1, sizeof(*blas));
	if (!blas)
		return err_note(-ENOMEM, "no memory for a handle of rocBLAS");
	const rocblas_abi_status status = roc.create(&blas->handle);
	if (status != ROCBLAS_ABI_SUCCESS) {
		free(blas);
		return note("rocblas_create_handle", status);
	}
	pthread_mutex_init(&blas->lock, NULL);
	describe(text, room);
	*types_p = TYPES;
	*blas_p = blas;
	return 0;
}

static void blas_close(void *opened)
{
	struct blas *blas = opened;
	if (!blas)
		return;
	roc.destroy(blas->handle);
	pthread_mutex_destroy(&blas->lock);
	free(blas);
}

static int check(const struct gpu_product *p)
{
	const uint64_t numbers[] = {p->m, p->n, p->k, p->ld_first, p->ld_second, p->ld_c};
	if (p->type >= DEV_TYPES || !(TYPES & 1u << p->type))
		return err_note(-ENOTSUP, "rocBLAS has no products of this type");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] > INT32_MAX)
			return err_note(-EINVAL, "rocBLAS takes no dimension above %d: %llu", INT32_MAX,
			                (unsigned long long)numbers[i]);
	return 0;
}

/* The library's own choice, which has no name: a block of one byte that says nothing. */
static int blas_ways(void *blas, const struct gpu_product *p, void *ways, size_t most, size_t *count_p)
{
	(void)blas;
	const int rc = check(p);
	if (rc)
		return rc;
	if (most > 0)
		*(unsigned char *)ways = 0;
	*count_p = most > 0;
	return 0;
}

static int set_state(const struct blas *blas, void *stream, const struct gpu_product *p)
{
	rocblas_abi_status status = roc.set_stream(blas->handle, stream);
	if (status != ROCBLAS_ABI_SUCCESS)
		return note("rocblas_set_stream", status);
	if (!p->workspace)
		return 0;
	status = roc.set_workspace(blas->handle, p->workspace, p->workspace_bytes);
	return status == ROCBLAS_ABI_SUCCESS ? 0 : note("rocblas_set_workspace", status);
}

static int multiply(const struct blas *blas, const struct gpu_product *p)
{
	const float alpha = (float)p->alpha, beta = (float)p->beta;
	const bool wide = p->type == DEV_F64;
	const unsigned data = data_type(p->type), sums = wide ? ROCBLAS_ABI_F64 : ROCBLAS_ABI_F32;
	const rocblas_abi_status status = roc.gemm_ex(
		blas->handle, p->first_transposed ? ROCBLAS_ABI_TRANSPOSE : ROCBLAS_ABI_NONE, ROCBLAS_ABI_NONE, (int32_t)p->m,
		(int32_t)p->n, (int32_t)p->k, wide ? (const void *)&p->alpha : &alpha, p->first, data, (int32_t)p->ld_first,
		p->second, data, (int32_t)p->ld_second, wide ? (const void *)&p->beta : &beta, p->c, data, (int32_t)p->ld_c, p->c,
		data, (int32_t)p->ld_c, sums, ROCBLAS_ABI_ALGO_STANDARD, 0, ROCBLAS_ABI_FLAGS_NONE);
	/* Slower for lack of workspace, and done all the same. */
	if (status == ROCBLAS_ABI_SUCCESS || status == ROCBLAS_ABI_PERF_DEGRADED)
		return 0;
	return note("rocblas_gemm_ex", status);
}

static int blas_run(void *opened, void *stream, const struct gpu_product *p, const void *way)
{
	struct blas *blas = opened;
	(void)way;
	int rc = check(p);
	if (rc)
		return rc;
	pthread_mutex_lock(&blas->lock);
	rc = set_state(blas, stream, p);
	if (!rc)
		rc = multiply(blas, p);
	pthread_mutex_unlock(&blas->lock);
	return rc;
}

static void blas_describe(const void *way, char *text, size_t capacity)
{
	(void)way;
	snprintf(text, capacity, "library's first choice");
}

const struct gpu_blas hip_blas = {
	.open = blas_open,
	.close = blas_close,
	.ways = blas_ways,
	.run = blas_run,
	.describe = blas_describe,
	.way_bytes = 1,
	.workspace_bytes = WORKSPACE_BYTES,
};
