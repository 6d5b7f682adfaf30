/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/launch_metrics.h"
#include "micro/launch/graph.h"

static double hop_time(const struct bench_round *r) { return r->seconds[STREAM_HOP] / HOPS; }

int launch_derive(struct bench_case *c)
{
	int status = bench_derive(c, "stream_hop_time", STREAM_HOP, "s", 1u << STREAM_HOP, hop_time,
				  NULL, "seconds(stream_hop) / 16 hops");
	return status ? status : graph_derive(c, GRAPH_LAUNCH, GRAPH_ENQUEUE, GRAPH_ROUND_TRIP);
}
