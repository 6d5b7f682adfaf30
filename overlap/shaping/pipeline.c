/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"
#include "bench/pattern.h"
#include "lib/stats.h"

#include <errno.h>
#include <math.h>

const struct bench_variant pipeline_variants[] = {
	[GEMM_ALONE] = {"gemm_alone", BENCH_DEVICE, .param = HAS_GEMM},
	[GEMM_SHAPED] = {"gemm_shaped", BENCH_DEVICE, .param = HAS_GEMM | HAS_CLAIM},
	[COMM_ALONE] = {"comm_alone", BENCH_DEVICE, .param = HAS_COMM},
	[SERIAL] = {"serial", BENCH_DEVICE, .param = HAS_GEMM | HAS_COMM},
	[OVERLAP] = {"overlap", BENCH_DEVICE, .param = HAS_GEMM | HAS_COMM | LANE_NORMAL},
	[SHAPED] = {"shaped", BENCH_DEVICE, .param = HAS_GEMM | HAS_COMM | HAS_CLAIM | LANE_NORMAL},
	[PRIORITY] = {"priority", BENCH_DEVICE, .param = HAS_GEMM | HAS_COMM | LANE_URGENT},
	[SHAPED_PRIORITY] = {"shaped_priority", BENCH_DEVICE,
			     .param = HAS_GEMM | HAS_COMM | HAS_CLAIM | LANE_URGENT},
	{0}};

/* Stamps: around the origin, then at the starts of GEMMs, then of communications. */
enum { BEFORE_ORIGIN, AFTER_ORIGIN, STARTS };

/* Enough traced rounds for a median that a single outlier does not move. */
enum { ROUNDS = 5, PAIRS_MAX = ROUNDS * SHAPING_ITERATIONS_MAX };

/* ---------------------------------------------------------------- graphs */

static uint32_t add_gemm(const struct pipeline *p, struct work_graph *g, long what, unsigned i)
{
	struct dev_gemm gemm = bench_gemm_whole(&p->gemm[i % 2]);
	gemm.tiled = dev_can(p->gemm[0].dev, DEV_CAP_GEMM_TILED);
	gemm.shared_bytes = what & HAS_CLAIM ? p->claim_bytes : 0;
	return work_graph_gemm(g, p->lane[LANE_SAME], &gemm);
}

static void add_stamp(const struct pipeline *p, struct work_graph *g, unsigned which)
{
	const uint64_t *at = p->stamps + which;
	const void *const args[] = {&at};
	work_graph_kernel(g, p->lane[LANE_SAME], "stamp", 1, args);
}

/* The fork, node 0, stands for a GEMM or communication that does not exist. There is no first run
 * here: the harness runs every variant once without a gate. */
static struct work_graph *build_round(struct pipeline *p, struct bench_case *c, long what,
				      bool traced)
{
	const uint32_t own = p->lane[LANE_SAME], other = p->lane[what & LANE_MASK];
	uint32_t gemm = 0, comm[2] = {0};
	struct work_graph *g = bench_graph(c, p->lanes);
	work_graph_fork(g, own);
	if (traced) {
		add_stamp(p, g, BEFORE_ORIGIN);
		p->origin = work_graph_mark(g, own);
		work_graph_stamp_end(g, p->origin);
		add_stamp(p, g, AFTER_ORIGIN);
	}
	for (unsigned i = 0, k = p->iterations; i < p->iterations; i++, k++) {
		if (what & HAS_GEMM) {
			work_graph_edge(g, comm[i % 2], work_graph_mark(g, own));
			if (traced)
				add_stamp(p, g, STARTS + i);
			gemm = add_gemm(p, g, what, i);
		}
		if (what & HAS_COMM) {
			work_graph_edge(g, gemm, work_graph_mark(g, other));
			comm[i % 2] = comm_load_add(&p->comm, g, other, p->gemm[i % 2].c,
						    traced ? p->stamps + STARTS + k : NULL);
		}
		if (traced) {
			work_graph_stamp_end(g, p->ends[i] = gemm);
			work_graph_stamp_end(g, p->ends[k] = comm[i % 2]);
		}
	}
	work_graph_join(g);
	if (bench_status(c) == 0)
		bench_status_add(c, work_graph_prepare(g));
	return g;
}

static void build_variants(struct pipeline *p, struct bench_case *c)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		long what = pipeline_variants[v].param;
		if ((what & HAS_CLAIM && p->claim_bytes == 0) ||
		    (what & LANE_URGENT && !dev_can(c->dev, DEV_CAP_PRIORITY)))
			bench_variant_off(c, v);
		if (!bench_variant_on(c, v))
			continue;
		p->timed[v] = build_round(p, c, what, false);
		if (v >= OVERLAP)
			p->traced[v] = build_round(p, c, what, true);
		if (bench_status(c) == 0)
			bench_queue_entries(c, v, work_graph_max_queued(p->timed[v]));
	}
}

