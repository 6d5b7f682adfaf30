/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/attention/runs.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>

#define DEPTH DEV_ATTENTION_DEPTH
/* Fewest keys of a part: loading its queries is little beside. */
#define LEAST_PART 64u

/* K and V of the next set; V follows K. */
static const char *next_keys(const struct attention_runs *s)
{
	return rotation_address(s->cold, rotation_take(s->cold, 1), s->attention.kv);
}

int fused_once(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	const struct attention *a = &s->attention;
	const char *k = next_keys(s), *v = k + a->k_bytes;
	const uint32_t rows = a->heads * a->rows;
	const void *const args[] = {&s->part, &a->q,     &k,        &v,         &a->k_bytes,
				    &rows,    &s->parts, &a->heads, &a->queries};
	const void *const merge_args[] = {&s->out, &s->part, &rows, &s->parts};
	const struct dev_launch attend = {.grid = dev_wave_blocks(c->dev, s->attend), .args = args},
				merge = {.grid = dev_wave_blocks(c->dev, s->merge),
					 .args = merge_args};
	TRY(c->status, dev_launch(c->dev, c->stream, s->attend, &attend));
	return TRY(c->status, dev_launch(c->dev, c->stream, s->merge, &merge));
}

/* Q K^T / sqrt(DEPTH) and P V of one KV head. */
static struct dev_gemm scores_of(const struct attention_runs *s, const char *k, uint32_t head)
{
	const struct attention *a = &s->attention;
	return (struct dev_gemm){.type = a->operands.type,
				 .m = a->rows,
				 .n = a->keys,
				 .k = DEPTH,
				 .alpha = 1.0 / sqrt(DEPTH),
				 .a = (const char *)a->q + a->q_bytes / a->heads * head,
				 .b = k + a->k_bytes / a->heads * head,
				 .c = (char *)s->scores + a->scores_bytes / a->heads * head,
				 .lda = DEPTH,
				 .ldb = DEPTH,
				 .ldc = a->keys,
				 .b_transposed = true};
}
static struct dev_gemm values_of(const struct attention_runs *s, const char *k, uint32_t head)
{
	const struct attention *a = &s->attention;
	return (struct dev_gemm){.type = a->operands.type,
				 .m = a->rows,
				 .n = DEPTH,
				 .k = a->keys,
				 .alpha = 1.0,
				 .a = (const char *)s->scores + a->scores_bytes / a->heads * head,
				 .b = k + a->k_bytes + a->k_bytes / a->heads * head,
				 .c = (char *)s->chain_out + a->q_bytes / a->heads * head,
				 .lda = a->keys,
				 .ldb = DEPTH,
				 .ldc = DEPTH};
}

int chain_once(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	const struct attention *a = &s->attention;
	const char *k = next_keys(s);
	const uint32_t of_query = a->rows / a->queries;
	const void *const args[] = {&s->scores, &a->scores_bytes, &a->keys, &of_query, &a->queries};
	const struct dev_launch softmax = {.grid = dev_wave_blocks(c->dev, s->softmax),
					   .args = args};
	for (uint32_t head = 0; head < a->heads; head++) {
		const struct dev_gemm gemm = scores_of(s, k, head);
		TRY(c->status, dev_gemm(c->dev, c->stream, &gemm));
	}
	TRY(c->status, dev_launch(c->dev, c->stream, s->softmax, &softmax));
	for (uint32_t head = 0; head < a->heads; head++) {
		const struct dev_gemm gemm = values_of(s, k, head);
		TRY(c->status, dev_gemm(c->dev, c->stream, &gemm));
	}
	return c->status;
}

int read_once(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	const char *k = next_keys(s);
	const uint64_t bytes = 2 * s->attention.k_bytes;
	const uint32_t reps = 1;
	const void *const args[] = {&k, &bytes, &reps, &s->sink};
	const struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->read), .args = args};
	return dev_launch(c->dev, c->stream, s->read, &launch);
}

int gemm_once(struct bench_case *c, long arg)
{
	const struct dev_gemm gemm =
		bench_gemm_whole(&((const struct attention_runs *)c->state)->gemm);
	return dev_gemm(c->dev, c->stream, &gemm);
}

