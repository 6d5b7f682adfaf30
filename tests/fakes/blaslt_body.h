/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Common part of cuBLASLt and hipBLASLt: GEMM with FAKE_ALGORITHMS algorithms. Two of three need a
 * workspace. One of eight is refused when it runs, as the real libraries may do. The thirtieth is
 * the fastest; the others take one to five times FAKE_ALGORITHM_US longer.
 *
 * The file that includes it defines LT(name), a function's name; the library's numbers, and -1 for
 * those that it lacks; struct algo, of the real size, with magic, index and workspace_bytes; and
 *
 *   DESC_IS_WRITTEN
 *                whether a GEMM and the heuristic write to the descriptor: one call at a time
 *   HAS_TF32     whether it multiplies tf32 when asked to; else it takes f32 without a word
 *   HAS_F8       whether it has kernels for f8
 *   HAS_MODES    whether it knows how scales may be laid out
 *   HAS_SCALES   whether it has them on this device
 *   HAS_MXF4, HAS_NVF4
 *                of which types of 4 bits
 *   SCALE_TILES  how they are laid out
 *   I8_MULTIPLE  of which rows, depth, leading dimensions and addresses of i8 must be multiples; if
 *                not 1, A must be transposed, too
 *   find_f8      whether the library multiplies this type of one byte, and whether it is AMD's
 *   note_alignment, fits_alignment
 *                what an algorithm says of the operands' alignment
 *   HEURISTIC_US_EACH
 *                microseconds that the heuristic takes for each algorithm that it is asked for
 *   use_handle   a status for a handle that a stream uses
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/gemm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKSPACE_BYTES ((uint64_t)1 << 20)
#define ALGORITHM_MAGIC 0x66616b65u
#define ALIGNMENTS 4
#define ALGORITHMS 40u
#define FASTEST 29u
#define EXTRA_US 100u
/* Alignment of f8 operands and of the workspace. */
#define MIN_ALIGNMENT 16u

/* Those that are never destroyed stay in the list, so that they are not lost. */
struct handle {
	struct handle *next;
	void *stream; /* that uses it */
};

