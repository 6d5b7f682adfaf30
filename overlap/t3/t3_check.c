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

/* Address of the complete sums of device i that include this element. */
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
	for (uint32_t k = 0; k < g->shape.k; k++)
		sum += element_at(&g->host_a, p->row, k) *
		       (g->b_transposed ? element_at(&g->host_b, p->column, k)
					: element_at(&g->host_b, k, p->column));
	return sum;
}

/* Rounding of the GEMMs and of their sums; a missing device is off by a third of sqrt(k). */
static double tolerance_of(const struct t3_ring *r)
{
	const int mantissa = dev_types[dev_types[r->type].result].mantissa_bits;
	return GEMM_TOLERANCE * ldexp(1.0, -mantissa) * sqrt((double)r->shape.k * r->count);
}

/* Elements of the complete sums at random places. */
struct sampling {
	int (*expect)(const struct t3_ring *r, const struct place *p, double *value_p);
	double tolerance;
	bool in_c;     /* the owner has its own chunk in C */
	bool of_owner; /* else of any device */
};

static int expect_gemms(const struct t3_ring *r, const struct place *p, double *value_p)
{
	double sum = 0.0;
	for (uint32_t i = 0; i < r->count; i++)
		sum += compute_element(&r->device[i].gemm, p);
	*value_p = sum;
	return 0;
}

/* Expected value of C: each sum rounded as kernels do, from the device before the owner on. */
static int expect_c(const struct t3_ring *r, const struct place *p, double *value_p)
{
	double own = NAN;
	float sum = 0.0f;
	int status = 0;
	for (uint32_t k = 1; status == 0 && k <= r->count; k++) {
		const struct t3_device *d = &r->device[(p->chunk + r->count - k) % r->count];
		status = read_element(r, d, d->gemm.c, p, &own);
		sum += (float)own;
	}
	*value_p = (double)sum;
	return status;
}

static int expect_what_was_sent(const struct t3_ring *r, const struct place *p, double *value_p)
{
	return read_element(r, &r->device[p->chunk], sums_of(r, p->chunk, p, false), p, value_p);
}

/* Every device's C was poison. */
static int expect_poison(const struct t3_ring *r, const struct place *p, double *value_p)
{
	_Alignas(double) const char bytes[] = {POISON, POISON, POISON, POISON,
					       POISON, POISON, POISON, POISON};
	(void)p;
	*value_p = r->count * element_load(dev_types[r->type].result, bytes, 0);
	return 0;
}

static int check_samples(struct bench_case *c, const struct t3_ring *r, const struct sampling *s)
{
	int status = 0;
	for (uint32_t n = 0; status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const uint32_t at = s->of_owner ? p.chunk : (uint32_t)rng_below(&c->rng, r->count);
		double found = NAN, expected = NAN;
		status = s->expect(r, &p, &expected);
		if (status == 0)
			status = read_element(r, &r->device[at], sums_of(r, at, &p, s->in_c), &p,
					      &found);
		if (status == 0 && !(fabs(found - expected) <= s->tolerance))
			return bench_wrong("device %u, row %u, column %u: %.9g, not %.9g", at,
					   p.row, p.column, found, expected);
	}
	return status;
}

/* The sum is `count` times the poison, but for rounding. */
static int check_added(struct bench_case *c, const struct t3_ring *r)
{
	struct sampling s = {.expect = expect_poison, .in_c = true, .of_owner = true};
	expect_poison(r, NULL, &s.tolerance);
	s.tolerance *= 0.25 / r->count;
	return check_samples(c, r, &s);
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
	const struct sampling scattered = {.expect = expect_c, .of_owner = true},
			      reduced = {.expect = expect_c},
			      sent = {.expect = expect_what_was_sent},
			      by_kernels = {.expect = expect_gemms,
					    .tolerance = tolerance_of(ring)},
			      fused = {.expect = expect_gemms,
				       .tolerance = tolerance_of(ring),
				       .in_c = true};
	switch (t3_work_of(variant)) {
	case T3_GEMM:
		return check_gemms(c, ring);
	case T3_REDUCE_SCATTER:
		return kernels_add ? check_samples(c, ring, &scattered) : 0;
	case T3_REDUCE_SCATTER_ADDING:
		return r->runs_since_poison == 1 ? check_added(c, ring) : 0;
	case T3_ALL_REDUCE:
		return kernels_add ? check_samples(c, ring, &reduced) : 0;
	case T3_SEQUENTIAL:
		return kernels_add ? check_samples(c, ring, &by_kernels) : 0;
	case T3_FUSED:
	case T3_UNSTAGGERED:
		return check_samples(c, ring, &fused);
	case T3_ALL_GATHER:
		return check_samples(c, ring, &sent);
	case T3_WORKS:
		break;
	}
	return 0;
}
