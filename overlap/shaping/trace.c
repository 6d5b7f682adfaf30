/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/trace.h"
#include "lib/stats.h"

#include <math.h>

bool trace_is_needed(unsigned v)
{
	return pipeline_overlaps(v) || v == pipeline_gemm_alone(v) || v == pipeline_comm_alone(v);
}

int trace_open(const struct pipeline *p, struct bench_case *c, struct pipeline_trace *trace)
{
	uint64_t bytes = (uint64_t)p->devices * p->iterations * sizeof(struct pipeline_part);
	trace->gemm = bench_alloc_host(c, bytes);
	trace->comm = bench_alloc_host(c, bytes);
	return bench_status(c);
}

/* ------------------------------------------------------------------ graphs */

uint32_t trace_add_stamp(const struct pipeline *p, struct work_graph *g, uint32_t device,
			 unsigned which)
{
	const uint64_t *at = p->stamps[device] + which;
	const void *const args[] = {&at};
	return work_graph_kernel(g, p->lane[LANE_SAME][device], "stamp", 1, args);
}

void trace_add_origins(const struct pipeline *p, struct work_graph *g, struct pipeline_trace *trace)
{
	for (uint32_t d = 0; d < p->devices; d++) {
		trace_add_stamp(p, g, d, TRACE_BEFORE_ORIGIN);
		trace->origin[d] = work_graph_mark(g, p->lane[LANE_SAME][d]);
		work_graph_stamp_end(g, trace->origin[d]);
		trace_add_stamp(p, g, d, TRACE_AFTER_ORIGIN);
	}
}

void trace_add_part(struct work_graph *g, struct pipeline_part *part, uint32_t begin, uint32_t end)
{
	*part = (struct pipeline_part){.begin = begin, .end = end};
	work_graph_stamp_end(g, begin);
	work_graph_stamp_end(g, end);
}

struct work_graph *trace_claiming_gemms(const struct pipeline *p, struct bench_case *c)
{
	struct work_graph *g = bench_graph(c, p->lanes);
	for (uint32_t d = 0; d < p->devices; d++) {
		const struct dev_gemm gemm = pipeline_gemm(p, d, 0, true);
		work_graph_gemm(g, p->lane[LANE_SAME][d], &gemm);
	}
	return g;
}

/* ------------------------------------------------------------------ rounds */

/* Spans of one device in a traced round. */
struct device_trace {
	struct shaping_span gemm[SHAPING_ITERATIONS_MAX], comm[SHAPING_ITERATIONS_MAX];
	double gemm_s[SHAPING_ITERATIONS_MAX], comm_s[SHAPING_ITERATIONS_MAX];
	double late_s;
};

static double stamp_seconds(const uint64_t *stamps, unsigned which)
{
	return 1e-9 * (double)(int64_t)(stamps[which] - stamps[TRACE_BEFORE_ORIGIN]);
}

static int read_part(const struct pipeline_trace *t, uint32_t origin,
		     const struct pipeline_part *part, double *end_p, double *seconds_p)
{
	int status = work_graph_seconds(t->graph, origin, part->end, end_p);
	return status ? status : work_graph_seconds(t->graph, part->begin, part->end, seconds_p);
}

static int read_device(const struct pipeline *p, unsigned v, uint32_t d, struct device_trace *to)
{
	const struct pipeline_trace *t = &p->traced[v];
	const uint64_t *stamps = p->stamps[d];
	int status = 0;
	to->late_s = stamp_seconds(stamps, TRACE_AFTER_ORIGIN);
	for (unsigned i = 0; i < p->iterations; i++) {
		uint32_t at = d * p->iterations + i;
		to->gemm[i].begin = stamp_seconds(stamps, TRACE_GEMM + i);
		to->comm[i].begin = stamp_seconds(stamps, TRACE_GEMM + p->iterations + i);
		if (status == 0 && pipeline_has(v, HAS_GEMM))
			status = read_part(t, t->origin[d], &t->gemm[at], &to->gemm[i].end,
					   &to->gemm_s[i]);
		if (status == 0 && pipeline_has(v, HAS_COMM))
			status = read_part(t, t->origin[d], &t->comm[at], &to->comm[i].end,
					   &to->comm_s[i]);
	}
	return status;
}

/* Values of a round, of all devices and iterations with a partner. */
struct values {
	double *gemm_s, *comm_s, *wait_s, rate[DEV_MAX];
	size_t count;
};

