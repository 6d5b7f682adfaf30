/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cublaslt_abi.h"
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA's advice for Hopper; older devices gain nothing above 4 MiB. */
#define WORKSPACE_BYTES (32u << 20)
/* The library's default assumption for every pointer. */
#define ALIGNMENT_BYTES 256u
#define BUCKETS 256u

static struct {
	cublaslt_create_fn *create;
	cublaslt_destroy_fn *destroy;
	cublaslt_get_version_fn *version;
	cublaslt_get_status_name_fn *status_name;
	cublaslt_get_status_string_fn *status_string;
	cublaslt_desc_create_fn *desc_create;
	cublaslt_desc_destroy_fn *desc_destroy;
	cublaslt_desc_set_fn *desc_set;
	cublaslt_layout_create_fn *layout_create;
	cublaslt_layout_destroy_fn *layout_destroy;
	cublaslt_preference_create_fn *preference_create;
	cublaslt_preference_destroy_fn *preference_destroy;
	cublaslt_preference_set_fn *preference_set;
	cublaslt_heuristic_fn *heuristic;
	cublaslt_config_get_fn *config_get;
	cublaslt_matmul_fn *matmul;
} lt;

static const struct dynlib_symbol symbols[] = {
	{"cublasLtCreate", &lt.create, false},
	{"cublasLtDestroy", &lt.destroy, false},
	{"cublasLtGetVersion", &lt.version, false},
	{"cublasLtGetStatusName", &lt.status_name, true},
	{"cublasLtGetStatusString", &lt.status_string, true},
	{"cublasLtMatmulDescCreate", &lt.desc_create, false},
	{"cublasLtMatmulDescDestroy", &lt.desc_destroy, false},
	{"cublasLtMatmulDescSetAttribute", &lt.desc_set, false},
	{"cublasLtMatrixLayoutCreate", &lt.layout_create, false},
	{"cublasLtMatrixLayoutDestroy", &lt.layout_destroy, false},
	{"cublasLtMatmulPreferenceCreate", &lt.preference_create, false},
	{"cublasLtMatmulPreferenceDestroy", &lt.preference_destroy, false},
	{"cublasLtMatmulPreferenceSetAttribute", &lt.preference_set, false},
	{"cublasLtMatmulAlgoGetHeuristic", &lt.heuristic, false},
	{"cublasLtMatmulAlgoConfigGetAttribute", &lt.config_get, true},
	{"cublasLtMatmul", &lt.matmul, false},
	{NULL, NULL, false},
};

static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
				    "libcublasLt.so", NULL};
static const char *const folders[] = {"$CUDA_HOME/lib64", "$CUDA_PATH/lib64",
				      "/usr/local/cuda/lib64", NULL};
static int check_release(void);
static struct dynlib library = {.title = "cuBLASLt",
				.files = files,
				.folders = folders,
				.symbols = symbols,
				.start = check_release};

/* Everything that the library's choice depends on. Compared as bytes, so all bytes are set. */
struct shape {
	uint64_t m, n, k, ld_first, ld_second, ld_c, workspace_bytes;
	uint32_t type, first_transposed;
	uint32_t alignment[3]; /* of the operands and the output, in bytes */
	uint32_t fast_accumulation;
};

struct algorithm {
	struct cublaslt_algo_layout algo;
	uint64_t workspace_bytes; /* that it needs */
	uint32_t alignment[3];    /* that it was found for, as in struct shape */
};

/* A shape's descriptors and the library's first choice; constant once it is in the table. */
struct plan {
	struct plan *next;
	struct shape shape;
	cublaslt_desc desc;
	cublaslt_layout first, second, c;
	struct algorithm algorithm;
};

struct blas {
	struct cublasLtContext *handle;
	uint32_t types;
	pthread_mutex_t lock; /* guards the table */
	struct plan *plans[BUCKETS];
};

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

static int note_status(const char *function, cublaslt_status result)
{
	const int status = errno_of(result);
	if (lt.status_name && lt.status_string)
		return err_note(status, "%s: %s (%s)", function, lt.status_string(result),
				lt.status_name(result));
	return err_note(status, "%s: status %u", function, result);
}

/* ------------------------------------------------------------------ plans */

