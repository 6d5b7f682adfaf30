/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/launch_metrics.h"
#include "micro/launch/graph.h"

int launch_derive(struct bench_case *c)
{
	int status = bench_time_each(c, "stream_hop_time", STREAM_HOP, HOPS,
				     "seconds(stream_hop) / 16 hops");
	return status ? status : graph_derive(c, GRAPH_LAUNCH, GRAPH_ENQUEUE, GRAPH_ROUND_TRIP);
}
