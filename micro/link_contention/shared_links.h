/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of devices that share a part of their ways to the host: by measurement, by topology, and
 * whether the two agree.
 *
 * A device keeps, with others, a share of the rate that it has alone: seconds alone / seconds
 * with the others, of the same round. A pair keeps the mean of both, for of two links of different
 * rates the faster one alone may lose. The pair is measured as
 *
 *     shared     where the median over the rounds is below 0.9
 *     apart      where it is above
 *     undecided  where the rounds tell neither
 *
 * by an order statistic that is on the wrong side of the median with a probability of at most 5 % /
 * the number of pairs. So the probability that any pair is called the wrong one is at most 5 %,
 * whatever the distribution, of rounds that are independent.
 */
#ifndef GPUSIG_SHARED_LINKS_H
#define GPUSIG_SHARED_LINKS_H

#include "bench/bench.h"
#include "bench/links/link_log.h"

#define SHARED_BELOW 0.9
#define SHARED_ERROR 0.05

enum pair_state { PAIR_UNDECIDED, PAIR_SHARED, PAIR_APART };

/* Judge one of `pairs` pairs by what it kept in each of n rounds, which are sorted. */
enum pair_state pair_judge(double *kept, size_t n, size_t pairs);

/* Seconds of every device alone, and of every pair's two devices, by variants of the case. */
struct shared_links {
	const struct link_log *devices, *pairs;
	unsigned alone, together;
};

/* In derive: rate_kept "0+1" of every pair; facts:
 *
 *     pair_0_1: measured=shared topology=shared port=0000:c1:00.0
 *     pairs_that_differ: 0+2: measured shared, by topology apart
 *     topology_not_known: a virtual machine has buses of its own
 *
 * Numbers are places in --device; topology is that of dev_upstream_read(), and the last two are
 * there where they are true. */
int shared_links_derive(struct bench_case *c, const struct shared_links *s);

#endif
