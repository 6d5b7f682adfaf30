/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/shaping_metrics.h"

const struct bench_variant shaping_variants[] = {
	[GEMM_ALONE] = {.name = "gemm_alone", .timing = BENCH_DEVICE},
	[GEMM_SHAPED] = {.name = "gemm_shaped", .timing = BENCH_DEVICE},
	[COMM_ALONE] = {.name = "comm_alone", .timing = BENCH_DEVICE},
	[SERIAL] = {.name = "serial", .timing = BENCH_DEVICE},
	[OVERLAP] = {.name = "overlap", .timing = BENCH_DEVICE},
	[SHAPED] = {.name = "shaped", .timing = BENCH_DEVICE},
	[PRIORITY] = {.name = "priority", .timing = BENCH_DEVICE},
	[SHAPED_PRIORITY] = {.name = "shaped_priority", .timing = BENCH_DEVICE},
	{0}};

const struct pipeline_round shaping_rounds[VARIANTS] = {
	[GEMM_ALONE] = {.gemm = true},
	[GEMM_SHAPED] = {.gemm = true, .claim = true},
	[COMM_ALONE] = {.comm = true},
	[SERIAL] = {.gemm = true, .comm = true},
	[OVERLAP] = {.gemm = true, .comm = true, .queue = PIPELINE_NORMAL},
	[SHAPED] = {.gemm = true, .comm = true, .claim = true, .queue = PIPELINE_NORMAL},
	[PRIORITY] = {.gemm = true, .comm = true, .queue = PIPELINE_URGENT},
	[SHAPED_PRIORITY] = {.gemm = true, .comm = true, .claim = true, .queue = PIPELINE_URGENT}};

static int verify_queue(struct shaping *s, struct bench_case *c, enum pipeline_queue queue)
{
	uint64_t uses = 0;
	bool independent = false;
	for (unsigned v = 0; v < VARIANTS; v++)
		uses |= (uint64_t)(shaping_rounds[v].queue == queue && bench_variant_on(c, v)) << v;
	int status = uses ? trace_queue_independent(&s->pipeline, queue, &independent) : 0;
	if (status == 0 && uses)
		bench_mechanism_of(c, uses,
				   queue == PIPELINE_URGENT ? "urgent_stream_is_independent"
							    : "stream_is_independent",
				   independent,
				   "communications completed while the GEMMs' stream was held");
	return status;
}

int shaping_verify(struct shaping *s, struct bench_case *c)
{
	int status = verify_queue(s, c, PIPELINE_NORMAL);
	if (status == 0)
		status = verify_queue(s, c, PIPELINE_URGENT);
	for (unsigned v = OVERLAP; status == 0 && v < VARIANTS; v++) {
		struct trace *t = &s->trace[v];
		if (!bench_variant_on(c, v))
			continue;
		status = trace_rounds(&s->pipeline, &shaping_rounds[v], t);
		if (status == 0)
			bench_mechanism_of(c, UINT64_C(1) << v, "order_is_kept", t->in_order,
					   "%s: every communication starts after its GEMM ends, "
					   "by stamps, to %.2g us",
					   shaping_variants[v].name, 1e-3 * t->resolution_ns);
	}
	return status;
}

static double ratio_min(const struct bench_round *r)
{
	return shaping_ratio_min(r->seconds[GEMM_ALONE], r->seconds[COMM_ALONE]);
}

static double ratio_pipelined(const struct bench_round *r)
{
	const unsigned *iterations = r->arg;
	return shaping_ratio_pipelined(*iterations, r->seconds[GEMM_ALONE], r->seconds[COMM_ALONE]);
}

static void derive_traced(const struct shaping *s, struct bench_case *c, unsigned v)
{
	const struct trace *t = &s->trace[v];
	double alone = 1e9 / s->pipeline.iterations;
	bench_value(c, "overlap_rate", (int)v, t->overlap_rate, "",
		    "time in which a GEMM and a communication both ran / time of the round; "
		    "traced rounds");
	bench_value(c, "first_comm_block", (int)v, 1e-9 * t->wait_ns, "s",
		    "start of a communication's first block - end of its GEMM and of the "
		    "communication before; traced rounds");
	bench_value(c, "gemm_CIL", (int)v, t->gemm_ns / (alone * bench_median(c, GEMM_ALONE)), "",
		    "time of a GEMM while a communication runs / in a pipeline of GEMMs alone");
	bench_value(c, "comm_CIL", (int)v, t->comm_ns / (alone * bench_median(c, COMM_ALONE)), "",
		    "time of a communication, from its first block, while a GEMM runs / in a "
		    "pipeline of communications alone");
}

static void record_facts(const struct pipeline *l, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	uint64_t residents = shaping_residents(p->shared_per_unit_bytes, p->shared_reserved_bytes,
					       p->shared_granularity_bytes, l->claim_bytes);
	bench_gemm_facts(&l->gemm, c);
	bench_fact_text(c, "exchange", comm_load_label(&l->comm));
	bench_fact_text(c, "gemm_kernels", l->tiled ? "the device's tiles" : "the library's");
	bench_fact_number(c, "message_bytes", (double)l->comm.bytes);
	bench_fact_number(c, "overlap_rate_max", shaping_rate_max(l->iterations));
	if (l->claim_bytes)
		bench_fact_number(
			c, "max_residents",
			(double)(residents < p->slots_per_unit ? residents : p->slots_per_unit));
}

int shaping_derive(const struct shaping *s, struct bench_case *c)
{
	const uint64_t alone = 1u << GEMM_ALONE | 1u << COMM_ALONE;
	record_facts(&s->pipeline, c);
	int status = bench_derive(c, "time_ratio_min", -1, "", alone, ratio_min, NULL,
				  "max(g, c) / (g + c); g, c alone");
	if (status == 0)
		status = bench_derive(
			c, "time_ratio_pipelined", -1, "", alone, ratio_pipelined,
			&s->pipeline.iterations,
			"(g + (i - 1) max(g, c) + c) / (i (g + c)); g, c alone, i iterations");
	if (status == 0)
		status = bench_ratio(
			c, "claim_cost", GEMM_SHAPED, GEMM_ALONE,
			"seconds of GEMMs that claim shared memory / of those that do not");
	for (unsigned v = OVERLAP; status == 0 && v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		status = bench_ratio(c, "time_ratio", v, SERIAL, "seconds / seconds(serial)");
		if (status == 0 && v != OVERLAP)
			status = bench_ratio(c, "normalised_time", v, OVERLAP,
					     "seconds / seconds(overlap)");
		derive_traced(s, c, v);
	}
	return status;
}
