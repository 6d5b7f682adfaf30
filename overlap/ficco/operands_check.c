/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/bench_element.h"
#include "lib/err.h"
#include "overlap/ficco/operands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T_VALUES = 4 }; /* t holds +-1 .. +-T_VALUES */

static double decode_result(enum dev_type type, const void *at, uint64_t i)
{
	return element_load(dev_types[type].result, at, i);
}

/* Relative error of rounding to a narrow C; 0: C holds the sums exactly. */
static double rounding_error(enum dev_type type)
{
	const struct dev_type_traits *c = &dev_types[dev_types[type].result];
	return c->bytes == 2 ? ldexp(1.0, -c->mantissa_bits - 1) : 0.0;
}

struct checker {
	const struct operands *o;
	const struct ficco_plan *p;
	double *t, *bt[OPERANDS_MAX_RANKS];
	void *c;
};

/* Computes B t, for B stored as k x n or, transposed, as n x k. */
static void multiply_by_t(const struct operands *o, const int8_t *b, const double *t, double *bt)
{
	uint32_t n = o->plan->problem.n, k = o->plan->problem.k;
	bool transposed = dev_types[o->type].multiple > 1;
	for (uint32_t i = 0; i < k; i++)
		bt[i] = 0.0;
	for (uint32_t row = 0; row < (transposed ? n : k); row++)
		for (uint32_t column = 0; column < (transposed ? k : n); column++)
			bt[transposed ? column : row] +=
				b[(uint64_t)row * (transposed ? k : n) + column] *
				t[transposed ? row : column];
}

static double dot_with_t(const int8_t *a, const double *x, uint32_t count)
{
	double sum = 0.0;
	for (uint32_t i = 0; i < count; i++)
		sum += a[i] * x[i];
	return sum;
}

/* Compares a row of C, times t, with the expected value. Where parts of K are added into a narrow
 * C, each addition rounds: random sums of -3..3 x -3..3 reach about 4 sqrt(K), and hardly ever 8
 * times that. */
static int compare_row(const struct checker *x, const void *c, uint64_t row, double expected,
		       const char *where, uint32_t device)
{
	uint32_t n = x->p->problem.n, k_steps = x->p->k_steps;
	double sum = 0.0, rounds = 0.0, walk = 32.0 * sqrt(x->p->problem.k);
	for (uint32_t i = 0; i < n; i++) {
		double value = decode_result(x->o->type, c, row * n + i);
		sum += value * x->t[i];
		rounds += fabs(x->t[i]) * (fabs(value) + (k_steps - 1) * walk);
	}
	/* The comparison is false for NaN. */
	if (fabs(sum - expected) <= rounding_error(x->o->type) * rounds)
		return 0;
	return bench_wrong("row %llu of %s %u gives %.17g, expected %.17g", (unsigned long long)row,
			   where, device, sum, expected);
}

/* The row of the device's A that gives this row of C. */
static const int8_t *row_of_a(const struct checker *x, const struct ficco_chunk *chunk,
			      uint32_t row)
{
	const struct ficco_plan *p = x->p;
	if (p->problem.op == FICCO_GEMM_RS)
		return x->o->rank[chunk->device].host_a +
		       (uint64_t)(chunk->at + row) * p->problem.k;
	return x->o->rank[chunk->group].host_a +
	       ficco_plan_send_offset(p, chunk->group, chunk->device) +
	       (uint64_t)(chunk->first + row) * p->problem.k;
}

/* A row of the sum: the partial sums of all devices, each of which stores this part at a row of its
 * own, and of all peers in host memory. */
static double sum_of_partials(const struct checker *x, const struct ficco_chunk *own, uint32_t row)
{
	const struct ficco_plan *p = x->p;
	uint32_t n = p->problem.n;
	double sum = 0.0;
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		if (chunk->group == own->group && chunk->first == own->first &&
		    chunk->device < x->o->devices)
			sum += dot_with_t(row_of_a(x, chunk, row), x->bt[chunk->device],
					  p->problem.k);
	}
	for (uint32_t i = x->o->devices; i < x->o->ranks; i++)
		sum += dot_with_t(x->o->rank[i].host_a + (uint64_t)(own->first + row) * n, x->t, n);
	return sum;
}

