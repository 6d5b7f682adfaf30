/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/work_graph.h"
#include "bench/bench_gate.h"
#include "bench/work_lanes.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Queue entries of a lane in addition to its nodes: the gate or the wait for the begin event, and
 * the begin and end events. */
#define LANE_EXTRA 3u

enum node_kind { COPY, COPY_BY_KERNEL, GEMM, ADD, EMPTY, KINDS };
static const char *const kernels[KINDS] = {
	[COPY_BY_KERNEL] = "copy_nt", [ADD] = "reduce_add", [EMPTY] = "empty"};

struct node {
	enum node_kind kind;
	uint32_t lane, blocks;
	void *to;
	const void *from;
	uint64_t bytes;
	struct dev_gemm gemm;
	struct dev_event *done; /* NULL: no other lane waits for it */
	uint32_t first_wait, waits;
};

struct edge {
	uint32_t from, to;
};

/* What a graph enqueues on a lane. */
struct lane_work {
	uint32_t queued; /* 0: the lane has no work */
	uint32_t first;  /* the device's first lane with work, which waits for the gate */
};

struct work_graph {
	struct work_lanes *all;
	struct lane_work *work; /* by lane; only lanes that existed at prepare */
	size_t lane_count;
	struct dev_kernel *(*kernels)[KINDS]; /* by device */
	struct node *nodes;
	struct edge *edges; /* after prepare: sorted by target, without implied ones */
	size_t node_count, node_capacity, edge_count, edge_capacity;
	int status; /* the first error while it was built */
	bool prepared;
	char error_text[256];
};

static void graph_fail(struct work_graph *g, int status)
{
	work_lanes_keep_error(&g->status, g->error_text, status);
}

/* ------------------------------------------------------------------ building */

int work_graph_open(struct work_lanes *lanes, struct work_graph **g_p)
{
	if (lanes->status)
		return err_note(lanes->status, "%s", lanes->error_text);
	struct work_graph *g = calloc(1, sizeof(*g));
	if (!g)
		return err_note(-ENOMEM, "a graph: out of memory");
	g->all = lanes;
	*g_p = g;
	return 0;
}

void work_graph_close(struct work_graph *g)
{
	if (!g)
		return;
	work_lanes_sync(g->all, 0);
	for (size_t i = 0; i < g->node_count; i++)
		dev_event_close(work_lane_device(g->all, g->nodes[i].lane), g->nodes[i].done);
	free(g->work);
	free(g->kernels);
	free(g->nodes);
	free(g->edges);
	free(g);
}

/* Makes capacity for one more element of a graph that is not prepared. */
static void *grow_array(struct work_graph *g, void *at, size_t count, size_t *capacity_p,
			size_t each)
{
	if (g->status || (count < *capacity_p && !g->prepared))
		return at;
	if (g->prepared) {
		graph_fail(g, err_note(-EINVAL, "a prepared graph cannot be changed"));
		return at;
	}
	size_t more = *capacity_p ? 2 * *capacity_p : 64;
	void *grown = realloc(at, more * each);
	if (!grown) {
		graph_fail(g, err_note(-ENOMEM, "a graph of %zu: out of memory", more));
		return at;
	}
	*capacity_p = more;
	return grown;
}

static uint32_t add_node(struct work_graph *g, struct node node)
{
	g->nodes = grow_array(g, g->nodes, g->node_count, &g->node_capacity, sizeof(*g->nodes));
	if (g->status == 0 && node.lane >= g->all->count)
		graph_fail(g,
			   err_note(-EINVAL, "a node in lane %u of %zu", node.lane, g->all->count));
	if (g->status == 0 && (node.kind == ADD || node.kind == COPY_BY_KERNEL) &&
	    (node.blocks == 0 || node.bytes == 0 || node.bytes % DEV_KERNEL_ALIGN ||
	     (uintptr_t)node.to % DEV_KERNEL_ALIGN || (uintptr_t)node.from % DEV_KERNEL_ALIGN))
		graph_fail(
			g,
			err_note(
				-EINVAL,
				"%s of %llu bytes by %u blocks: kernels take multiples of %u bytes",
				kernels[node.kind], (unsigned long long)node.bytes, node.blocks,
				DEV_KERNEL_ALIGN));
	if (g->status)
		return 0;
	g->nodes[g->node_count] = node;
	return (uint32_t)g->node_count++;
}

uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from,
			 uint64_t bytes, uint32_t blocks)
{
	return add_node(g, (struct node){.kind = blocks ? COPY_BY_KERNEL : COPY,
					 .lane = lane,
					 .blocks = blocks,
					 .to = to,
					 .from = from,
					 .bytes = bytes});
}

uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm)
{
	return add_node(g, (struct node){.kind = GEMM, .lane = lane, .gemm = *gemm});
}

uint32_t work_graph_add(struct work_graph *g, uint32_t lane, float *to, const float *from,
			uint64_t bytes, uint32_t blocks)
{
	return add_node(g, (struct node){.kind = ADD,
					 .lane = lane,
					 .blocks = blocks,
					 .to = to,
					 .from = from,
					 .bytes = bytes});
}

uint32_t work_graph_empty(struct work_graph *g, uint32_t lane)
{
	return add_node(g, (struct node){.kind = EMPTY, .lane = lane, .blocks = 1});
}

void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to)
{
	g->edges = grow_array(g, g->edges, g->edge_count, &g->edge_capacity, sizeof(*g->edges));
	if (g->status == 0 && (from >= to || to >= g->node_count))
		graph_fail(
			g,
			err_note(-EINVAL,
				 "an edge from node %u to %u of %zu: it must lead to a later node",
				 from, to, g->node_count));
	if (g->status == 0)
		g->edges[g->edge_count++] = (struct edge){from, to};
}

/* ------------------------------------------------------------------ preparing */

/* Sorts by target, then by source, the latest source first. */
static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from > b->from ? -1 : a->from < b->from;
}

/* Drops edges that others imply: a lane that has waited for a node of another lane has waited for
 * all earlier nodes there. */
static int drop_implied_edges(struct work_graph *g)
{
	size_t kept = 0;
	size_t lanes = g->all->count;
	uint32_t *waited = calloc(lanes * lanes + 1, sizeof(*waited));
	if (!waited)
		return err_note(-ENOMEM, "edges among %zu lanes: out of memory", lanes);
	if (g->edge_count)
		qsort(g->edges, g->edge_count, sizeof(*g->edges), compare_edges);
	for (size_t i = 0; i < g->edge_count; i++) {
		struct edge e = g->edges[i];
		uint32_t from = g->nodes[e.from].lane, to = g->nodes[e.to].lane;
		uint32_t *latest = &waited[to * lanes + from];
		if (from == to || *latest > e.from)
			continue;
		*latest = e.from + 1;
		struct node *node = &g->nodes[e.to];
		node->first_wait = node->waits ? node->first_wait : (uint32_t)kept;
		node->waits++;
		g->edges[kept++] = e;
	}
	g->edge_count = kept;
	free(waited);
	return 0;
}

static int open_events(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->edge_count; i++) {
		struct node *from = &g->nodes[g->edges[i].from];
		if (from->done)
			continue;
		status = dev_event_open(work_lane_device(g->all, from->lane), &from->done);
		g->work[from->lane].queued++;
	}
	return status;
}

static int find_kernels(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		struct dev_kernel **kernel = &g->kernels[g->all->lanes[n->lane].device][n->kind];
		if (kernels[n->kind] && !*kernel)
			status = dev_kernel_find(work_lane_device(g->all, n->lane),
						 kernels[n->kind], kernel);
	}
	return status;
}

/* Counts the queue entries of each lane, and finds the first lane with work of its device. */
static int count_lane_work(struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	for (size_t i = 0; i < g->node_count; i++)
		g->work[g->nodes[i].lane].queued += 1 + g->nodes[i].waits;
	for (uint32_t i = 0; i < g->lane_count; i++) {
		struct lane_work *work = &g->work[i];
		if (work->queued == 0)
			continue;
		work->queued += LANE_EXTRA;
		while (l->lanes[work->first].device != l->lanes[i].device ||
		       g->work[work->first].queued == 0)
			work->first++;
		uint32_t max_queued = dev_props(work_lane_device(l, i))->max_queued;
		if (work->queued > max_queued)
			return err_note(-ENOTSUP, "needs %u queue entries; the stream holds %u",
					work->queued, max_queued);
	}
	return 0;
}

int work_graph_prepare(struct work_graph *g)
{
	if (g->status == 0 && g->prepared)
		graph_fail(g, err_note(-EINVAL, "the graph is already prepared"));
	if (g->status)
		return err_note(g->status, "%s", g->error_text);
	g->prepared = true;
	g->lane_count = g->all->count;
	g->work = calloc(g->lane_count + 1, sizeof(*g->work));
	g->kernels = calloc(g->all->device_count, sizeof(*g->kernels));
	int status = g->work && g->kernels ? drop_implied_edges(g)
					   : err_note(-ENOMEM, "a graph: out of memory");
	if (status == 0)
		status = open_events(g);
	if (status == 0)
		status = find_kernels(g);
	return status ? status : count_lane_work(g);
}

