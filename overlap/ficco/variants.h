/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All schedules of one problem on the same memory and lanes, and the references that they are
 * compared with: the GEMM alone, the communication alone, and for every schedule its GEMMs alone,
 * its transfers alone, and both concurrently. A variant of overlap/ficco is a schedule and a part.
 */
#ifndef GPUSIG_VARIANTS_H
#define GPUSIG_VARIANTS_H

#include "bench/graph/rotation.h"
#include "lib/err.h"
#include "overlap/ficco/flow.h"

/* Variants: the schedules, by their enum; the whole GEMM and the whole communication, which are the
 * parts of serial; then four for each other schedule: its GEMMs alone, its transfers alone, and
 * either side while both run, without dependencies between them. Last serial with the vendor's
 * collective, and that collective alone. */
#define FICCO_BASELINE_ENUM(id, ...) VARIANTS_GEMM = FICCO_SCHEDULES, VARIANTS_COMM,
#define FICCO_PARTS_ENUM(id, ...)                                                                  \
	VARIANT_##id##_GEMMS, VARIANT_##id##_TRANSFERS, VARIANT_##id##_GEMMS_CONCURRENT,           \
		VARIANT_##id##_TRANSFERS_CONCURRENT,
enum {
	FICCO_SCHEDULE_TABLE(FICCO_BASELINE_ENUM, FICCO_PARTS_ENUM) VARIANTS_LIBRARY,
	VARIANTS_LIBRARY_COMM,
	VARIANTS_ALL
};
extern const struct bench_variant ficco_variants[VARIANTS_ALL + 1];

/* The variants of a schedule's parts. Those of serial are never concurrent: 0. */
struct ficco_parts {
	unsigned gemms, transfers, gemms_concurrent, transfers_concurrent;
};
extern const struct ficco_parts ficco_parts[FICCO_SCHEDULES];

/* The case's state. */
struct variants {
	/* By variant: of a schedule, which the case owns, also at its parts; of serial always. */
	struct ficco_plan *plan[VARIANTS_ALL];
	struct work_graph *graph[VARIANTS_ALL];
	struct work_graph *arrange[VARIANTS_ALL], *arranged; /* by whole variant; NULL: none is */
	struct operands operands;
	struct ficco_library library;
	struct rotation *rotation;  /* cold operands */
	struct work_graph *wash;    /* with a rotation: what an arrangement leaves in a cache */
	uint32_t blocks;            /* of copy kernels; 0: copy engines */
	char skipped[512];          /* schedules that do not run */
	char skipped_why[ERR_TEXT]; /* the reason for the last of them */
};

/* In setup. Turns off the variants that are not possible here and writes their names to `skipped`.
 * -ENOTSUP with a text when none is left, -ENOMEM when memory does not suffice. */
int variants_open(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		  uint32_t blocks);

/* Callbacks of struct bench; the variants bring what differs, and their models. Each iteration
 * counts from the common gate to the end of the last lane of the last device, or of the side in the
 * variant's name. The model is the work of that in one run, summed over all devices. Only whole
 * schedules have a result to check. */
int variants_body(struct bench_case *c, long variant, uint64_t iterations);
int variants_poison(struct bench_case *c, long variant);
int variants_check(struct bench_case *c, long variant);
void variants_teardown(struct bench_case *c);

/* In derive, the metrics from the times of the variants, with the rows of quantities. For every
 * schedule that was measured:
 *     S, fraction_of_ideal   over serial, as in bench/bench_overlap.h
 *     exposed                its time minus the time of the whole GEMM alone
 *     DIL_gemm, DIL_comm     its GEMMs (transfers) alone / the whole GEMM (communication) alone
 *     CIL_gemm, CIL_comm     its GEMMs (transfers) concurrent with its transfers (GEMMs), without
 *                            dependencies / the same alone
 *     S_library              time of serial with the vendor's collective / its time
 *     the bound of flop_rate its GEMMs alone or its transfers alone, whichever takes longer:
 *                            overlap cannot hide more than the shorter one
 *
 * For the case: S_ideal; best_speedup, the S of the fastest schedule except serial; and the facts
 * `best_schedules`, the fastest of all and those that tie with it (bench_fastest()), and `tie`: yes
 * or no. Fact `same_work_as`, for all-to-all: the operation with the same GEMMs and transfers. */
int variants_derive(struct bench_case *c);

#endif
