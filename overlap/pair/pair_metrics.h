/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gain of running both at once, and slowdown of either side: S, S_ideal, fraction_of_ideal,
 * TimeRatio, CIL of both sides and the exposed tail, for either order of enqueueing, from the times
 * of the variants below.
 */
#ifndef GPUSIG_PAIR_METRICS_H
#define GPUSIG_PAIR_METRICS_H

#include "bench/bench.h"

/* Each side alone, one after the other, both at once in either order: a round of its own each
 * (overlap/pair/pair_run.h). Then the end of each side in the last two of these. */
enum pair_variant {
	GEMM,
	TRANSFER,
	SERIAL,
	GEMM_FIRST,
	TRANSFER_FIRST,
	PAIR_ROUNDS,
	G_IN_GF = PAIR_ROUNDS,
	T_IN_GF,
	G_IN_TF,
	T_IN_TF,
	PAIR_VARIANTS
};

/* In derive. Facts: "class" (ConCCL's: G-long, C-long, or GC-equal within 15 %),
 * "slowed_side_gemm_first" and "slowed_side_transfer_first" (gemm, transfer, both, or neither
 * beyond noise), and "better_order" (gemm_first, transfer_first, or tie). */
int pair_derive(struct bench_case *c);

#endif
