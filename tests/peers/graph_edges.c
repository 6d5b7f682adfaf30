/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the overhead of bench/graph/work_graph.h: seconds per edge of a graph of empty
 * operations. Every node waits for the previous one in another lane, so an edge is a node, a record
 * and a wait. enqueue_s is the time of work_graph_run() while a gate holds the streams; run_s is
 * the time from the gate to the end on the device. Each is the minimum of many runs.
 *
 *     graph_edges DEVICE   ->   {"enqueue_s": ..., "run_s": ..., "edges": ..., "lanes": ...}
 */
#include "bench/graph/work_graph.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <stdio.h>

enum { LANES = 4, NODES = 512, RUNS = 400 };

static int build_chain(struct dev_set *set, struct work_lanes *lanes, struct work_graph **g_p)
{
	uint32_t lane[LANES], before = 0;
	for (uint32_t i = 0; i < LANES; i++) {
		uint32_t device = i % (uint32_t)set->count;
		lane[i] = work_lane(lanes, device, dev_props(set->dev[device])->priority_normal);
	}
	int status = work_graph_open(lanes, g_p);
	if (status)
		return status;
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t node = work_graph_kernel(*g_p, lane[i % LANES], "empty", 1, NULL);
		if (i)
			work_graph_edge(*g_p, before, node);
		before = node;
	}
	return work_graph_prepare(*g_p);
}

static int measure_edges(struct work_graph *g, double *enqueue_p, double *run_p)
{
	double enqueue = 1e9, whole = 1e9;
	int status = 0;
	for (int i = 0; status == 0 && i < RUNS; i++) {
		double seconds = 0.0;
		status = work_graph_hold(g);
		uint64_t start = clock_ns();
		status = status ? status : work_graph_run(g);
		double took = 1e-9 * (double)(clock_ns() - start);
		status = work_graph_release(g, status, &seconds);
		enqueue = took < enqueue ? took : enqueue;
		whole = seconds < whole ? seconds : whole;
	}
	*enqueue_p = enqueue / work_graph_waits(g);
	*run_p = whole / work_graph_waits(g);
	return status;
}

int main(int argc, char **argv)
{
	struct dev_set set;
	struct work_lanes *lanes = NULL;
	struct work_graph *g = NULL;
	double enqueue = 0.0, run = 0.0;
	int status = dev_open(argc > 1 ? argv[1] : "host", 0, &set);
	if (status == 0) {
		for (size_t i = 1; status == 0 && i < set.count; i++)
			status = dev_peer_enable(set.dev[0], set.dev[i]);
		status = status ? status : work_lanes_open(set.dev, set.count, &lanes);
		status = status ? status : build_chain(&set, lanes, &g);
		status = status ? status : measure_edges(g, &enqueue, &run);
		if (status == 0)
			printf("{\"enqueue_s\": %.4g, \"run_s\": %.4g, \"edges\": %u, \"lanes\": "
			       "%d}\n",
			       enqueue, run, work_graph_waits(g), LANES);
		work_graph_close(g);
		work_lanes_close(lanes);
		dev_close(&set);
	}
	if (status)
		err_print("graph_edges: %s", err_text());
	return status ? 1 : 0;
}
