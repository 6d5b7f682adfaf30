/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules of the kernels of attention and softmax, for conformance_kernels.c, which includes this
 * after the helpers that it uses. The answers are in double, from the definitions.
 */
#ifndef CONFORMANCE_ATTENTION_H
#define CONFORMANCE_ATTENTION_H

#include "lib/bf16.h"

#define DEPTH DEV_ATTENTION_DEPTH
#define PART DEV_ATTENTION_PART

/* Numbers of any type, as the device gets them and as they are. */
struct numbers {
	uint64_t count, bytes;
	void *stored;
	double *values;
};

static struct numbers random_numbers(uint64_t count, bool narrow, double scale, uint64_t lane)
{
	const struct numbers n = {.count = count,
				  .bytes = count * (narrow ? sizeof(uint16_t) : sizeof(float)),
				  .stored = calloc(count, sizeof(float)),
				  .values = calloc(count, sizeof(double))};
	struct rng r;
	require(n.stored && n.values);
	rng_seed(&r, 6, lane);
	rng_fill_f64(&r, n.values, count);
	for (uint64_t i = 0; i < count; i++) {
		const float x = (float)(scale * n.values[i]);
		const uint16_t code = bf16_encode(x);
		n.values[i] = narrow ? bf16_decode(code) : x;
		if (narrow)
			((uint16_t *)n.stored)[i] = code;
		else
			((float *)n.stored)[i] = x;
	}
	return n;
}

/* Stores NaN in place of `count` numbers from one on, which nothing may read. */
static void poison_numbers(const struct numbers *n, uint64_t first, uint64_t count)
{
	memset((char *)n->stored + n->bytes / n->count * first, 0xff, n->bytes / n->count * count);
}

static void free_numbers(struct numbers n)
{
	free(n.stored);
	free(n.values);
}

struct attention_case {
	uint32_t heads, rows, keys, parts, queries; /* rows, keys and queries of a head */
	bool poisoned; /* the last key of a head, and the last rows, which see it */
};

/* One row per head and one key; decode in few and in many parts; rows and keys that divide nothing;
 * parts without keys. Then with a mask: its edge within steps, within parts, in parts that some
 * rows of a tile do not see, or none; fewer queries than keys; queries of one row and of many. */
static const struct attention_case attention_cases[] = {
	{2, 1, 1, 1, 1, false},     {1, 4, 64, 1, 1, false},   {3, 4, 257, 5, 1, false},
	{2, 21, 70, 1, 1, false},   {2, 9, 33, 2, 1, false},   {1, 5, 3, 7, 1, false},
	{1, 16, 1000, 3, 1, false}, {2, 21, 70, 1, 7, false},  {1, 128, 32, 1, 32, false},
	{3, 40, 257, 5, 10, false}, {1, 70, 70, 3, 70, false}, {2, 6, 3, 7, 3, false},
	{1, 80, 100, 2, 2, false},  {2, 128, 32, 1, 32, true}, {1, 200, 100, 3, 100, true}};

static double score_of(const double *q, const double *k)
{
	double sum = 0;
	for (uint32_t i = 0; i < DEPTH; i++)
		sum += q[i] * k[i];
	return sum / log(2.0) / sqrt(DEPTH);
}

/* Compares a part with its scores and values in double. */
static void check_part(const float *part, const double *q, const double *k, const double *v,
		       uint32_t keys)
{
	double sums[DEPTH] = {0}, weights = 0, greatest = -INFINITY;
	for (uint32_t j = 0; j < keys; j++)
		greatest = fmax(greatest, score_of(q, k + j * DEPTH));
	require(keys == 0 || fabs((double)part[DEPTH] - greatest) < 1e-4);
	for (uint32_t j = 0; j < keys; j++) {
		const double weight = exp2(score_of(q, k + j * DEPTH) - (double)part[DEPTH]);
		weights += weight;
		for (uint32_t i = 0; i < DEPTH; i++)
			sums[i] += weight * v[j * DEPTH + i];
	}
	require(fabs((double)part[DEPTH + 1] - weights) <= 2e-5 * weights);
	for (uint32_t i = 0; i < DEPTH; i++)
		require(fabs((double)part[i] - sums[i]) <= 2e-5 * weights);
}

