/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"

#include <math.h>

#define BIT(variant) (UINT64_C(1) << (variant))

/* The variant whose rounds do this. */
static unsigned find_variant(const struct bench_case *c, long what)
{
	unsigned v = 0;
	while (bench_row(c, v)->arg != what)
		v++;
	return v;
}

/* The parts alone, variants: of plain GEMMs, and of an exchange. */
struct alone {
	unsigned iterations, gemm, comm;
};

static double ratio_pipelined(const struct bench_round *r)
{
	const struct alone *a = r->arg;
	return shaping_ratio_pipelined(a->iterations, r->seconds[a->gemm], r->seconds[a->comm]);
}

static double rate_pipelined(const struct bench_round *r)
{
	const struct alone *a = r->arg;
	return shaping_rate_pipelined(a->iterations, r->seconds[a->gemm], r->seconds[a->comm]);
}

/* ------------------------------------------------------------------ facts */

static const char *describe_exchange(const struct pipeline *p)
{
	if (p->devices == 1)
		return "stand-in: kernels within the memory of one device, no link";
	return p->comm.all_to_all ? "all-to-all on all devices: direct exchange by kernels"
				  : "allreduce on all devices: direct reduce-scatter and "
				    "all-gather by kernels";
}

/* Resident blocks of a GEMM on a unit, as the device counts them: registers may allow fewer than
 * shared memory. */
static void record_residents(const struct pipeline *p, struct bench_case *c, bool shaped,
			     const char *name, const char *by_shared)
{
	const struct dev_props *props = dev_props(c->dev);
	const struct dev_gemm gemm = pipeline_gemm(p, 0, 0, shaped);
	uint32_t blocks;
	if (!gemm.tiled || !dev_can(c->dev, DEV_CAP_OCCUPANCY) ||
	    TRY(c->status, dev_gemm_occupancy(c->dev, &gemm, &blocks)))
		return;
	bench_fact_number(c, name, blocks);
	bench_fact_number(c, by_shared,
			  fmin((double)shaping_residents(
				       props->shared_per_unit_bytes, props->shared_reserved_bytes,
				       props->shared_granularity_bytes,
				       dev_gemm_tile_bytes(&gemm) + gemm.shared_bytes),
			       props->slots_per_unit));
}

static void record_facts(const struct pipeline *p, struct bench_case *c)
{
	bench_gemm_facts(&p->gemm[0][0], c);
	bench_fact_number(c, "devices", p->devices);
	rotation_facts(p->rotation, c);
	bench_fact_text(c, "exchange", describe_exchange(p));
	if (p->comm.library)
		bench_fact_text(c, "library", p->comm.library->library);
	if (p->comm.library_why[0])
		bench_fact_text(c, "library_not_measured", p->comm.library_why);
	bench_fact_text(c, "gemm_kernels",
			!dev_can(c->dev, DEV_CAP_GEMM_TILED) ? "the library's"
			: p->tile_k                          ? "textbook tiles"
							     : "the device's tiles");
	if (p->tile_k) {
		const struct dev_gemm gemm = pipeline_gemm(p, 0, 0, false);
		bench_fact_number(c, "gemm_blocks",
				  gemm.grid ? fmin(gemm.grid, (double)dev_gemm_tiles(&gemm))
					    : (double)dev_gemm_tiles(&gemm));
	}
	bench_fact_number(c, "message_bytes", (double)p->comm.bytes);
	bench_fact_number(c, "overlap_rate_max", shaping_rate_max(p->iterations));
	record_residents(p, c, false, "residents", "residents_by_shared");
	if (p->claim_bytes)
		record_residents(p, c, true, "shaped_residents", "shaped_residents_by_shared");
}

/* ------------------------------------------------------------------ variants */

/* Time of a part concurrent with the other / time of the same part in a pipeline without the other,
 * by traced round. */
