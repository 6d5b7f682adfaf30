/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/work_internals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Queue entries of a lane in addition to a run's: the gate or the wait for the begin event, and
 * the begin and end events. */
#define LANE_EXTRA 3u

/* For every node and lane, the number of nodes of that lane (counted by their last index + 1)
 * that are complete when the node starts. Rows of nodes, columns of lanes. */
struct history {
	uint32_t *known;
	size_t lanes;
};

static uint32_t *known_before(const struct history *h, uint32_t node)
{
	return h->known + node * h->lanes;
}

/* When `from` is complete, so is everything that was complete before it. */
static void learn_from(const struct history *h, uint32_t *known, uint32_t from, uint32_t lane)
{
	const uint32_t *before = known_before(h, from);
	for (size_t i = 0; i < h->lanes; i++)
		known[i] = before[i] > known[i] ? before[i] : known[i];
	known[lane] = from + 1;
}

/* Sorts by target, then by source, the latest source first: it may imply the others. */
static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from > b->from ? -1 : a->from < b->from;
}

/* Keeps the edges to a node that nothing before implies. *next_p: the first edge that leads to the
 * node or to a later one. */
static void keep_needed_edges(struct work_graph *g, const struct history *h, uint32_t to,
			      size_t *next_p, size_t *kept_p, size_t count)
{
	struct node *node = &g->nodes[to];
	uint32_t *known = known_before(h, to);
	node->first_wait = (uint32_t)*kept_p;
	for (; *next_p < count && g->edges[*next_p].to == to; ++*next_p) {
		struct edge e = g->edges[*next_p];
		uint32_t lane = g->nodes[e.from].lane;
		if (known[lane] > e.from)
			continue;
		learn_from(h, known, e.from, lane);
		g->edges[(*kept_p)++] = e;
		node->waits++;
	}
}

/* Whether a node of its device is complete before this one, so that the begin event is past. */
static bool follows_own_device(const struct work_graph *g, const struct history *h, uint32_t node)
{
	const struct lane *lanes = g->all->lanes;
	bool follows = false;
	for (size_t i = 0; i < h->lanes; i++)
		follows = follows || (known_before(h, node)[i] &&
				      lanes[i].device == lanes[g->nodes[node].lane].device);
	return follows;
}

/* Drops implied edges, and finds each lane's first and last node. */
static int trace_nodes(struct work_graph *g)
{
	struct history h = {.lanes = g->lane_count};
	size_t next = 0, kept = 0, count = g->edge_count;
	h.known = calloc(g->node_count * h.lanes + 1, sizeof(*h.known));
	if (!h.known)
		return err_note(-ENOMEM, "%zu nodes in %zu lanes: out of memory", g->node_count,
				h.lanes);
	if (count)
		qsort(g->edges, count, sizeof(*g->edges), compare_edges);
	for (uint32_t i = 0; i < g->node_count; i++) {
		struct lane_work *work = &g->work[g->nodes[i].lane];
		bool is_first = work->queued++ == 0;
		if (is_first)
			work->first_node = i;
		else
			learn_from(&h, known_before(&h, i), work->last_node, g->nodes[i].lane);
		work->last_node = i;
		keep_needed_edges(g, &h, i, &next, &kept, count);
		if (is_first)
			work->waits_for_begin = !follows_own_device(g, &h, i);
	}
	g->edge_count = kept;
	free(h.known);
	return 0;
}

/* The first lane of a device is that of its first node. */
static void find_first_lanes(struct work_graph *g)
{
	for (uint32_t i = 0; i < g->lane_count; i++) {
		uint32_t first_node = UINT32_MAX;
		for (uint32_t k = 0; g->work[i].queued && k < g->lane_count; k++) {
			if (g->all->lanes[k].device != g->all->lanes[i].device ||
			    !g->work[k].queued || g->work[k].first_node >= first_node)
				continue;
			first_node = g->work[k].first_node;
			g->work[i].first = k;
		}
		g->work[i].waits_for_begin = g->work[i].waits_for_begin && g->work[i].first != i;
	}
}

static int open_events(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; i < g->edge_count; i++)
		g->nodes[g->edges[i].from].stamped = true;
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		if (g->nodes[i].stamped)
			status = dev_event_open(work_lane_device(g->all, g->nodes[i].lane),
						&g->nodes[i].done);
	for (size_t i = 0; i < g->lane_count; i++) {
		struct lane_work *work = &g->work[i];
		struct dev_event *last = work->queued ? g->nodes[work->last_node].done : NULL;
		work->end = last ? last : g->all->lanes[i].end;
	}
	return status;
}

static int prepare_nodes(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++) {
		struct node *n = &g->nodes[i];
		for (size_t k = 0; n->kind == NODE_KERNEL && k < DEV_KERNEL_MAX_ARGS; k++)
			n->pointers[k] = &n->args[k];
		if (n->kind == NODE_GEMM)
			status = dev_gemm_prepare(work_lane_device(g->all, n->lane), &n->gemm);
	}
	return status;
}

static int check_queues(struct work_graph *g)
{
	for (size_t i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		/* Each node was counted before as one entry; a mark alone has none of its own, but
		 * a lane with work is never empty. */
		g->work[n->lane].queued += n->waits + n->stamped;
	}
	for (size_t i = 0; i < g->lane_count; i++) {
		uint32_t needed = g->work[i].queued + LANE_EXTRA;
		uint32_t max_queued = dev_props(work_lane_device(g->all, i))->max_queued;
		if (g->work[i].queued && needed > max_queued)
			return err_note(-ENOTSUP, "needs %u queue entries; the stream holds %u",
					needed, max_queued);
	}
	return 0;
}

int work_plan(struct work_graph *g)
{
	g->lane_count = g->all->count;
	g->work = calloc(g->lane_count + 1, sizeof(*g->work));
	int status = g->work ? trace_nodes(g) : err_note(-ENOMEM, "a graph: out of memory");
	if (status)
		return status;
	find_first_lanes(g);
	status = open_events(g);
	if (status == 0)
		status = prepare_nodes(g);
	return status ? status : check_queues(g);
}
