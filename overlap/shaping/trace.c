/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traced rounds of the pipeline: when each GEMM and each communication ran, on every device.
 *
 * A kernel stamps the time just before each part, so its begin is seen on the device's clock, and
 * an event ends each part. Waits and the order of parts need both clocks: the origin is an event
 * between two stamps, and the first of them is taken as its time. So ends appear early and never
 * late, by the time between the two stamps at most, and a correct order is never reported as wrong;
 * waits contain it. What a part takes is the time between two events: from the end of the kernel
 * that stamps to the end of the part. It has no such error.
 */
#include "lib/stats.h"
#include "overlap/shaping/pipeline.h"

#include <math.h>

/* ------------------------------------------------------------------ rounds */

/* One device in a traced round. */
struct device_trace {
	struct shaping_span gemm[SHAPING_ITERATIONS_MAX], comm[SHAPING_ITERATIONS_MAX];
	double gemm_s[SHAPING_ITERATIONS_MAX], comm_s[SHAPING_ITERATIONS_MAX];
};

/* Scratch for a round; values of all devices and iterations with a partner. */
struct tracer {
	struct device_trace device;
	double *gemm_s, *comm_s, *wait_s, rate[DEV_MAX];
	size_t count;
};

static double stamp_seconds(const uint64_t *stamps, unsigned which)
{
	return 1e-9 * (double)(int64_t)(stamps[which] - stamps[STAMP_BEFORE_ORIGIN]);
}

static void read_part(struct bench_case *c, const struct pipeline_round *r, uint32_t device,
		      const struct pipeline_part *part, double *end_p, double *seconds_p)
{
	TRY(c->status, work_graph_seconds(r->traced, r->origin[device], part->end, end_p));
	TRY(c->status, work_graph_seconds(r->traced, part->begin, part->end, seconds_p));
}

static void read_device(struct bench_case *c, long what, uint32_t d, struct device_trace *to)
{
	const struct pipeline *p = c->state;
	const struct pipeline_round *r = &p->round[what];
	const uint64_t *stamps = p->stamps[d];
	for (unsigned i = 0; i < p->iterations; i++) {
		const uint32_t at = d * p->iterations + i;
		to->gemm[i].begin = stamp_seconds(stamps, STAMP_GEMM + i);
		to->comm[i].begin = stamp_seconds(stamps, STAMP_GEMM + p->iterations + i);
		if (what & HAS_GEMM)
			read_part(c, r, d, &r->gemm[at], &to->gemm[i].end, &to->gemm_s[i]);
		if (what & HAS_COMM)
			read_part(c, r, d, &r->comm[at], &to->comm[i].end, &to->comm_s[i]);
	}
}

static void add_device(const struct pipeline *p, struct tracer *to, uint32_t d)
{
	const struct device_trace *t = &to->device;
	to->rate[d] = shaping_overlap_rate(t->gemm, t->comm, p->iterations);
	for (unsigned i = 0; i + 1 < p->iterations; i++, to->count++) {
		double before = i ? t->comm[i - 1].end : 0.0;
		to->wait_s[to->count] = t->comm[i].begin - fmax(t->gemm[i].end, before);
		to->comm_s[to->count] = t->comm_s[i];
		to->gemm_s[to->count] = t->gemm_s[i + 1];
	}
}

static double median_of(double *x, size_t n)
{
	stats_sort(x, n);
	return stats_median(x, n);
}