/* ------------------------------------------------------------------ check */

int fused_poison(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	TRY(c->status, dev_fill(c->dev, c->stream, s->part, 0x7f, s->part_bytes));
	return TRY(c->status, dev_fill(c->dev, c->stream, s->out, 0x7f, s->out_bytes));
}

int chain_poison(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	const struct attention *a = &s->attention;
	TRY(c->status, dev_fill(c->dev, c->stream, s->scores, 0x7f, a->scores_bytes));
	return TRY(c->status, dev_fill(c->dev, c->stream, s->chain_out, 0x7f, a->q_bytes));
}

int fused_check(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	return attention_check(&s->attention, c, s->out, DEV_F32);
}

int chain_check(struct bench_case *c, long arg)
{
	const struct attention_runs *s = c->state;
	return attention_check(&s->attention, c, s->chain_out, s->attention.operands.type);
}

/* ------------------------------------------------------------------ opening */

static struct dev_kernel *find_kernel(struct bench_case *c, const char *prefix, enum dev_type type)
{
	char name[32];
	snprintf(name, sizeof(name), "%s_%s", prefix, dev_type_names[type]);
	return bench_kernel(c, name);
}

/* So many parts that the blocks of one wave have about an item each. */
static uint32_t choose_parts(const struct bench_case *c, const struct attention_runs *s)
{
	const struct attention *a = &s->attention;
	const uint32_t wave = dev_wave_blocks(c->dev, s->attend),
		       tiles = a->heads * ((a->rows - 1) / DEV_ATTENTION_ROWS + 1),
		       most = a->keys / LEAST_PART,
		       parts = wave / tiles < most ? wave / tiles : most;
	return parts ? parts : 1;
}

static int prepare_chain(struct bench_case *c, unsigned chain)
{
	const struct attention_runs *s = c->state;
	const struct dev_gemm scores = scores_of(s, s->attention.kv, 0),
			      values = values_of(s, s->attention.kv, 0);
	bench_queue_entries(c, chain, 2 * s->attention.heads + 1);
	TRY(c->status, dev_gemm_prepare(c->dev, &scores));
	return TRY(c->status, dev_gemm_prepare(c->dev, &values));
}

int attention_runs_open(struct bench_case *c, unsigned chain)
{
	struct attention_runs *s = c->state;
	struct attention *a = &s->attention;
	if (TRY(c->status, attention_size_axes(a, c)) || attention_open(a, c))
		return c->status;
	const enum dev_type type = a->operands.type;
	const struct shape square = bench_gemm_arithmetic_bound(dev_props(c->dev));
	const struct rotation_range keys = {a->kv, 2 * a->k_bytes, false};
	const struct rotation_run run = {&keys, 1};
	s->attend = find_kernel(c, "attention", type);
	s->softmax = find_kernel(c, "softmax", type);
	s->merge = bench_kernel(c, "attention_merge");
	s->read = bench_kernel(c, "read");
	if (c->status)
		return c->status;
	s->parts = choose_parts(c, s);
	s->out_bytes = (uint64_t)a->heads * a->rows * DEPTH * sizeof(float);
	s->part_bytes =
		(uint64_t)a->heads * a->rows * s->parts * DEV_ATTENTION_PART * sizeof(float);
	s->part = bench_alloc(c, DEV_MEM_DEVICE, s->part_bytes);
	s->out = bench_alloc(c, DEV_MEM_DEVICE, s->out_bytes);
	s->scores = bench_alloc(c, DEV_MEM_DEVICE, a->scores_bytes);
	s->chain_out = bench_alloc(c, DEV_MEM_DEVICE, a->q_bytes);
	s->sink = bench_alloc(c, DEV_MEM_DEVICE, DEV_KERNEL_ALIGN);
	TRY(c->status, bench_gemm_open(&s->gemm, c, c->dev, &square, type));
	if (c->status || prepare_chain(c, chain))
		return c->status;
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	TRY(c->status, dev_gemm_prepare(c->dev, &gemm));
	return a->decodes ? TRY(c->status, rotation_open(c, &run, 1, &s->cold)) : c->status;
}