static unsigned data_type(enum dev_type type)
{
	switch (type) {
	case DEV_F64:
		return CUBLASLT_R_64F;
	case DEV_F16:
		return CUBLASLT_R_16F;
	case DEV_BF16:
		return CUBLASLT_R_16BF;
	case DEV_F8:
		return CUBLASLT_R_8F_E4M3;
	default:
		return CUBLASLT_R_32F;
	}
}

static uint32_t alignment_of(const void *pointer)
{
	const uintptr_t low = (uintptr_t)pointer & -(uintptr_t)pointer;
	return low == 0 || low > ALIGNMENT_BYTES ? ALIGNMENT_BYTES : (uint32_t)low;
}

static struct shape shape_of(const struct gpu_gemm_problem *p)
{
	struct shape s;
	memset(&s, 0, sizeof(s));
	s.m = p->m;
	s.n = p->n;
	s.k = p->k;
	s.ld_first = p->ld_first;
	s.ld_second = p->ld_second;
	s.ld_c = p->ld_c;
	s.workspace_bytes = p->workspace ? p->workspace_bytes : 0;
	s.type = p->type;
	s.first_transposed = p->first_transposed;
	s.fast_accumulation = p->fast_accumulation;
	s.alignment[0] = alignment_of(p->first);
	s.alignment[1] = alignment_of(p->second);
	s.alignment[2] = alignment_of(p->c);
	return s;
}

