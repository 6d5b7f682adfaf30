/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency between every two processors that this process may use, hardware threads included:
 * core_latency() of each pair alone, in passes over all pairs in random order.
 *
 *     core_latency 0-5     median of a pair's visits, one a pass; 0 and 5 are the kernel's numbers
 *     core_latency_min     of the pair with the lowest median
 *     core_latency_median  of each pass the median over all pairs
 *     core_latency_max     of the pair with the highest median
 *
 * Passes are spread evenly over the case's time, for a hypervisor moves processors within a second.
 */
#ifndef GPUSIG_CORE_MATRIX_H
#define GPUSIG_CORE_MATRIX_H

#include "bench/bench.h"

/* Most processors; of more, an even selection: 2016 pairs, a pass in about a second. */
#define CORE_MATRIX_MOST 64

/* Leave the first, and at most CORE_MATRIX_MOST, spread evenly over the list; returns how many. */
size_t core_matrix_choose(int *cores, size_t count);

/* In derive. Takes the case's time, or what three passes take where that is more: 5 s and a pass at
 * most. With less than 50 ms nothing is measured. What is not measured, and why, is the fact
 * core_latency_not_measured. -ENOMEM. */
int core_matrix_derive(struct bench_case *c);

#endif
