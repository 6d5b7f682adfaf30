/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/work_internals.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

/* Queue entries of a lane in addition to a run's: the gate or the wait for the begin event, and
 * the begin and end events. */
#define LANE_EXTRA 3u

/* A lane of which all nodes with an index below `end` are complete. */
struct known {
	uint32_t lane, end;
};

/* For every node what is complete when it starts, but for its own lane, where all earlier nodes
 * are. Most nodes know no more than the one before them in their lane and share its entries. */
struct history {
	struct known *entries;
	size_t count, capacity;
	struct {
		size_t first, count;
	} * of; /* by node */
	/* State of the current node: 0 or `end`, by lane; lanes that are not 0. */
	uint32_t *end, *lanes;
	size_t lane_count;
};

static void learn_lane(struct history *h, uint32_t lane, uint32_t end)
{
	if (h->end[lane] == 0)
		h->lanes[h->lane_count++] = lane;
	h->end[lane] = end > h->end[lane] ? end : h->end[lane];
}

static void learn_before(struct history *h, uint32_t node)
{
	for (size_t i = 0; i < h->of[node].count; i++) {
		const struct known *k = &h->entries[h->of[node].first + i];
		learn_lane(h, k->lane, k->end);
	}
}

/* Keeps what the node that was looked at knows, without its own lane. */
static int keep_known(struct history *h, uint32_t node, uint32_t lane)
{
	h->of[node].first = h->count;
	for (size_t i = 0; i < h->lane_count; i++) {
		if (h->lanes[i] == lane)
			continue;
		struct known *grown = vec_grow(h->entries, h->count, &h->capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		h->entries = grown;
		h->entries[h->count++] = (struct known){h->lanes[i], h->end[h->lanes[i]]};
	}
	h->of[node].count = h->count - h->of[node].first;
	return 0;
}

static void forget_lanes(struct history *h)
{
	while (h->lane_count)
		h->end[h->lanes[--h->lane_count]] = 0;
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
static void keep_needed_edges(struct work_graph *g, struct history *h, uint32_t to, size_t *next_p,
			      size_t *kept_p, size_t count)
{
	struct node *node = &g->nodes[to];
	node->first_wait = (uint32_t)*kept_p;
	for (; *next_p < count && g->edges[*next_p].to == to; ++*next_p) {
		struct edge e = g->edges[*next_p];
		uint32_t lane = g->nodes[e.from].lane;
		if (lane == node->lane || h->end[lane] > e.from)
			continue;
		learn_before(h, e.from);
		learn_lane(h, lane, e.from + 1);
		g->edges[(*kept_p)++] = e;
		node->waits++;
	}
}

/* True if a node of its device completes before this one, so that the begin event is past. */
static bool follows_own_device(const struct work_graph *g, const struct history *h, uint32_t node)
{
	const struct lane *lanes = g->all->lanes;
	bool follows = false;
	for (size_t i = 0; i < h->lane_count; i++)
		follows = follows || lanes[h->lanes[i]].device == lanes[g->nodes[node].lane].device;
	return follows;
}

/* Drops implied edges, and finds each lane's first and last node. */
static int trace_nodes(struct work_graph *g, struct history *h)
{
	size_t next = 0, kept = 0, count = g->edge_count;
	int status = 0;
	if (count)
		qsort(g->edges, count, sizeof(*g->edges), compare_edges);
	for (uint32_t i = 0; status == 0 && i < g->node_count; i++) {
		const uint32_t lane = g->nodes[i].lane;
		struct lane_work *work = &g->work[lane];
		bool is_first = work->queued++ == 0;
		if (is_first)
			work->first_node = i;
		else
			h->of[i] = h->of[work->last_node];
		learn_before(h, i);
		work->last_node = i;
		keep_needed_edges(g, h, i, &next, &kept, count);
		if (is_first)
			work->waits_for_begin = !follows_own_device(g, h, i);
		if (g->nodes[i].waits)
			status = keep_known(h, i, lane);
		forget_lanes(h);
	}
	g->edge_count = kept;
	return status;
}

static int trace_graph(struct work_graph *g)
{
	struct history h = {.of = calloc(g->node_count + 1, sizeof(*h.of)),
			    .end = calloc(g->lane_count + 1, sizeof(*h.end)),
			    .lanes = calloc(g->lane_count + 1, sizeof(*h.lanes))};
	int status = h.of && h.end && h.lanes ? trace_nodes(g, &h) : -ENOMEM;
	free(h.of);
	free(h.end);
	free(h.lanes);
	free(h.entries);
	return status ? err_note(status, "%zu nodes in %zu lanes: out of memory", g->node_count,
				 g->lane_count)
		      : 0;
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

/* Backwards, so that the first work of a lane counts. */
static void find_first_engines(struct work_graph *g)
{
	for (size_t i = g->node_count; i-- > 0;)
		if (work_node_works(&g->nodes[i]))
			g->work[g->nodes[i].lane].begins_on_engine = g->nodes[i].kind == NODE_COPY;
}

static int open_events(struct work_graph *g)
{
	int status = 0;
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
	for (size_t i = 0; i < g->edge_count; i++)
		g->nodes[g->edges[i].from].stamped = true;
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
	int status = g->work ? trace_graph(g) : err_note(-ENOMEM, "a graph: out of memory");
	if (status)
		return status;
	find_first_lanes(g);
	find_first_engines(g);
	status = check_queues(g);
	if (status == 0)
		status = open_events(g);
	return status ? status : prepare_nodes(g);
}