/* FNV-1a over 64-bit words. */
static uint32_t bucket_of(const struct shape *s)
{
	uint64_t words[sizeof(*s) / sizeof(uint64_t)];
	uint64_t hash = 14695981039346656037u;
	_Static_assert(sizeof(words) == sizeof(*s), "a shape is whole words");
	memcpy(words, s, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 1099511628211u;
	return (uint32_t)(hash >> 32) % BUCKETS;
}

static void destroy_plan(struct plan *plan)
{
	if (plan->desc)
		lt.desc_destroy(plan->desc);
	if (plan->first)
		lt.layout_destroy(plan->first);
	if (plan->second)
		lt.layout_destroy(plan->second);
	if (plan->c)
		lt.layout_destroy(plan->c);
	free(plan);
}

static int create_descriptors(struct plan *plan)
{
	const struct shape *s = &plan->shape;
	const enum dev_type type = (enum dev_type)s->type;
	const unsigned data = data_type(type), c_type = data_type(dev_types[type].result);
	const unsigned scale = type == DEV_F64 ? CUBLASLT_R_64F : CUBLASLT_R_32F;
	const unsigned compute = type == DEV_F64    ? CUBLASLT_COMPUTE_64F
				 : type == DEV_TF32 ? CUBLASLT_COMPUTE_32F_FAST_TF32
						    : CUBLASLT_COMPUTE_32F;
	const int32_t op = s->first_transposed ? CUBLASLT_OP_T : CUBLASLT_OP_N;
	const int8_t fast = 1;
	cublaslt_status result = lt.desc_create(&plan->desc, compute, scale);
	if (result != CUBLASLT_SUCCESS)
		return note_status("cublasLtMatmulDescCreate", result);
	result = lt.desc_set(plan->desc, CUBLASLT_DESC_TRANSA, &op, sizeof(op));
	if (result == CUBLASLT_SUCCESS && s->fast_accumulation)
		result = lt.desc_set(plan->desc, CUBLASLT_DESC_FAST_ACCUM, &fast, sizeof(fast));
	if (result != CUBLASLT_SUCCESS)
		return note_status("cublasLtMatmulDescSetAttribute", result);
	result = lt.layout_create(&plan->first, data, op ? s->k : s->m, op ? s->m : s->k,
				  (int64_t)s->ld_first);
	if (result == CUBLASLT_SUCCESS)
		result = lt.layout_create(&plan->second, data, s->k, s->n, (int64_t)s->ld_second);
	if (result == CUBLASLT_SUCCESS)
		result = lt.layout_create(&plan->c, c_type, s->m, s->n, (int64_t)s->ld_c);
	return result == CUBLASLT_SUCCESS ? 0 : note_status("cublasLtMatrixLayoutCreate", result);
}

static int set_preferences(cublaslt_preference preference, const struct shape *s)
{
	static const unsigned attributes[] = {
		CUBLASLT_PREFER_MIN_ALIGNMENT_A_BYTES, CUBLASLT_PREFER_MIN_ALIGNMENT_B_BYTES,
		CUBLASLT_PREFER_MIN_ALIGNMENT_C_BYTES, CUBLASLT_PREFER_MIN_ALIGNMENT_D_BYTES};
	const uint64_t workspace = s->workspace_bytes;
	cublaslt_status result = lt.preference_set(preference, CUBLASLT_PREFER_MAX_WORKSPACE_BYTES,
						   &workspace, sizeof(workspace));
	/* C and D are the same memory. */
	for (size_t i = 0; i < 4 && result == CUBLASLT_SUCCESS; i++)
		result = lt.preference_set(preference, attributes[i], &s->alignment[i < 2 ? i : 2],
					   sizeof(uint32_t));
	return result == CUBLASLT_SUCCESS
		       ? 0
		       : note_status("cublasLtMatmulPreferenceSetAttribute", result);
}

/* Writes the library's choices for a plan to `results`, best first by its own estimate. */
static int query_heuristic(struct blas *blas, const struct plan *plan, cublaslt_heuristic *results,
			   int capacity, int *found_p)
{
	cublaslt_preference preference;
	cublaslt_status result = lt.preference_create(&preference);
	if (result != CUBLASLT_SUCCESS)
		return note_status("cublasLtMatmulPreferenceCreate", result);
	int status = set_preferences(preference, &plan->shape);
	if (!status) {
		result = lt.heuristic(blas->handle, plan->desc, plan->first, plan->second, plan->c,
				      plan->c, preference, capacity, results, found_p);
		status = result == CUBLASLT_SUCCESS
				 ? 0
				 : note_status("cublasLtMatmulAlgoGetHeuristic", result);
	}
	lt.preference_destroy(preference);
	return status;
}

/* The algorithms that the library can run; -ENOTSUP when there are none. */
static int find_algorithms(struct blas *blas, const struct plan *plan, struct algorithm *algorithms,
			   size_t capacity, size_t *count_p)
{
	int found = 0;
	size_t count = 0;
	cublaslt_heuristic *results = calloc(capacity, sizeof(*results));
	if (!results)
		return err_note(-ENOMEM, "cuBLASLt: out of memory for algorithms");
	int status = query_heuristic(blas, plan, results, (int)capacity, &found);
	for (int i = 0; i < found && !status; i++) {
		if (results[i].state != CUBLASLT_SUCCESS)
			continue;
		algorithms[count] = (struct algorithm){
			.algo = results[i].algo, .workspace_bytes = results[i].workspace_bytes};
		memcpy(algorithms[count++].alignment, plan->shape.alignment,
		       sizeof(plan->shape.alignment));
	}
	free(results);
	if (status || !count)
		return status ? status
			      : err_note(-ENOTSUP, "cublasLtMatmulAlgoGetHeuristic: no algorithm "
						   "for this GEMM");
	*count_p = count;
	return 0;
}

static int create_plan(struct blas *blas, const struct shape *shape, struct plan **plan_p)
{
	size_t count;
	struct plan *plan = calloc(1, sizeof(*plan));
	if (!plan)
		return err_note(-ENOMEM, "cuBLASLt: out of memory for a plan");
	plan->shape = *shape;
	int status = create_descriptors(plan);
	if (!status)
		status = find_algorithms(blas, plan, &plan->algorithm, 1, &count);
	if (status)
		destroy_plan(plan);
	else
		*plan_p = plan;
	return status;
}

static int find_plan(struct blas *blas, const struct gpu_gemm_problem *p,
		     const struct plan **plan_p)
{
	if (p->type >= DEV_TYPES || !(blas->types & 1u << p->type))
		return err_note(-ENOTSUP,
				"cuBLASLt does not support a GEMM of this type on this device");
	const struct shape shape = shape_of(p);
	struct plan **bucket = &blas->plans[bucket_of(&shape)];
	int status = 0;
	pthread_mutex_lock(&blas->lock);
	struct plan *plan = *bucket;
	while (plan && memcmp(&plan->shape, &shape, sizeof(shape)) != 0)
		plan = plan->next;
	if (!plan) {
		status = create_plan(blas, &shape, &plan);
		if (!status) {
			plan->next = *bucket;
			*bucket = plan;
		}
	}
	pthread_mutex_unlock(&blas->lock);
	if (!status)
		*plan_p = plan;
	return status;
}

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
	split_version(lt.version(), &major, &minor, &patch);
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
	/* CUDA 11.8 was the first with f8. */
	if (sm >= 89 && version >= 111100)
		types |= 1u << DEV_F8;
	return types;
}