static void derive_cil(struct bench_case *c, const char *name, unsigned v, unsigned alone,
		       const double *with, const double *without, const char *formula)
{
	double x[TRACED_ROUNDS];
	for (unsigned i = 0; i < TRACED_ROUNDS; i++)
		x[i] = with[i] / without[i];
	TRY(c->status, bench_derive_samples(c, name, (int)v, "", BIT(v) | BIT(alone), x,
					    TRACED_ROUNDS, formula));
}

static void derive_traced(const struct pipeline *p, struct bench_case *c, unsigned v)
{
	const long what = bench_row(c, v)->arg, gemm = HAS_GEMM | (what & HAS_CLAIM),
		   comm = HAS_COMM | (what & BY_LIBRARY);
	const struct pipeline_round *r = &p->round[what];
	TRY(c->status,
	    bench_derive_samples(c, "overlap_rate", (int)v, "", BIT(v), r->overlap_rate,
				 TRACED_ROUNDS,
				 "time in which a GEMM and a communication both ran / time of the "
				 "round; traced rounds"));
	TRY(c->status, bench_derive_samples(
			       c, "first_comm_block", (int)v, "s", BIT(v), r->wait_s, TRACED_ROUNDS,
			       "start of a communication's first block - end of its GEMM and of "
			       "the communication before; traced rounds"));
	derive_cil(c, "gemm_CIL", v, find_variant(c, gemm), r->gemm_s, p->round[gemm].gemm_s,
		   "time of a GEMM while a communication runs / of the same GEMM, with the same "
		   "claim, in a pipeline of GEMMs alone; traced rounds");
	derive_cil(c, "comm_CIL", v, find_variant(c, comm), r->comm_s, p->round[comm].comm_s,
		   "time of a communication, from its first block to its end, while a GEMM runs / "
		   "the same in a pipeline of communications alone; traced rounds");
}

static void derive_variant(const struct pipeline *p, struct bench_case *c, unsigned v)
{
	const long both = HAS_BOTH | (bench_row(c, v)->arg & BY_LIBRARY);
	const unsigned plain = find_variant(c, both | LANE_NORMAL);
	TRY(c->status, bench_ratio(c, "time_ratio", v, find_variant(c, both), NULL));
	if (v != plain)
		TRY(c->status, bench_ratio(c, "normalised_time", v, plain, NULL));
	derive_traced(p, c, v);
}

/* `variant`: that of communications alone, or -1 for the exchange that is not the library's. */
static void derive_bounds(const struct pipeline *p, struct bench_case *c, unsigned comm,
			  int variant)
{
	const struct alone a = {p->iterations, find_variant(c, HAS_GEMM), comm};
	const struct bench_seconds both = {.sum = BIT(a.gemm) | BIT(comm)};
	const struct bench_quantity min = {BENCH_RATIO, .of = {{.longest = both.sum}, both}},
				    ratio = {BENCH_FORMULA,
					     {both},
					     .f = ratio_pipelined,
					     .arg = &a},
				    rate = {BENCH_FORMULA, {both}, .f = rate_pipelined, .arg = &a};
	TRY(c->status,
	    bench_derive(c, "time_ratio_min", variant, &min, "max(g, c) / (g + c); g, c alone"));
	TRY(c->status, bench_derive(c, "time_ratio_pipelined", variant, &ratio,
				    "(g + (i - 1) max(g, c) + c) / (i (g + c)); g, c alone, i "
				    "iterations"));
	TRY(c->status, bench_derive(c, "overlap_rate_pipelined", variant, &rate,
				    "(i - 1) min(g, c) / (g + (i - 1) max(g, c) + c); g, c alone, "
				    "i iterations"));
}

int pipeline_derive(struct bench_case *c)
{
	const struct pipeline *p = c->state;
	const unsigned library = find_variant(c, HAS_COMM | BY_LIBRARY);
	record_facts(p, c);
	derive_bounds(p, c, find_variant(c, HAS_COMM), -1);
	if (bench_variant_on(c, library))
		derive_bounds(p, c, library, (int)library);
	for (unsigned v = 0; v < bench_variants(c); v++)
		if (bench_row(c, v)->arg & LANE_MASK && bench_variant_on(c, v))
			derive_variant(p, c, v);
	return c->status;
}
