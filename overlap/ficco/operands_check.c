/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_check.h"
#include "bench/bench_element.h"
#include "lib/err.h"
#include "overlap/ficco/operands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T_VALUES = 4 }; /* t holds +-1 .. +-T_VALUES */
enum { VALUES = 512 }; /* of a row of C, decoded at once */

/* ------------------------------------------------------------------ what C must be */

/* A (B t) of a device; of a peer in host memory its partial sums times t. */
static void expect_rank(const struct operands *o, uint32_t i, double *bt)
{
	const struct ficco_plan *p = o->plan;
	const struct ficco_rank *m = &o->rank[i];
	uint32_t n = p->problem.n, k = p->problem.k;
	const bool transposed = o->b_transposed;
	struct element_matrix b = {o->type, m->host_b, transposed ? n : k, transposed ? k : n, 0},
			      a = {o->type, m->host_source[0], p->all_rows[i], k, 0},
			      partials = {dev_types[o->type].result, m->host_source[0],
					  p->rows[0][0], n, 0};
	memset(bt, 0, k * sizeof(double));
	if (m->dev)
		element_gemv(&b, transposed, o->t, bt);
	if (o->sums)
		element_gemv(m->dev ? &a : &partials, false, m->dev ? bt : o->t, m->expected);
	for (uint32_t group = 0; m->dev && !o->sums && group < o->ranks; group++) {
		a.rows = p->rows[i][group];
		a.elements = o->rank[group].host_source[0] +
			     ficco_plan_send_offset(p, group, i) * o->element_bytes;
		element_gemv(&a, false, bt, m->expected + (uint64_t)group * p->problem.m);
	}
}

int operands_expect(struct operands *o, struct bench_case *c)
{
	const struct ficco_problem *p = &o->plan->problem;
	uint64_t rows = (uint64_t)p->m * (o->sums ? 1 : o->ranks),
		 bytes = (p->n + p->k + rows * o->ranks) * sizeof(double);
	double *t = bench_alloc_host(c, bytes);
	if (!t)
		return c->status;
	memset(t, 0, bytes);
	for (uint32_t i = 0; i < p->n; i++)
		t[i] = (rng_below(&c->rng, 2) ? 1.0 : -1.0) *
		       (1.0 + (double)rng_below(&c->rng, T_VALUES));
	o->t = t;
	for (uint32_t i = 0; i < o->ranks; i++) {
		o->rank[i].expected = t + p->n + p->k + rows * i;
		expect_rank(o, i, t + p->n);
	}
	return 0;
}

/* A chunk that is checked, and where the other devices have its partial sums: of the chunks with
 * sums, in their own group alone where none return. */
struct checked_chunk {
	const struct ficco_chunk *chunk, *partial[OPERANDS_MAX_RANKS];
	uint32_t partials;
};

static bool is_sum(const struct operands *o, const struct ficco_chunk *chunk)
{
	return o->sums && (o->returns || chunk->group == chunk->device);
}

static struct checked_chunk find_partials(const struct operands *o, const struct ficco_plan *p,
					  const struct ficco_chunk *chunk)
{
	struct checked_chunk found = {.chunk = chunk};
	for (uint32_t i = 0; is_sum(o, chunk) && i < p->chunk_count; i++) {
		const struct ficco_chunk *other = &p->chunks[i];
		if (other->group == chunk->group && other->first == chunk->first &&
		    other->device != chunk->device && other->device < o->devices)
			found.partial[found.partials++] = other;
	}
	return found;
}

/* A row of the sum consists of the partial sums of all devices, each of which stores this part at
 * rows of its own, and of all peers in host memory. */
static double expected_row(const struct operands *o, const struct ficco_plan *p,
			   const struct checked_chunk *checked, uint32_t row)
{
	const struct ficco_chunk *chunk = checked->chunk;
	const double *own = o->rank[chunk->device].expected;
	if (!o->sums)
		return own[(uint64_t)chunk->group * p->problem.m + chunk->first + row];
	double sum = own[chunk->at + row];
	if (!is_sum(o, chunk))
		return sum;
	for (uint32_t i = 0; i < checked->partials; i++) {
		const struct ficco_chunk *other = checked->partial[i];
		sum += o->rank[other->device].expected[other->at + row];
	}
	for (uint32_t i = o->devices; i < o->ranks; i++)
		sum += o->rank[i].expected[chunk->first + row];
	return sum;
}

/* ------------------------------------------------------------------ what C is */

/* The sum of the squares of all that is rounded before an element of a narrow C. A sum of k
 * products of two of -3..3 has a mean square of 16 k. Where parts of K are added, those are the
 * sums so far; with partial sums, each of them and every sum of 2 to G - 1. */
