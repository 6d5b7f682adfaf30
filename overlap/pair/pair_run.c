/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_run.h"
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

static void add_stamps_behind(struct pair_run *r, enum pair_variant round, const uint32_t *lane)
{
	struct work_graph *g = r->round[round];
	const int stamps = round == TRANSFER_FIRST && r->transfer.fan_out > 1 ? STAMPS_BEHIND_MANY
									      : STAMPS_BEHIND;
	for (size_t i = 0; i < r->transfer.senders; i++)
		for (int k = 0; k < stamps; k++) {
			r->second_start[round - GEMM_FIRST][i] = work_graph_mark(g, lane[i]);
			work_graph_stamp_end(g, r->second_start[round - GEMM_FIRST][i]);
		}
}

static int build_round(struct pair_run *r, struct bench_case *c, enum pair_variant round)
{
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
	return bench_graph_prepare(c, g);
}

/* From the event before the side's work to its end; the longest of the devices' times. */
static int side_seconds(const struct pair_run *r, enum pair_variant round, const uint32_t *side,
			double *seconds_p)
{
	const uint32_t *second = round == GEMM_FIRST ? r->traffic : r->compute;
	const struct work_graph *g = r->round[round];
	double longest_s = 0.0, start_s = 0.0, end_s = 0.0;
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->transfer.senders; i++) {
		status = work_graph_lane_seconds(g, side[i], &end_s);
		if (status == 0 && side == second)
			status = work_graph_seconds(g, WORK_GRAPH_BEGIN,
						    r->second_start[round - GEMM_FIRST][i],
						    &start_s);
		longest_s = fmax(longest_s, end_s - start_s);
	}
	if (status == 0)
		*seconds_p = longest_s;
	return status;
}

int pair_run_time(const struct pair_run *r, enum pair_variant variant, double *seconds_p)
{
	static const enum pair_variant rounds[PAIR_VARIANTS] = {
		GEMM,       TRANSFER,   SERIAL,         GEMM_FIRST,    TRANSFER_FIRST,
		GEMM_FIRST, GEMM_FIRST, TRANSFER_FIRST, TRANSFER_FIRST};
	enum pair_variant round = rounds[variant];
	double later_s;
	int status = work_graph_time(r->round[round], &later_s);
	if (status == 0 && variant >= PAIR_ROUNDS)
		return side_seconds(r, round,
				    variant == G_IN_GF || variant == G_IN_TF ? r->compute
									     : r->traffic,
				    seconds_p);
	if (status == 0)
		*seconds_p = later_s;
	return status;
}

/* ------------------------------------------------------------------ the size of the transfer */

/* The multiple of the GEMM's time that the transfer takes at its present size: medians of a few
 * rounds of either side in turn. */
static int time_sides(struct pair_run *r, struct bench_case *c, double *multiple_p)
{
	double gemm_s[SAMPLES], transfer_s[SAMPLES];
	int status = build_round(r, c, TRANSFER);
	for (size_t i = 0; status == 0 && i < SAMPLES; i++) {
		status = pair_run_time(r, GEMM, &gemm_s[i]);
		if (status == 0)
			status = pair_run_time(r, TRANSFER, &transfer_s[i]);
	}
	if (status)
		return status;
	stats_sort(gemm_s, SAMPLES);
	stats_sort(transfer_s, SAMPLES);
	*multiple_p = transfer_s[SAMPLES / 2] / gemm_s[SAMPLES / 2];
	return 0;
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
static int try_sizes(struct pair_run *r, struct bench_case *c)
{
	struct transfer *t = &r->transfer;
	uint64_t nearest_bytes = 0;
	double found, before = 1.0, nearest = INFINITY;
	int status = 0;
	for (int i = 0; status == 0 && nearest > TRIAL_TOLERANCE && i < TRIALS; i++) {
		uint64_t bytes = transfer_bytes(t);
		status = time_sides(r, c, &found);
		if (status)
			break;
		double factor = r->multiple / found, error = fabs(1.0 - 1.0 / factor);
		if (error < nearest) {
			nearest = error;
			nearest_bytes = bytes;
		}
		bytes = next_bytes(t,
				   (factor - 1.0) * (before - 1.0) < 0.0 ? sqrt(factor) : factor);
		before = factor;
		status = transfer_resize(t, c, bytes, transfer_max_passes(t));
	}
	return status ? status : transfer_resize(t, c, nearest_bytes, transfer_max_passes(t));
}

static int choose_size(struct pair_run *r, struct bench_case *c, double multiple)
{
	struct rotation *cold = NULL;
	int status = transfer_resize(&r->transfer, c, FIRST_BYTES, 1);
	r->multiple = multiple;
	if (status == 0)
		status = build_round(r, c, GEMM);
	if (status == 0)
		status = bench_rotate_cold(c, &r->round[GEMM], 1, &cold);
	return status ? status : try_sizes(r, c);
}

void pair_run_verify_size(const struct pair_run *r, struct bench_case *c)
{
	static const char name[] = "transfer_multiple";
	const struct transfer *t = &r->transfer;
	const double low = (1.0 - TOLERANCE) * r->multiple, high = (1.0 + TOLERANCE) * r->multiple;
	bench_status_add(c, bench_ratio(c, name, TRANSFER, GEMM, "transfer_alone / gemm_alone"));
	if (r->multiple > 0.0 && bench_outside(c, name, TRANSFER, low, high))
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

int pair_run_open(struct pair_run *r, struct bench_case *c, enum transfer_kind kind,
		  const struct copy_method *method, const struct transfer_size *size)
{
	r->lanes = bench_lanes(c);
	if (transfer_open(&r->transfer, c, r->lanes, kind, method))
		return bench_status(c);
	for (uint32_t i = 0; bench_status(c) == 0 && i < r->transfer.senders; i++) {
		r->compute[i] = work_lane_normal(r->lanes, i);
		r->traffic[i] = work_lane_normal(r->lanes, i);
		bench_gemm_open_axes(&r->gemm[i], c, r->transfer.sender[i].dev);
	}
	if (bench_status(c))
		return bench_status(c);
	bench_status_add(c, size->bytes ? transfer_resize(&r->transfer, c, size->bytes, 1)
					: choose_size(r, c, size->multiple));
	for (unsigned round = 0; bench_status(c) == 0 && round < PAIR_ROUNDS; round++)
		build_round(r, c, round);
	return bench_status(c);
}
