/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As on a GPU (device/gpu/kernels/kernels_attention.inc): a block takes items, rows of a head with
 * a part of its keys, and goes through the keys in steps that a first-level cache holds.
 */
#include "device/host/host_attention.h"
#include "device/host/host_kernels.h"
#include "device/host/host_simd.h"
#include "lib/bf16.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DEPTH DEV_ATTENTION_DEPTH
#define ROWS DEV_ATTENTION_ROWS
#define STEP 32u    /* keys */
#define TOGETHER 4u /* rows */
#define LOWEST (-3.0e38f)
#define LOG2_E 1.44269504f

/* Arguments of an attention kernel. */
struct attention {
	float *part;
	const void *q, *k, *v;
	uint32_t rows, parts, heads, queries; /* rows: of all heads; queries: of one */
	uint32_t of_head, keys;               /* rows and keys of a head */
	bool narrow;                          /* bf16 */
};

struct item {
	uint32_t rows, part, first, end;
	uint32_t row_of_head; /* first of its rows */
	uint64_t row, key;    /* the same, of all; first key of its head */
	float q[ROWS][DEPTH], sums[ROWS][DEPTH], maxima[ROWS], weights[ROWS];
	float k_step[STEP][DEPTH], v_step[STEP][DEPTH]; /* of bf16 */
};

static void widen_numbers(float *to, const uint16_t *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = bf16_decode(from[i]);
}

/* Rows of q, k or v as f32: those in memory, or `wide` with what they hold. */
static const float *as_floats(const struct attention *a, const void *from, uint64_t row,
			      uint32_t count, float *wide)
{
	if (!a->narrow)
		return (const float *)from + row * DEPTH;
	widen_numbers(wide, (const uint16_t *)from + row * DEPTH, (uint64_t)count * DEPTH);
	return wide;
}

static uint32_t smaller_of(uint32_t x, uint32_t y) { return x < y ? x : y; }

/* By a row of its head. */
static uint32_t keys_seen(const struct attention *a, uint32_t row)
{
	return a->keys - a->queries + row / (a->of_head / a->queries) + 1;
}

/* Longest items first: later rows see more keys. */
static void begin_item(const struct attention *a, uint64_t number, struct item *item)
{
	const uint32_t tiles = (a->of_head + ROWS - 1) / ROWS,
		       row = (tiles - 1 - (uint32_t)(number / a->parts / a->heads)) * ROWS;
	const uint64_t head = number / a->parts % a->heads;
	item->part = (uint32_t)(number % a->parts);
	item->row = head * a->of_head + row;
	item->row_of_head = row;
	item->key = head * a->keys;
	item->rows = smaller_of(a->of_head - row, ROWS);
	item->first = (uint32_t)((uint64_t)a->keys * item->part / a->parts);
	item->end = smaller_of((uint32_t)((uint64_t)a->keys * (item->part + 1) / a->parts),
			       keys_seen(a, row + item->rows - 1));
}

static void load_item(const struct attention *a, struct item *item)
{
	const float scale = LOG2_E / sqrtf(DEPTH);
	float wide[ROWS * DEPTH];
	const float *q = as_floats(a, a->q, item->row, item->rows, wide);
	memset(item->q, 0, sizeof(item->q));
	memset(item->sums, 0, sizeof(item->sums));
	for (uint32_t i = 0; i < item->rows * DEPTH; i++)
		item->q[i / DEPTH][i % DEPTH] = q[i] * scale;
	for (uint32_t r = 0; r < ROWS; r++) {
		item->maxima[r] = LOWEST;
		item->weights[r] = 0.0f;
	}
}

/* The scores of a row and the keys of a step that it sees become weights relative to the maximum so
 * far. */
