/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All schedules of one problem side by side on the same memory and lanes, with what they are held against: the product alone, the
 * communication alone, and of every schedule its products alone, its transfers alone, and both beside each other. Variants of
 * overlap/ficco are rows of these two dimensions.
 */
#ifndef GPUSIG_FICCO_RACE_H
#define GPUSIG_FICCO_RACE_H

#include "overlap/ficco/flow.h"

/* Variants: the schedules; the whole product and the whole communication, which are parts of serial; then three parts of each of
 * the others. */
enum {
	RACE_GEMM = OVERLAP_SCHEDULES,
	RACE_COMM,
	RACE_PARTS,
	RACE_VARIANTS = RACE_PARTS + 3 * (OVERLAP_SCHEDULES - 1)
};

enum overlap_schedule race_schedule(unsigned variant);
enum flow_part race_part(unsigned variant);
/* The variant that is this part of a schedule. */
unsigned race_variant(enum overlap_schedule schedule, enum flow_part part);

struct race {
	struct overlap_plan *serial, *plan[OVERLAP_SCHEDULES]; /* NULL: not run; serial's is always there */
	struct work_graph *graph[RACE_VARIANTS];
	struct flow_lanes lanes;
	struct operands operands;
	uint32_t blocks;                 /* of kernels that copy; 0: engines do */
	enum overlap_schedule arranged;  /* OVERLAP_SCHEDULES: none */
	uint64_t most_iterations[RACE_VARIANTS];
	double transfer_s[RACE_VARIANTS]; /* of parts beside each other: the transfers, in the latest body with most iterations */
	char left_out[200], why[160]; /* the schedules, and the reason for the last of them */
};

/* In set-up. Turns off variants that can't be had here and keeps their names in left_out. -ENOTSUP with a text when none is left,
 * -ENOMEM when it does not fit. */
int race_open(struct race *r, struct bench_case *c, const struct overlap_problem *problem, enum dev_type type, uint32_t blocks);
/* In teardown; accepts what is all zeroes. */
void race_close(struct race *r);

/* So many runs, each from a common gate to the last device's last lane; their sum in seconds. For parts beside each other it is
 * the products' side. */
int race_run(struct race *r, unsigned variant, uint64_t iterations, double *seconds_p);

/* What is done on devices in one run, all of them together. */
void race_model(const struct race *r, unsigned variant, struct bench_model *m);

int race_spoil(struct race *r);
int race_check(const struct race *r, struct bench_case *c, unsigned variant); /* of a schedule; parts alone have no result */

#endif
