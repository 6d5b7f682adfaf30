/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"
#include "lib/clock.h"
#include "lib/minifloat.h"
#include "lib/rng.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time runs from when the library is asked for its algorithms. The first round times every
 * algorithm until its time is over, but at least MIN_FIRST_ROUND of them, or the library's first
 * choice alone where that takes TOO_LONG_MS. The final rounds time the fastest of these and the
 * library's first choice, in turns; a round that has begun is completed.
 */
#define LIMIT_NS UINT64_C(500000000)
#define FIRST_ROUND_NS UINT64_C(350000000)
#define TOO_LONG_MS 200.0f
#define MIN_FIRST_ROUND 4u
#define FINALISTS 5u
#define FINAL_ROUNDS 5u

/* An algorithm runs so many times in a row that the batch is long enough for events. A run
 * longer than NO_WARMUP_MS counts without a warm-up run, since the time to load code is then
 * small. */
#define BATCH_MS 0.3f
#define FINAL_BATCH_MS 1.0f
#define NO_WARMUP_MS 50.0f
#define MAX_REPEATS 64u

#define RANDOM_CHUNK_BYTES (1u << 20)
#define SEED 1u

struct gpu_tuned {
	struct gpu_tuned *next;
	struct gpu_gemm_problem problem; /* its pointers, alpha and beta are not used */
	uint32_t offered, tried;
	double first_ratio;
	char algorithm[];
};

struct candidate {
	const void *algorithm;
	float ms; /* of one run */
	float rounds[FINAL_ROUNDS];
};

/* ------------------------------------------------------------------ remembered choices */

static bool is_same_gemm(const struct gpu_gemm_problem *a, const struct gpu_gemm_problem *b)
{
	return a->type == b->type && a->first_transposed == b->first_transposed &&
	       a->fast_accumulation == b->fast_accumulation && a->m == b->m && a->n == b->n &&
	       a->k == b->k && a->ld_first == b->ld_first && a->ld_second == b->ld_second &&
	       a->ld_c == b->ld_c;
}

const struct gpu_tuned *gpu_tuned_find(struct gpu_dev *d, const struct gpu_gemm_problem *p)
{
	gpu_lock();
	const struct gpu_tuned *t = d->tuned;
	while (t && !is_same_gemm(&t->problem, p))
		t = t->next;
	gpu_unlock();
	return t;
}

const void *gpu_tuned_algorithm(const struct gpu_tuned *tuned) { return tuned->algorithm; }

void gpu_tuned_choice(const struct gpu_dev *d, const struct gpu_tuned *tuned,
		      struct dev_gemm_choice *choice_p)
{
	struct dev_gemm_choice choice = {.offered = tuned->offered,
					 .tried = tuned->tried,
					 .first_ratio = tuned->first_ratio};
	d->vendor->blas->describe(tuned->algorithm, choice.algorithm, sizeof(choice.algorithm));
	*choice_p = choice;
}

void gpu_tuned_close(struct gpu_dev *d)
{
	while (d->tuned) {
		struct gpu_tuned *t = d->tuned;
		d->tuned = t->next;
		free(t);
	}
}

static int remember_algorithm(struct gpu_dev *d, const struct gpu_gemm_problem *p,
			      const void *algorithm, const struct dev_gemm_choice *found)
{
	const size_t bytes = d->vendor->blas->algorithm_bytes;
	struct gpu_tuned *t = calloc(1, sizeof(*t) + bytes);
	if (!t)
		return err_note(-ENOMEM, "prepare a GEMM: out of memory");
	t->problem = *p;
	t->offered = found->offered;
	t->tried = found->tried;
	t->first_ratio = found->first_ratio;
	memcpy(t->algorithm, algorithm, bytes);
	gpu_lock();
	t->next = d->tuned;
	d->tuned = t;
	gpu_unlock();
	return 0;
}

/* ------------------------------------------------------------------ random operands */

static void draw_narrow(struct rng *r, const struct dev_type_traits *t, void *chunk, size_t count)
{
	const struct minifloat_format format = {t->exponent_bits, t->mantissa_bits, t->infinite,
						false};
	for (size_t i = 0; i < count; i++) {
		float x;
		rng_fill_f32(r, &x, 1);
		const uint32_t code = minifloat_encode(format, x);
		if (t->bytes == 1)
			((uint8_t *)chunk)[i] = (uint8_t)code;
		else if (t->bytes == 2)
			((uint16_t *)chunk)[i] = (uint16_t)code;
		else
			((uint32_t *)chunk)[i] = code << (23 - t->mantissa_bits);
	}
}