static void weigh_row(const struct host_simd *simd, struct item *item, uint32_t row, float *scores,
		      uint32_t keys)
{
	float maximum = item->maxima[row];
	for (uint32_t j = 0; j < keys; j++)
		maximum = scores[j] > maximum ? scores[j] : maximum;
	const float sum = simd->exp2(scores, keys, 1.0f, maximum);
	if (maximum > item->maxima[row]) {
		const float factor = exp2f(item->maxima[row] - maximum);
		item->weights[row] *= factor;
		for (uint32_t i = 0; i < DEPTH; i++)
			item->sums[row][i] *= factor;
		item->maxima[row] = maximum;
	}
	item->weights[row] += sum;
}

static void attend_step(const struct attention *a, struct item *item, uint32_t first, uint32_t keys)
{
	const struct host_simd *simd = host_kernels_simd();
	const uint64_t at = item->key + first;
	const float *k = as_floats(a, a->k, at, keys, item->k_step[0]),
		    *v = as_floats(a, a->v, at, keys, item->v_step[0]);
	float scores[TOGETHER * STEP];
	for (uint32_t row = 0; row < item->rows; row += TOGETHER) {
		simd->dot_rows(scores, item->q[row], k, keys);
		for (uint32_t r = 0; r < TOGETHER; r++) {
			const uint32_t seen = keys_seen(a, item->row_of_head + row + r),
				       left = seen > first ? smaller_of(seen - first, keys) : 0;
			weigh_row(simd, item, row + r, scores + r * keys, left);
			memset(scores + r * keys + left, 0, (keys - left) * sizeof(*scores));
		}
		simd->add_rows(item->sums[row], scores, v, keys);
	}
}

static void run_item(const struct attention *a, struct item *item)
{
	load_item(a, item);
	for (uint32_t first = item->first; first < item->end; first += STEP)
		attend_step(a, item, first, smaller_of(item->end - first, STEP));
	for (uint32_t r = 0; r < item->rows; r++) {
		float *to =
			a->part + ((item->row + r) * a->parts + item->part) * DEV_ATTENTION_PART;
		memcpy(to, item->sums[r], sizeof(item->sums[r]));
		to[DEPTH] = item->maxima[r];
		to[DEPTH + 1] = item->weights[r];
	}
}

/* Every other pass over the blocks is in reverse, so that all get about as many keys. */
static void run_block(const struct attention *a, const struct host_block *b)
{
	const uint64_t tiles = (a->of_head + ROWS - 1) / ROWS, items = a->heads * tiles * a->parts;
	for (uint64_t first = 0, pass = 0; first < items; first += b->grid, pass++) {
		const uint64_t number = first + (pass % 2 ? b->grid - 1 - b->index : b->index);
		struct item item;
		if (number >= items)
			continue;
		begin_item(a, number, &item);
		run_item(a, &item);
	}
}

static int run_attention(const struct host_block *b, bool narrow)
{
	const union kernel_arg *args = b->args;
	struct attention a = {.part = args[0].pointer,
			      .q = args[1].pointer,
			      .k = args[2].pointer,
			      .v = args[3].pointer,
			      .rows = args[5].u32,
			      .parts = args[6].u32,
			      .heads = args[7].u32,
			      .queries = args[8].u32,
			      .narrow = narrow};
	if (a.heads == 0 || a.parts == 0 || a.queries == 0 || a.rows % a.heads ||
	    a.rows / a.heads % a.queries)
		return err_note(-EINVAL, "attention: %u rows, %u parts, %u heads, %u queries",
				a.rows, a.parts, a.heads, a.queries);
	a.of_head = a.rows / a.heads;
	a.keys = (uint32_t)(args[4].u64 / DEPTH / (narrow ? sizeof(uint16_t) : sizeof(float)) /
			    a.heads);
	if (a.queries > a.keys)
		return err_note(-EINVAL, "attention: %u queries of %u keys", a.queries, a.keys);
	run_block(&a, b);
	return 0;
}

int attention_f32_run(const struct host_block *b) { return run_attention(b, false); }
int attention_bf16_run(const struct host_block *b) { return run_attention(b, true); }

