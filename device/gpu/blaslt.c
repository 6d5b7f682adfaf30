/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/blaslt.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The libraries' default assumption for every pointer. */
#define ALIGNMENT_BYTES 256u
#define BUCKETS 256u

/* Everything that the library's choice depends on. Compared as bytes, so all bytes are set. */
struct shape {
	uint64_t m, n, k, ld_first, ld_second, ld_c, workspace_bytes;
	uint32_t type, first_transposed;
	uint32_t alignment[3]; /* of the operands and the output, in bytes */
	uint32_t fast_accumulation;
};

/* A shape's descriptors and the library's first choice; constant once it is in the table. */
struct plan {
	struct plan *next;
	struct shape shape;
	bool lacking; /* there is no choice */
	blaslt_desc desc;
	blaslt_layout first, second, c;
	struct blaslt_algorithm algorithm;
};

struct blas {
	const struct blaslt *library;
	const struct blaslt_functions *lt;
	blaslt_handle handle;
	uint32_t types;
	pthread_mutex_t lock; /* guards the table */
	struct plan *plans[BUCKETS];
	pthread_mutex_t turn; /* for one_at_a_time */
};

static int note_status(const struct blas *blas, const char *function, blaslt_status result)
{
	char text[160];
	blas->library->describe_status(result, text, sizeof(text));
	return err_note(blas->library->errno_of(result), "%s%s: %s", blas->library->prefix,
			function, text);
}

static int note_no_memory(const struct blas *blas, const char *what)
{
	return err_note(-ENOMEM, "%s: out of memory for %s", blas->library->title, what);
}

static int note_no_algorithm(const struct blas *blas)
{
	return err_note(-ENOTSUP, "%sMatmulAlgoGetHeuristic: no algorithm for this GEMM",
			blas->library->prefix);
}

/* ------------------------------------------------------------------ plans */

static uint32_t alignment_of(const void *pointer)
{
	const uintptr_t low = (uintptr_t)pointer & -(uintptr_t)pointer;
	return low == 0 || low > ALIGNMENT_BYTES ? ALIGNMENT_BYTES : (uint32_t)low;
}

static struct shape shape_of(const struct blas *blas, const struct gpu_gemm_problem *p)
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
	if (blas->library->alignments) {
		s.alignment[0] = alignment_of(p->first);
		s.alignment[1] = alignment_of(p->second);
		s.alignment[2] = alignment_of(p->c);
	}
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

static void destroy_plan(const struct blas *blas, struct plan *plan)
{
	if (plan->desc)
		blas->lt->desc_destroy(plan->desc);
	if (plan->first)
		blas->lt->layout_destroy(plan->first);
	if (plan->second)
		blas->lt->layout_destroy(plan->second);
	if (plan->c)
		blas->lt->layout_destroy(plan->c);
	free(plan);
}

static int create_layouts(const struct blas *blas, struct plan *plan)
{
	const struct blaslt_functions *lt = blas->lt;
	const struct shape *s = &plan->shape;
	const unsigned *types = blas->library->type, data = types[s->type];
	const bool transposed = s->first_transposed;
	blaslt_status result = lt->layout_create(&plan->first, data, transposed ? s->k : s->m,
						 transposed ? s->m : s->k, (int64_t)s->ld_first);
	if (result == BLASLT_SUCCESS)
		result = lt->layout_create(&plan->second, data, s->k, s->n, (int64_t)s->ld_second);
	if (result == BLASLT_SUCCESS)
		result = lt->layout_create(&plan->c, types[dev_types[s->type].result], s->m, s->n,
					   (int64_t)s->ld_c);
	return result == BLASLT_SUCCESS ? 0 : note_status(blas, "MatrixLayoutCreate", result);
}

/* The type of alpha and beta. */
static enum dev_type scalar_of(enum dev_type type)
{
	return type == DEV_F64 ? DEV_F64 : dev_type_is_integer(type) ? DEV_I32 : DEV_F32;
}

static blaslt_status set_scales(const struct blas *blas, const struct plan *plan, const void *first,
				const void *second)
{
	const struct blaslt *l = blas->library;
	blaslt_status result =
		blas->lt->desc_set(plan->desc, l->scale_pointer[0], &first, sizeof(first));
	return result == BLASLT_SUCCESS ? blas->lt->desc_set(plan->desc, l->scale_pointer[1],
							     &second, sizeof(second))
					: result;
}

