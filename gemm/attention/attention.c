/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/attention/attention.h"
#include "bench/bench_check.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define DEPTH DEV_ATTENTION_DEPTH
#define KEYS_MULTIPLE 32u
#define MAX_KEYS (UINT64_C(1) << 24)
#define LEAST_CHECKED 8u
/* A mean of values below 1, computed in f32 and rounded to bf16. */
#define LARGEST_MEAN 1.01

const char *const attention_masks[ATTENTION_MASKS + 1] = {
	[ATTENTION_CAUSAL] = "causal", [ATTENTION_UNMASKED] = "none", NULL};

static int parse_phase(const char *word, uint32_t *keys_p, bool *decodes_p)
{
	static const char *const phases[] = {"prefill-", "decode-"};
	uint64_t keys = 0;
	for (int decodes = 0; decodes < 2; decodes++) {
		const size_t length = strlen(phases[decodes]);
		if (strncmp(word, phases[decodes], length) != 0 ||
		    units_parse_size(word + length, &keys) || keys == 0 || keys > MAX_KEYS ||
		    keys % KEYS_MULTIPLE)
			continue;
		*keys_p = (uint32_t)keys;
		*decodes_p = decodes;
		return 0;
	}
	return err_note(-EINVAL,
			"no attention '%s'; values: decode-KEYS and prefill-KEYS, such "
			"as decode-16K, where KEYS is a multiple of %u, at most 16M",
			word, KEYS_MULTIPLE);
}

int attention_accept(const char *word)
{
	uint32_t keys;
	bool decodes;
	return parse_phase(word, &keys, &decodes);
}

int attention_size(struct attention *a, struct dev *dev, enum dev_type type, bool decodes,
		   bool causal, uint64_t heads, uint32_t keys)
{
	const uint64_t rows = ATTENTION_GROUP * (uint64_t)(decodes ? 1 : keys);
	if (heads * rows > UINT32_MAX / 2 || 2 * heads * keys > UINT32_MAX)
		return err_note(-ENOTSUP, "%llu heads of %u keys are too many",
				(unsigned long long)heads, keys);
	*a = (struct attention){
		.decodes = decodes,
		.heads = (uint32_t)heads,
		.rows = (uint32_t)rows,
		.keys = keys,
		.queries = causal && !decodes ? keys : 1,
		.operands = {.dev = dev, .type = type, .element_bytes = dev_type_bytes(type)}};
	a->q_bytes = heads * rows * DEPTH * a->operands.element_bytes;
	a->k_bytes = heads * keys * DEPTH * a->operands.element_bytes;
	a->scores_bytes = heads * rows * keys * a->operands.element_bytes;
	return 0;
}

int attention_size_axes(struct attention *a, const struct bench_case *c)
{
	bool decodes = false;
	uint32_t keys = 0;
	int status = parse_phase(axis_str(c, "phase"), &keys, &decodes);
	return status ? status
		      : attention_size(a, c->dev, (enum dev_type)axis_index(c, "type"), decodes,
				       axis_index(c, "mask") == ATTENTION_CAUSAL,
				       axis_u64(c, "heads") * axis_u64(c, "batch"), keys);
}

uint32_t attention_seen(const struct attention *a, uint64_t row)
{
	const uint32_t query = (uint32_t)(row % a->rows) / (a->rows / a->queries);
	return a->keys - (a->queries - 1 - query);
}

double attention_seen_share(const struct attention *a)
{
	return 1.0 - (a->queries - 1) / (2.0 * a->keys);
}

double attention_flops(const struct attention *a)
{
	return 4.0 * a->heads * a->rows * (double)a->keys * DEPTH * attention_seen_share(a);
}

/* ------------------------------------------------------------------ the answer */

/* A row of an operand, which repeats; `wrapped` holds one that the end of a period cuts. */
static const double *find_row(const struct element_matrix *m, uint64_t row, double *wrapped)
{
	const double *all = m->elements;
	const uint64_t at = row * DEPTH % m->period;
	if (at + DEPTH <= m->period)
		return all + at;
	for (uint32_t i = 0; i < DEPTH; i++)
		wrapped[i] = all[(at + i) % m->period];
	return wrapped;
}

/* exp of a row's scores; the greatest score is subtracted. */
static void weigh_keys(const struct attention *a, uint64_t row, uint64_t first_key, uint32_t keys,
		       double *weights)
{
	double wrapped_q[DEPTH], wrapped_k[DEPTH], greatest = -INFINITY;
	const double *q = find_row(&a->host_q, row, wrapped_q);
	for (uint32_t j = 0; j < keys; j++) {
		const double *k = find_row(&a->host_kv, first_key + j, wrapped_k);
		double sum = 0.0;
		for (uint32_t i = 0; i < DEPTH; i++)
			sum += q[i] * k[i];
		weights[j] = sum / sqrt(DEPTH);
		greatest = fmax(greatest, weights[j]);
	}
	for (uint32_t j = 0; j < keys; j++)
		weights[j] = exp(weights[j] - greatest);
}

