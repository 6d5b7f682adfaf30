/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"

#include <math.h>

#define BIT(variant) (UINT64_C(1) << (variant))

/* The parts alone, of plain GEMMs and of the exchange that the variant has. */
struct alone {
	unsigned iterations, comm;
};

static double ratio_pipelined(const struct bench_round *r)
{
	const struct alone *a = r->arg;
	return shaping_ratio_pipelined(a->iterations, r->seconds[GEMM_ALONE], r->seconds[a->comm]);
}

static double rate_pipelined(const struct bench_round *r)
{
	const struct alone *a = r->arg;
	return shaping_rate_pipelined(a->iterations, r->seconds[GEMM_ALONE], r->seconds[a->comm]);
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
static int record_residents(const struct pipeline *p, struct bench_case *c, bool shaped,
			    const char *name)
{
	const struct dev_props *props = dev_props(c->dev);
	const struct dev_gemm gemm = pipeline_gemm(p, 0, 0, shaped);
	uint32_t blocks;
	if (!gemm.tiled || !dev_can(c->dev, DEV_CAP_OCCUPANCY))
		return 0;
	int status = dev_gemm_occupancy(c->dev, &gemm, &blocks);
	if (status)
		return status;
	bench_fact_number(c, name, blocks);
	bench_fact_number(c, shaped ? "shaped_residents_by_shared" : "residents_by_shared",
			  fmin((double)shaping_residents(
				       props->shared_per_unit_bytes, props->shared_reserved_bytes,
				       props->shared_granularity_bytes,
				       dev_gemm_tile_bytes(&gemm) + gemm.shared_bytes),
			       props->slots_per_unit));
	return 0;
}

static int record_facts(const struct pipeline *p, struct bench_case *c)
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
	int status = record_residents(p, c, false, "residents");
	return status || p->claim_bytes == 0 ? status
					     : record_residents(p, c, true, "shaped_residents");
}

/* ------------------------------------------------------------------ variants */

/* Time of a part concurrent with the other / time of the same part in a pipeline without the other,
 * by traced round. */
static int derive_cil(const struct pipeline *p, struct bench_case *c, unsigned v, bool of_gemm)
{
	unsigned alone = of_gemm ? pipeline_gemm_alone(v) : pipeline_comm_alone(v);
	const struct pipeline_rounds *with = &p->rounds[v], *without = &p->rounds[alone];
	double x[TRACED_ROUNDS];
	for (unsigned i = 0; i < TRACED_ROUNDS; i++)
		x[i] = of_gemm ? with->gemm_s[i] / without->gemm_s[i]
			       : with->comm_s[i] / without->comm_s[i];
	return bench_derive_samples(
		c, of_gemm ? "gemm_CIL" : "comm_CIL", (int)v, "", BIT(v) | BIT(alone), x,
		TRACED_ROUNDS,
		of_gemm ? "time of a GEMM while a communication runs / of the same GEMM, with the "
			  "same claim, in a pipeline of GEMMs alone; traced rounds"
			: "time of a communication, from its first block to its end, while a GEMM "
			  "runs / the same in a pipeline of communications alone; traced rounds");
}

static int derive_traced(const struct pipeline *p, struct bench_case *c, unsigned v)
{
	const struct pipeline_rounds *r = &p->rounds[v];
	int status = bench_derive_samples(
		c, "overlap_rate", (int)v, "", BIT(v), r->overlap_rate, TRACED_ROUNDS,
		"time in which a GEMM and a communication both ran / time of the round; traced "
		"rounds");
	if (status == 0)
		status = bench_derive_samples(
			c, "first_comm_block", (int)v, "s", BIT(v), r->wait_s, TRACED_ROUNDS,
			"start of a communication's first block - end of its GEMM and of the "
			"communication before; traced rounds");
	if (status == 0)
		status = derive_cil(p, c, v, true);
	return status ? status : derive_cil(p, c, v, false);
}

static int derive_variant(const struct pipeline *p, struct bench_case *c, unsigned v)
{
	unsigned serial = pipeline_serial(v), overlap = pipeline_overlap(v);
	int status = bench_ratio(c, "time_ratio", v, serial, NULL);
	if (status == 0 && v != overlap)
		status = bench_ratio(c, "normalised_time", v, overlap, NULL);
	return status ? status : derive_traced(p, c, v);
}

/* `variant`: that of communications alone, or -1 for the exchange that is not the library's. */
static int derive_bounds(const struct pipeline *p, struct bench_case *c, int variant)
{
	const struct alone a = {p->iterations, variant < 0 ? COMM_ALONE : (unsigned)variant};
	const struct bench_seconds both = {.sum = BIT(GEMM_ALONE) | BIT(a.comm)};
	const struct bench_quantity min = {BENCH_RATIO, .of = {{.longest = both.sum}, both}},
				    ratio = {BENCH_FORMULA,
					     {both},
					     .f = ratio_pipelined,
					     .arg = &a},
				    rate = {BENCH_FORMULA, {both}, .f = rate_pipelined, .arg = &a};
	int status =
		bench_derive(c, "time_ratio_min", variant, &min, "max(g, c) / (g + c); g, c alone");
	if (status == 0)
		status = bench_derive(c, "time_ratio_pipelined", variant, &ratio,
				      "(g + (i - 1) max(g, c) + c) / (i (g + c)); g, c alone, i "
				      "iterations");
	return status ? status
		      : bench_derive(c, "overlap_rate_pipelined", variant, &rate,
				     "(i - 1) min(g, c) / (g + (i - 1) max(g, c) + c); g, c alone, "
				     "i iterations");
}

int pipeline_derive(const struct pipeline *p, struct bench_case *c)
{
	int status = record_facts(p, c);
	if (status == 0)
		status = derive_bounds(p, c, -1);
	if (status == 0 && bench_variant_on(c, LIBRARY_COMM_ALONE))
		status = derive_bounds(p, c, LIBRARY_COMM_ALONE);
	if (status == 0)
		status = bench_ratio(c, "claim_cost", GEMM_SHAPED, GEMM_ALONE,
				     "seconds of GEMMs that claim shared memory / of those that do "
				     "not");
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (pipeline_overlaps(v) && bench_variant_on(c, v))
			status = derive_variant(p, c, v);
	return status;
}