uint32_t work_graph_max_queued(const struct work_graph *g)
{
	uint32_t max = 0;
	for (size_t i = 0; i < g->lane_count; i++)
		max = g->work[i].queued > max ? g->work[i].queued : max;
	return max;
}

uint32_t work_graph_waits(const struct work_graph *g) { return (uint32_t)g->edge_count; }

uint32_t work_graph_lanes(const struct work_graph *g) { return (uint32_t)g->lane_count; }

/* ------------------------------------------------------------------ running */

static int launch_kernel(const struct work_graph *g, const struct lane *lane, const struct node *n)
{
	uint32_t reps = 1;
	const void *const args[] = {&n->to, &n->from, &n->bytes, &reps};
	struct dev_launch l = {.grid = n->blocks, .args = args};
	return dev_launch(g->all->devices[lane->device], lane->stream,
			  g->kernels[lane->device][n->kind], &l);
}

static int enqueue_node(const struct work_graph *g, const struct node *n)
{
	const struct lane *lane = &g->all->lanes[n->lane];
	struct dev *dev = g->all->devices[lane->device];
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < n->waits; i++)
		status = dev_stream_wait(dev, lane->stream,
					 g->nodes[g->edges[n->first_wait + i].from].done);
	if (status)
		return status;
	if (n->kind == COPY)
		status = dev_copy(dev, lane->stream, n->to, n->from, n->bytes);
	else if (n->kind == GEMM)
		status = dev_gemm(dev, lane->stream, &n->gemm);
	else
		status = launch_kernel(g, lane, n);
	return status || !n->done ? status : dev_event_record(dev, lane->stream, n->done);
}

int work_graph_run(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		status = enqueue_node(g, &g->nodes[i]);
	return status;
}

/* Only first lanes wait for the gate; the other lanes wait for the first lane's begin event. */
int work_graph_hold(struct work_graph *g)
{
	struct work_lanes *l = g->all;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++) {
		const struct lane *lane = &l->lanes[i];
		struct dev *dev = work_lane_device(l, i);
		bool first = g->work[i].first == i;
		if (g->work[i].queued == 0)
			continue;
		if (first)
			status = gate_shut(l->gate, dev, lane->stream);
		if (status == 0)
			status = first ? dev_event_record(dev, lane->stream, lane->begin)
				       : dev_stream_wait(dev, lane->stream,
							 l->lanes[g->work[i].first].begin);
	}
	return status;
}

int work_graph_sync(struct work_graph *g, int status) { return work_lanes_sync(g->all, status); }

int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p)
{
	const struct lane *lanes = g->all->lanes;
	double ns = 0.0;
	if (lane >= g->lane_count || g->work[lane].queued == 0)
		return err_note(-ENOENT, "lane %u has no work", lane);
	int status = dev_event_elapsed_ns(work_lane_device(g->all, lane),
					  lanes[g->work[lane].first].begin, lanes[lane].end, &ns);
	if (status == 0)
		*seconds_p = 1e-9 * ns;
	return status;
}

int work_graph_release(struct work_graph *g, int status, double *seconds_p)
{
	const struct work_lanes *l = g->all;
	double longest = 0.0;
	char text[256] = "";
	int first = 0;
	work_lanes_keep_error(&first, text, status);
	for (size_t i = 0; first == 0 && i < g->lane_count; i++)
		if (g->work[i].queued)
			work_lanes_keep_error(&first, text,
					      dev_event_record(work_lane_device(l, i),
							       l->lanes[i].stream,
							       l->lanes[i].end));
	work_lanes_keep_error(&first, text, gate_release(l->gate));
	work_lanes_keep_error(&first, text, work_graph_sync(g, 0));
	for (uint32_t i = 0; first == 0 && i < g->lane_count; i++) {
		double seconds = 0.0;
		if (g->work[i].queued)
			work_lanes_keep_error(&first, text,
					      work_graph_lane_seconds(g, i, &seconds));
		longest = seconds > longest ? seconds : longest;
	}
	if (first)
		return err_note(first, "%s", text);
	*seconds_p = longest;
	return 0;
}
