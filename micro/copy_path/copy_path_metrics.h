/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bounds of the copies that micro/copy_path compares.
 */
#ifndef GPUSIG_COPY_PATH_METRICS_H
#define GPUSIG_COPY_PATH_METRICS_H

#include "micro/copy_path/route.h"

/* Variants that are compared with others. */
enum { ENGINE, BOTH_WAYS, SPLIT_4, SPLIT_16, ROUND_TRIP, PAGEABLE, KERNEL, KERNEL_NT };

/* In derive: the bound of every copy.
 *
 * Where the nominal rate of the link between both ends is known it is a bound, too, and the tighter
 * one is recorded; "link_share" is the bandwidth's share of it, and the facts "link",
 * "link_limit_bytes_per_s", one way, and "link_limit_both_ways_bytes_per_s" say what the link is.
 * Where a copy is faster than that the driver is wrong about the link: there is neither bound nor
 * share, and the fact "link_exceeded" says so. */
int copy_path_bound(struct bench_case *c, const struct route *r);

#endif
