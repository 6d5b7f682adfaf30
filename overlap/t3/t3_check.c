/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/t3/t3_check.h"
#include "bench/bench_element.h"

#include <float.h>
#include <math.h>

#define SAMPLES 256u
#define POISON 0x3c

int t3_poison(struct bench_case *c, struct t3_run *r)
{
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < r->ring.count; i++) {
		const struct t3_device *d = &r->ring.device[i];
		status = dev_fill(c->dev, c->stream, d->gathered, POISON, d->gemm.c_bytes);
		if (status == 0)
			status = dev_fill(c->dev, c->stream, d->sum, POISON,
					  t3_chunk_bytes(&r->ring, i));
		if (status == 0)
			status = dev_fill(c->dev, c->stream, d->gemm.c, POISON, d->gemm.c_bytes);
	}
	r->runs_since_poison = 0;
	return status;
}

/* ------------------------------------------------------------------ elements */

struct place {
	uint32_t row, column, chunk;
};

static struct place draw_place(struct bench_case *c, const struct t3_ring *r)
{
	struct place p = {.row = (uint32_t)rng_below(&c->rng, r->shape.m),
			  .column = (uint32_t)rng_below(&c->rng, r->shape.n)};
	while (t3_chunk_row(r, p.chunk + 1) <= p.row)
		p.chunk++;
	return p;
}

/* `at`: a matrix of the shape of C, or, as if it were one, memory of a chunk of it. */
static int read_element(const struct t3_ring *r, const struct t3_device *d, const char *at,
			const struct place *p, double *value_p)
{
	const enum dev_type type = dev_types[r->type].result;
	const uint64_t each = dev_type_bytes(type);
	_Alignas(double) char bytes[sizeof(double)];
	int status =
		dev_download(d->dev, bytes, at + p->row * r->row_bytes + p->column * each, each);
	if (status == 0)
		*value_p = element_load(type, bytes, 0);
	return status;
}

/* Where device i has this element of the complete sums. */
static const char *sums_of(const struct t3_ring *r, uint32_t i, const struct place *p, bool in_c)
{
	const struct t3_device *d = &r->device[i];
	if (i != p->chunk)
		return d->gathered;
	return in_c ? d->gemm.c : d->sum - t3_chunk_row(r, i) * r->row_bytes;
}

/* ------------------------------------------------------------------ what is expected */

static double compute_element(const struct bench_gemm *g, const struct place *p)
{
	double sum = 0.0;
	for (uint64_t k = 0; k < g->shape.k; k++) {
		const uint64_t at = g->b_transposed ? (uint64_t)p->column * g->shape.k + k
						    : k * g->shape.n + p->column;
		sum += element_load(g->type, g->host_a, (uint64_t)p->row * g->shape.k + k) *
		       element_load(g->type, g->host_b, at);
	}
	return sum;
}

/* Rounding of the GEMMs and of their sums; a missing device is off by a third of sqrt(k). */
static double tolerance_of(const struct t3_ring *r)
{
	const int mantissa = dev_types[dev_types[r->type].result].mantissa_bits;
	return GEMM_TOLERANCE * ldexp(1.0, -mantissa) * sqrt((double)r->shape.k * r->count);
}

static int check_gemm_sums(struct bench_case *c, const struct t3_ring *r, bool in_c)
{
	const double tolerance = tolerance_of(r);
	int status = 0;
	for (uint32_t n = 0; status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const uint32_t at = (uint32_t)rng_below(&c->rng, r->count);
		double found = NAN, expected = 0.0;
		for (uint32_t i = 0; i < r->count; i++)
			expected += compute_element(&r->device[i].gemm, &p);
		status = read_element(r, &r->device[at], sums_of(r, at, &p, in_c), &p, &found);
		if (status == 0 && !(fabs(found - expected) <= tolerance))
			return bench_wrong("device %u, row %u, column %u: the sum is %g, not %g",
					   at, p.row, p.column, found, expected);
	}
	return status;
}