static void draw_bytes(struct rng *r, uint8_t *chunk, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		chunk[i] = (uint8_t)(rng_u64(r) >> 56);
}

static void draw_random(struct rng *r, enum dev_type type, void *chunk, size_t bytes)
{
	const struct dev_type_traits *t = &dev_types[type];
	const size_t count = bytes * 8 / t->bits;
	if (type == DEV_F64)
		rng_fill_f64(r, chunk, count);
	else if (type == DEV_F32)
		rng_fill_f32(r, chunk, count);
	else if (type == DEV_I8 || t->bits < 8)
		draw_bytes(r, chunk, bytes);
	else
		draw_narrow(r, t, chunk, count);
}

int gpu_fill_random(struct gpu_dev *d, enum dev_type type, uint64_t lane, void *memory,
		    uint64_t bytes)
{
	const struct gpu_driver *driver = d->driver;
	const uint64_t chunk_bytes = bytes < RANDOM_CHUNK_BYTES ? bytes : RANDOM_CHUNK_BYTES;
	struct rng r;
	void *chunk = NULL;
	int status = driver->alloc_pinned(chunk_bytes, &chunk);
	if (status)
		return gpu_check(d, status);
	rng_seed(&r, SEED, lane);
	draw_random(&r, type, chunk, chunk_bytes);
	for (uint64_t at = 0; at < bytes && !status; at += chunk_bytes)
		status = driver->copy(d->internal_stream->handle, (char *)memory + at, chunk,
				      bytes - at < chunk_bytes ? bytes - at : chunk_bytes,
				      GPU_COPY_UP, false);
	const int sync_status = driver->stream_sync(d->internal_stream->handle),
		  free_status = driver->free_pinned(chunk);
	return gpu_check(d, status ? status : sync_status ? sync_status : free_status);
}

/* ------------------------------------------------------------------ timing */

/* Milliseconds of one GEMM, over `repeats` in a row. */
static int time_runs(struct gpu_dev *d, const struct gpu_gemm_problem *p, const void *algorithm,
		     unsigned repeats, float *ms_p)
{
	const struct gpu_driver *driver = d->driver;
	void *stream = d->internal_stream->handle;
	float ms = 0;
	int status = driver->event_record(stream, d->tuning_start->handle);
	for (unsigned i = 0; i < repeats && !status; i++)
		status = d->vendor->blas->run(d->blas, stream, p, algorithm);
	if (!status)
		status = driver->event_record(stream, d->tuning_end->handle);
	int sync_status = driver->stream_sync(stream);
	status = status ? status : sync_status;
	if (!status)
		status = driver->event_elapsed_ms(d->tuning_start->handle, d->tuning_end->handle,
						  &ms);
	if (!status)
		*ms_p = ms / (float)repeats;
	return gpu_check(d, status);
}

static unsigned repeats_for(float ms, float batch_ms)
{
	if (ms >= batch_ms)
		return 1;
	return ms * (float)MAX_REPEATS > batch_ms ? (unsigned)(batch_ms / ms) + 1 : MAX_REPEATS;
}

static int time_candidate(struct gpu_dev *d, const struct gpu_gemm_problem *p, struct candidate *c)
{
	float ms = 0;
	int status = time_runs(d, p, c->algorithm, 1, &ms);
	if (!status && ms < NO_WARMUP_MS)
		status = time_runs(d, p, c->algorithm, repeats_for(ms, BATCH_MS), &ms);
	if (!status)
		c->ms = ms;
	return status;
}

/* Time the candidates until the time is over, and move those that ran to the front of the list.
 * Algorithms that the library refuses to run are skipped; only a lost device is an error. */