int pipeline_open(struct pipeline *p, struct bench_case *c, const struct shape *gemm)
{
	const struct dev_props *props = dev_props(c->dev);
	float *pattern = pattern_reals(c);
	bench_gemm_open(&p->gemm[0], c, c->dev, gemm, DEV_F32);
	p->gemm[1] = p->gemm[0];
	for (int i = 0; i < 2; i++)
		p->gemm[i].c = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, p->comm.bytes, pattern);
	comm_load_open(&p->comm, c, pattern);
	p->stamps =
		bench_alloc(c, DEV_MEM_PINNED, (STARTS + 2 * p->iterations) * sizeof(*p->stamps));
	p->lanes = bench_lanes(c);
	p->lane[LANE_SAME] = work_lane_of(p->lanes, 0, c->stream);
	p->lane[LANE_NORMAL] = work_lane(p->lanes, 0, props->priority_normal);
	p->lane[LANE_URGENT] = work_lane(p->lanes, 0, props->priority_high);
	p->claiming = bench_graph(c, p->lanes);
	add_gemm(p, p->claiming, HAS_CLAIM, 0);
	if (bench_status(c))
		return bench_status(c);
	/* A device need not check a claim before a GEMM is enqueued. */
	if (bench_graph_prepare(c, p->claiming) == -EINVAL && p->claim_bytes)
		return -ENOTSUP;
	build_variants(p, c);
	return bench_status(c);
}

/* ---------------------------------------------------------------- traced rounds */

static double stamp_seconds(const struct pipeline *p, unsigned which)
{
	return 1e-9 * (double)(int64_t)(p->stamps[which] - p->stamps[BEFORE_ORIGIN]);
}

/* The event of the origin lies between two stamps. Using the first of them as its time makes ends
 * appear early and never late, so a correct order is never reported as wrong. */
static int run_traced(const struct pipeline *p, struct work_graph *g, struct shaping_span *parts)
{
	double unused;
	int status = work_graph_time(g, &unused);
	for (unsigned i = 0; status == 0 && i < 2 * p->iterations; i++) {
		parts[i].begin = stamp_seconds(p, STARTS + i);
		status = work_graph_seconds(g, p->origin, p->ends[i], &parts[i].end);
	}
	return status;
}

static double median_of(double *x, unsigned n)
{
	stats_sort(x, n);
	return stats_median(x, n);
}

/* A part may seem to begin too late, by the time between the two stamps at most, so waits contain
 * it: its end is the time of an event, its begin a stamp of a kernel. */
static int trace_variant(struct pipeline *p, struct bench_case *c, unsigned v)
{
	struct shaping_span parts[2 * SHAPING_ITERATIONS_MAX] = {0};
	const struct shaping_span *gemm = parts, *comm = parts + p->iterations;
	double rate[ROUNDS], wait[PAIRS_MAX], gemm_s[PAIRS_MAX], comm_s[PAIRS_MAX], late_s = 0.0;
	bool in_order = true;
	unsigned pairs = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		int status = run_traced(p, p->traced[v], parts);
		if (status)
			return status;
		rate[round] = shaping_overlap_rate(gemm, comm, p->iterations);
		in_order = in_order && shaping_in_order(gemm, comm, p->iterations);
		late_s = fmax(late_s, stamp_seconds(p, AFTER_ORIGIN));
		for (unsigned i = 0; i + 1 < p->iterations; i++, pairs++) {
			double ready = i ? fmax(gemm[i].end, comm[i - 1].end) : gemm[i].end;
			wait[pairs] = comm[i].begin - ready;
			comm_s[pairs] = comm[i].end - comm[i].begin;
			gemm_s[pairs] = gemm[i + 1].end - gemm[i + 1].begin;
		}
	}
	p->trace[v] = (struct pipeline_trace){.overlap_rate = median_of(rate, ROUNDS),
					      .wait_s = median_of(wait, pairs),
					      .gemm_s = median_of(gemm_s, pairs),
					      .comm_s = median_of(comm_s, pairs)};
	bench_mechanism_of(
		c, UINT64_C(1) << v, "order_is_kept", in_order,
		"%s: every communication starts after its GEMM ends, by stamps, to %.2g us",
		pipeline_variants[v].name, 1e6 * late_s);
	return 0;
}

static int verify_lane(const struct pipeline *p, struct bench_case *c, long lane, const char *name)
{
	uint64_t uses = 0;
	for (unsigned v = OVERLAP; v < VARIANTS; v++)
		if (pipeline_variants[v].param & lane && bench_variant_on(c, v))
			uses |= UINT64_C(1) << v;
	if (uses == 0)
		return 0;
	struct work_graph *sending = bench_graph(c, p->lanes);
	comm_load_add(&p->comm, sending, p->lane[lane], p->gemm[0].c, NULL);
	int status = bench_graph_prepare(c, sending);
	return status ? status : bench_verify_independent(c, uses, name, p->claiming, sending);
}

int pipeline_verify(struct pipeline *p, struct bench_case *c)
{
	int status = verify_lane(p, c, LANE_NORMAL, "stream_is_independent");
	if (status == 0)
		status = verify_lane(p, c, LANE_URGENT, "urgent_stream_is_independent");
	for (unsigned v = OVERLAP; status == 0 && v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			status = trace_variant(p, c, v);
	return status;
}
