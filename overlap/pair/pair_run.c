/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_run.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <math.h>

#define STAMPS_BEHIND 2
#define STAMPS_BEHIND_MANY 3
#define FIRST_BYTES (UINT64_C(1) << 20)
/* The relative error of a multiple at which trials end, and the largest one of what is measured. */
#define TRIAL_TOLERANCE 0.03
#define TOLERANCE 0.1
/* A trial far from the target size predicts poorly. */
#define MAX_FACTOR 32.0

enum { TRIALS = 16, SAMPLES = 7 };

static void add_gemms(const struct pair_run *r, struct work_graph *g)
{
	for (size_t i = 0; i < r->transfer.senders; i++) {
		const struct dev_gemm gemm = bench_gemm_whole(&r->gemm[i]);
		work_graph_gemm(g, r->compute[i], &gemm);
	}
}

static void add_stamps_behind(struct pair_run *r, enum pair_round round, const uint32_t *lane)
{
	struct work_graph *g = r->round[round];
	const int stamps = round == TRANSFER_FIRST && r->transfer.fan_out > 1 ? STAMPS_BEHIND_MANY
									      : STAMPS_BEHIND;
	r->second[round] = lane;
	for (size_t i = 0; i < r->transfer.senders; i++)
		for (int k = 0; k < stamps; k++) {
			r->second_start[round][i] = work_graph_mark(g, lane[i]);
			work_graph_stamp_end(g, r->second_start[round][i]);
		}
}

static void build_round(struct bench_case *c, enum pair_round round)
{
	struct pair_run *r = c->state;
	struct work_graph *g = r->round[round] = bench_graph(c, r->lanes);
	if (round == TRANSFER || round == TRANSFER_FIRST)
		transfer_add(&r->transfer, g, r->traffic);
	if (round == TRANSFER_FIRST)
		add_stamps_behind(r, round, r->compute);
	if (round != TRANSFER)
		add_gemms(r, g);
	if (round == GEMM_FIRST)
		add_stamps_behind(r, round, r->traffic);
	if (round == GEMM_FIRST || round == SERIAL)
		transfer_add(&r->transfer, g, round == SERIAL ? r->compute : r->traffic);
	bench_graph_prepare(c, g);
}

int pair_time(struct bench_case *c, long round)
{
	double seconds = 0.0;
	TRY(c->status, work_graph_time(((struct pair_run *)c->state)->round[round], &seconds));
	c->self_seconds += seconds;
	return c->status;
}

/* From the event before the side's work to its end; the longest of the devices' times. */
static int time_side(struct bench_case *c, long round, const uint32_t *side)
{
	const struct pair_run *r = c->state;
	const struct work_graph *g = r->round[round];
	double longest_s = 0.0, start_s = 0.0, end_s = 0.0;
	TRY(c->status, work_graph_time(r->round[round], &end_s));
	for (size_t i = 0; i < r->transfer.senders; i++) {
		TRY(c->status, work_graph_lane_seconds(g, side[i], &end_s));
		if (r->second[round] == side)
			TRY(c->status, work_graph_seconds(g, WORK_GRAPH_BEGIN,
							  r->second_start[round][i], &start_s));
		longest_s = fmax(longest_s, end_s - start_s);
	}
	c->self_seconds += longest_s;
	return c->status;
}

int pair_time_gemm(struct bench_case *c, long round)
{
	return time_side(c, round, ((struct pair_run *)c->state)->compute);
}

int pair_time_transfer(struct bench_case *c, long round)
{
	return time_side(c, round, ((struct pair_run *)c->state)->traffic);
}

/* ------------------------------------------------------------------ the size of the transfer */

static double take_median(double *x, size_t n)
{
	stats_sort(x, n);
	return x[n / 2];
}

/* The multiple of the GEMM's time that the transfer takes at its present size: medians of a few
 * rounds of either side in turn. */
static double time_sides(struct bench_case *c)
{
	const struct pair_run *r = c->state;
	double gemm_s[SAMPLES] = {0}, transfer_s[SAMPLES] = {0};
	build_round(c, TRANSFER);
	for (size_t i = 0; i < SAMPLES; i++) {
		TRY(c->status, work_graph_time(r->round[GEMM], &gemm_s[i]));
		TRY(c->status, work_graph_time(r->round[TRANSFER], &transfer_s[i]));
	}
	return take_median(transfer_s, SAMPLES) / take_median(gemm_s, SAMPLES);
}