/* The library chooses an algorithm by whether there are scales; where they are is told with each
 * GEMM. */
static blaslt_status declare_scales(const struct blas *blas, const struct plan *plan)
{
	const struct blaslt *l = blas->library;
	const int32_t mode = l->scale_modes[dev_types[plan->shape.type].scale];
	const void *somewhere = (const void *)(uintptr_t)ALIGNMENT_BYTES;
	blaslt_status result = BLASLT_SUCCESS;
	for (int i = 0; i < 2 && result == BLASLT_SUCCESS; i++)
		result = blas->lt->desc_set(plan->desc, l->scale_mode[i], &mode, sizeof(mode));
	return result == BLASLT_SUCCESS ? set_scales(blas, plan, somewhere, somewhere) : result;
}

static int create_descriptors(const struct blas *blas, struct plan *plan)
{
	const struct blaslt *l = blas->library;
	const struct blaslt_functions *lt = blas->lt;
	const struct shape *s = &plan->shape;
	const int32_t op = s->first_transposed ? l->transposed : l->normal;
	const int8_t fast = 1;
	blaslt_status result = lt->desc_create(&plan->desc, l->compute[s->type],
					       l->type[scalar_of((enum dev_type)s->type)]);
	if (result != BLASLT_SUCCESS)
		return note_status(blas, "MatmulDescCreate", result);
	result = lt->desc_set(plan->desc, l->transpose_first, &op, sizeof(op));
	if (result == BLASLT_SUCCESS && s->fast_accumulation)
		result = lt->desc_set(plan->desc, l->fast_accumulation, &fast, sizeof(fast));
	if (result == BLASLT_SUCCESS && dev_types[s->type].block)
		result = declare_scales(blas, plan);
	if (result != BLASLT_SUCCESS)
		return note_status(blas, "MatmulDescSetAttribute", result);
	return create_layouts(blas, plan);
}

static int set_preferences(const struct blas *blas, blaslt_preference preference,
			   const struct shape *s)
{
	const struct blaslt *l = blas->library;
	const uint64_t workspace = s->workspace_bytes;
	blaslt_status result = blas->lt->preference_set(preference, l->max_workspace, &workspace,
							sizeof(workspace));
	/* C and D are the same memory. */
	for (size_t i = 0; i < 4 && l->alignments && result == BLASLT_SUCCESS; i++)
		result = blas->lt->preference_set(preference, l->alignments[i],
						  &s->alignment[i < 2 ? i : 2], sizeof(uint32_t));
	return result == BLASLT_SUCCESS ? 0
					: note_status(blas, "MatmulPreferenceSetAttribute", result);
}

/* Writes the library's choices for a plan to `results`, best first by its own estimate. */
static int query_heuristic(struct blas *blas, const struct plan *plan, void *results, int capacity,
			   int *found_p)
{
	blaslt_preference preference;
	blaslt_status result = blas->lt->preference_create(&preference);
	if (result != BLASLT_SUCCESS)
		return note_status(blas, "MatmulPreferenceCreate", result);
	int status = set_preferences(blas, preference, &plan->shape);
	if (!status) {
		result = blas->lt->heuristic(blas->handle, plan->desc, plan->first, plan->second,
					     plan->c, plan->c, preference, capacity, results,
					     found_p);
		status = result == BLASLT_SUCCESS
				 ? 0
				 : note_status(blas, "MatmulAlgoGetHeuristic", result);
	}
	blas->lt->preference_destroy(preference);
	return status;
}

/* One of the heuristic's results, whose size differs between libraries. */
static bool read_result(const struct blas *blas, const struct plan *plan, const char *result,
			struct blaslt_algorithm *algorithm)
{
	struct blaslt_estimate estimate;
	memcpy(&estimate, result + blas->library->algo_bytes, sizeof(estimate));
	if (estimate.state != BLASLT_SUCCESS)
		return false;
	*algorithm = (struct blaslt_algorithm){.workspace_bytes = estimate.workspace_bytes};
	memcpy(algorithm->algo, result, blas->library->algo_bytes);
	memcpy(algorithm->alignment, plan->shape.alignment, sizeof(algorithm->alignment));
	return true;
}