/* The answer of a row; returns its R. */
static double answer_row(const struct attention *a, uint64_t row, double *weights, double *answer)
{
	const uint64_t first_key = row / a->rows * a->keys,
		       first_value = (uint64_t)a->heads * a->keys + first_key;
	const uint32_t keys = attention_seen(a, row);
	double wrapped[DEPTH], sum = 0.0, squares = 0.0;
	weigh_keys(a, row, first_key, keys, weights);
	memset(answer, 0, DEPTH * sizeof(*answer));
	for (uint32_t j = 0; j < keys; j++) {
		const double *v = find_row(&a->host_kv, first_value + j, wrapped);
		sum += weights[j];
		squares += weights[j] * weights[j];
		for (uint32_t i = 0; i < DEPTH; i++)
			answer[i] += weights[j] * v[i];
	}
	for (uint32_t i = 0; i < DEPTH; i++)
		answer[i] /= sum;
	return sqrt(squares) / sum;
}

static uint32_t count_checked(const struct attention *a)
{
	const uint64_t rows = (uint64_t)a->heads * a->rows,
		       some = ATTENTION_ANSWERS / (2 * DEPTH * (uint64_t)a->keys);
	const uint64_t most = some > LEAST_CHECKED ? some : LEAST_CHECKED;
	return (uint32_t)(rows < most ? rows : most);
}

static void compute_answers(struct attention *a, struct bench_case *c)
{
	const uint64_t rows = (uint64_t)a->heads * a->rows;
	a->checked_rows = count_checked(a);
	a->checked = bench_alloc_host(c, a->checked_rows * sizeof(*a->checked));
	a->spread = bench_alloc_host(c, a->checked_rows * sizeof(*a->spread));
	a->answers = bench_alloc_host(c, a->checked_rows * DEPTH * sizeof(*a->answers));
	double *weights = bench_alloc_host(c, a->keys * sizeof(*weights));
	for (uint32_t i = 0; c->status == 0 && i < a->checked_rows; i++) {
		a->checked[i] = a->checked_rows == rows ? i : (uint32_t)(rng_u64(&c->rng) % rows);
		a->spread[i] = answer_row(a, a->checked[i], weights, a->answers + i * DEPTH);
	}
}

int attention_open(struct attention *a, struct bench_case *c)
{
	a->q = bench_gemm_operand(&a->operands, c, a->heads * a->rows, DEPTH, &a->host_q);
	a->kv = bench_gemm_operand(&a->operands, c, 2 * a->heads * a->keys, DEPTH, &a->host_kv);
	if (c->status == 0 && bench_checked(c))
		compute_answers(a, c);
	return c->status;
}

/* ------------------------------------------------------------------ the check */

static double relative_limit(uint32_t keys, enum dev_type type)
{
	const double sums = ATTENTION_TOLERANCE * (double)FLT_EPSILON * (1.0 + sqrt(keys) / 16.0);
	return type == DEV_BF16 ? sums + 0x1p-6 : sums;
}

static int compare_row(const struct attention *a, uint32_t i, const double *found,
		       enum dev_type type)
{
	const uint32_t keys = attention_seen(a, a->checked[i]);
	const double *want = a->answers + i * DEPTH,
		     limit = relative_limit(keys, type) * a->spread[i];
	for (uint32_t j = 0; j < DEPTH; j++)
		if (!(fabs(found[j] - want[j]) <= limit))
			return bench_wrong("row %u column %u is %.9g, not %.9g: %.3g times the "
					   "rounding error bound",
					   a->checked[i], j, found[j], want[j],
					   fabs(found[j] - want[j]) / limit);
	return 0;
}

static int compare_rows(const struct attention *a, const void *found, enum dev_type type)
{
	double row[DEPTH];
	for (uint64_t i = 0; i < (uint64_t)a->heads * a->rows; i++) {
		element_load_array(type, found, i * DEPTH, DEPTH, row);
		for (uint32_t j = 0; j < DEPTH; j++)
			if (!(fabs(row[j]) <= LARGEST_MEAN))
				return bench_wrong("row %llu column %u is %g, no mean of values "
						   "below 1",
						   (unsigned long long)i, j, row[j]);
	}
	for (uint32_t i = 0; i < a->checked_rows; i++) {
		element_load_array(type, found, (uint64_t)a->checked[i] * DEPTH, DEPTH, row);
		int status = compare_row(a, i, row, type);
		if (status)
			return status;
	}
	return 0;
}

int attention_check(const struct attention *a, struct bench_case *c, const void *result,
		    enum dev_type type)
{
	const uint64_t bytes = (uint64_t)a->heads * a->rows * DEPTH * dev_type_bytes(type);
	struct bench_reader reader = {.dev = c->dev};
	const void *found = NULL;
	if (bench_known_right(c, c->dev, result, bytes))
		return 0;
	int status = bench_read(c, &reader, result, bytes, &found);
	if (status == 0)
		status = compare_rows(a, found, type);
	bench_read_end(&reader);
	if (status == 0)
		bench_note_right(c, c->dev, result, bytes);
	return status;
}