static void merge_row(float *out, const float *part, uint32_t parts)
{
	float maximum = LOWEST, weight = 0.0f, sum[DEPTH] = {0};
	for (uint32_t p = 0; p < parts; p++) {
		const float m = part[p * DEV_ATTENTION_PART + DEPTH];
		maximum = m > maximum ? m : maximum;
	}
	for (uint32_t p = 0; p < parts; p++, part += DEV_ATTENTION_PART) {
		const float factor = exp2f(part[DEPTH] - maximum);
		weight += factor * part[DEPTH + 1];
		for (uint32_t i = 0; i < DEPTH; i++)
			sum[i] += factor * part[i];
	}
	for (uint32_t i = 0; i < DEPTH; i++)
		out[i] = sum[i] / weight;
}

int attention_merge_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	const uint32_t parts = args[3].u32;
	for (uint64_t row = b->index; row < args[2].u32; row += b->grid)
		merge_row((float *)args[0].pointer + row * DEPTH,
			  (const float *)args[1].pointer + row * parts * DEV_ATTENTION_PART, parts);
	return 0;
}

/* ------------------------------------------------------------------ softmax */

#define CHUNK 512u

/* Numbers of a row as f32. */
static void load_chunk(float *to, const void *x, bool narrow, uint64_t at, uint32_t count)
{
	if (narrow)
		widen_numbers(to, (const uint16_t *)x + at, count);
	else
		memcpy(to, (const float *)x + at, count * sizeof(*to));
}

static void store_chunk(void *x, bool narrow, uint64_t at, const float *from, uint32_t count,
			float factor)
{
	for (uint32_t i = 0; i < count; i++)
		if (narrow)
			((uint16_t *)x)[at + i] = bf16_encode(from[i] * factor);
		else
			((float *)x)[at + i] = from[i] * factor;
}

/* The first pass finds the maximum of the columns that are seen, the second one the sum of the
 * powers, the third one writes. */
static void softmax_row(void *x, bool narrow, uint64_t at, uint32_t columns)
{
	const struct host_simd *simd = host_kernels_simd();
	float maximum = -INFINITY, sum = 0.0f, chunk[CHUNK];
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t from = 0; from < columns; from += CHUNK) {
			const uint32_t count = columns - from < CHUNK ? columns - from : CHUNK;
			load_chunk(chunk, x, narrow, at + from, count);
			for (uint32_t i = 0; pass == 0 && i < count; i++)
				maximum = chunk[i] > maximum ? chunk[i] : maximum;
			if (pass > 0) {
				const float powers =
					simd->exp2(chunk, count, LOG2_E, LOG2_E * maximum);
				sum += pass == 1 ? powers : 0.0f;
			}
			if (pass == 2)
				store_chunk(x, narrow, at + from, chunk, count, 1.0f / sum);
		}
}

static int run_softmax(const struct host_block *b, bool narrow)
{
	const union kernel_arg *args = b->args;
	const uint32_t columns = args[2].u32, of_query = args[3].u32, queries = args[4].u32;
	const uint64_t size = narrow ? sizeof(uint16_t) : sizeof(float);
	if (of_query == 0 || queries == 0 || columns < queries)
		return err_note(-EINVAL, "softmax: %u columns, %u queries of %u rows", columns,
				queries, of_query);
	for (uint64_t row = b->index; row < args[1].u64 / size / columns; row += b->grid) {
		const uint32_t hidden = queries - 1 - (uint32_t)(row / of_query % queries);
		const uint64_t at = row * columns, seen = columns - hidden;
		softmax_row(args[0].pointer, narrow, at, (uint32_t)seen);
		memset((char *)args[0].pointer + (at + seen) * size, 0, hidden * size);
	}
	return 0;
}

int softmax_f32_run(const struct host_block *b) { return run_softmax(b, false); }
int softmax_bf16_run(const struct host_block *b) { return run_softmax(b, true); }
