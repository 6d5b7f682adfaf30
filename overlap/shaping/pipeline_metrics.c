/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"

#include <math.h>

static double ratio_min(const struct bench_round *r)
{
	return shaping_ratio_min(r->seconds[GEMM_ALONE], r->seconds[COMM_ALONE]);
}

static double ratio_pipelined(const struct bench_round *r)
{
	const unsigned *iterations = r->arg;
	return shaping_ratio_pipelined(*iterations, r->seconds[GEMM_ALONE], r->seconds[COMM_ALONE]);
}

static void record_facts(const struct pipeline *l, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	uint64_t residents = shaping_residents(p->shared_per_unit_bytes, p->shared_reserved_bytes,
					       p->shared_granularity_bytes, l->claim_bytes);
	bench_gemm_facts(&l->gemm[0], c);
	bench_fact_text(c, "exchange",
			l->comm.devices == 1
				? "stand-in: kernels within the memory of one device, no link"
				: "peers: the first rank's share of a direct exchange, the other "
				  "ranks idle");
	bench_fact_text(c, "gemm_kernels",
			dev_can(c->dev, DEV_CAP_GEMM_TILED) ? "the device's tiles"
							    : "the library's");
	bench_fact_number(c, "message_bytes", (double)l->comm.bytes);
	bench_fact_number(c, "overlap_rate_max", shaping_rate_max(l->iterations));
	if (l->claim_bytes)
		bench_fact_number(c, "max_residents", fmin((double)residents, p->slots_per_unit));
}

static void derive_variant(const struct pipeline *p, struct bench_case *c, unsigned v)
{
	const struct pipeline_trace *t = &p->trace[v];
	double iterations = p->iterations;
	bench_status_add(c, bench_ratio(c, "time_ratio", v, SERIAL, "seconds / seconds(serial)"));
	if (v != OVERLAP)
		bench_status_add(c, bench_ratio(c, "normalised_time", v, OVERLAP,
						"seconds / seconds(overlap)"));
	bench_value(c, "overlap_rate", (int)v, t->overlap_rate, "",
		    "time in which a GEMM and a communication both ran / time of the round; "
		    "traced rounds");
	bench_value(c, "first_comm_block", (int)v, t->wait_s, "s",
		    "start of a communication's first block - end of its GEMM and of the "
		    "communication before; traced rounds");
	bench_value(c, "gemm_CIL", (int)v, t->gemm_s * iterations / bench_median(c, GEMM_ALONE), "",
		    "time of a GEMM while a communication runs / in a pipeline of GEMMs alone");
	bench_value(c, "comm_CIL", (int)v, t->comm_s * iterations / bench_median(c, COMM_ALONE), "",
		    "time of a communication, from its first block, while a GEMM runs / in a "
		    "pipeline of communications alone");
}

int pipeline_derive(const struct pipeline *p, struct bench_case *c)
{
	const uint64_t alone = 1u << GEMM_ALONE | 1u << COMM_ALONE;
	record_facts(p, c);
	bench_status_add(c, bench_derive(c, "time_ratio_min", -1, "", alone, ratio_min, NULL,
					 "max(g, c) / (g + c); g, c alone"));
	bench_status_add(c, bench_derive(c, "time_ratio_pipelined", -1, "", alone, ratio_pipelined,
					 &p->iterations,
					 "(g + (i - 1) max(g, c) + c) / (i (g + c)); g, c alone, "
					 "i iterations"));
	bench_status_add(c, bench_ratio(c, "claim_cost", GEMM_SHAPED, GEMM_ALONE,
					"seconds of GEMMs that claim shared memory / of those that "
					"do not"));
	for (unsigned v = OVERLAP; v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			derive_variant(p, c, v);
	return bench_status(c);
}