/* The sums of what C holds, each rounded as kernels do, from the device before the owner on. */
static int check_sums(struct bench_case *c, const struct t3_ring *r, bool gathered)
{
	int status = 0;
	for (uint32_t n = 0; status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const uint32_t at = gathered ? (uint32_t)rng_below(&c->rng, r->count) : p.chunk;
		double found = NAN, own = NAN;
		float sum = 0.0f;
		for (uint32_t k = 1; status == 0 && k <= r->count; k++) {
			const struct t3_device *d = &r->device[(p.chunk + r->count - k) % r->count];
			status = read_element(r, d, d->gemm.c, &p, &own);
			sum += (float)own;
		}
		if (status == 0)
			status = read_element(r, &r->device[at], sums_of(r, at, &p, false), &p,
					      &found);
		if (status == 0 && !(found >= (double)sum && found <= (double)sum))
			return bench_wrong(
				"device %u, row %u, column %u: the sum is %.9g, not %.9g", at,
				p.row, p.column, found, (double)sum);
	}
	return status;
}

/* Every device's C was the same poison: the sum is `count` times that, but for rounding. */
static int check_added(struct bench_case *c, const struct t3_ring *r)
{
	const enum dev_type type = dev_types[r->type].result;
	_Alignas(double) const char bytes[] = {POISON, POISON, POISON, POISON,
					       POISON, POISON, POISON, POISON};
	const double expected = r->count * element_load(type, bytes, 0);
	int status = 0;
	for (uint32_t n = 0; status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const struct t3_device *owner = &r->device[p.chunk];
		double found = NAN;
		status = read_element(r, owner, owner->gemm.c, &p, &found);
		if (status == 0 && !(fabs(found / expected - 1) <= 0.25 / r->count))
			return bench_wrong("device %u, row %u, column %u: the sum is %g, not %g",
					   p.chunk, p.row, p.column, found, expected);
	}
	return status;
}

static int check_gathered(struct bench_case *c, const struct t3_ring *r)
{
	int status = 0;
	for (uint32_t n = 0; status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const uint32_t at = (uint32_t)rng_below(&c->rng, r->count);
		double found = NAN, sent = NAN;
		status = read_element(r, &r->device[at], sums_of(r, at, &p, false), &p, &found);
		if (status == 0)
			status = read_element(r, &r->device[p.chunk],
					      sums_of(r, p.chunk, &p, false), &p, &sent);
		if (status == 0 && !(found >= sent && found <= sent))
			return bench_wrong("device %u, row %u, column %u: %g arrived, not %g", at,
					   p.row, p.column, found, sent);
	}
	return status;
}

static int check_gemms(struct bench_case *c, const struct t3_ring *r)
{
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < r->count; i++)
		status = bench_gemm_check(&r->device[i].gemm, c, 1);
	return status;
}

int t3_check(struct bench_case *c, const struct t3_run *r, unsigned variant)
{
	const struct t3_ring *ring = &r->ring;
	const bool kernels_add = ring->type == DEV_F32;
	switch (t3_work_of(variant)) {
	case T3_GEMM:
		return check_gemms(c, ring);
	case T3_REDUCE_SCATTER:
		return kernels_add ? check_sums(c, ring, false) : 0;
	case T3_REDUCE_SCATTER_ADDING:
		return r->runs_since_poison == 1 ? check_added(c, ring) : 0;
	case T3_ALL_REDUCE:
		return kernels_add ? check_sums(c, ring, true) : 0;
	case T3_SEQUENTIAL:
		return kernels_add ? check_gemm_sums(c, ring, false) : 0;
	case T3_FUSED:
	case T3_UNSTAGGERED:
		return check_gemm_sums(c, ring, true);
	case T3_ALL_GATHER:
		return check_gathered(c, ring);
	case T3_WORKS:
		break;
	}
	return 0;
}