static void add_device(const struct pipeline *p, const struct device_trace *t, uint32_t d,
		       struct values *to)
{
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

/* Scratch for a round, and observations of the variants so far. */
struct tracer {
	struct device_trace device;
	struct values values;
	bool out_of_order[VARIANTS];
	double late_s[VARIANTS];
};

static int trace_round(struct pipeline *p, struct tracer *tracer, unsigned v, unsigned round)
{
	struct values *values = &tracer->values;
	struct pipeline_rounds *to = &p->rounds[v];
	double unused;
	int status = work_graph_time(p->traced[v].graph, &unused);
	values->count = 0;
	for (uint32_t d = 0; status == 0 && d < p->devices; d++) {
		struct device_trace *t = &tracer->device;
		status = read_device(p, v, d, t);
		tracer->late_s[v] = fmax(tracer->late_s[v], t->late_s);
		if (pipeline_overlaps(v) && !shaping_in_order(t->gemm, t->comm, p->iterations))
			tracer->out_of_order[v] = true;
		add_device(p, t, d, values);
	}
	if (status)
		return status;
	to->gemm_s[round] = median_of(values->gemm_s, values->count);
	to->comm_s[round] = median_of(values->comm_s, values->count);
	to->wait_s[round] = median_of(values->wait_s, values->count);
	to->overlap_rate[round] = median_of(values->rate, p->devices);
	return 0;
}

/* Every round holds each variant once, so that drift hits all of them alike; each starts with
 * another one. */
static int trace_rounds(struct pipeline *p, const struct bench_case *c, struct tracer *tracer)
{
	int status = 0;
	for (unsigned round = 0; round < TRACED_ROUNDS; round++)
		for (unsigned i = 0; status == 0 && i < VARIANTS; i++) {
			unsigned v = (i + round) % VARIANTS;
			if (bench_variant_on(c, v) && p->traced[v].graph)
				status = trace_round(p, tracer, v, round);
		}
	return status;
}

static int trace_variants(struct pipeline *p, struct bench_case *c)
{
	uint64_t bytes = (uint64_t)p->devices * p->iterations * sizeof(double);
	struct tracer *tracer = bench_alloc_host(c, sizeof(*tracer));
	double *values[3];
	for (int i = 0; i < 3; i++)
		values[i] = bench_alloc_host(c, bytes);
	if (bench_status(c))
		return bench_status(c);
	*tracer = (struct tracer){
		.values = {.gemm_s = values[0], .comm_s = values[1], .wait_s = values[2]}};
	int status = trace_rounds(p, c, tracer);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (bench_variant_on(c, v) && pipeline_overlaps(v))
			bench_mechanism_of(
				c, UINT64_C(1) << v, "order_is_kept", !tracer->out_of_order[v],
				"%s: on %u devices every communication starts after its GEMM ends, "
				"by event stamps, within %.2g us",
				pipeline_variants[v].name, p->devices, 1e6 * tracer->late_s[v]);
	return status;
}

/* ------------------------------------------------------------------ mechanisms */

static int verify_lane(const struct pipeline *p, struct bench_case *c, struct work_graph *held,
		       long what, const char *name)
{
	struct comm_call call = {0};
	uint64_t uses = 0;
	for (unsigned v = 0; v < VARIANTS; v++)
		if (bench_variant_on(c, v) &&
		    (pipeline_variants[v].param & (LANE_MASK | BY_LIBRARY)) == what)
			uses |= UINT64_C(1) << v;
	if (uses == 0)
		return 0;
	struct work_graph *sending = bench_graph(c, p->lanes);
	for (uint32_t d = 0; d < p->devices; d++)
		call.after[d] = work_graph_mark(sending, p->lane[what & LANE_MASK][d]);
	pipeline_add_comm(p, sending, what, 0, &call);
	int status = bench_graph_prepare(c, sending);
	return status ? status : bench_verify_independent(c, uses, name, held, sending);
}

int pipeline_verify(struct pipeline *p, struct bench_case *c)
{
	static const struct {
		long what;
		const char *name;
	} lanes[] = {{LANE_NORMAL, "stream_is_independent"},
		     {LANE_URGENT, "urgent_stream_is_independent"},
		     {LANE_NORMAL | BY_LIBRARY, "library_stream_is_independent"},
		     {LANE_URGENT | BY_LIBRARY, "urgent_library_stream_is_independent"}};
	struct work_graph *held = trace_claiming_gemms(p, c);
	int status = bench_graph_prepare(c, held);
	for (size_t i = 0; status == 0 && i < sizeof(lanes) / sizeof(lanes[0]); i++)
		status = verify_lane(p, c, held, lanes[i].what, lanes[i].name);
	return status ? status : trace_variants(p, c);
}
