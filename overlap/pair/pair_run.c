/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_run.h"
#include "lib/stats.h"

#include <math.h>

#define STAMPS_BEHIND 2
#define STAMPS_BEHIND_MANY 3
#define FIRST_BYTES (UINT64_C(1) << 20)
#define TOLERANCE 0.1
/* A trial far from the target size predicts poorly. */
#define MAX_FACTOR 32.0

enum { TRIALS = 8, SAMPLES = 5 };

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

/* The median of a few rounds of one side, at the transfer's present size. */
static int time_side(struct pair_run *r, struct bench_case *c, enum pair_variant side,
		     double *seconds_p)
{
	double seconds[SAMPLES];
	int status = build_round(r, c, side);
	for (size_t i = 0; status == 0 && i < SAMPLES; i++)
		status = pair_run_time(r, side, &seconds[i]);
	if (status)
		return status;
	stats_sort(seconds, SAMPLES);
	*seconds_p = seconds[SAMPLES / 2];
	return 0;
}

static uint64_t next_bytes(const struct transfer *t, double factor)
{
	double wanted =
		(double)transfer_bytes(t) * fmin(fmax(factor, 1.0 / MAX_FACTOR), MAX_FACTOR);
	double min = (double)(TRANSFER_ALIGN * t->fan_out), max = (double)transfer_max_bytes(t);
	return (uint64_t)fmin(fmax(wanted, min), max);
}

static int choose_size(struct pair_run *r, struct bench_case *c, double multiple)
{
	struct transfer *t = &r->transfer;
	double gemm_s, transfer_s;
	int status = transfer_resize(t, c, FIRST_BYTES);
	if (status == 0)
		status = time_side(r, c, GEMM, &gemm_s);
	for (int i = 0; status == 0 && i < TRIALS; i++) {
		uint64_t before = transfer_bytes(t);
		status = time_side(r, c, TRANSFER, &transfer_s);
		if (status || fabs(transfer_s / (multiple * gemm_s) - 1.0) <= TOLERANCE)
			break;
		status = transfer_resize(t, c, next_bytes(t, multiple * gemm_s / transfer_s));
		if (transfer_bytes(t) == before)
			break;
	}
	return status;
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
	bench_status_add(c, size->bytes ? transfer_resize(&r->transfer, c, size->bytes)
					: choose_size(r, c, size->multiple));
	for (unsigned round = 0; bench_status(c) == 0 && round < PAIR_ROUNDS; round++)
		build_round(r, c, round);
	return bench_status(c);
}
