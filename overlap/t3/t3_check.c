/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_element.h"
#include "lib/err.h"
#include "overlap/t3/t3_run.h"

#include <math.h>

#define SAMPLES 256u
#define POISON 0x3c

int t3_poison(struct bench_case *c, long variant)
{
	struct t3_run *r = c->state;
	for (uint32_t i = 0; i < r->ring.count; i++) {
		const struct t3_device *d = &r->ring.device[i];
		const uint64_t chunk_bytes = t3_chunk_bytes(&r->ring, i);
		TRY(c->status, dev_fill(c->dev, c->stream, d->gathered, POISON, d->gemm.c_bytes));
		TRY(c->status, dev_fill(c->dev, c->stream, d->sum, POISON, chunk_bytes));
		TRY(c->status, dev_fill(c->dev, c->stream, d->gemm.c, POISON, d->gemm.c_bytes));
	}
	r->runs_since_poison = 0;
	return c->status;
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
static double read_element(struct bench_case *c, const struct t3_ring *r, uint32_t i,
			   const char *at, const struct place *p)
{
	const enum dev_type type = dev_types[r->type].result;
	const uint64_t each = dev_type_bytes(type);
	_Alignas(double) char bytes[sizeof(double)];
	at += p->row * r->row_bytes + p->column * each;
	return TRY(c->status, dev_download(r->device[i].dev, bytes, at, each))
		       ? NAN
		       : element_load(type, bytes, 0);
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

static double expect_gemms(struct bench_case *c, const struct t3_ring *r, const struct place *p)
{
	double sum = 0.0;
	for (uint32_t i = 0; i < r->count; i++)
		sum += compute_element(&r->device[i].gemm, p);
	return sum;
}

/* Expected value of C: each sum rounded as kernels do, from the device before the owner on. */
static double expect_c(struct bench_case *c, const struct t3_ring *r, const struct place *p)
{
	float sum = 0.0f;
	for (uint32_t k = 1; k <= r->count; k++) {
		const uint32_t i = (p->chunk + r->count - k) % r->count;
		sum += (float)read_element(c, r, i, r->device[i].gemm.c, p);
	}
	return (double)sum;
}

static double expect_what_was_sent(struct bench_case *c, const struct t3_ring *r,
				   const struct place *p)
{
	return read_element(c, r, p->chunk, sums_of(r, p->chunk, p, false), p);
}

static double poison_value(const struct t3_ring *r)
{
	_Alignas(double) const char bytes[] = {POISON, POISON, POISON, POISON,
					       POISON, POISON, POISON, POISON};
	return element_load(dev_types[r->type].result, bytes, 0);
}

/* Every device's C was poison. */
static double expect_poison(struct bench_case *c, const struct t3_ring *r, const struct place *p)
{
	return r->count * poison_value(r);
}

/* ------------------------------------------------------------------ checks */

/* Elements of the complete sums at random places. */
struct sampling {
	double (*expect)(struct bench_case *c, const struct t3_ring *r, const struct place *p);
	double tolerance;
	bool by_kernels; /* which add f32 alone */
	bool in_c;       /* the owner has its own chunk in C */
	bool of_owner;   /* else of any device */
};

static int check_samples(struct bench_case *c, struct sampling s)
{
	const struct t3_ring *r = &((struct t3_run *)c->state)->ring;
	if (s.by_kernels && r->type != DEV_F32)
		return 0;
	for (uint32_t n = 0; c->status == 0 && n < SAMPLES; n++) {
		const struct place p = draw_place(c, r);
		const uint32_t at = s.of_owner ? p.chunk : (uint32_t)rng_below(&c->rng, r->count);
		const double expected = s.expect(c, r, &p),
			     found = read_element(c, r, at, sums_of(r, at, &p, s.in_c), &p);
		if (c->status == 0 && !(fabs(found - expected) <= s.tolerance))
			return bench_wrong("device %u, row %u, column %u: %.9g, not %.9g", at,
					   p.row, p.column, found, expected);
	}
	return c->status;
}

static int check_gemms(struct bench_case *c, long variant)
{
	const struct t3_ring *r = &((struct t3_run *)c->state)->ring;
	for (uint32_t i = 0; i < r->count; i++)
		TRY(c->status, bench_gemm_check(&r->device[i].gemm, c, 1));
	return c->status;
}

static int check_scattered(struct bench_case *c, long variant)
{
	return check_samples(c, (struct sampling){expect_c, .by_kernels = true, .of_owner = true});
}

static int check_reduced(struct bench_case *c, long variant)
{
	return check_samples(c, (struct sampling){expect_c, .by_kernels = true});
}

static int check_gathered(struct bench_case *c, long variant)
{
	return check_samples(c, (struct sampling){expect_what_was_sent});
}

static int check_sums(struct bench_case *c, long variant)
{
	const struct t3_run *r = c->state;
	return check_samples(
		c, (struct sampling){expect_gemms, tolerance_of(&r->ring), .by_kernels = true});
}

static int check_fused(struct bench_case *c, long variant)
{
	const struct t3_run *r = c->state;
	return check_samples(c,
			     (struct sampling){expect_gemms, tolerance_of(&r->ring), .in_c = true});
}

/* The sum is that of so many poisons, but for rounding. */
static int check_added(struct bench_case *c, long variant)
{
	const struct t3_run *r = c->state;
	const struct sampling poisons = {expect_poison, 0.25 * poison_value(&r->ring), .in_c = true,
					 .of_owner = true};
	return r->runs_since_poison == 1 ? check_samples(c, poisons) : 0;
}

#define ROW(id, label, what, ...) {label, BENCH_SELF, .arg = id, .check = check_##what},
const struct bench_variant t3_variants[] = {T3_VARIANTS(ROW){0}};
