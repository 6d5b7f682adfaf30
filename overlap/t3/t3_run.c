/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/t3/t3_run.h"

#include <math.h>

/* Reads so many times what the last-level cache holds, so that the launch hardly counts. */
#define EMPTYING_CACHES 8u
#define THRESHOLD_STEP 0.05
#define ROUNDING 1e-9 /* of a quotient */

#define VARIANT(id, label, ...) {.name = (label), .timing = BENCH_SELF},
#define HOW(id, label, ...) {__VA_ARGS__},
const struct bench_variant t3_variants[] = {T3_VARIANTS(VARIANT){0}};
static const struct {
	enum t3_work work;
	uint32_t units;
	bool computing_first;
} how[] = {T3_VARIANTS(HOW)};

enum t3_work t3_work_of(unsigned variant) { return how[variant].work; }

double t3_threshold(double intensity, double gemm_s, double bytes, double memory_bandwidth)
{
	const double all = intensity + bytes / gemm_s / memory_bandwidth;
	return fmin(1.0, ceil(all / THRESHOLD_STEP - ROUNDING) * THRESHOLD_STEP);
}

/* ------------------------------------------------------------------ running */

static int read_moved(const struct t3_run *r, struct t3_moved *moved_p)
{
	struct t3_moved all = {0};
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < r->ring.count; i++) {
		struct dev *dev = r->ring.device[i].dev;
		struct dev_memory_bytes b;
		struct dev_tracker_counts t;
		status = dev_memory_bytes(dev, &b);
		if (status == 0)
			status = dev_tracker_counts(dev, &t);
		if (status)
			break;
		for (int of = 0; of < DEV_TRAFFIC_CLASSES; of++) {
			all.memory.read[of] += b.read[of];
			all.memory.written[of] += b.written[of];
		}
		all.tracker.tiles += t.tiles;
		all.tracker.forwarded += t.forwarded;
		all.tracker.overflowed += t.overflowed;
		all.tracker.entries = t.entries;
		all.tracker.most_used =
			t.most_used > all.tracker.most_used ? t.most_used : all.tracker.most_used;
	}
	if (status == 0)
		*moved_p = all;
	return status;
}

static void subtract_before(struct t3_moved *moved, const struct t3_moved *before)
{
	for (int of = 0; of < DEV_TRAFFIC_CLASSES; of++) {
		moved->memory.read[of] -= before->memory.read[of];
		moved->memory.written[of] -= before->memory.written[of];
	}
	moved->tracker.tiles -= before->tracker.tiles;
	moved->tracker.forwarded -= before->tracker.forwarded;
	moved->tracker.overflowed -= before->tracker.overflowed;
}

static int set_controllers(const struct t3_run *r, unsigned variant)
{
	const struct dev_memory_control control = {
		.policy = how[variant].computing_first ? DEV_MEMORY_COMPUTE_FIRST : DEV_MEMORY_FAIR,
		.threshold = r->threshold,
		.starvation = r->starvation};
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < r->ring.count; i++)
		status = dev_memory_control(r->ring.device[i].dev, &control);
	return status;
}

int t3_run_time(struct t3_run *r, unsigned variant, double *seconds_p)
{
	struct t3_moved before;
	r->runs_since_poison++;
	int status = work_graph_complete(r->emptying);
	if (status == 0)
		status = set_controllers(r, variant);
	if (status == 0)
		status = read_moved(r, &before);
	if (status == 0)
		status = work_graph_time(r->graph[variant], seconds_p);
	if (status == 0)
		status = read_moved(r, &r->moved[variant]);
	if (status == 0)
		subtract_before(&r->moved[variant], &before);
	return status;
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

static void open_graphs(struct t3_run *r, struct bench_case *c)
{
	struct t3_lanes lanes;
	t3_lanes_open(&r->ring, c, 0, &lanes);
	for (unsigned v = 0; v < VARIANTS; v++) {
		const uint32_t units = how[v].units;
		if (units >= dev_props(c->dev)->units)
			bench_variant_off(c, v);
		if (!bench_variant_on(c, v) && v != GEMM_ALONE)
			continue;
		if (units != lanes.units)
			t3_lanes_open(&r->ring, c, units, &lanes);
		r->graph[v] = t3_graph(&r->ring, c, &lanes, how[v].work);
	}
}

/* Bytes that communication passes through one memory in reduce-scatter by T3, but for those that
 * the GEMM stores away: (N-2) / N read and (N-1) / N written. */
static double bytes_during_gemm(const struct t3_ring *r)
{
	return (double)r->shape.m * (double)r->row_bytes * (2.0 * r->count - 3) / r->count;
}

static int measure_threshold(struct t3_run *r, uint32_t percent)
{
	const struct dev_memory_bytes *b = &r->moved[GEMM_ALONE].memory;
	const double read_bytes =
		(double)EMPTYING_CACHES * (double)dev_props(r->ring.device[0].dev)->llc_bytes;
	double reading_s, gemm_s;
	/* The first time it also evicts what is dirty. */
	int status = work_graph_complete(r->emptying);
	if (status == 0)
		status = work_graph_time(r->emptying, &reading_s);
	r->threshold = 1.0;
	if (status == 0)
		status = t3_run_time(r, GEMM_ALONE, &gemm_s);
	if (status)
		return status;
	r->memory_bandwidth = read_bytes / reading_s;
	r->intensity = (b->read[DEV_COMPUTING] + b->written[DEV_COMPUTING]) / r->ring.count /
		       gemm_s / r->memory_bandwidth;
	r->threshold = percent ? 0.01 * percent
			       : t3_threshold(r->intensity, gemm_s, bytes_during_gemm(&r->ring),
					      r->memory_bandwidth);
	return 0;
}

int t3_run_open(struct t3_run *r, struct bench_case *c, const struct shape *shape,
		enum dev_type type, uint32_t percent)
{
	struct dev_memory_control control;
	if (bench_status_add(c, dev_memory_control_read(c->dev, &control)))
		return bench_status(c);
	r->starvation = control.starvation;
	if (t3_ring_open(&r->ring, c, shape, type))
		return bench_status(c);
	open_emptying(r, c);
	open_graphs(r, c);
	return bench_status(c) ? bench_status(c)
			       : bench_status_add(c, measure_threshold(r, percent));
}
