/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/graph/work_graph.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define GATE_BYTES 256u
/* Gate or begin, begin's stamp, end's stamp. */
#define LANE_EXTRA 3u

enum kind { COPY, COPY_BY_KERNEL, GEMM, ADD, EMPTY, KINDS };
static const char *const kernels[KINDS] = {[COPY_BY_KERNEL] = "copy_nt", [ADD] = "reduce_add", [EMPTY] = "empty"};

struct node {
	enum kind kind;
	uint32_t lane, blocks;
	void *to;
	const void *from;
	uint64_t bytes;
	struct dev_gemm gemm;
	struct dev_event *over;      /* where another lane waits for it */
	uint32_t first_wait, waits;
};

struct edge {
	uint32_t from, to;
};

struct lane {
	uint32_t device;
	int priority;
	bool first; /* of its device */
	struct dev_stream *stream;
	struct dev_event *end;
	uint32_t queued;
};

struct member {
	struct dev *dev;
	struct dev_kernel *kernel[KINDS];
	struct dev_event *begin;
	bool wanted[KINDS];
};

struct work_graph {
	struct member *members;
	struct lane *lanes;
	struct node *nodes;
	struct edge *edges; /* once prepared: by where they lead, without those that are implied */
	size_t member_count, lane_count, lane_room, node_count, node_room, edge_count, edge_room;
	uint32_t *gate, gate_value;
	int status; /* the first error while it was laid down */
	bool prepared;
	char text[256];
};

/* The first error counts, and so does its text. */
static int keep(struct work_graph *g, int status)
{
	if (g->status == 0 && status) {
		g->status = status;
		snprintf(g->text, sizeof(g->text), "%s", err_text());
	}
	return g->status;
}

/* ------------------------------------------------------------------ laying down */

int work_graph_open(struct dev *const *devices, size_t count, struct work_graph **g_p)
{
	void *gate = NULL;
	struct work_graph *g = calloc(1, sizeof(*g));
	struct member *members = calloc(count, sizeof(*members));
	int status = g && members ? 0 : err_note(-ENOMEM, "a graph over %zu devices: out of memory", count);
	for (size_t i = 0; status == 0 && i < count; i++) {
		members[i].dev = devices[i];
		if (!dev_can(devices[i], DEV_CAP_WAIT_VALUE))
			status = err_note(-ENOTSUP, "device %zu of the list can't wait for a value", i);
	}
	if (status == 0)
		status = dev_alloc(devices[0], DEV_MEM_PINNED, GATE_BYTES, &gate);
	if (status == 0)
		status = dev_post_value(devices[0], gate, 0);
	if (status) {
		if (gate)
			dev_free(devices[0], gate);
		free(members);
		free(g);
		return status;
	}
	g->members = members;
	g->member_count = count;
	g->gate = gate;
	*g_p = g;
	return 0;
}

void work_graph_close(struct work_graph *g)
{
	if (!g)
		return;
	work_graph_sync(g, 0);
	for (size_t i = 0; i < g->node_count; i++)
		if (g->nodes[i].over)
			dev_event_close(g->members[g->lanes[g->nodes[i].lane].device].dev, g->nodes[i].over);
	for (size_t i = 0; i < g->lane_count; i++) {
		struct dev *dev = g->members[g->lanes[i].device].dev;
		dev_event_close(dev, g->lanes[i].end);
		dev_stream_close(dev, g->lanes[i].stream);
	}
	for (size_t i = 0; i < g->member_count; i++)
		dev_event_close(g->members[i].dev, g->members[i].begin);
	dev_free(g->members[0].dev, g->gate);
	free(g->members);
	free(g->lanes);
	free(g->nodes);
	free(g->edges);
	free(g);
}

/* Room for one more of them. */
static void *room(struct work_graph *g, void *at, size_t count, size_t *room_p, size_t each)
{
	if (g->status || (count < *room_p && !g->prepared))
		return at;
	if (g->prepared) {
		keep(g, err_note(-EINVAL, "a graph that is prepared can't grow"));
		return at;
	}
	size_t more = *room_p ? 2 * *room_p : 64;
	void *grown = realloc(at, more * each);
	if (!grown) {
		keep(g, err_note(-ENOMEM, "a graph of %zu: out of memory", more));
		return at;
	}
	*room_p = more;
	return grown;
}

uint32_t work_graph_lane(struct work_graph *g, uint32_t device, int priority)
{
	g->lanes = room(g, g->lanes, g->lane_count, &g->lane_room, sizeof(*g->lanes));
	if (g->status == 0 && device >= g->member_count)
		keep(g, err_note(-EINVAL, "a lane of device %u: there are %zu", device, g->member_count));
	if (g->status)
		return 0;
	bool first = true;
	for (size_t i = 0; i < g->lane_count; i++)
		first = first && g->lanes[i].device != device;
	g->lanes[g->lane_count] = (struct lane){.device = device, .priority = priority, .first = first};
	return (uint32_t)g->lane_count++;
}

