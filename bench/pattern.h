/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of any size with known contents: one random pattern that repeats. Filling gigabytes with
 * numbers of their own would take longer than measuring them. An element-wise operation on such
 * buffers gives a repeating pattern too, so a check computes the expected pattern and compares.
 *
 * The last repetition in a buffer may be cut; sizes are multiples of 4. Not for timed code. Nothing
 * is filled where there are no results (bench_has_results()).
 */
#ifndef GPUSIG_PATTERN_H
#define GPUSIG_PATTERN_H

#include "bench/bench_alloc.h"

#define PATTERN_BYTES (1u << 20)
enum { PATTERN_WORDS = PATTERN_BYTES / 4 };

/* A pattern on the host that the case owns: random words from the case's generator, or random
 * reals in [-1, 1). NULL when there is no memory; see c->status. */
uint32_t *pattern_words(struct bench_case *c);
float *pattern_reals(struct bench_case *c);

/* Fill memory with the repeating pattern; does nothing after an error of the case. Returns
 * c->status. */
int pattern_fill(struct bench_case *c, struct dev *dev, void *at, uint64_t bytes,
		 const void *pattern);

/* bench_alloc_on() and pattern_fill(). */
void *pattern_alloc(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes,
		    const void *pattern);

/* In check: compare `at` with the repeating pattern. With a tolerance, words are reals that may
 * differ by it; with 0 they are compared bit for bit. 0, -EBADMSG with a text that names the first
 * wrong word, or a device error. */
int pattern_check(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes,
		  const void *pattern, float tolerance);

/* The sum, modulo 2^32, of all words of a buffer that holds the repeating pattern. */
uint32_t pattern_sum(const void *pattern, uint64_t bytes);

#endif
