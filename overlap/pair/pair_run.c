/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_run.h"
#include "lib/stats.h"

#include <math.h>

#define STAMPS_BEHIND 2
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

static void add_stamps_behind(const struct pair_run *r, struct work_graph *g, const uint32_t *lane)
{
	for (size_t i = 0; i < r->transfer.senders; i++)
		for (int k = 0; k < STAMPS_BEHIND; k++)
			work_graph_stamp_end(g, work_graph_mark(g, lane[i]));
}

static int build_round(struct pair_run *r, struct bench_case *c, enum pair_variant round)
{
	struct work_graph *g = r->round[round] = bench_graph(c, r->lanes);
	if (round == TRANSFER || round == TRANSFER_FIRST)
		transfer_add(&r->transfer, g, r->traffic);
	if (round == TRANSFER_FIRST)
		add_stamps_behind(r, g, r->compute);
	if (round != TRANSFER)
		add_gemms(r, g);
	if (round == GEMM_FIRST)
		add_stamps_behind(r, g, r->traffic);
	if (round == GEMM_FIRST || round == SERIAL)
		transfer_add(&r->transfer, g, round == SERIAL ? r->compute : r->traffic);
	return bench_graph_prepare(c, g);
}

int pair_run_time(const struct pair_run *r, enum pair_variant variant, double *seconds_p)
{
	static const enum pair_variant rounds[PAIR_VARIANTS] = {
		GEMM,       TRANSFER,   SERIAL,         GEMM_FIRST,    TRANSFER_FIRST,
		GEMM_FIRST, GEMM_FIRST, TRANSFER_FIRST, TRANSFER_FIRST};
	const uint32_t *side = variant == G_IN_GF || variant == G_IN_TF ? r->compute : r->traffic;
	bool to_later_end = variant < PAIR_ROUNDS;
	struct work_graph *g = r->round[rounds[variant]];
	double later_s = 0.0, side_s = 0.0, lane_s = 0.0;
	int status = work_graph_time(g, &later_s);
	for (size_t i = 0; status == 0 && !to_later_end && i < r->transfer.senders; i++) {
		status = work_graph_lane_seconds(g, side[i], &lane_s);
		side_s = fmax(side_s, lane_s);
	}
	if (status == 0)
		*seconds_p = to_later_end ? later_s : side_s;
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