static uint32_t add_node(struct work_graph *g, struct node node)
{
	g->nodes = room(g, g->nodes, g->node_count, &g->node_room, sizeof(*g->nodes));
	if (g->status == 0 && node.lane >= g->lane_count)
		keep(g, err_note(-EINVAL, "a node in lane %u: there are %zu", node.lane, g->lane_count));
	if (g->status == 0 && (node.kind == ADD || node.kind == COPY_BY_KERNEL) &&
	    (node.blocks == 0 || node.bytes == 0 || node.bytes % DEV_KERNEL_ALIGN || (uintptr_t)node.to % DEV_KERNEL_ALIGN ||
	     (uintptr_t)node.from % DEV_KERNEL_ALIGN))
		keep(g, err_note(-EINVAL, "%s of %llu bytes by %u blocks: kernels take multiples of %u bytes", kernels[node.kind],
		                 (unsigned long long)node.bytes, node.blocks, DEV_KERNEL_ALIGN));
	if (g->status)
		return 0;
	g->members[g->lanes[node.lane].device].wanted[node.kind] = true;
	g->nodes[g->node_count] = node;
	return (uint32_t)g->node_count++;
}

uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from, uint64_t bytes, uint32_t blocks)
{
	return add_node(g, (struct node){.kind = blocks ? COPY_BY_KERNEL : COPY, .lane = lane, .blocks = blocks, .to = to,
	                                 .from = from, .bytes = bytes});
}

uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm)
{
	return add_node(g, (struct node){.kind = GEMM, .lane = lane, .gemm = *gemm});
}

uint32_t work_graph_add(struct work_graph *g, uint32_t lane, float *to, const float *from, uint64_t bytes, uint32_t blocks)
{
	return add_node(g, (struct node){.kind = ADD, .lane = lane, .blocks = blocks, .to = to, .from = from, .bytes = bytes});
}

uint32_t work_graph_empty(struct work_graph *g, uint32_t lane)
{
	return add_node(g, (struct node){.kind = EMPTY, .lane = lane, .blocks = 1});
}

void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to)
{
	g->edges = room(g, g->edges, g->edge_count, &g->edge_room, sizeof(*g->edges));
	if (g->status == 0 && (from >= to || to >= g->node_count))
		keep(g, err_note(-EINVAL, "an edge from node %u to %u of %zu: it leads to a later one", from, to, g->node_count));
	if (g->status == 0)
		g->edges[g->edge_count++] = (struct edge){from, to};
}

/* ------------------------------------------------------------------ preparing */

/* By where they lead; of those from one lane the latest first. */
static int earlier(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from > b->from ? -1 : a->from < b->from;
}

