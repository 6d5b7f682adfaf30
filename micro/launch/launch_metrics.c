/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/launch_metrics.h"
#include "micro/launch/graph.h"
#include "micro/launch/taxes.h"

static double hop_time(const struct bench_round *r) { return r->seconds[STREAM_HOP] / HOPS; }

static double launch_tax(const struct bench_round *r)
{
	return (r->seconds[MANY_LAUNCHES] - r->seconds[ONE_LAUNCH]) / (TAXES_PIECES - 1);
}

int launch_derive(struct bench_case *c)
{
	int status = bench_derive(c, "stream_hop_time", STREAM_HOP, "s", 1u << STREAM_HOP, hop_time,
				  NULL, "seconds(stream_hop) / 16 hops");
	if (status == 0)
		status = graph_derive(c, GRAPH_LAUNCH, GRAPH_ENQUEUE, GRAPH_ROUND_TRIP);
	if (status == 0)
		status = bench_derive(c, "launch_tax", MANY_LAUNCHES, "s",
				      1u << MANY_LAUNCHES | 1u << ONE_LAUNCH, launch_tax, NULL,
				      "(16 launches - 1 launch of the same work) / 15");
	if (status == 0)
		status = bench_ratio(
			c, "barrier_tax", STAGED_BARRIER, STAGED_FREE,
			"with a barrier each stage / free; 1.5 if free stages even out");
	if (status == 0)
		status = bench_ratio(c, "locality_tax", PRODUCER_FIRST, TILE_BY_TILE,
				     "all written then read / each read when written");
	return status;
}
