/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results that are a repeating pattern (bench/pattern.h): declared once, in setup, poisoned and
 * checked by the harness. A program whose results are all of this kind has no poison() and no
 * check().
 *
 *     s->to = bench_alloc(c, DEV_MEM_DEVICE, bytes);
 *     bench_expect(c, BENCH_ALL, c->dev, s->to, bytes, pattern, 0.0f);
 */
#ifndef GPUSIG_BENCH_EXPECT_H
#define GPUSIG_BENCH_EXPECT_H

#include "bench/pattern.h"

#define BENCH_ALL UINT64_MAX

/* In setup: each execution of `variants` (bit mask) leaves the pattern in these bytes, memory that
 * the case has allocated on `dev`; it is read as pattern_check() does. `pattern` NULL: they are
 * poisoned and not checked. Poison is a fill by a byte that the pattern does not begin with.
 * Variants with callbacks of their own, or of struct bench, for one of the two use those. Results
 * are poisoned and checked in the order of these calls. Returns c->status. */
int bench_expect(struct bench_case *c, uint64_t variants, struct dev *dev, void *at, uint64_t bytes,
		 const void *pattern, float tolerance);

#endif