/* Keys of a part that a row of a head sees. */
static uint32_t seen_of_part(const struct attention_case *a, uint64_t row, uint64_t part)
{
	const uint64_t query = row * a->queries / a->rows, seen = a->keys - a->queries + query + 1,
		       first = a->keys * part / a->parts, end = a->keys * (part + 1) / a->parts;
	return (uint32_t)(seen < first ? 0 : seen < end ? seen - first : end - first);
}

static void check_attention(struct dev_stream *s, const struct attention_case *a, bool narrow,
			    uint32_t grid)
{
	const uint32_t rows = a->heads * a->rows;
	const uint64_t of_keys = (uint64_t)a->heads * a->keys * DEPTH,
		       part_bytes = sizeof(float) * PART * rows * a->parts;
	struct numbers q = random_numbers((uint64_t)rows * DEPTH, narrow, 4.0, 1),
		       k = random_numbers(of_keys, narrow, 1.0, 2),
		       v = random_numbers(of_keys, narrow, 1.0, 3);
	for (uint32_t head = 0; a->poisoned && head < a->heads; head++) {
		poison_numbers(&k, ((head + 1) * (uint64_t)a->keys - 1) * DEPTH, DEPTH);
		poison_numbers(&v, ((head + 1) * (uint64_t)a->keys - 1) * DEPTH, DEPTH);
	}
	char *dev_q = alloc_guarded(q.stored, q.bytes), *dev_k = alloc_guarded(k.stored, k.bytes),
	     *dev_v = alloc_guarded(v.stored, v.bytes), *dev_part = alloc_guarded(NULL, part_bytes);
	const void *args[] = {&dev_part, &dev_q,    &dev_k,    &dev_v,     &k.bytes,
			      &rows,     &a->parts, &a->heads, &a->queries};
	ok(launch_kernel(s, narrow ? "attention_bf16" : "attention_f32", grid, args));
	ok(dev_stream_sync(on.d, s));
	float *part = free_guarded(dev_part, part_bytes);
	for (uint32_t i = 0; i < rows * a->parts; i++) {
		const uint64_t row = i / a->parts, p = i % a->parts, first = a->keys * p / a->parts,
			       at = (row / a->rows * a->keys + first) * DEPTH,
			       last = (a->rows - 1) / DEV_ATTENTION_ROWS * DEV_ATTENTION_ROWS;
		if (!a->poisoned || row % a->rows < last)
			check_part(part + (uint64_t)i * PART, q.values + row * DEPTH, k.values + at,
				   v.values + at, seen_of_part(a, row % a->rows, p));
	}
	free(part);
	free(free_guarded(dev_q, q.bytes));
	free(free_guarded(dev_k, k.bytes));
	free(free_guarded(dev_v, v.bytes));
	free_numbers(q);
	free_numbers(k);
	free_numbers(v);
}

static void check_attentions(bool narrow)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(attention_cases); i++)
		check_attention(s, &attention_cases[i], narrow, grids[i % COUNT(grids)]);
	dev_stream_close(on.d, s);
}

static void attention_f32_does_its_work(void) { check_attentions(false); }
static void attention_bf16_does_its_work(void) { check_attentions(true); }

