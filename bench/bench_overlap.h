/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What running things at once gains, over one after the other (our definitions of FiCCO's, arXiv
 * 2512.10236, and ConCCL's fraction, arXiv 2412.14335):
 *
 *     S                  seconds(serial) / seconds
 *     S_ideal            the sum of the parts' seconds / those of the longest one
 *     fraction_of_ideal  (S - 1) / (S_ideal - 1), not clamped: below 0 it costs time, above 1 the
 *                        serial one has gaps that overlap hides
 *
 * All are formed round by round.
 */
#ifndef GPUSIG_BENCH_OVERLAP_H
#define GPUSIG_BENCH_OVERLAP_H

#include "bench/bench.h"

struct bench_overlap {
	unsigned serial;       /* variant: one after the other */
	uint64_t sum, longest; /* bit masks of the variants that S_ideal is of */
	double min_ideal;      /* a fraction of a smaller S_ideal would be noise: it has no value */
};

/* In derive. Record S and fraction_of_ideal of a variant; record S_ideal of the case. */
int bench_derive_overlap(struct bench_case *c, const struct bench_overlap *o, unsigned variant);
int bench_derive_ideal(struct bench_case *c, const struct bench_overlap *o);

#endif
