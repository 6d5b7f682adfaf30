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

#include "bench/graph/bench_graph.h"
#include "bench/links/link_log.h"

#define SWEEP_CHECKED (UINT64_C(4) << 20)

struct sweep_pair {
	uint32_t from, to; /* places in --device */
	char *target;
	struct work_graph *by_kernel, *by_engine; /* NULL: not asked for */
};

struct sweep {
	struct bench_case *c;
	uint64_t bytes, checked;
	struct work_lanes *lanes[DEV_MAX]; /* of one device each, with one lane */
	char *source[DEV_MAX];
	uint32_t *pattern;
	struct sweep_pair *pair;
	size_t count;
	double *seconds; /* of every pair, in the pass that runs */
	struct link_log log;
	bool poisoned; /* targets were destroyed since the last pass */
};

/* In setup. Pairs without peer access are left out and named in a fact; -ENOTSUP with the reason
 * where that are all. Returns bench_status(). */
int sweep_open(struct sweep *s, struct bench_case *c, uint64_t bytes);
void sweep_close(struct sweep *s);

/* In setup, of each method that is measured. Returns bench_status(). */
int sweep_prepare(struct sweep *s, bool engine);

/* In body: so many copies of every pair. The sum of their times is c->self_seconds. */
int sweep_time(struct sweep *s, unsigned variant, bool engine, uint64_t runs);

int sweep_poison(struct sweep *s);
int sweep_check(const struct sweep *s);

/* In derive: pair_time, min_bandwidth and median_bandwidth of the variant, and "pair_bandwidth
 * 0>3". */
int sweep_derive(struct sweep *s, unsigned variant);

/* In derive, of every pair what is known of its way, as "way_0_3": its nominal rate from the first
 * to the other, hops, where the ways of the two to the host meet, and the links. */
int sweep_report_ways(const struct sweep *s);

#endif
