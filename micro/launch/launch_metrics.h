/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations that micro/launch times, and the quantities derived from their times.
 */
#ifndef GPUSIG_LAUNCH_METRICS_H
#define GPUSIG_LAUNCH_METRICS_H

#include "bench/bench.h"

/* Variants; micro/launch.c says what each time includes. */
enum {
	ENQUEUE,
	BACK_TO_BACK,
	ROUND_TRIP,
	SYNC_IDLE,
	EVENT_ROUND_TRIP,
	TRIGGER,
	STREAM_HOP,
	GRAPH_LAUNCH,
	GRAPH_ENQUEUE,
	GRAPH_ROUND_TRIP
};

/* Hops between two streams in one iteration of STREAM_HOP. */
#define HOPS 16u

/* In derive: times of one hop and of one kernel of a graph. */
int launch_derive(struct bench_case *c);

#endif
