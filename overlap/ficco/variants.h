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
#include "overlap/ficco/library.h"

/* Variants: the schedules; the whole GEMM and the whole communication, which are the parts of
 * serial; then four for each other schedule: its GEMMs alone, its transfers alone, and either side
 * while both run, without dependencies between them. Last serial with the vendor's collective, and
 * that collective alone. `param` is the schedule and the part. */
enum variant_part {
	VARIANT_WHOLE,
	VARIANT_GEMMS,
	VARIANT_TRANSFERS,
	VARIANT_GEMMS_CONCURRENT,
	VARIANT_TRANSFERS_CONCURRENT,
	VARIANT_LIBRARY, /* of serial alone, as the next one */
	VARIANT_LIBRARY_COMM,
	VARIANT_PARTS
};
enum {
	VARIANTS_GEMM = FICCO_SCHEDULES,
	VARIANTS_COMM,
	VARIANTS_LIBRARY = FICCO_SCHEDULES * VARIANT_LIBRARY - 2,
	VARIANTS_LIBRARY_COMM,
	VARIANTS_ALL
};
extern const struct bench_variant ficco_variants[VARIANTS_ALL + 1];

static inline enum ficco_schedule variants_schedule(unsigned variant)
{
	return (enum ficco_schedule)(ficco_variants[variant].param / VARIANT_PARTS);
}
static inline enum variant_part variants_part(unsigned variant)
{
	return (enum variant_part)(ficco_variants[variant].param % VARIANT_PARTS);
}
/* True if a variant times GEMMs (transfers). */
static inline bool variants_compute(unsigned variant)
{
	enum variant_part part = variants_part(variant);
	return part != VARIANT_TRANSFERS && part != VARIANT_TRANSFERS_CONCURRENT &&
	       part != VARIANT_LIBRARY_COMM;
}
static inline bool variants_transfer(unsigned variant)
{
	enum variant_part part = variants_part(variant);
	return part != VARIANT_GEMMS && part != VARIANT_GEMMS_CONCURRENT;
}
/* True if the vendor's collective is its communication. */
static inline bool variants_by_library(unsigned variant)
{
	return variants_part(variant) == VARIANT_LIBRARY ||
	       variants_part(variant) == VARIANT_LIBRARY_COMM;
}
/* The variant for a part of a schedule. */
unsigned variants_variant(enum ficco_schedule schedule, enum variant_part part);

/* The case's state. */
struct variants {
	struct ficco_plan *plan[FICCO_SCHEDULES]; /* of serial always */
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

/* Callbacks of struct bench. Each iteration counts from the common gate to the end of the last lane
 * of the last device, or of the side in the variant's name. The model is the work of that in one
 * run, summed over all devices. Only whole schedules have a result to check. */
int variants_body(struct bench_case *c, unsigned variant, uint64_t iterations);
void variants_model(const struct bench_case *c, unsigned variant, struct bench_model *m);
int variants_poison(struct bench_case *c, unsigned variant);
int variants_check(struct bench_case *c, unsigned variant);
void variants_teardown(struct bench_case *c);

/* In derive, the metrics from the times of the variants. For every schedule that was measured:
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