struct desc {
	int compute, scale;
	int32_t a_op, b_op;
	int8_t fast_accumulation;
	const void *scales[2]; /* of A and B */
	int32_t scale_mode[2];
	atomic_bool is_written;
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

/* cublasLtMatmulHeuristicResult_t, hipblasLtMatmulHeuristicResult_t */
struct heuristic {
	struct algo algo;
	size_t workspace_bytes;
	int state;
	float waves;
	int reserved[4];
};
_Static_assert(sizeof(struct heuristic) == sizeof(struct algo) + 32, "as the headers lay it out");

static bool find_f8(int type, bool *is_fnuz_p);
static void note_alignment(struct algo *algo, const struct preference *preference);
static bool fits_alignment(const struct algo *algo, const void *const operands[ALIGNMENTS]);
static int use_handle(struct handle *handle, void *stream);

static int new_object(size_t bytes, void *object_p)
{
	void *object = calloc(1, bytes);
	if (object)
		memcpy(object_p, &object, sizeof(object));
	return object ? SUCCESS : ALLOC_FAILED;
}

static int find_dev_type(const struct desc *d, const struct layout *l, struct fake_gemm *p,
			 enum dev_type *type_p)
{
	const int mode = d->scale_mode[0];
	if (l->type == R_4F_E2M1 || (l->type == R_8F_E4M3 && mode)) {
		const bool is_f4 = l->type == R_4F_E2M1;
		*type_p = !is_f4 ? DEV_MXF8 : mode == VEC32_UE8M0 ? DEV_MXF4 : DEV_NVF4;
		return !HAS_SCALES || d->scale_mode[1] != mode || mode < VEC16_UE4M3 ||
				       mode > VEC32_UE8M0 || (!is_f4 && mode != VEC32_UE8M0) ||
				       (is_f4 && !(mode == VEC32_UE8M0 ? HAS_MXF4 : HAS_NVF4))
			       ? NOT_SUPPORTED
			       : SUCCESS;
	}
	if (find_f8(l->type, &p->is_fnuz)) {
		*type_p = DEV_F8;
		return SUCCESS;
	}
	switch (l->type) {
	case R_32F:
		*type_p = d->compute == COMPUTE_32F_FAST_TF32 && HAS_TF32 ? DEV_TF32 : DEV_F32;
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
	case R_8I:
		*type_p = DEV_I8;
		return SUCCESS;
	case R_32I:
		*type_p = DEV_I32;
		return SUCCESS;
	default:
		return INVALID_VALUE;
	}
}

/* True if a type of a byte or less has A transposed and B not, and multiples; of i8 only where the
 * library wants it. With scales, rows are whole blocks, at addresses of 16 bytes. */
static bool sides_fit(const struct fake_gemm *p)
{
	const struct dev_type_traits *t = &dev_types[p->type];
	const uint64_t multiple = p->type == DEV_I8 ? I8_MULTIPLE : t->bits <= 8 ? 16 : 1;
	if (multiple == 1)
		return true;
	return (p->type == DEV_I8 || HAS_F8) && p->a_transposed && !p->b_transposed &&
	       p->m % multiple == 0 && p->k % multiple == 0 && p->lda % multiple == 0 &&
	       p->ldb % multiple == 0 && (p->type != DEV_I8 || p->ldc % multiple == 0) &&
	       (!t->block || (p->k % t->block == 0 && p->lda * t->bits % 128 == 0 &&
			      p->ldb * t->bits % 128 == 0));
}

/* Fills *p. INVALID_VALUE: dimensions do not match; NOT_SUPPORTED: the types cannot be combined. */
static int describe_gemm(const struct desc *d, const struct layout *a, const struct layout *b,
			 const struct layout *c, struct fake_gemm *p)
{
	const bool wide = a->type == R_64F;
	int status = find_dev_type(d, c, p, &p->result);
	if (!status)
		status = find_dev_type(d, a, p, &p->type);
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
	const bool is_scaled = dev_types[p->type].block != 0,
		   is_f8 = p->type == DEV_F8 || is_scaled, is_i8 = p->type == DEV_I8;
	if (a->type != b->type || wide != (d->compute == COMPUTE_64F) ||
	    wide != (d->scale == R_64F) || is_i8 != (d->compute == COMPUTE_32I) ||
	    is_i8 != (d->scale == R_32I) ||
	    c->type != (is_f8   ? R_16BF
			: is_i8 ? R_32I
				: a->type))
		return NOT_SUPPORTED;
	/* Fast accumulation is documented for f8, on Ada and Hopper. */
	if ((d->fast_accumulation && p->type != DEV_F8) || !sides_fit(p))
		return NOT_SUPPORTED;
	p->scale_tiles = SCALE_TILES;
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

static uint32_t alignment_of(enum dev_type type)
{
	return type == DEV_F8 || dev_types[type].block ? MIN_ALIGNMENT
	       : type == DEV_I8                        ? I8_MULTIPLE
						       : 1;
}

static double load_scalar(int type, const void *scalar)
{
	return type == R_64F   ? *(const double *)scalar
	       : type == R_32I ? *(const int32_t *)scalar
			       : (double)*(const float *)scalar;
}

/* The library writes to a descriptor in calls that get it constant. */
static void begin_writing(struct desc *desc)
{
	if (DESC_IS_WRITTEN && atomic_exchange(&desc->is_written, true)) {
		fprintf(stderr, "fake: two calls at a time write to one descriptor\n");
		abort();
	}
}

static void end_writing(struct desc *desc) { atomic_store(&desc->is_written, false); }

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;

#pragma GCC visibility push(default)

int LT(Create)(struct handle **handle)
{
	int status = driver_fault(__func__);
	if (!status)
		status = CREATE_STATUS;
	if (!status)
		status = new_object(sizeof(**handle), handle);
	if (status)
		return status;
	pthread_mutex_lock(&list_lock);
	(*handle)->next = handles;
	handles = *handle;
	pthread_mutex_unlock(&list_lock);
	return SUCCESS;
}

int LT(Destroy)(struct handle *handle)
{
	pthread_mutex_lock(&list_lock);
	struct handle **at = &handles;
	while (*at && *at != handle)
		at = &(*at)->next;
	const bool found = *at != NULL;
	if (found)
		*at = handle->next;
	pthread_mutex_unlock(&list_lock);
	if (found)
		free(handle);
	return found ? SUCCESS : NOT_INITIALIZED;
}

int LT(MatmulDescCreate)(struct desc **desc, int compute, int scale)
{
	int status = driver_fault(__func__);
	if (!status)
		status = new_object(sizeof(**desc), desc);
	if (!status)
		**desc = (struct desc){
			.compute = compute, .scale = scale, .a_op = OP_N, .b_op = OP_N};
	return status;
}

int LT(MatmulDescDestroy)(struct desc *desc)
{
	free(desc);
	return SUCCESS;
}

int LT(MatmulDescSetAttribute)(struct desc *desc, int which, const void *value, size_t bytes)
{
	int32_t op;
	int status = driver_fault(__func__);
	if (!status && which == FAST_ACCUM && bytes == sizeof(desc->fast_accumulation)) {
		memcpy(&desc->fast_accumulation, value, bytes);
		return SUCCESS;
	}
	for (int i = 0; i < 2 && !status; i++) {
		if (which == (i ? B_SCALE : A_SCALE) && bytes == sizeof(desc->scales[i])) {
			begin_writing(desc);
			memcpy(&desc->scales[i], value, bytes);
			end_writing(desc);
			return SUCCESS;
		}
		if (which == (i ? B_SCALE_MODE : A_SCALE_MODE) && HAS_MODES &&
		    bytes == sizeof(desc->scale_mode[i])) {
			memcpy(&desc->scale_mode[i], value, bytes);
			return SUCCESS;
		}
	}
	if (status || bytes != sizeof(op) || (which != TRANSA && which != TRANSB))
		return status ? status : INVALID_VALUE;
	memcpy(&op, value, sizeof(op));
	*(which == TRANSA ? &desc->a_op : &desc->b_op) = op;
	return op == OP_N || op == OP_T ? SUCCESS : NOT_SUPPORTED;
}

int LT(MatrixLayoutCreate)(struct layout **layout, int type, uint64_t rows, uint64_t columns,
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

int LT(MatrixLayoutDestroy)(struct layout *layout)
{
	free(layout);
	return SUCCESS;
}

int LT(MatmulPreferenceCreate)(struct preference **preference)
{
	int status = driver_fault(__func__);
	if (!status)
		status = new_object(sizeof(**preference), preference);
	for (int i = 0; i < ALIGNMENTS && !status; i++)
		(*preference)->alignment[i] = 256;
	return status;
}

int LT(MatmulPreferenceDestroy)(struct preference *preference)
{
	free(preference);
	return SUCCESS;
}

int LT(MatmulPreferenceSetAttribute)(struct preference *preference, int which, const void *value,
				     size_t bytes)
{
	const int alignment = ALIGNMENT_OF_A < 0 ? -1 : which - ALIGNMENT_OF_A;
	int status = driver_fault(__func__);
	if (status)
		return status;
	if (which == MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t))
		memcpy(&preference->workspace_bytes, value, bytes);
	else if (alignment >= 0 && alignment < ALIGNMENTS && bytes == sizeof(uint32_t))
		memcpy(&preference->alignment[alignment], value, bytes);
	else
		return INVALID_VALUE;
	return SUCCESS;
}

int LT(MatmulAlgoGetHeuristic)(struct handle *handle, struct desc *desc, struct layout *a,
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
	if (!status && (preference->alignment[0] < alignment_of(p.type) ||
			preference->alignment[1] < alignment_of(p.type)))
		status = NOT_SUPPORTED;
	*count = 0;
	begin_writing(desc);
	usleep(HEURISTIC_US_EACH * (unsigned)max_results);
	end_writing(desc);
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
			note_alignment(&algo, preference);
		results[(*count)++] = (struct heuristic){
			.algo = algo, .workspace_bytes = algo.workspace_bytes, .waves = 1};
	}
	return status;
}

int LT(Matmul)(struct handle *handle, struct desc *desc, const void *alpha, const void *a,
	       struct layout *a_layout, const void *b, struct layout *b_layout, const void *beta,
	       const void *c, struct layout *c_layout, void *d, struct layout *d_layout,
	       const struct algo *algo, void *workspace, size_t workspace_bytes, void *stream)
{
	struct fake_gemm p = {.a = a, .b = b, .c = c, .d = d};
	const void *const operands[ALIGNMENTS] = {a, b, c, d};
	int status = driver_fault(__func__);
	if (!status)
		status = handle ? describe_gemm(desc, a_layout, b_layout, c_layout, &p)
				: INVALID_VALUE;
	if (!status)
		status = use_handle(handle, stream);
	if (status)
		return status;
	if (algo && (algo->magic != ALGORITHM_MAGIC || workspace_bytes < algo->workspace_bytes ||
		     (algo->workspace_bytes && !workspace) || !fits_alignment(algo, operands)))
		return INVALID_VALUE;
	if (!is_aligned(workspace, MIN_ALIGNMENT))
		return INVALID_VALUE;
	for (int i = 0; i < ALIGNMENTS; i++)
		if (!is_aligned(operands[i], alignment_of(p.type)))
			return INVALID_VALUE;
	if (dev_types[p.type].block &&
	    (!desc->scales[0] || !desc->scales[1] || !is_aligned(desc->scales[0], MIN_ALIGNMENT) ||
	     !is_aligned(desc->scales[1], MIN_ALIGNMENT)))
		return INVALID_VALUE;
	p.a_scales = desc->scales[0];
	p.b_scales = desc->scales[1];
	if (algo && algo->index % 8 == 3)
		return REFUSED_AT_RUN;
	begin_writing(desc);
	end_writing(desc);
	p.extra_us = algo ? algorithm_extra_us(algo->index) : 0;
	p.alpha = load_scalar(desc->scale, alpha);
	p.beta = load_scalar(desc->scale, beta);
	p.ldd = (uint64_t)d_layout->ld;
	return fake_gemm_enqueue(stream, &p) ? EXECUTION_FAILED : SUCCESS;
}