static uint64_t min_bytes(const struct transfer *t) { return TRANSFER_ALIGN * t->fan_out; }
static uint64_t max_bytes(const struct transfer *t)
{
	return transfer_max_bytes(t, transfer_max_passes(t));
}

static uint64_t next_bytes(const struct transfer *t, double factor)
{
	double wanted =
		(double)transfer_bytes(t) * fmin(fmax(factor, 1.0 / MAX_FACTOR), MAX_FACTOR);
	return (uint64_t)fmin(fmax(wanted, (double)min_bytes(t)), (double)max_bytes(t));
}

/* The size of all trials whose time was nearest. Where trials alternate, as the time jumps where a
 * cache ends, one goes half of the way. */
static void try_sizes(struct bench_case *c)
{
	struct pair_run *r = c->state;
	struct transfer *t = &r->transfer;
	uint64_t nearest_bytes = 0;
	double before = 1.0, nearest = INFINITY;
	for (int i = 0; c->status == 0 && nearest > TRIAL_TOLERANCE && i < TRIALS; i++) {
		const double factor = r->multiple / time_sides(c), error = fabs(1.0 - 1.0 / factor);
		if (error < nearest) {
			nearest = error;
			nearest_bytes = transfer_bytes(t);
		}
		const bool alternates = (factor - 1.0) * (before - 1.0) < 0.0;
		const uint64_t bytes = next_bytes(t, alternates ? sqrt(factor) : factor);
		before = factor;
		TRY(c->status, transfer_resize(t, c, bytes, transfer_max_passes(t)));
	}
	TRY(c->status, transfer_resize(t, c, nearest_bytes, transfer_max_passes(t)));
}

static void choose_size(struct bench_case *c)
{
	struct pair_run *r = c->state;
	struct rotation *cold = NULL;
	TRY(c->status, transfer_resize(&r->transfer, c, FIRST_BYTES, 1));
	build_round(c, GEMM);
	TRY(c->status, bench_rotate_cold(c, &r->round[GEMM], 1, &cold));
	try_sizes(c);
}

void pair_run_verify_size(struct bench_case *c)
{
	const struct pair_run *r = c->state;
	const struct transfer *t = &r->transfer;
	const double low = (1.0 - TOLERANCE) * r->multiple, high = (1.0 + TOLERANCE) * r->multiple;
	if (r->multiple > 0.0 && bench_outside(c, "transfer_multiple", TRANSFER, low, high))
		bench_flag(
			c, "size",
			"the transfer takes %.3g of the GEMM's time, not %gx: its %llu bytes are "
			"%s",
			bench_median(c, TRANSFER) / bench_median(c, GEMM), r->multiple,
			(unsigned long long)transfer_bytes(t),
			transfer_bytes(t) <= min_bytes(t) ? "the minimum"
			: 1.05 * (double)transfer_bytes(t) > (double)max_bytes(t)
				? "the most that memory and queue allow"
				: "the closest found by trial");
}

/* ------------------------------------------------------------------ setup */

int pair_run_open(struct bench_case *c)
{
	struct pair_run *r = c->state;
	struct transfer *t = &r->transfer;
	struct copy_method method = {0};
	struct transfer_size size = {0};
	TRY(c->status, copy_method_parse(axis_str(c, "copy-method"), &method));
	TRY(c->status, transfer_size_parse(axis_str(c, "size"), &size));
	r->lanes = bench_lanes(c);
	if (TRY(c->status, transfer_open(t, c, r->lanes, axis_index(c, "transfer"), &method)))
		return c->status;
	for (uint32_t i = 0; c->status == 0 && i < t->senders; i++) {
		r->compute[i] = work_lane_normal(r->lanes, i);
		r->traffic[i] = work_lane_normal(r->lanes, i);
		bench_gemm_open_axes(&r->gemm[i], c, t->sender[i].dev);
	}
	r->multiple = size.multiple;
	if (size.bytes)
		TRY(c->status, transfer_resize(t, c, size.bytes, 1));
	else
		choose_size(c);
	for (unsigned round = 0; c->status == 0 && round < PAIR_ROUNDS; round++)
		build_round(c, round);
	if (method.engine)
		TRY(c->status,
		    blocking_kernel_need_local_engine(c, UINT64_MAX, t->message[0].to,
						      t->message[0].from, t->piece_bytes));
	return TRY(c->status, bench_rotate_cold(c, r->round, PAIR_ROUNDS, &r->rotation));
}
