/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics of overlap/ficco, from the times of its variants.
 *
 * For every schedule that was measured:
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
#ifndef GPUSIG_FICCO_METRICS_H
#define GPUSIG_FICCO_METRICS_H

#include "overlap/ficco/variants.h"

/* In derive. */
int ficco_derive(const struct variants *r, struct bench_case *c);

#endif
