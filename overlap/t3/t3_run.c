/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/t3/t3_run.h"
#include "lib/err.h"

#include <math.h>

/* Reads so many times what the last-level cache holds, so that the launch hardly counts. */
#define EMPTYING_CACHES 8u
#define THRESHOLD_STEP 0.05
#define ROUNDING 1e-9 /* of a quotient */

#define PLAN(id, label, check, ...) {__VA_ARGS__},
const struct t3_plan t3_plans[VARIANTS] = {T3_VARIANTS(PLAN)};

double t3_threshold(double intensity, double gemm_s, double bytes, double memory_bandwidth)
{
	const double all = intensity + bytes / gemm_s / memory_bandwidth;
	return fmin(1.0, ceil(all / THRESHOLD_STEP - ROUNDING) * THRESHOLD_STEP);
}

/* ------------------------------------------------------------------ running */

/* Adds what the devices have counted so far, or with a sign of -1 subtracts it. */
static void add_counts(struct bench_case *c, struct t3_moved *sum, int sign)
{
	const struct t3_ring *ring = &((struct t3_run *)c->state)->ring;
	for (uint32_t i = 0; i < ring->count; i++) {
		struct dev_memory_bytes b = {0};
		struct dev_tracker_counts t = {0};
		TRY(c->status, dev_memory_bytes(ring->device[i].dev, &b));
		TRY(c->status, dev_tracker_counts(ring->device[i].dev, &t));
		for (int of = 0; of < DEV_TRAFFIC_CLASSES; of++) {
			sum->memory.read[of] += sign * b.read[of];
			sum->memory.written[of] += sign * b.written[of];
		}
		sum->tracker.tiles += (uint64_t)sign * t.tiles;
		sum->tracker.forwarded += (uint64_t)sign * t.forwarded;
		sum->tracker.overflowed += (uint64_t)sign * t.overflowed;
		sum->tracker.entries = t.entries;
		if (t.most_used > sum->tracker.most_used)
			sum->tracker.most_used = t.most_used;
	}
}

static void set_controllers(struct bench_case *c, const struct t3_plan *plan)
{
	const struct t3_run *r = c->state;
	const struct dev_memory_control control = {
		.policy = plan->computing_first ? DEV_MEMORY_COMPUTE_FIRST : DEV_MEMORY_FAIR,
		.threshold = r->threshold,
		.starvation = r->starvation};
	for (uint32_t i = 0; i < r->ring.count; i++)
		TRY(c->status, dev_memory_control(r->ring.device[i].dev, &control));
}

int t3_run_once(struct bench_case *c, long variant)
{
	struct t3_run *r = c->state;
	struct t3_moved *moved = &r->moved[variant];
	double seconds = 0.0;
	r->runs_since_poison++;
	*moved = (struct t3_moved){0};
	TRY(c->status, work_graph_complete(r->emptying));
	set_controllers(c, &t3_plans[variant]);
	add_counts(c, moved, -1);
	TRY(c->status, work_graph_time(r->graph[variant], &seconds));
	add_counts(c, moved, 1);
	c->self_seconds += seconds;
	return c->status;
}

/* ------------------------------------------------------------------ opening */

/* Reading evicts what a cache holds, and what is dirty in it goes to memory. */
static void open_emptying(struct t3_run *r, struct bench_case *c)
{
	r->emptying = bench_graph(c, r->ring.lanes);
	for (uint32_t i = 0; i < r->ring.count; i++) {
		struct dev *dev = r->ring.device[i].dev;
		const uint64_t bytes = EMPTYING_CACHES * dev_props(dev)->llc_bytes;
		const uint32_t reps = 1;
		const void *from = bench_alloc_on(c, dev, DEV_MEM_DEVICE, bytes);
		const uint32_t *sink = bench_alloc_on(c, dev, DEV_MEM_DEVICE, 256);
		const void *const args[] = {&from, &bytes, &reps, &sink};
		work_graph_kernel(r->emptying, work_lane_normal(r->ring.lanes, i), "read", 0, args);
	}
	bench_graph_prepare(c, r->emptying);
}

/* That of the GEMM alone always, for the threshold. */
static void open_graphs(struct t3_run *r, struct bench_case *c)
{
	struct t3_lanes lanes;
	t3_lanes_open(&r->ring, c, 0, &lanes);
	r->graph[GEMM_ALONE] = t3_graph(&r->ring, c, &lanes, t3_plans[GEMM_ALONE].work);
	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct t3_plan *plan = &t3_plans[v];
		if (plan->units >= dev_props(c->dev)->units)
			bench_variant_off(c, v);
		if (!bench_variant_on(c, v) || r->graph[v])
			continue;
		if (plan->units != lanes.units)
			t3_lanes_open(&r->ring, c, plan->units, &lanes);
		r->graph[v] = t3_graph(&r->ring, c, &lanes, plan->work);
	}
}

/* Bytes that communication passes through one memory in reduce-scatter by T3, but for those that
 * the GEMM stores away: (N-2) / N read and (N-1) / N written. */
static double bytes_during_gemm(const struct t3_ring *r)
{
	return (double)r->shape.m * (double)r->row_bytes * (2.0 * r->count - 3) / r->count;
}

static void measure_threshold(struct t3_run *r, struct bench_case *c, uint32_t percent)
{
	const struct dev_memory_bytes *b = &r->moved[GEMM_ALONE].memory;
	double reading_s = NAN;
	/* The first time it also evicts what is dirty. */
	TRY(c->status, work_graph_complete(r->emptying));
	TRY(c->status, work_graph_time(r->emptying, &reading_s));
	r->threshold = 1.0;
	c->self_seconds = 0.0;
	t3_run_once(c, GEMM_ALONE);
	const double gemm_s = c->self_seconds;
	r->memory_bandwidth =
		(double)EMPTYING_CACHES * (double)dev_props(c->dev)->llc_bytes / reading_s;
	r->intensity = (b->read[DEV_COMPUTING] + b->written[DEV_COMPUTING]) / r->ring.count /
		       gemm_s / r->memory_bandwidth;
	r->threshold = percent ? 0.01 * percent
			       : t3_threshold(r->intensity, gemm_s, bytes_during_gemm(&r->ring),
					      r->memory_bandwidth);
}

int t3_run_open(struct bench_case *c, const struct shape *shape, enum dev_type type,
		uint32_t percent)
{
	struct t3_run *r = c->state;
	struct dev_memory_control control = {0};
	TRY(c->status, dev_memory_control_read(c->dev, &control));
	r->starvation = control.starvation;
	if (t3_ring_open(&r->ring, c, shape, type))
		return c->status;
	open_emptying(r, c);
	open_graphs(r, c);
	measure_threshold(r, c, percent);
	return c->status;
}