static int first_round(struct gpu_dev *d, const struct gpu_gemm_problem *p, uint64_t start_ns,
		       struct candidate *list, size_t *count_p)
{
	size_t ran = 0;
	for (size_t i = 0; i < *count_p; i++) {
		if ((ran >= MIN_FIRST_ROUND && clock_ns() - start_ns > FIRST_ROUND_NS) ||
		    (ran && list[0].ms >= TOO_LONG_MS))
			break;
		const int status = time_candidate(d, p, &list[i]);
		if (status == -EIO)
			return status;
		if (!status)
			list[ran++] = list[i];
	}
	*count_p = ran;
	return 0;
}

static int compare_candidates(const void *a, const void *b)
{
	const float left = ((const struct candidate *)a)->ms,
		    right = ((const struct candidate *)b)->ms;
	return (left > right) - (left < right);
}

static int compare_floats(const void *a, const void *b)
{
	const float left = *(const float *)a, right = *(const float *)b;
	return (left > right) - (left < right);
}

/* Every candidate runs once per round, so that drift affects all alike; ms becomes the median of
 * the rounds. */
static int final_rounds(struct gpu_dev *d, const struct gpu_gemm_problem *p, uint64_t start_ns,
			struct candidate *list, size_t count)
{
	size_t rounds = 0;
	while (rounds < FINAL_ROUNDS && (rounds == 0 || clock_ns() - start_ns < LIMIT_NS)) {
		for (size_t i = 0; i < count; i++) {
			const int status = time_runs(d, p, list[i].algorithm,
						     repeats_for(list[i].ms, FINAL_BATCH_MS),
						     &list[i].rounds[rounds]);
			if (status)
				return status;
		}
		rounds++;
	}
	for (size_t i = 0; i < count; i++) {
		qsort(list[i].rounds, rounds, sizeof(list[i].rounds[0]), compare_floats);
		list[i].ms = list[i].rounds[(rounds - 1) / 2];
	}
	return 0;
}

/* ------------------------------------------------------------------ choosing */

/* Sorts the list, fastest first; `first` is the library's first choice. */
static int choose_fastest(struct gpu_dev *d, const struct gpu_gemm_problem *p, uint64_t start_ns,
			  struct candidate *list, size_t count, const void *first,
			  struct dev_gemm_choice *found)
{
	int status = first_round(d, p, start_ns, list, &count);
	found->tried = (uint32_t)count;
	if (status || count < 2)
		return status;
	qsort(list, count, sizeof(*list), compare_candidates);
	size_t at = 0, finalists = count < FINALISTS ? count : FINALISTS;
	while (at < count && list[at].algorithm != first)
		at++;
	if (at < count && at >= finalists) {
		list[finalists - 1] = list[at];
		at = finalists - 1;
	}
	const struct candidate *first_choice = at < count ? &list[at] : NULL;
	status = final_rounds(d, p, start_ns, list, finalists);
	const float first_ms = first_choice ? first_choice->ms : NAN;
	qsort(list, finalists, sizeof(*list), compare_candidates);
	found->first_ratio = (double)first_ms / (double)list[0].ms;
	return status;
}

static int tune_algorithms(struct gpu_dev *d, const struct gpu_gemm_problem *p, char *algorithms,
			   struct candidate *list)
{
	const struct gpu_blas *blas = d->vendor->blas;
	const uint64_t start_ns = clock_ns();
	struct dev_gemm_choice found = {.first_ratio = NAN};
	size_t count = 0;
	int status = blas->algorithms(d->blas, p, algorithms, blas->max_algorithms, &count);
	for (size_t i = 0; i < count && !status; i++)
		list[i].algorithm = algorithms + i * blas->algorithm_bytes;
	found.offered = (uint32_t)count;
	if (!status && count > 1)
		status = choose_fastest(d, p, start_ns, list, count, algorithms, &found);
	if (status || count == 0 || (count > 1 && found.tried == 0))
		return status;
	return remember_algorithm(d, p, list[0].algorithm, &found);
}

int gpu_autotune(struct gpu_dev *d, const struct gpu_gemm_problem *p)
{
	const struct gpu_blas *blas = d->vendor->blas;
	char *algorithms = calloc(blas->max_algorithms, blas->algorithm_bytes);
	struct candidate *list = calloc(blas->max_algorithms, sizeof(*list));
	const int status = algorithms && list ? tune_algorithms(d, p, algorithms, list)
					      : err_note(-ENOMEM, "prepare a GEMM: out of memory");
	free(algorithms);
	free(list);
	return status;
}
