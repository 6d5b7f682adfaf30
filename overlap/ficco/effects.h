/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What follows from the times of a race. Of every schedule that was measured:
 *     speedup, fraction_of_ideal   against serial, and against ideal_speedup = (t_g + t_c) / max(t_g, t_c); not clamped
 *     exposed                      what its time exceeds that of the whole product alone by
 *     DIL_gemm, DIL_comm           its products (transfers) alone / the whole product (communication) alone
 *     CIL_gemm, CIL_comm           its products (transfers) beside its transfers (products) / alone, none waiting for the
 *                                  other
 *     flop_rate's bound            its products alone or its transfers alone, whichever takes longer: nothing hides more than all
 * And of the case: ideal_speedup, best_speedup (of the fastest but serial), the fact `winner` (serial among them).
 */
#ifndef GPUSIG_FICCO_EFFECTS_H
#define GPUSIG_FICCO_EFFECTS_H

#include "overlap/ficco/race.h"

/* In derive. */
int effects_derive(const struct race *r, struct bench_case *c);

#endif
