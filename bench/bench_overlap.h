/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gain of overlap over running one after the other (our definitions of FiCCO's, arXiv 2512.10236,
 * and ConCCL's fraction, arXiv 2412.14335):
 *
 *     S                  seconds(serial) / seconds
 *     S_ideal            the sum of the parts' seconds / those of the longest one
 *     fraction_of_ideal  (S - 1) / (S_ideal - 1), not clamped: below 0 it costs time, above 1 the
 *                        serial one has gaps that overlap hides
 *
 * All are formed round by round.
 *
 * Noise. fraction_of_ideal has no value, but a reason, where S_ideal is within noise of 1: above it
 * by at most 4 %, or by at most the width of its own 95 % interval or that of S. The statistics of
 * the case decide, so that no round is picked.
 *
 * Limit. Overlap alone cannot bring S above S_ideal. Where all of the interval of S is more than 2
 * % above all of that of S_ideal, both S and fraction_of_ideal are flagged "above_bound": the
 * serial variant does other work than its parts, or has long gaps. The times themselves stay valid.
 */
#ifndef GPUSIG_BENCH_OVERLAP_H
#define GPUSIG_BENCH_OVERLAP_H

#include "bench/bench.h"

struct bench_overlap {
	unsigned serial;       /* variant: one after the other */
	uint64_t sum, longest; /* bit masks of the variants that S_ideal is of */
	const char *suffix;    /* of the three names, such as "_tiled"; NULL: none */
	bool own_ideal; /* S_ideal is of each of the variants, whose parts are not those of others;
			   false: of the case */
};

/* In derive. Records S_ideal of the case, or of each of `variants`, and S and fraction_of_ideal of
 * those in `variants` (bit mask) that were measured. */
int bench_derive_overlap(struct bench_case *c, const struct bench_overlap *o, uint64_t variants);

/* In derive, after S_ideal: the limit for another speedup over the same serial variant, or over one
 * that does other work. */
void bench_overlap_limit(struct bench_case *c, const struct bench_overlap *o, const char *speedup,
			 unsigned variant);

/* In derive. Gives the fastest of `variants` (bit mask): the valid one with the lowest median, and
 * those that tie with it. One ties when the 95 % interval of its seconds / those of the fastest,
 * round by round, begins at no more than 1.01. 0 where none is valid. */
#define BENCH_TIE 1.01
int bench_fastest(struct bench_case *c, uint64_t variants, uint64_t *fastest_p);

#endif
