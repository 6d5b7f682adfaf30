/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/rng.h"

/* More than any library was seen to name. */
#define MAX_ALGORITHMS 200u

/* The first round times every algorithm; it ends when its time is over, but not before the first few. The final rounds time the
 * fastest of it and the library's first choice, in turns; a round that has begun is finished. */
#define LIMIT_NS UINT64_C(1000000000)
#define FIRST_ROUND_NS UINT64_C(700000000)
#define FIRST_FEW 4u
#define FINALISTS 5u
#define FINAL_ROUNDS 5u

/* As often in a row as fills a stretch that events can measure. A run of LONG_MS counts without one that warms up: what loading
 * code adds is small then. */
#define STRETCH_MS 0.3f
#define FINAL_STRETCH_MS 1.0f
#define LONG_MS 50.0f
#define MAX_REPEATS 64u

#define RANDOM_BYTES (1u << 20)
#define SEED 1u

struct gpu_tuned {
	struct gpu_tuned *next;
	struct gpu_product product; /* its pointers and factors mean nothing */
	uint32_t offered, tried;
	double first_ratio;
	char way[];
};

struct candidate {
	const void *way;
	float ms; /* of one run */
	float rounds[FINAL_ROUNDS];
};

/* ------------------------------------------------------------------ what was chosen */

static bool alike(const struct gpu_product *a, const struct gpu_product *b)
{
	return a->type == b->type && a->first_transposed == b->first_transposed &&
	       a->fast_accumulation == b->fast_accumulation && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->ld_first == b->ld_first && a->ld_second == b->ld_second && a->ld_c == b->ld_c;
}

const struct gpu_tuned *gpu_tuned_find(struct gpu_dev *d, const struct gpu_product *p)
{
	gpu_lock();
	const struct gpu_tuned *t = d->tuned;
	while (t && !alike(&t->product, p))
		t = t->next;
	gpu_unlock();
	return t;
}

const void *gpu_tuned_way(const struct gpu_tuned *tuned) { return tuned->way; }

void gpu_tuned_tell(const struct gpu_dev *d, const struct gpu_tuned *tuned, struct dev_gemm_choice *choice_p)
{
	struct dev_gemm_choice choice = {.offered = tuned->offered, .tried = tuned->tried, .first_ratio = tuned->first_ratio};
	d->vendor->blas->describe(tuned->way, choice.algorithm, sizeof(choice.algorithm));
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

static int keep(struct gpu_dev *d, const struct gpu_product *p, const void *way, const struct dev_gemm_choice *found)
{
	const size_t bytes = d->vendor->blas->way_bytes;
	struct gpu_tuned *t = calloc(1, sizeof(*t) + bytes);
	if (!t)
		return err_note(-ENOMEM, "prepare a gemm: out of memory");
	t->product = *p;
	t->offered = found->offered;
	t->tried = found->tried;
	t->first_ratio = found->first_ratio;
	memcpy(t->way, way, bytes);
	gpu_lock();
	t->next = d->tuned;
	d->tuned = t;
	gpu_unlock();
	return 0;
}

/* ------------------------------------------------------------------ random operands */

/* The float's bits in a narrower type: digits are cut off, and what is too small becomes 0. */
static uint32_t narrow(float x, unsigned exponent_bits, unsigned mantissa_bits)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof(bits));
	const int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 127 + (1 << (exponent_bits - 1)) - 1;
	const uint32_t sign = bits >> 31 << (exponent_bits + mantissa_bits);
	const uint32_t mantissa = (bits & 0x7fffff) >> (23 - mantissa_bits);
	return exponent <= 0 ? sign : sign | (uint32_t)exponent << mantissa_bits | mantissa;
}

