/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/blaslt.h"
#include "device/gpu/cuda/cublaslt_abi.h"
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* NVIDIA's advice for Hopper; older devices gain nothing above 4 MiB. */
#define WORKSPACE_BYTES (32u << 20)

static struct blaslt_functions functions;
static cublaslt_get_version_fn *get_version;
static cublaslt_get_status_name_fn *status_name;
static cublaslt_get_status_string_fn *status_string;
static cublaslt_config_get_fn *config_get;

static const struct dynlib_symbol symbols[] = {
	BLASLT_SYMBOLS("cublasLt", functions),
	{"cublasLtGetVersion", &get_version, false},
	{"cublasLtGetStatusName", &status_name, true},
	{"cublasLtGetStatusString", &status_string, true},
	{"cublasLtMatmulAlgoConfigGetAttribute", &config_get, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
				    "libcublasLt.so", NULL};
static int check_release(void);
static struct dynlib library = {.title = "cuBLASLt",
				.files = files,
				.folders = cuda_folders,
				.symbols = symbols,
				.start = check_release};

/* -EIO marks the device as lost, so it is kept for errors after which it is. The library refuses
 * many algorithms when they are run; those are -ENOTSUP. */
static int errno_of(cublaslt_status result)
{
	switch (result) {
	case CUBLASLT_NOT_SUPPORTED:
	case CUBLASLT_ARCH_MISMATCH:
	case CUBLASLT_INTERNAL_ERROR:
		return -ENOTSUP;
	case CUBLASLT_NOT_INITIALIZED:
		return -ENODEV;
	case CUBLASLT_INVALID_VALUE:
		return -EINVAL;
	case CUBLASLT_ALLOC_FAILED:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

static void describe_status(cublaslt_status result, char *text, size_t capacity)
{
	if (status_name && status_string)
		snprintf(text, capacity, "%s (%s)", status_string(result), status_name(result));
	else
		snprintf(text, capacity, "status %u", result);
}

static const unsigned alignments[] = {
	CUBLASLT_PREFER_MIN_ALIGNMENT_A_BYTES, CUBLASLT_PREFER_MIN_ALIGNMENT_B_BYTES,
	CUBLASLT_PREFER_MIN_ALIGNMENT_C_BYTES, CUBLASLT_PREFER_MIN_ALIGNMENT_D_BYTES};

static const struct blaslt cublaslt = {
	.title = "cuBLASLt",
	.prefix = "cublasLt",
	.functions = &functions,
	.algo_bytes = sizeof(struct cublaslt_algo_layout),
	.type = {[DEV_F32] = CUBLASLT_R_32F,
		 [DEV_TF32] = CUBLASLT_R_32F,
		 [DEV_F64] = CUBLASLT_R_64F,
		 [DEV_F16] = CUBLASLT_R_16F,
		 [DEV_BF16] = CUBLASLT_R_16BF,
		 [DEV_F8] = CUBLASLT_R_8F_E4M3,
		 [DEV_I8] = CUBLASLT_R_8I,
		 [DEV_I32] = CUBLASLT_R_32I,
		 [DEV_MXF8] = CUBLASLT_R_8F_E4M3,
		 [DEV_NVF4] = CUBLASLT_R_4F_E2M1},
	.compute = {[DEV_F32] = CUBLASLT_COMPUTE_32F,
		    [DEV_TF32] = CUBLASLT_COMPUTE_32F_FAST_TF32,
		    [DEV_F64] = CUBLASLT_COMPUTE_64F,
		    [DEV_F16] = CUBLASLT_COMPUTE_32F,
		    [DEV_BF16] = CUBLASLT_COMPUTE_32F,
		    [DEV_F8] = CUBLASLT_COMPUTE_32F,
		    [DEV_I8] = CUBLASLT_COMPUTE_32I,
		    [DEV_MXF8] = CUBLASLT_COMPUTE_32F,
		    [DEV_NVF4] = CUBLASLT_COMPUTE_32F},
	.normal = CUBLASLT_OP_N,
	.transposed = CUBLASLT_OP_T,
	.transpose_first = CUBLASLT_DESC_TRANSA,
	.fast_accumulation = CUBLASLT_DESC_FAST_ACCUM,
	.max_workspace = CUBLASLT_PREFER_MAX_WORKSPACE_BYTES,
	.scale_mode = {CUBLASLT_DESC_A_SCALE_MODE, CUBLASLT_DESC_B_SCALE_MODE},
	.scale_pointer = {CUBLASLT_DESC_A_SCALE_POINTER, CUBLASLT_DESC_B_SCALE_POINTER},
	.scale_modes = {[DEV_SCALE_E8M0] = CUBLASLT_SCALE_VEC32_UE8M0,
			[DEV_SCALE_E4M3] = CUBLASLT_SCALE_VEC16_UE4M3},
	.alignments = alignments,
	.f8_scale = 1,
	.errno_of = errno_of,
	.describe_status = describe_status,
};

/* ------------------------------------------------------------------ struct gpu_blas */

/* cuBLASLt encodes 11.2.0 as 11200, and 11.11.3 as 111103. */
static void split_version(size_t v, int *major_p, int *minor_p, int *patch_p)
{
	const size_t unit = v < 100000 ? 1000 : 10000;
	*major_p = (int)(v / unit);
	*minor_p = (int)(v % unit / 100);
	*patch_p = (int)(v % 100);
}

/* The major version is that of CUDA. */
static int check_release(void)
{
	int major, minor, patch;
	split_version(get_version(), &major, &minor, &patch);
	return cuda_check_age("cuBLASLt", 1000 * major + 10 * minor, cuda_version(), false)
		       ? err_note(-ENODEV, "%s", err_text())
		       : 0;
}

static void describe_version(size_t v, char *text, size_t capacity)
{
	int major, minor, patch;
	split_version(v, &major, &minor, &patch);
	snprintf(text, capacity, "cuBLASLt %d.%d.%d", major, minor, patch);
}

static uint32_t types_of(const char *arch, size_t version)
{
	unsigned sm = 0;
	uint32_t types = 1u << DEV_F32 | 1u << DEV_F64 | 1u << DEV_F16;
	if (sscanf(arch, "sm_%u", &sm) == 1 && sm >= 80)
		types |= 1u << DEV_TF32 | 1u << DEV_BF16;
	if (sm >= 75)
		types |= 1u << DEV_I8;
	/* CUDA 12.8 was the first with scales for blocks, on Blackwell. Of f4 it has no e8m0. */
	if (sm >= 100 && version >= 120800)
		types |= 1u << DEV_MXF8 | 1u << DEV_NVF4;
	/* CUDA 11.8 was the first with f8. */
	if (sm >= 89 && version >= 111100)
		types |= 1u << DEV_F8;
	return types;
}

/* Those that the library has not multiplied for us on hardware: it is asked. */
#define UNPROVED_TYPES (1u << DEV_I8 | 1u << DEV_MXF8 | 1u << DEV_NVF4)

static int blas_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		     size_t capacity)
{
	int status = dynlib_open(&library);
	if (status)
		return status;
	char why[200];
	status = blaslt_open(&cublaslt, types_of(traits->arch, get_version()), blas_p);
	if (status)
		return status;
	status = blaslt_keep_types(*blas_p, UNPROVED_TYPES, types_p, why, sizeof(why));
	if (status) {
		blaslt_close(*blas_p, true);
		return status;
	}
	describe_version(get_version(), text, capacity);
	if (why[0])
		text_fit_more(text, capacity, "; %s", why);
	return 0;
}

/* More than it has returned so far. */
#define MAX_ALGORITHMS 200u

/* In the library's own names and numbers, from cublasLtMatmulAlgoConfigAttributes_t and the
 * enumerations it refers to. */
static void blas_describe(const void *chosen, char *text, size_t capacity)
{
	static const struct {
		const char *name;
		unsigned attribute;
		size_t bytes;
	} parts[] = {{"algorithm", CUBLASLT_CONFIG_ID, 4},
		     {"tile", CUBLASLT_CONFIG_TILE_ID, 4},
		     {"stages", CUBLASLT_CONFIG_STAGES_ID, 4},
		     {"split_k", CUBLASLT_CONFIG_SPLITK_NUM, 4},
		     {"reduction", CUBLASLT_CONFIG_REDUCTION_SCHEME, 4},
		     {"swizzle", CUBLASLT_CONFIG_CTA_SWIZZLING, 4},
		     {"custom", CUBLASLT_CONFIG_CUSTOM_OPTION, 4},
		     {"inner", CUBLASLT_CONFIG_INNER_SHAPE_ID, 2},
		     {"cluster", CUBLASLT_CONFIG_CLUSTER_SHAPE_ID, 2}};
	const struct blaslt_algorithm *algorithm = chosen;
	size_t at = 0;
	for (size_t i = 0; config_get && i < sizeof(parts) / sizeof(parts[0]) && at < capacity;
	     i++) {
		uint16_t narrow = 0;
		uint32_t is_f64 = 0;
		size_t written = 0;
		void *value = parts[i].bytes == sizeof(narrow) ? (void *)&narrow : &is_f64;
		if (config_get(algorithm->algo, parts[i].attribute, value, parts[i].bytes,
			       &written) == CUBLASLT_SUCCESS)
			at += (size_t)snprintf(text + at, capacity - at, "%s %u, ", parts[i].name,
					       is_f64 + narrow);
	}
	if (at < capacity)
		snprintf(text + at, capacity - at, "workspace %llu",
			 (unsigned long long)algorithm->workspace_bytes);
}

/* ------------------------------------------------------------------ grouped GEMMs, by cuBLAS
 *
 * CUDA 12.5 was the first with them. */

static struct {
	cublas_create_fn *create;
	cublas_destroy_fn *destroy;
	cublas_get_version_fn *get_version;
	cublas_set_stream_fn *set_stream;
	cublas_set_workspace_fn *set_workspace;
	cublas_gemm_grouped_fn *gemm_grouped;
} cublas;

static const struct dynlib_symbol cublas_symbols[] = {
	{"cublasCreate_v2", &cublas.create, false},
	{"cublasDestroy_v2", &cublas.destroy, false},
	{"cublasGetVersion_v2", &cublas.get_version, false},
	{"cublasSetStream_v2", &cublas.set_stream, false},
	{"cublasSetWorkspace_v2", &cublas.set_workspace, false},
	{"cublasGemmGroupedBatchedEx", &cublas.gemm_grouped, false},
	{NULL, NULL, false},
};

static const char *const cublas_files[] = {"libcublas.so.13", "libcublas.so.12", NULL};
static struct dynlib cublas_library = {.title = "cuBLAS",
				       .files = cublas_files,
				       .folders = cuda_folders,
				       .above = &library,
				       .symbols = cublas_symbols};

/* The types that it takes; those that matrix units multiply. */
#define GROUPED_TYPES (1u << DEV_F32 | 1u << DEV_F64 | ALIGNED_TYPES)
#define ALIGNED_TYPES (1u << DEV_TF32 | 1u << DEV_F16 | 1u << DEV_BF16)

/* Stream and workspace are the handle's, so one call at a time. */
struct grouped {
	cublas_handle handle;
	pthread_mutex_t turn;
};

static int note_grouped(const char *function, cublaslt_status result)
{
	return err_note(errno_of(result), "cublas%s: status %u", function, result);
}

static int grouped_open(void **grouped_p, uint32_t *types_p, char *text, size_t capacity)
{
	int version = 0, status = dynlib_open(&cublas_library);
	struct grouped *grouped = status ? NULL : calloc(1, sizeof(*grouped));
	if (!grouped)
		return status ? status : err_note(-ENOMEM, "cuBLAS: out of memory for a handle");
	const cublaslt_status result = cublas.create(&grouped->handle);
	if (result != CUBLASLT_SUCCESS) {
		free(grouped);
		return note_grouped("Create_v2", result);
	}
	cublas.get_version(grouped->handle, &version);
	pthread_mutex_init(&grouped->turn, NULL);
	snprintf(text, capacity, ", groups: cuBLAS %d.%d.%d", version / 10000,
		 version % 10000 / 100, version % 100);
	*types_p = GROUPED_TYPES;
	*grouped_p = grouped;
	return 0;
}

static void grouped_close(void *opened, bool usable)
{
	struct grouped *grouped = opened;
	if (usable)
		cublas.destroy(grouped->handle);
	pthread_mutex_destroy(&grouped->turn);
	free(grouped);
}

/* The rule of cuBLAS's manual. */
static int check_alignment(const struct gpu_grouped_problem *p)
{
	const uint64_t row_bytes = p->each.k * dev_type_bytes(p->each.type);
	const uintptr_t needed = row_bytes % 16 == 0 ? 16 : row_bytes % 4 == 0 ? 4 : 1;
	for (uint32_t i = 0; ALIGNED_TYPES >> p->each.type & 1 && i < 3 * p->count; i++)
		if ((uintptr_t)p->host_pointers[i] % needed)
			return err_note(-EINVAL,
					"cuBLAS: a grouped GEMM with rows of %llu bytes needs "
					"matrices at multiples of %u",
					(unsigned long long)row_bytes, (unsigned)needed);
	return 0;
}

/* Arrays of the library, one element for each group. */
struct group_arrays {
	cublas_operation first[DEV_GEMM_GROUPS], second[DEV_GEMM_GROUPS];
	int m[DEV_GEMM_GROUPS], k[DEV_GEMM_GROUPS], one[DEV_GEMM_GROUPS];
	int ld_first[DEV_GEMM_GROUPS], ld_second[DEV_GEMM_GROUPS], ld_c[DEV_GEMM_GROUPS];
	double alpha_f64[DEV_GEMM_GROUPS], beta_f64[DEV_GEMM_GROUPS];
	float alpha[DEV_GEMM_GROUPS], beta[DEV_GEMM_GROUPS];
};

static void fill_arrays(const struct gpu_grouped_problem *p, struct group_arrays *a)
{
	const struct gpu_gemm_problem *each = &p->each;
	for (uint32_t i = 0; i < p->count; i++) {
		a->first[i] = each->first_transposed ? CUBLASLT_OP_T : CUBLASLT_OP_N;
		a->second[i] = CUBLASLT_OP_N;
		a->m[i] = (int)each->m;
		a->k[i] = (int)each->k;
		a->one[i] = 1;
		a->ld_first[i] = (int)each->ld_first;
		a->ld_second[i] = (int)each->ld_second;
		a->ld_c[i] = (int)each->ld_c;
		a->alpha_f64[i] = each->alpha;
		a->beta_f64[i] = each->beta;
		a->alpha[i] = (float)each->alpha;
		a->beta[i] = (float)each->beta;
	}
}

static int use_stream(const struct grouped *grouped, void *stream,
		      const struct gpu_gemm_problem *each)
{
	cublaslt_status result = cublas.set_stream(grouped->handle, stream);
	if (result != CUBLASLT_SUCCESS)
		return note_grouped("SetStream_v2", result);
	result = cublas.set_workspace(grouped->handle, each->workspace, each->workspace_bytes);
	return result == CUBLASLT_SUCCESS ? 0 : note_grouped("SetWorkspace_v2", result);
}

static int run_grouped(void *opened, void *stream, const struct gpu_grouped_problem *p)
{
	struct grouped *grouped = opened;
	const enum dev_type type = p->each.type;
	const unsigned data = cublaslt.type[type];
	const bool is_f64 = type == DEV_F64;
	void **pointers = p->pointers;
	struct group_arrays a;
	cublaslt_status result = CUBLASLT_SUCCESS;
	int status = check_alignment(p);
	if (status)
		return status;
	fill_arrays(p, &a);
	pthread_mutex_lock(&grouped->turn);
	status = use_stream(grouped, stream, &p->each);
	if (!status)
		result = cublas.gemm_grouped(
			grouped->handle, a.first, a.second, a.m, p->n, a.k,
			is_f64 ? (const void *)a.alpha_f64 : a.alpha, (const void *const *)pointers,
			data, a.ld_first, (const void *const *)(pointers + p->count), data,
			a.ld_second, is_f64 ? (const void *)a.beta_f64 : a.beta,
			pointers + 2 * p->count, data, a.ld_c, (int)p->count, a.one,
			cublaslt.compute[type]);
	pthread_mutex_unlock(&grouped->turn);
	return result == CUBLASLT_SUCCESS ? status : note_grouped("GemmGroupedBatchedEx", result);
}

const struct gpu_blas cuda_blas = {
	.open = blas_open,
	.close = blaslt_close,
	.algorithms = blaslt_algorithms,
	.run = blaslt_run,
	.describe = blas_describe,
	.algorithm_bytes = sizeof(struct blaslt_algorithm),
	.max_algorithms = MAX_ALGORITHMS,
	.scale_tiles = true,
	.fast_types = 1u << DEV_F8,
	.workspace_bytes = WORKSPACE_BYTES,
	.grouped_open = grouped_open,
	.grouped_close = grouped_close,
	.run_grouped = run_grouped,
};
