/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/graph.h"

int graph_open(struct bench_case *c, struct dev_kernel *empty, struct dev_graph **graph_p)
{
	struct dev_launch launch = {.grid = 1};
	struct dev_graph *graph = NULL;
	int status = dev_graph_begin(c->dev, c->stream);
	if (status)
		return status;
	for (unsigned i = 0; status == 0 && i < GRAPH_KERNELS; i++)
		status = dev_launch(c->dev, c->stream, empty, &launch);
	/* Also after a failure: otherwise the stream would keep capturing. */
	int ended = dev_graph_end(c->dev, c->stream, &graph);
	if (status || ended) {
		dev_graph_close(c->dev, graph);
		return status ? status : ended;
	}
	*graph_p = graph;
	return 0;
}

int graph_derive(struct bench_case *c, unsigned launched, unsigned enqueued, unsigned waited)
{
	const struct {
		unsigned variant;
		const char *name, *formula;
	} times[] = {{launched, "graph_kernel_interval",
		      "device time from graph to graph in a full queue / 64 kernels in each"},
		     {enqueued, "graph_enqueue_per_kernel",
		      "the host's call to launch a graph / 64 kernels in it"},
		     {waited, "graph_round_trip_per_kernel",
		      "launching a graph and waiting for its end / 64 kernels in it"}};
	int status = 0;
	for (unsigned i = 0; status == 0 && i < sizeof(times) / sizeof(times[0]); i++)
		status = bench_time_each(c, times[i].name, times[i].variant, GRAPH_KERNELS,
					 times[i].formula);
	return status;
}