/* The algorithms that the library can run; -ENOTSUP when there are none. */
static int find_algorithms(struct blas *blas, const struct plan *plan,
			   struct blaslt_algorithm *algorithms, size_t capacity, size_t *count_p)
{
	const size_t result_bytes = blas->library->algo_bytes + sizeof(struct blaslt_estimate);
	int found = 0;
	size_t count = 0;
	char *results = calloc(capacity, result_bytes);
	if (!results)
		return note_no_memory(blas, "algorithms");
	int status = query_heuristic(blas, plan, results, (int)capacity, &found);
	for (int i = 0; i < found && !status; i++)
		count += read_result(blas, plan, results + (size_t)i * result_bytes,
				     &algorithms[count]);
	free(results);
	if (status || !count)
		return status ? status : note_no_algorithm(blas);
	*count_p = count;
	return 0;
}

/* Also sets *plan_p with -ENOTSUP. */
static int create_plan(struct blas *blas, const struct shape *shape, struct plan **plan_p)
{
	size_t count;
	struct plan *plan = calloc(1, sizeof(*plan));
	if (!plan)
		return note_no_memory(blas, "a plan");
	plan->shape = *shape;
	int status = create_descriptors(blas, plan);
	if (!status)
		status = find_algorithms(blas, plan, &plan->algorithm, 1, &count);
	plan->lacking = status == -ENOTSUP;
	if (status && !plan->lacking)
		destroy_plan(blas, plan);
	else
		*plan_p = plan;
	return status;
}

static int find_plan(struct blas *blas, const struct gpu_gemm_problem *p,
		     const struct plan **plan_p)
{
	if (p->type >= DEV_TYPES || !(blas->types & 1u << p->type))
		return err_note(-ENOTSUP, "%s does not support a GEMM of this type on this device",
				blas->library->title);
	const struct shape shape = shape_of(blas, p);
	struct plan **bucket = &blas->plans[bucket_of(&shape)];
	int status = 0;
	pthread_mutex_lock(&blas->lock);
	struct plan *plan = *bucket;
	while (plan && memcmp(&plan->shape, &shape, sizeof(shape)) != 0)
		plan = plan->next;
	if (plan && plan->lacking) {
		status = note_no_algorithm(blas);
	} else if (!plan) {
		status = create_plan(blas, &shape, &plan);
		if (plan) {
			plan->next = *bucket;
			*bucket = plan;
		}
	}
	pthread_mutex_unlock(&blas->lock);
	if (!status)
		*plan_p = plan;
	return status;
}

/* ------------------------------------------------------------------ open and close */

int blaslt_open(const struct blaslt *library, uint32_t types, void **blas_p)
{
	struct blas *blas = calloc(1, sizeof(*blas));
	if (!blas)
		return err_note(-ENOMEM, "%s: out of memory for a handle", library->title);
	blas->library = library;
	blas->lt = library->functions;
	blas->types = types;
	const blaslt_status result = blas->lt->create(&blas->handle);
	if (result != BLASLT_SUCCESS) {
		const int status = note_status(blas, "Create", result);
		free(blas);
		return status;
	}
	pthread_mutex_init(&blas->lock, NULL);
	pthread_mutex_init(&blas->turn, NULL);
	*blas_p = blas;
	return 0;
}

blaslt_handle blaslt_handle_of(void *opened)
{
	const struct blas *blas = opened;
	return blas->handle;
}

int blaslt_keep_types(void *opened, uint32_t asked, uint32_t *types_p, char *why, size_t capacity)
{
	enum { SIDE = 1024 };
	struct blas *blas = opened;
	why[0] = '\0';
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		const struct gpu_gemm_problem p = {.type = (enum dev_type)type,
						   .first_transposed = dev_types[type].multiple > 1,
						   .m = SIDE,
						   .n = SIDE,
						   .k = SIDE,
						   .ld_first = SIDE,
						   .ld_second = SIDE,
						   .ld_c = SIDE};
		const struct plan *plan;
		const bool ask = blas->types & asked & 1u << type;
		const int status = ask ? find_plan(blas, &p, &plan) : 0;
		if (!status)
			continue;
		/* A release that does not know a type says that the value is invalid. */
		if (status != -ENOTSUP && status != -EINVAL)
			return status;
		if (!why[0])
			text_fit(why, capacity, "no %s: %s", dev_type_names[type], err_text());
		blas->types &= ~(1u << type);
	}
	*types_p = blas->types;
	return 0;
}

