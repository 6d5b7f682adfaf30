/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One copy of every ordered pair of devices, one pair after the other: a sweep is one pass of a
 * case, so that finding a slow link costs as many copies as there are pairs.
 *
 * A pair moves all bytes from the one buffer of its source to a place of its own in the target. The
 * places overlap, and each pair overwrites what the pairs before it left behind the first
 * SWEEP_CHECKED bytes of theirs; those stay and are checked. A device has a gate of its own, so a
 * pair without access to each other's memory is left out alone.
 */
#ifndef GPUSIG_PEER_SWEEP_H
#define GPUSIG_PEER_SWEEP_H

#include "bench/links/link_log.h"
#include "micro/peer_matrix/transfers.h"

#define SWEEP_CHECKED (UINT64_C(4) << 20)

struct sweep {
	struct transfers *pairs;           /* a transfer each */
	struct work_lanes *lanes[DEV_MAX]; /* of one device each, with one lane */
	struct work_graph **graph[2];      /* of every pair: by engines, by kernels */
	unsigned variant[2];               /* that they are of */
	double *seconds;                   /* of every pair, in the pass that runs */
	struct link_log log;
	bool poisoned; /* targets were made wrong since the last pass */
};

/* In setup: finds the pairs. Those without peer access are left out and named in a fact; -ENOTSUP
 * with the reason where that are all. */
int sweep_open(struct sweep *s, struct transfers *pairs, struct bench_case *c, uint64_t bytes);
void sweep_close(struct sweep *s);

/* In setup, of each variant that is measured. */
void sweep_prepare(struct sweep *s, unsigned variant, bool by_kernel);

/* In body: so many copies of every pair. The sum of their times is c->self_seconds. */
int sweep_time(struct sweep *s, bool by_kernel, uint64_t runs);

/* In derive: pair_time, min_bandwidth and median_bandwidth of the variants, and "pair_bandwidth
 * 0>3"; of every pair what is known of its way, as "way_0_3": its nominal rate from the first to
 * the other, hops, where the ways of the two to the host meet, and the links. */
int sweep_derive(struct sweep *s);

#endif