/* A lane that has waited for a node of another has waited for all before it there. */
static int drop_implied(struct work_graph *g)
{
	size_t kept = 0;
	uint32_t *waited = calloc(g->lane_count * g->lane_count + 1, sizeof(*waited));
	if (!waited)
		return err_note(-ENOMEM, "edges among %zu lanes: out of memory", g->lane_count);
	if (g->edge_count)
		qsort(g->edges, g->edge_count, sizeof(*g->edges), earlier);
	for (size_t i = 0; i < g->edge_count; i++) {
		struct edge e = g->edges[i];
		uint32_t from = g->nodes[e.from].lane, to = g->nodes[e.to].lane;
		uint32_t *latest = &waited[to * g->lane_count + from];
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

static int open_lane(struct work_graph *g, struct lane *l)
{
	struct member *m = &g->members[l->device];
	int status = dev_stream_open(m->dev, l->priority, &l->stream);
	if (status == 0)
		status = dev_event_open(m->dev, &l->end);
	if (status == 0 && l->first)
		status = dev_event_open(m->dev, &m->begin);
	for (int kind = 0; status == 0 && l->first && kind < KINDS; kind++)
		if (m->wanted[kind] && kernels[kind])
			status = dev_kernel_find(m->dev, kernels[kind], &m->kernel[kind]);
	l->queued = LANE_EXTRA;
	return status;
}

static int open_events(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->edge_count; i++) {
		struct node *from = &g->nodes[g->edges[i].from];
		if (from->over)
			continue;
		status = dev_event_open(g->members[g->lanes[from->lane].device].dev, &from->over);
		g->lanes[from->lane].queued++;
	}
	return status;
}

int work_graph_prepare(struct work_graph *g)
{
	if (g->status)
		return err_note(g->status, "%s", g->text);
	g->prepared = true;
	int status = drop_implied(g);
	for (size_t i = 0; status == 0 && i < g->lane_count; i++)
		status = open_lane(g, &g->lanes[i]);
	if (status == 0)
		status = open_events(g);
	for (size_t i = 0; i < g->node_count; i++)
		g->lanes[g->nodes[i].lane].queued += 1 + g->nodes[i].waits;
	for (size_t i = 0; status == 0 && i < g->lane_count; i++) {
		uint32_t most = dev_props(g->members[g->lanes[i].device].dev)->max_queued;
		if (g->lanes[i].queued > most)
			status = err_note(-ENOTSUP, "%u operations in a stream that takes %u", g->lanes[i].queued, most);
	}
	return status;
}

uint32_t work_graph_most_queued(const struct work_graph *g)
{
	uint32_t most = 0;
	for (size_t i = 0; i < g->lane_count; i++)
		most = g->lanes[i].queued > most ? g->lanes[i].queued : most;
	return most;
}

uint32_t work_graph_waits(const struct work_graph *g) { return (uint32_t)g->edge_count; }

/* ------------------------------------------------------------------ running */

static int launch(const struct member *m, struct dev_stream *stream, const struct node *n)
{
	uint32_t reps = 1;
	const void *const args[] = {&n->to, &n->from, &n->bytes, &reps};
	struct dev_launch l = {.grid = n->blocks, .args = args};
	return dev_launch(m->dev, stream, m->kernel[n->kind], &l);
}

static int enqueue(const struct work_graph *g, const struct node *n)
{
	const struct lane *lane = &g->lanes[n->lane];
	const struct member *m = &g->members[lane->device];
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < n->waits; i++)
		status = dev_stream_wait(m->dev, lane->stream, g->nodes[g->edges[n->first_wait + i].from].over);
	if (status)
		return status;
	if (n->kind == COPY)
		status = dev_copy(m->dev, lane->stream, n->to, n->from, n->bytes);
	else if (n->kind == GEMM)
		status = dev_gemm(m->dev, lane->stream, &n->gemm);
	else
		status = launch(m, lane->stream, n);
	return status || !n->over ? status : dev_event_record(m->dev, lane->stream, n->over);
}

int work_graph_run(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		status = enqueue(g, &g->nodes[i]);
	return status;
}

/* Only first lanes wait for the gate: what another lane does never begins before the stamp. */
int work_graph_hold(struct work_graph *g)
{
	int status = 0;
	g->gate_value++;
	for (size_t i = 0; status == 0 && i < g->lane_count; i++) {
		const struct lane *l = &g->lanes[i];
		struct member *m = &g->members[l->device];
		if (l->first)
			status = dev_wait_value(m->dev, l->stream, g->gate, g->gate_value);
		if (status == 0)
			status = l->first ? dev_event_record(m->dev, l->stream, m->begin) : dev_stream_wait(m->dev, l->stream, m->begin);
	}
	return status;
}

static void note(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

int work_graph_sync(struct work_graph *g, int status)
{
	char text[256] = "";
	int first = 0;
	note(&first, text, status);
	for (size_t i = 0; i < g->lane_count; i++)
		if (g->lanes[i].stream)
			note(&first, text, dev_stream_sync(g->members[g->lanes[i].device].dev, g->lanes[i].stream));
	return first ? err_note(first, "%s", text) : 0;
}

int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p)
{
	const struct lane *l = &g->lanes[lane];
	const struct member *m = &g->members[l->device];
	double ns = 0.0;
	int status = dev_event_elapsed_ns(m->dev, m->begin, l->end, &ns);
	if (status == 0)
		*seconds_p = 1e-9 * ns;
	return status;
}

int work_graph_release(struct work_graph *g, int status, double *seconds_p)
{
	double longest = 0.0;
	char text[256] = "";
	int first = 0;
	note(&first, text, status);
	for (size_t i = 0; first == 0 && i < g->lane_count; i++)
		note(&first, text, dev_event_record(g->members[g->lanes[i].device].dev, g->lanes[i].stream, g->lanes[i].end));
	note(&first, text, dev_post_value(g->members[0].dev, g->gate, g->gate_value));
	note(&first, text, work_graph_sync(g, 0));
	for (uint32_t i = 0; first == 0 && i < g->lane_count; i++) {
		double seconds = 0.0;
		note(&first, text, work_graph_lane_seconds(g, i, &seconds));
		longest = seconds > longest ? seconds : longest;
	}
	if (first)
		return err_note(first, "%s", text);
	*seconds_p = longest;
	return 0;
}