static int blas_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		     size_t capacity)
{
	int status = dynlib_open(&library);
	if (status)
		return status;
	struct blas *blas = calloc(1, sizeof(*blas));
	if (!blas)
		return err_note(-ENOMEM, "cuBLASLt: out of memory for a handle");
	const cublaslt_status result = lt.create(&blas->handle);
	if (result != CUBLASLT_SUCCESS) {
		free(blas);
		return note_status("cublasLtCreate", result);
	}
	pthread_mutex_init(&blas->lock, NULL);
	blas->types = types_of(traits->arch, lt.version());
	describe_version(lt.version(), text, capacity);
	*types_p = blas->types;
	*blas_p = blas;
	return 0;
}

static void blas_close(void *opened)
{
	struct blas *blas = opened;
	if (!blas)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (blas->plans[i]) {
			struct plan *plan = blas->plans[i];
			blas->plans[i] = plan->next;
			destroy_plan(plan);
		}
	}
	lt.destroy(blas->handle);
	pthread_mutex_destroy(&blas->lock);
	free(blas);
}

static int blas_algorithms(void *blas, const struct gpu_gemm_problem *p, void *algorithms,
			   size_t capacity, size_t *count_p)
{
	const struct plan *plan;
	const int status = find_plan(blas, p, &plan);
	return status ? status : find_algorithms(blas, plan, algorithms, capacity, count_p);
}

static bool algorithm_fits(const struct algorithm *algorithm, const struct shape *s)
{
	return algorithm->workspace_bytes <= s->workspace_bytes &&
	       algorithm->alignment[0] <= s->alignment[0] &&
	       algorithm->alignment[1] <= s->alignment[1] &&
	       algorithm->alignment[2] <= s->alignment[2];
}

static int blas_run(void *opened, void *stream, const struct gpu_gemm_problem *p,
		    const void *wanted)
{
	struct blas *blas = opened;
	const struct plan *plan;
	const float alpha = (float)p->alpha, beta = (float)p->beta;
	const bool is_f64 = p->type == DEV_F64;
	const int status = find_plan(blas, p, &plan);
	if (status)
		return status;
	const struct algorithm *algorithm =
		wanted && algorithm_fits(wanted, &plan->shape) ? wanted : &plan->algorithm;
	const cublaslt_status result =
		lt.matmul(blas->handle, plan->desc, is_f64 ? (const void *)&p->alpha : &alpha,
			  p->first, plan->first, p->second, plan->second,
			  is_f64 ? (const void *)&p->beta : &beta, p->c, plan->c, p->c, plan->c,
			  &algorithm->algo, p->workspace, plan->shape.workspace_bytes, stream);
	return result == CUBLASLT_SUCCESS ? 0 : note_status("cublasLtMatmul", result);
}

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
	const struct algorithm *algorithm = chosen;
	size_t at = 0;
	for (size_t i = 0; lt.config_get && i < sizeof(parts) / sizeof(parts[0]) && at < capacity;
	     i++) {
		uint16_t narrow = 0;
		uint32_t is_f64 = 0;
		size_t written = 0;
		void *value = parts[i].bytes == sizeof(narrow) ? (void *)&narrow : &is_f64;
		if (lt.config_get(&algorithm->algo, parts[i].attribute, value, parts[i].bytes,
				  &written) == CUBLASLT_SUCCESS)
			at += (size_t)snprintf(text + at, capacity - at, "%s %u, ", parts[i].name,
					       is_f64 + narrow);
	}
	if (at < capacity)
		snprintf(text + at, capacity - at, "workspace %llu",
			 (unsigned long long)algorithm->workspace_bytes);
}

const struct gpu_blas cuda_blas = {
	.open = blas_open,
	.close = blas_close,
	.algorithms = blas_algorithms,
	.run = blas_run,
	.describe = blas_describe,
	.algorithm_bytes = sizeof(struct algorithm),
	.fast_types = 1u << DEV_F8,
	.workspace_bytes = WORKSPACE_BYTES,
};
