/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics from the times of the pairs. For every pair and variant, over the passes that are
 * samples:
 *
 *     link_bandwidth 0-3   bytes of a window / time, in the variant's direction; both directions
 *                          count where both are sent at once
 *     link_latency 0-3     half of a round trip
 *
 * and of the case: round_time of every variant; min_bandwidth, of the pair and direction with the
 * lowest median; max_latency, of the pair with the highest; median_bandwidth and median_latency
 * over all pairs of a pass.
 */
#ifndef GPUSIG_LINK_METRICS_H
#define GPUSIG_LINK_METRICS_H

#include "bench/bench.h"
#include "bench/links/link_derive.h"
#include "collectives/pairs/pairing.h"

struct link_metrics {
	const struct pairing *pairing;
	struct link_log *log;
	double window_bytes;
};

/* In derive. */
int link_metrics_derive(struct bench_case *c, const struct link_metrics *m);

#endif