static void trace_round(struct bench_case *c, struct tracer *tracer, long what, unsigned round)
{
	struct pipeline *p = c->state;
	struct pipeline_round *to = &p->round[what];
	const struct device_trace *t = &tracer->device;
	double unused;
	TRY(c->status, work_graph_time(to->traced, &unused));
	tracer->count = 0;
	for (uint32_t d = 0; c->status == 0 && d < p->devices; d++) {
		read_device(c, what, d, &tracer->device);
		to->late_s = fmax(to->late_s, stamp_seconds(p->stamps[d], STAMP_AFTER_ORIGIN));
		if (what & LANE_MASK && !shaping_in_order(t->gemm, t->comm, p->iterations))
			to->out_of_order = true;
		add_device(p, tracer, d);
	}
	if (c->status)
		return;
	to->gemm_s[round] = median_of(tracer->gemm_s, tracer->count);
	to->comm_s[round] = median_of(tracer->comm_s, tracer->count);
	to->wait_s[round] = median_of(tracer->wait_s, tracer->count);
	to->overlap_rate[round] = median_of(tracer->rate, p->devices);
}

/* Every round holds each variant once, so that drift hits all of them alike; each starts with
 * another one. */
static void trace_rounds(struct bench_case *c, struct tracer *tracer)
{
	const struct pipeline *p = c->state;
	for (unsigned round = 0; round < TRACED_ROUNDS; round++)
		for (unsigned i = 0; c->status == 0 && i < bench_variants(c); i++) {
			const unsigned v = (i + round) % bench_variants(c);
			const long what = bench_row(c, v)->arg;
			if (bench_variant_on(c, v) && p->round[what].traced)
				trace_round(c, tracer, what, round);
		}
}

static void trace_variants(struct bench_case *c)
{
	const struct pipeline *p = c->state;
	const uint64_t bytes = (uint64_t)p->devices * p->iterations * sizeof(double);
	struct tracer *tracer = bench_alloc_host(c, sizeof(*tracer));
	double *values[3];
	for (int i = 0; i < 3; i++)
		values[i] = bench_alloc_host(c, bytes);
	if (c->status)
		return;
	*tracer = (struct tracer){.gemm_s = values[0], .comm_s = values[1], .wait_s = values[2]};
	trace_rounds(c, tracer);
	for (unsigned v = 0; c->status == 0 && v < bench_variants(c); v++) {
		const struct bench_variant *row = bench_row(c, v);
		const struct pipeline_round *r = &p->round[row->arg];
		if (bench_variant_on(c, v) && row->arg & LANE_MASK)
			bench_mechanism_of(
				c, UINT64_C(1) << v, "order_is_kept", !r->out_of_order,
				"%s: on %u devices every communication starts after its GEMM ends, "
				"by event stamps, within %.2g us",
				row->name, p->devices, 1e6 * r->late_s);
	}
}

/* ------------------------------------------------------------------ mechanisms */

static void verify_lane(struct bench_case *c, struct work_graph *held, long what, const char *name)
{
	const struct pipeline *p = c->state;
	struct comm_call call = {0};
	uint64_t uses = 0;
	for (unsigned v = 0; v < bench_variants(c); v++)
		if (bench_variant_on(c, v) &&
		    (bench_row(c, v)->arg & (LANE_MASK | BY_LIBRARY)) == what)
			uses |= UINT64_C(1) << v;
	if (uses == 0 || c->status)
		return;
	struct work_graph *sending = bench_graph(c, p->lanes);
	for (uint32_t d = 0; d < p->devices; d++)
		call.after[d] = work_graph_mark(sending, p->lane[what & LANE_MASK][d]);
	pipeline_add_comm(p, sending, what, 0, &call);
	bench_graph_prepare(c, sending);
	TRY(c->status, bench_verify_independent(c, uses, name, held, sending));
}

int pipeline_verify(struct bench_case *c)
{
	struct work_graph *held = pipeline_claiming_gemms(c->state, c);
	bench_graph_prepare(c, held);
	verify_lane(c, held, LANE_NORMAL, "stream_is_independent");
	verify_lane(c, held, LANE_URGENT, "urgent_stream_is_independent");
	verify_lane(c, held, LANE_NORMAL | BY_LIBRARY, "library_stream_is_independent");
	verify_lane(c, held, LANE_URGENT | BY_LIBRARY, "urgent_library_stream_is_independent");
	trace_variants(c);
	return c->status;
}