/* Checks a chunk of C on a device, and the copy of it that a peer in host memory received. */
static int check_chunk(const struct checker *x, const struct ficco_chunk *chunk)
{
	const struct operands *o = x->o;
	bool scattered = operands_reduce_scatter(o) && chunk->group != chunk->device,
	     sums = operands_reduce_scatter(o) && !scattered;
	int status = 0;
	for (uint32_t row = 0; status == 0 && row < chunk->rows; row++) {
		double expected = sums ? sum_of_partials(x, chunk, row)
				       : dot_with_t(row_of_a(x, chunk, row), x->bt[chunk->device],
						    x->p->problem.k);
		status = compare_row(x, x->c, chunk->at + row, expected, "C on device",
				     chunk->device);
		if (status == 0 && scattered && chunk->group >= o->devices)
			status = compare_row(x, o->rank[chunk->group].received, chunk->first + row,
					     expected, "what arrived at peer", chunk->group);
	}
	return status;
}

static int check_device(struct checker *x, uint32_t device)
{
	const struct ficco_rank *m = &x->o->rank[device];
	const struct ficco_plan *p = x->p;
	uint64_t bytes = (uint64_t)p->all_rows[device] * p->problem.n * x->o->result_bytes;
	x->c = malloc(bytes + 1); /* a device may have no rows */
	int status = x->c ? dev_download(m->dev, x->c, m->c, bytes)
			  : err_note(-ENOMEM, "check of C: out of memory");
	for (size_t i = 0; status == 0 && i < p->chunk_count; i++)
		if (p->chunks[i].device == device)
			status = check_chunk(x, &p->chunks[i]);
	free(x->c);
	return status;
}

/* Checks that a peer in host memory received what the device had for it, in the plan's layout. */
static int check_received(const struct operands *o, const struct ficco_plan *p, uint32_t peer)
{
	const struct ficco_rank *m = &o->rank[0];
	uint64_t bytes = operands_received_bytes(o, peer),
		 at = ficco_plan_send_offset(p, 0, peer) * o->element_bytes;
	void *sent = malloc(bytes + 1);
	int status =
		sent ? dev_download(m->dev, sent, (p->k_steps > 1 ? m->slabs : m->send) + at, bytes)
		     : err_note(-ENOMEM, "check of peer %u: out of memory", peer);
	if (status == 0 && memcmp(sent, o->rank[peer].received, bytes) != 0)
		status = bench_wrong("peer %u did not receive what the device sent", peer);
	free(sent);
	return status;
}

int operands_check(const struct operands *o, struct bench_case *c, const struct ficco_plan *plan)
{
	uint32_t n = plan->problem.n, k = plan->problem.k;
	struct checker x = {.o = o,
			    .p = plan,
			    .t = calloc((uint64_t)n + (uint64_t)o->devices * k, sizeof(double))};
	int status = x.t ? 0 : err_note(-ENOMEM, "check of C: out of memory");
	for (uint32_t i = 0; status == 0 && i < n; i++)
		x.t[i] = (rng_below(&c->rng, 2) ? 1.0 : -1.0) *
			 (1.0 + (double)rng_below(&c->rng, T_VALUES));
	for (uint32_t d = 0; status == 0 && d < o->devices; d++) {
		x.bt[d] = x.t + n + (uint64_t)d * k;
		multiply_by_t(o, o->rank[d].host_b, x.t, x.bt[d]);
	}
	for (uint32_t d = 0; status == 0 && d < o->devices; d++)
		status = check_device(&x, d);
	for (uint32_t i = o->devices; status == 0 && !operands_reduce_scatter(o) && i < o->ranks;
	     i++)
		status = check_received(o, plan, i);
	free(x.t);
	return status;
}
