/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was gained by doing both at once, and who paid: from the times of the variants below to S, S_ideal, fraction_of_ideal,
 * TimeRatio, CIL of both sides and the exposed tail, for either order of enqueueing.
 */
#ifndef GPUSIG_PAIR_GAIN_H
#define GPUSIG_PAIR_GAIN_H

#include "lib/bench.h"

/* Each side alone, one after the other, both at once in either order; then of these, each side's own end. */
enum gain_variant { GEMM, TRANSFER, SERIAL, GEMM_FIRST, TRANSFER_FIRST, G_IN_GF, T_IN_GF, G_IN_TF, T_IN_TF, GAIN_VARIANTS };

/* In derive. Facts: "class" (ConCCL's: G-long, C-long, or GC-equal within 15 %), "who_paid_gemm_first" and
 * "who_paid_transfer_first" (gemm, transfer, both, or neither beyond noise), and "no_fraction_of_ideal": why there is none, where
 * the ideal gain is not told from noise. */
int gain_derive(struct bench_case *c);

#endif