static double rounded_squares(const struct operands *o, const struct ficco_plan *p,
			      const struct ficco_chunk *chunk)
{
	const double sums = is_sum(o, chunk) ? (o->ranks - 1) * (o->ranks + 2) : p->k_steps - 1;
	return 16.0 * p->problem.k * sums / 2.0;
}

/* Compares a row of a chunk of C, times t, with the expected value. Rounding takes an error e_i
 * from element i of a narrow C, and the sum of t_i e_i from the row. The signs of t are independent
 * of the errors, so however these depend on each other, once in 10^13 rows that sum exceeds 8 times
 * the root of the sum of (t_i e_i)^2 (Hoeffding's inequality). Errors of one element are taken as
 * uncorrelated, each as large as can be, which leaves room for a unit that truncates. */
static int check_row(const struct operands *o, const struct ficco_plan *p,
		     const struct checked_chunk *checked, uint32_t row, const char *c)
{
	const struct ficco_chunk *chunk = checked->chunk;
	enum dev_type type = dev_types[o->type].result;
	uint64_t at = (uint64_t)(chunk->at + row) * p->problem.n;
	double sum = 0.0, squares = 0.0, before = rounded_squares(o, p, chunk),
	       expected = expected_row(o, p, checked, row), values[VALUES];
	for (uint32_t first = 0, some; first < p->problem.n; first += some) {
		some = p->problem.n - first < VALUES ? p->problem.n - first : VALUES;
		element_load_array(type, c, at + first, some, values);
		for (uint32_t i = 0; i < some; i++) {
			double times = o->t[first + i];
			sum += values[i] * times;
			squares += times * times * (values[i] * values[i] + before);
		}
	}
	/* A wider C holds the sums exactly. */
	bool narrow = dev_types[type].bytes == 2;
	double limit =
		narrow ? ldexp(8.0 * sqrt(squares), -dev_types[type].mantissa_bits - 1) : 0.0;
	if (isfinite(sum) && fabs(sum - expected) <= limit)
		return 0;
	return bench_wrong("row %u of C on device %u gives %.17g, expected %.17g", chunk->at + row,
			   chunk->device, sum, expected);
}

static int check_received(uint32_t peer, const char *received, const char *sent, uint64_t bytes)
{
	if (memcmp(received, sent, bytes) == 0)
		return 0;
	return bench_wrong("peer %u did not receive what the device sent", peer);
}

/* Checks a chunk of C on a device, and the copy of it that a peer in host memory received. */
static int check_chunk(const struct operands *o, const struct ficco_plan *p,
		       const struct ficco_chunk *chunk, const char *c)
{
	uint64_t row_bytes = p->problem.n * o->result_bytes;
	const char *received = o->rank[chunk->group].received;
	const struct checked_chunk checked = find_partials(o, p, chunk);
	int status = 0;
	for (uint32_t row = 0; row < chunk->rows; row++)
		TRY(status, check_row(o, p, &checked, row, c));
	if (o->sums && chunk->group >= o->devices)
		TRY(status, check_received(chunk->group, received + chunk->first * row_bytes,
					   c + chunk->at * row_bytes, chunk->rows * row_bytes));
	return status;
}

static int check_device(const struct operands *o, struct bench_case *bc, const struct ficco_plan *p,
			uint32_t device)
{
	const struct ficco_rank *rank = &o->rank[device];
	uint64_t bytes = (uint64_t)p->all_rows[device] * p->problem.n * o->result_bytes;
	/* Peers in host memory receive parts of C, which are compared with it. */
	bool is_all = !o->sums || o->devices == o->ranks;
	if (is_all && bench_known_right(bc, rank->dev, rank->c, bytes))
		return 0;
	struct bench_reader reader = {.dev = rank->dev};
	const void *c;
	int status = bench_read(bc, &reader, rank->c, bytes, &c);
	for (uint32_t i = 0; i < p->chunk_count; i++)
		if (p->chunks[i].device == device)
			TRY(status, check_chunk(o, p, &p->chunks[i], c));
	bench_read_end(&reader);
	if (status == 0 && is_all)
		bench_note_right(bc, rank->dev, rank->c, bytes);
	return status;
}

int operands_check(const struct operands *o, struct bench_case *c, const struct ficco_plan *p)
{
	uint64_t row_bytes = p->problem.k * o->element_bytes;
	/* The data that the device had for its peers, in the plan's layout. */
	const char *sent = o->rank[0].host_source[p->k_steps > 1];
	for (uint32_t d = 0; d < o->devices; d++)
		TRY(c->status, check_device(o, c, p, d));
	for (uint32_t i = o->devices; !o->sums && i < o->ranks; i++) {
		const uint64_t at = ficco_plan_send_offset(p, 0, i) * o->element_bytes;
		TRY(c->status,
		    check_received(i, o->rank[i].received, sent + at, p->rows[i][0] * row_bytes));
	}
	return c->status;
}
