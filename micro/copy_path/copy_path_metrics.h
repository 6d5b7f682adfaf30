/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copies that micro/copy_path compares, and the quantities derived from their times.
 */
#ifndef GPUSIG_COPY_PATH_METRICS_H
#define GPUSIG_COPY_PATH_METRICS_H

#include "bench/roofline.h"
#include "micro/copy_path/route.h"

/* From KERNEL_1 to ROOFLINE, exclusive: the copy kernel with a growing number of blocks. ROOFLINE
 * is the first of ROOFLINE_VARIANTS. */
enum {
	ENGINE,
	BOTH_WAYS,
	SPLIT_4,
	SPLIT_16,
	ROUND_TRIP,
	PAGEABLE,
	KERNEL,
	KERNEL_NT,
	KERNEL_1,
	KERNEL_1024 = KERNEL_1 + 10,
	ROOFLINE
};

/* param: pieces of an engine copy, or blocks of a kernel (0: enough for every unit). */
extern const struct bench_variant copy_path_variants[];

/* In derive: ratios of times, the bound of every copy, and "blocks_to_saturate": the fewest blocks
 * of the copy kernel that reach 95 % of its best bandwidth, `wave_blocks` of which fill the device.
 *
 * Where the nominal rate of the link between both ends is known it is a bound, too, and the tighter
 * one is recorded; "link_share" is the bandwidth's share of it, and the facts "link",
 * "link_limit_bytes_per_s", one way, and "link_limit_both_ways_bytes_per_s" say what the link is.
 * Where a copy is faster than that the driver is wrong about the link: there is neither bound nor
 * share, and the fact "link_exceeded" says so. */
int copy_path_derive(struct bench_case *c, const struct roofline *roofline,
		     const struct route *route, uint32_t wave_blocks);

#endif