/* The first part of each row is empty, as the kernels leave it. */
static void check_merge(struct dev_stream *s, uint32_t rows, uint32_t parts, uint32_t grid)
{
	const uint64_t out_bytes = sizeof(float) * DEPTH * rows;
	struct numbers n = random_numbers((uint64_t)rows * parts * PART, false, 3.0, parts);
	float *stored = n.stored;
	for (uint64_t i = 0; i < (uint64_t)rows * parts; i++) {
		const bool empty = i % parts == 0 && parts > 1;
		float *end = stored + i * PART + DEPTH;
		if (empty)
			memset(stored + i * PART, 0, DEPTH * sizeof(float));
		end[0] = empty ? -3.0e38f : end[0];
		end[1] = empty ? 0.0f : fabsf(end[1]) + 1.0f;
	}
	char *part = alloc_guarded(stored, n.bytes), *out = alloc_guarded(NULL, out_bytes);
	const void *args[] = {&out, &part, &rows, &parts};
	ok(launch_kernel(s, "attention_merge", grid, args));
	ok(dev_stream_sync(on.d, s));
	float *got = free_guarded(out, out_bytes);
	for (uint32_t i = 0; i < rows * DEPTH; i++) {
		double sum = 0, weights = 0;
		for (uint32_t p = 0; p < parts; p++) {
			const float *at = stored + ((uint64_t)i / DEPTH * parts + p) * PART;
			const double by = exp2((double)at[DEPTH]);
			sum += by * (double)at[i % DEPTH];
			weights += by * (double)at[DEPTH + 1];
		}
		require(fabs((double)got[i] - sum / weights) <= 1e-5);
	}
	free(got);
	free(free_guarded(part, n.bytes));
	free_numbers(n);
}

static void attention_merge_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(grids); i++)
		check_merge(s, 1 + 5 * (uint32_t)i, 1 + 3 * (uint32_t)i, grids[i]);
	dev_stream_close(on.d, s);
}

/* Rows from one number on; so many fill whole units of DEV_KERNEL_ALIGN. */
static void check_softmax(struct dev_stream *s, uint32_t columns, uint32_t queries, bool narrow,
			  uint32_t grid)
{
	const uint32_t rows = 128, of_query = 4;
	struct numbers n = random_numbers((uint64_t)rows * columns, narrow, 5.0, columns);
	for (uint32_t row = 0; row < rows; row++) {
		const uint32_t hidden = queries - 1 - row / of_query % queries;
		poison_numbers(&n, (row + 1) * (uint64_t)columns - hidden, hidden);
		for (uint32_t i = columns - hidden; i < columns; i++)
			n.values[row * columns + i] = -INFINITY;
	}
	char *x = alloc_guarded(n.stored, n.bytes);
	const void *args[] = {&x, &n.bytes, &columns, &of_query, &queries};
	ok(launch_kernel(s, narrow ? "softmax_bf16" : "softmax_f32", grid, args));
	ok(dev_stream_sync(on.d, s));
	void *got = free_guarded(x, n.bytes);
	for (uint32_t row = 0; row < rows; row++) {
		double sum = 0;
		for (uint32_t i = 0; i < columns; i++)
			sum += exp(n.values[row * columns + i]);
		for (uint32_t i = 0; i < columns; i++) {
			const uint64_t at = row * columns + i;
			const double want = exp(n.values[at]) / sum,
				     found = narrow ? bf16_decode(((uint16_t *)got)[at])
						    : ((float *)got)[at];
			/* Half a unit in the last place of bf16. */
			require(fabs(found - want) <= (narrow ? 0x1.01p-8 : 5e-6) * want);
		}
	}
	free(got);
	free_numbers(n);
}

static void check_softmaxes(bool narrow)
{
	static const uint32_t columns[] = {1, 2, 33, 256, 999, 1024};
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(columns); i++)
		for (uint32_t queries = 1; queries <= 16 && queries <= columns[i]; queries *= 16)
			check_softmax(s, columns[i], queries, narrow, grids[i % COUNT(grids)]);
	dev_stream_close(on.d, s);
}

static void softmax_f32_does_its_work(void) { check_softmaxes(false); }
static void softmax_bf16_does_its_work(void) { check_softmaxes(true); }

#undef DEPTH
#undef PART

#endif