void blaslt_close(void *opened, bool usable)
{
	struct blas *blas = opened;
	if (!blas)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (blas->plans[i]) {
			struct plan *plan = blas->plans[i];
			blas->plans[i] = plan->next;
			destroy_plan(blas, plan);
		}
	}
	if (usable)
		blas->lt->destroy(blas->handle);
	pthread_mutex_destroy(&blas->lock);
	pthread_mutex_destroy(&blas->turn);
	free(blas);
}

int blaslt_stream_open(void *opened, void **state_p)
{
	struct blas *blas = opened;
	blaslt_handle handle;
	const blaslt_status result = blas->lt->create(&handle);
	if (result != BLASLT_SUCCESS)
		return note_status(blas, "Create", result);
	*state_p = handle;
	return 0;
}

void blaslt_stream_close(void *opened, void *state)
{
	struct blas *blas = opened;
	blas->lt->destroy(state);
}

/* ------------------------------------------------------------------ run */

static void begin_turn(struct blas *blas, enum dev_type type)
{
	if (blas->library->one_at_a_time || dev_types[type].block)
		pthread_mutex_lock(&blas->turn);
}

static void end_turn(struct blas *blas, enum dev_type type)
{
	if (blas->library->one_at_a_time || dev_types[type].block)
		pthread_mutex_unlock(&blas->turn);
}

int blaslt_find(void *blas, const struct gpu_gemm_problem *p)
{
	const struct plan *plan;
	return find_plan(blas, p, &plan);
}

int blaslt_algorithms(void *opened, const struct gpu_gemm_problem *p, void *algorithms,
		      size_t capacity, size_t *count_p)
{
	struct blas *blas = opened;
	const struct plan *plan;
	int status = find_plan(blas, p, &plan);
	if (status)
		return status;
	begin_turn(blas, p->type);
	status = find_algorithms(blas, plan, algorithms, capacity, count_p);
	end_turn(blas, p->type);
	return status;
}

static bool algorithm_fits(const struct blaslt_algorithm *algorithm, const struct shape *s)
{
	return algorithm->workspace_bytes <= s->workspace_bytes &&
	       algorithm->alignment[0] <= s->alignment[0] &&
	       algorithm->alignment[1] <= s->alignment[1] &&
	       algorithm->alignment[2] <= s->alignment[2];
}

union scalar {
	float f32;
	double f64;
	int32_t i32;
};

static union scalar make_scalar(enum dev_type type, double value)
{
	return type == DEV_F64   ? (union scalar){.f64 = value}
	       : type == DEV_I32 ? (union scalar){.i32 = (int32_t)value}
				 : (union scalar){.f32 = (float)value};
}

int blaslt_run(void *opened, void *stream, const struct gpu_gemm_problem *p, const void *wanted)
{
	struct blas *blas = opened;
	const struct plan *plan;
	const int status = find_plan(blas, p, &plan);
	if (status)
		return status;
	const enum dev_type scalar = scalar_of(p->type);
	const double scale = p->type == DEV_F8 ? blas->library->f8_scale : 1;
	const union scalar alpha = make_scalar(scalar, p->alpha * scale),
			   beta = make_scalar(scalar, p->beta);
	const struct blaslt_algorithm *algorithm =
		wanted && algorithm_fits(wanted, &plan->shape) ? wanted : &plan->algorithm;
	begin_turn(blas, p->type);
	blaslt_status result = dev_types[p->type].block
				       ? set_scales(blas, plan, p->first_scales, p->second_scales)
				       : BLASLT_SUCCESS;
	if (result == BLASLT_SUCCESS)
		result = blas->lt->matmul(p->stream_state ? p->stream_state : blas->handle,
					  plan->desc, &alpha, p->first, plan->first, p->second,
					  plan->second, &beta, p->c, plan->c, p->c, plan->c,
					  algorithm->algo, p->workspace,
					  plan->shape.workspace_bytes, stream);
	end_turn(blas, p->type);
	return result == BLASLT_SUCCESS ? 0 : note_status(blas, "Matmul", result);
}