static void draw(struct rng *r, enum dev_type type, void *block, size_t bytes)
{
	const size_t count = bytes / dev_type_bytes(type);
	float x;
	if (type == DEV_F64) {
		rng_fill_f64(r, block, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		rng_fill_f32(r, &x, 1);
		if (type == DEV_F16)
			((uint16_t *)block)[i] = (uint16_t)narrow(x, 5, 10);
		else if (type == DEV_BF16)
			((uint16_t *)block)[i] = (uint16_t)narrow(x, 8, 7);
		else if (type == DEV_F8)
			((uint8_t *)block)[i] = (uint8_t)narrow(x, 4, 3);
		else if (type == DEV_TF32)
			((uint32_t *)block)[i] = narrow(x, 8, 10) << 13;
		else
			((float *)block)[i] = x;
	}
}

int gpu_fill_random(struct gpu_dev *d, enum dev_type type, uint64_t lane, void *memory, uint64_t bytes)
{
	const struct gpu_driver *driver = d->driver;
	const uint64_t block_bytes = bytes < RANDOM_BYTES ? bytes : RANDOM_BYTES;
	struct rng r;
	void *block = NULL;
	int rc = driver->alloc_pinned(block_bytes, &block);
	if (rc)
		return gpu_answer(d, rc);
	rng_seed(&r, SEED, lane);
	draw(&r, type, block, block_bytes);
	for (uint64_t at = 0; at < bytes && !rc; at += block_bytes)
		rc = driver->copy(d->own->handle, (char *)memory + at, block,
		                  bytes - at < block_bytes ? bytes - at : block_bytes, GPU_UP, false);
	const int drained = driver->stream_sync(d->own->handle), freed = driver->free_pinned(block);
	return gpu_answer(d, rc ? rc : drained ? drained : freed);
}

/* ------------------------------------------------------------------ timing */

/* Milliseconds of one product when `repeats` follow each other. */
static int time_of(struct gpu_dev *d, const struct gpu_product *p, const void *way, unsigned repeats, float *ms_p)
{
	const struct gpu_driver *driver = d->driver;
	void *stream = d->own->handle;
	float ms = 0;
	int rc = driver->event_record(stream, d->own_from->handle);
	for (unsigned i = 0; i < repeats && !rc; i++)
		rc = d->vendor->blas->run(d->blas, stream, p, way);
	if (!rc)
		rc = driver->event_record(stream, d->own_to->handle);
	int drained = driver->stream_sync(stream);
	rc = rc ? rc : drained;
	if (!rc)
		rc = driver->event_elapsed_ms(d->own_from->handle, d->own_to->handle, &ms);
	if (!rc)
		*ms_p = ms / (float)repeats;
	return gpu_answer(d, rc);
}

static unsigned repeats_for(float ms, float stretch_ms)
{
	if (ms >= stretch_ms)
		return 1;
	return ms * (float)MAX_REPEATS > stretch_ms ? (unsigned)(stretch_ms / ms) + 1 : MAX_REPEATS;
}

static int time_once(struct gpu_dev *d, const struct gpu_product *p, struct candidate *c)
{
	float ms = 0;
	int rc = time_of(d, p, c->way, 1, &ms);
	if (!rc && ms < LONG_MS)
		rc = time_of(d, p, c->way, repeats_for(ms, STRETCH_MS), &ms);
	if (!rc)
		c->ms = ms;
	return rc;
}

/* Time each until the time is over; those that ran are the first of the list then. An algorithm that the library refuses to run
 * is left out; only a lost device is an error. */
static int first_round(struct gpu_dev *d, const struct gpu_product *p, uint64_t start_ns, struct candidate *list, size_t *count_p)
{
	size_t ran = 0;
	for (size_t i = 0; i < *count_p; i++) {
		if (ran >= FIRST_FEW && clock_ns() - start_ns > FIRST_ROUND_NS)
			break;
		const int rc = time_once(d, p, &list[i]);
		if (rc == -EIO)
			return rc;
		if (!rc)
			list[ran++] = list[i];
	}
	*count_p = ran;
	return 0;
}

static int faster(const void *a, const void *b)
{
	const float left = ((const struct candidate *)a)->ms, right = ((const struct candidate *)b)->ms;
	return (left > right) - (left < right);
}

static int shorter(const void *a, const void *b)
{
	const float left = *(const float *)a, right = *(const float *)b;
	return (left > right) - (left < right);
}

/* Each once in every round, so that what changes meanwhile hits all alike; then ms is the median of the rounds. */
static int final_rounds(struct gpu_dev *d, const struct gpu_product *p, uint64_t start_ns, struct candidate *list, size_t count)
{
	size_t rounds = 0;
	while (rounds < FINAL_ROUNDS && (rounds == 0 || clock_ns() - start_ns < LIMIT_NS)) {
		for (size_t i = 0; i < count; i++) {
			const int rc = time_of(d, p, list[i].way, repeats_for(list[i].ms, FINAL_STRETCH_MS), &list[i].rounds[rounds]);
			if (rc)
				return rc;
		}
		rounds++;
	}
	for (size_t i = 0; i < count; i++) {
		qsort(list[i].rounds, rounds, sizeof(list[i].rounds[0]), shorter);
		list[i].ms = list[i].rounds[(rounds - 1) / 2];
	}
	return 0;
}

/* ------------------------------------------------------------------ choosing */

/* The fastest of the list, which it puts in order; `first` is the library's first choice. */
static int choose(struct gpu_dev *d, const struct gpu_product *p, struct candidate *list, size_t count, const void *first,
                  struct dev_gemm_choice *found)
{
	const uint64_t start_ns = clock_ns();
	int rc = first_round(d, p, start_ns, list, &count);
	found->tried = (uint32_t)count;
	if (rc || !count)
		return rc;
	qsort(list, count, sizeof(*list), faster);
	size_t at = 0, finalists = count < FINALISTS ? count : FINALISTS;
	while (at < count && list[at].way != first)
		at++;
	if (at < count && at >= finalists) {
		list[finalists - 1] = list[at];
		at = finalists - 1;
	}
	const struct candidate *first_choice = at < count ? &list[at] : NULL;
	rc = final_rounds(d, p, start_ns, list, finalists);
	const float first_ms = first_choice ? first_choice->ms : NAN;
	qsort(list, finalists, sizeof(*list), faster);
	found->first_ratio = (double)first_ms / (double)list[0].ms;
	return rc;
}

static int try_all(struct gpu_dev *d, const struct gpu_product *p, char *ways, struct candidate *list)
{
	const struct gpu_blas *blas = d->vendor->blas;
	struct dev_gemm_choice found = {.first_ratio = NAN};
	size_t count = 0;
	int rc = blas->ways(d->blas, p, ways, MAX_ALGORITHMS, &count);
	for (size_t i = 0; i < count && !rc; i++)
		list[i].way = ways + i * blas->way_bytes;
	found.offered = (uint32_t)count;
	if (!rc && count > 1)
		rc = choose(d, p, list, count, ways, &found);
	if (rc || count == 0 || (count > 1 && found.tried == 0))
		return rc;
	return keep(d, p, list[0].way, &found);
}

int gpu_autotune(struct gpu_dev *d, const struct gpu_product *p)
{
	char *ways = calloc(MAX_ALGORITHMS, d->vendor->blas->way_bytes);
	struct candidate *list = calloc(MAX_ALGORITHMS, sizeof(*list));
	const int rc = ways && list ? try_all(d, p, ways, list) : err_note(-ENOMEM, "prepare a gemm: out of memory");
	free(ways);
	free(list);
	return rc;
}
