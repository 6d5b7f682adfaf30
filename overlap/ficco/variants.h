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
 * serial; then three parts of each other schedule. `param` is the schedule and the part. */
enum {
	VARIANTS_GEMM = FICCO_SCHEDULES,
	VARIANTS_COMM,
	VARIANTS_ALL = FICCO_SCHEDULES * FLOW_PARTS - 1
};
extern const struct bench_variant ficco_variants[VARIANTS_ALL + 1];

static inline enum ficco_schedule variants_schedule(unsigned variant)
{
	return (enum ficco_schedule)(ficco_variants[variant].param / FLOW_PARTS);
}
static inline enum flow_part variants_part(unsigned variant)
{
	return (enum flow_part)(ficco_variants[variant].param % FLOW_PARTS);
}
/* The variant for a part of a schedule. */
unsigned variants_variant(enum ficco_schedule schedule, enum flow_part part);

/* The case's state. */
struct variants {
	struct ficco_plan *plan[FICCO_SCHEDULES]; /* of serial always */
	struct work_graph *graph[VARIANTS_ALL], *arrange[FICCO_SCHEDULES];
	struct operands operands;
	uint32_t blocks;              /* of copy kernels; 0: copy engines */
	enum ficco_schedule arranged; /* FICCO_SCHEDULES: none */
	/* Of FLOW_CONCURRENT: the side of the transfers, in the latest body with the most
	 * iterations. */
	double transfer_s[FICCO_SCHEDULES];
	uint64_t max_iterations[FICCO_SCHEDULES];
	char skipped[200];     /* schedules that do not run */
	char skipped_why[160]; /* the reason for the last of them */
};

/* In setup. Turns off the variants that are not possible here and writes their names to `skipped`.
 * -ENOTSUP with a text when none is left, -ENOMEM when memory does not suffice. */
int variants_open(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		  uint32_t blocks);

/* Callbacks of struct bench. Each iteration counts from the common gate to the end of the last lane
 * of the last device; for FLOW_CONCURRENT it is the time of the GEMM side. The model is the work of
 * one run, summed over all devices. Only whole schedules have a result to check. */
int variants_body(struct bench_case *c, unsigned variant, uint64_t iterations);
void variants_model(const struct bench_case *c, unsigned variant, struct bench_model *m);
int variants_poison(struct bench_case *c, unsigned variant);
int variants_check(struct bench_case *c, unsigned variant);
void variants_teardown(struct bench_case *c);

/* In derive, the metrics from the times of the variants. For every schedule that was measured:
 *     speedup, fraction_of_ideal   over serial, and over ideal_speedup = (t_g + t_c) / max(t_g,
 *                                  t_c); not clamped
 *     exposed                      its time minus the time of the whole GEMM alone
 *     DIL_gemm, DIL_comm           its GEMMs (transfers) alone / the whole GEMM (communication)
 *                                  alone
 *     CIL_gemm, CIL_comm           its GEMMs (transfers) concurrent with its transfers (GEMMs),
 *                                  without dependencies / alone
 *     the bound of flop_rate       its GEMMs alone or its transfers alone, whichever takes longer:
 *                                  overlap cannot hide more than the shorter one
 *
 * For the case: ideal_speedup, best_speedup (of the fastest schedule except serial), and the fact
 * `winner` (the fastest of all).
 */
int variants_derive(struct bench_case *c);

#endif
