/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All schedules of one problem on the same memory and lanes, and the references that they are
 * compared with: the GEMM alone, the communication alone, and for every schedule its GEMMs alone,
 * its transfers alone, and both concurrently. A variant of overlap/ficco is a schedule and a part.
 */
#ifndef GPUSIG_VARIANTS_H
#define GPUSIG_VARIANTS_H

#include "overlap/ficco/flow.h"

/* Variants: the schedules; the whole GEMM and the whole communication, which are the parts of
 * serial; then three parts of each other schedule. */
enum {
	VARIANTS_GEMM = FICCO_SCHEDULES,
	VARIANTS_COMM,
	VARIANTS_PARTS,
	VARIANTS_ALL = VARIANTS_PARTS + 3 * (FICCO_SCHEDULES - 1)
};

enum ficco_schedule variants_schedule(unsigned variant);
enum flow_part variants_part(unsigned variant);
/* The variant for a part of a schedule. */
unsigned variants_variant(enum ficco_schedule schedule, enum flow_part part);

struct variants {
	struct ficco_plan *serial,
		*plan[FICCO_SCHEDULES]; /* NULL: not run; `serial` is always open */
	struct work_graph *graph[VARIANTS_ALL];
	struct flow_lanes lanes;
	struct operands operands;
	uint32_t blocks;              /* of copy kernels; 0: copy engines */
	enum ficco_schedule arranged; /* FICCO_SCHEDULES: none */
	uint64_t max_iterations[VARIANTS_ALL];
	double transfer_s[VARIANTS_ALL]; /* of FLOW_CONCURRENT: the side of the transfers, in the
					    latest body with the most iterations */
	char skipped[200];               /* schedules that do not run */
	char skipped_why[160];           /* the reason for the last of them */
};

/* In setup. Turns off the variants that are not possible here and writes their names to `skipped`.
 * -ENOTSUP with a text when none is left, -ENOMEM when memory does not suffice. */
int variants_open(struct variants *all, struct bench_case *c, const struct ficco_problem *problem,
		  enum dev_type type, uint32_t blocks);
/* In teardown; accepts a zeroed struct. */
void variants_close(struct variants *all);

/* Runs `iterations` times, each from the common gate to the end of the last lane of the last
 * device, and gives the sum in seconds. For FLOW_CONCURRENT it is the time of the GEMM side. */
int variants_run(struct variants *all, unsigned variant, uint64_t iterations, double *seconds_p);

/* Work of one run, summed over all devices. */
void variants_model(const struct variants *all, unsigned variant, struct bench_model *m);

int variants_poison(struct variants *all);
/* Only whole schedules have a result; 0 for parts. */
int variants_check(const struct variants *all, struct bench_case *c, unsigned variant);

#endif
