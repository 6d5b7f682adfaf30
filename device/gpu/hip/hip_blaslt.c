/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/blaslt.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/hip/hip_blas_libraries.h"
#include "device/gpu/hip/hipblaslt_abi.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ROCm 6.0's. */
#define OLDEST_VERSION 600

static struct blaslt_functions functions;
static hipblaslt_get_version_fn *get_version;
static hipblaslt_get_index_fn *get_index;

static const struct dynlib_symbol symbols[] = {
	BLASLT_SYMBOLS("hipblasLt", functions),
	{"hipblasLtGetVersion", &get_version, false},
	{HIPBLASLT_GET_INDEX, &get_index, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so",
				    NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct dynlib library = {.title = "hipBLASLt",
				.files = files,
				.folders = folders,
				.above = &hip_runtime,
				.symbols = symbols};

/* As for cuBLASLt. A kernel that does not exist is an internal error. */
static int errno_of(blaslt_status result)
{
	switch (result) {
	case HIPBLASLT_NOT_SUPPORTED:
	case HIPBLASLT_ARCH_MISMATCH:
	case HIPBLASLT_INTERNAL_ERROR:
		return -ENOTSUP;
	case HIPBLASLT_NOT_INITIALIZED:
	case HIPBLASLT_NO_HANDLE:
		return -ENODEV;
	case HIPBLASLT_INVALID_VALUE:
	case HIPBLASLT_INVALID_ENUM:
		return -EINVAL;
	case HIPBLASLT_ALLOC_FAILED:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/* The library has no function for it. */
static void describe_status(blaslt_status result, char *text, size_t capacity)
{
	static const char *const names[] = {
		"SUCCESS",       "NOT_INITIALIZED",   "ALLOC_FAILED",   "INVALID_VALUE",
		"MAPPING_ERROR", "EXECUTION_FAILED",  "INTERNAL_ERROR", "NOT_SUPPORTED",
		"ARCH_MISMATCH", "HANDLE_IS_NULLPTR", "INVALID_ENUM",   "UNKNOWN"};
	if (result < sizeof(names) / sizeof(names[0]))
		snprintf(text, capacity, "HIPBLAS_STATUS_%s", names[result]);
	else
		snprintf(text, capacity, "status %u", result);
}

#define HIPBLASLT(f8_type, scale)                                                                  \
	{                                                                                          \
		.title = "hipBLASLt", .prefix = "hipblasLt", .functions = &functions,              \
		.algo_bytes = sizeof(struct hipblaslt_algo_layout),                                \
		.type = {[DEV_F32] = HIPBLASLT_R_32F,                                              \
			 [DEV_TF32] = HIPBLASLT_R_32F,                                             \
			 [DEV_F16] = HIPBLASLT_R_16F,                                              \
			 [DEV_BF16] = HIPBLASLT_R_16BF,                                            \
			 [DEV_F8] = (f8_type),                                                     \
			 [DEV_I8] = HIPBLASLT_R_8I,                                                \
			 [DEV_I32] = HIPBLASLT_R_32I,                                              \
			 [DEV_MXF8] = HIPBLASLT_R_8F_E4M3,                                         \
			 [DEV_MXF4] = HIPBLASLT_R_4F_E2M1},                                        \
		.compute = {[DEV_TF32] = HIPBLASLT_COMPUTE_32F_FAST_TF32,                          \
			    [DEV_F16] = HIPBLASLT_COMPUTE_32F,                                     \
			    [DEV_BF16] = HIPBLASLT_COMPUTE_32F,                                    \
			    [DEV_F8] = HIPBLASLT_COMPUTE_32F,                                      \
			    [DEV_I8] = HIPBLASLT_COMPUTE_32I,                                      \
			    [DEV_MXF8] = HIPBLASLT_COMPUTE_32F,                                    \
			    [DEV_MXF4] = HIPBLASLT_COMPUTE_32F},                                   \
		.normal = HIPBLASLT_OP_N, .transposed = HIPBLASLT_OP_T,                            \
		.transpose_first = HIPBLASLT_DESC_TRANSA,                                          \
		.max_workspace = HIPBLASLT_PREFER_MAX_WORKSPACE_BYTES, .f8_scale = (scale),        \
		.scale_mode = {HIPBLASLT_DESC_A_SCALE_MODE, HIPBLASLT_DESC_B_SCALE_MODE},          \
		.scale_pointer = {HIPBLASLT_DESC_A_SCALE_POINTER, HIPBLASLT_DESC_B_SCALE_POINTER}, \
		.scale_modes = {[DEV_SCALE_E8M0] = HIPBLASLT_SCALE_VEC32_UE8M0},                   \
		.one_at_a_time = true, .errno_of = errno_of, .describe_status = describe_status    \
	}
static const struct blaslt with_ocp_f8 = HIPBLASLT(HIPBLASLT_R_8F_E4M3, 1),
			   with_fnuz_f8 = HIPBLASLT(HIPBLASLT_R_8F_E4M3_FNUZ, 4);

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* 0 where the library does not support the architecture: it may then end the process. */
static uint32_t types_of(const char *arch)
{
	const bool cdna3 = begins_with(arch, "gfx94");
	const bool f8 = cdna3 || begins_with(arch, "gfx95") || begins_with(arch, "gfx12");
	if (!f8 && !begins_with(arch, "gfx90a") && !begins_with(arch, "gfx11"))
		return 0;
	const bool scaled = begins_with(arch, "gfx95");
	return (scaled ? 1u << DEV_MXF8 | 1u << DEV_MXF4 : 0) | 1u << DEV_F16 | 1u << DEV_BF16 |
	       1u << DEV_I8 | (cdna3 ? 1u << DEV_TF32 : 0) | (f8 ? 1u << DEV_F8 : 0);
}

static int check_version(void *blas, char *text, size_t capacity)
{
	int v = 0;
	const blaslt_status result = get_version(blaslt_handle_of(blas), &v);
	if (result != BLASLT_SUCCESS)
		return err_note(errno_of(result), "hipblasLtGetVersion: status %u", result);
	if (v < OLDEST_VERSION)
		return err_note(-ENODEV, "hipBLASLt is older than 0.6");
	snprintf(text, capacity, "hipBLASLt %d.%d.%d", v / 100000, v / 100 % 1000, v % 100);
	return 0;
}

static int lt_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		   size_t capacity)
{
	const bool fnuz = begins_with(traits->arch, "gfx94");
	const uint32_t types = types_of(traits->arch);
	uint32_t kept = 0;
	char why[200];
	void *blas;
	if (!types)
		return err_note(-ENOTSUP, "hipBLASLt does not support %s", traits->arch);
	int status = dynlib_open(&library);
	if (!status)
		status = blaslt_open(fnuz ? &with_fnuz_f8 : &with_ocp_f8, types, &blas);
	if (status)
		return status;
	status = check_version(blas, text, capacity);
	if (!status)
		status = blaslt_keep_types(blas, types, &kept, why, sizeof(why));
	if (!status && !kept)
		status = err_note(-ENOTSUP, "hipBLASLt has no algorithm for %s, %s", traits->arch,
				  why);
	if (status) {
		blaslt_close(blas, true);
		return status;
	}
	err_note(0, "%s", why);
	*types_p = kept;
	*blas_p = blas;
	return 0;
}

/* By its number in the library, as hipblaslt-bench takes it. */
static void lt_describe(const void *chosen, char *text, size_t capacity)
{
	const struct blaslt_algorithm *algorithm = chosen;
	struct hipblaslt_algo_layout algo;
	int at = 0;
	memcpy(&algo, algorithm->algo, sizeof(algo));
	if (get_index)
		at = snprintf(text, capacity, "solution %d, ", get_index(&algo));
	if (at >= 0 && (size_t)at < capacity)
		snprintf(text + at, capacity - (size_t)at, "workspace %llu",
			 (unsigned long long)algorithm->workspace_bytes);
}

const struct gpu_blas hip_blaslt = {
	.open = lt_open,
	.close = blaslt_close,
	.algorithms = blaslt_algorithms,
	.run = blaslt_run,
	.describe = lt_describe,
	.algorithm_bytes = sizeof(struct blaslt_algorithm),
};
