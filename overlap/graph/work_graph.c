/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/graph/work_graph.h"
#include "device/kernels.h"
#include "lib/bench_gate.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

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
	struct dev_stream *stream;
	struct dev_event *begin, *end;
};

struct work_lanes {
	struct dev **devices;
	struct lane *lanes;
	size_t device_count, count, room;
	struct gate *gate;
	int status; /* the first error */
	char text[256];
};

/* What a graph does in a lane. */
struct share {
	uint32_t queued; /* 0: nothing */
	uint32_t first;  /* the device's first lane with work, which waits for the gate */
};

struct work_graph {
	struct work_lanes *all;
	struct share *shares; /* by lane, as many as there were when it was prepared */
	size_t lane_count;
	struct dev_kernel *(*kernels)[KINDS]; /* by device */
	struct node *nodes;
	struct edge *edges; /* once prepared: by where they lead, without those that are implied */
	size_t node_count, node_room, edge_count, edge_room;
	int status; /* the first error while it was laid down */
	bool prepared;
	char text[256];
};

/* The first error counts, and so does its text. */
static void note(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

static void keep(struct work_graph *g, int status) { note(&g->status, g->text, status); }

static struct dev *device_of(const struct work_lanes *l, size_t lane) { return l->devices[l->lanes[lane].device]; }

/* ------------------------------------------------------------------ lanes */

int work_lanes_open(struct dev *const *devices, size_t count, struct work_lanes **l_p)
{
	struct gate *gate = NULL;
	struct work_lanes *l = calloc(1, sizeof(*l));
	struct dev **own = calloc(count, sizeof(struct dev *));
	int status = l && own ? 0 : err_note(-ENOMEM, "lanes of %zu devices: out of memory", count);
	for (size_t i = 0; status == 0 && i < count; i++) {
		own[i] = devices[i];
		if (!dev_can(devices[i], DEV_CAP_WAIT_VALUE))
			status = err_note(-ENOTSUP, "device %zu of the list can't wait for a value", i);
	}
	if (status == 0)
		status = gate_open(devices[0], GATE_LIMIT_NS, &gate);
	if (status) {
		free(own);
		free(l);
		return status;
	}
	*l = (struct work_lanes){.devices = own, .device_count = count, .gate = gate};
	*l_p = l;
	return 0;
}

static int sync_lanes(struct work_lanes *l, int status)
{
	char text[256] = "";
	int first = 0;
	note(&first, text, status);
	for (size_t i = 0; i < l->count; i++)
		note(&first, text, dev_stream_sync(device_of(l, i), l->lanes[i].stream));
	return first ? err_note(first, "%s", text) : 0;
}

void work_lanes_close(struct work_lanes *l)
{
	if (!l)
		return;
	sync_lanes(l, 0);
	for (size_t i = 0; i < l->count; i++) {
		dev_event_close(device_of(l, i), l->lanes[i].begin);
		dev_event_close(device_of(l, i), l->lanes[i].end);
		dev_stream_close(device_of(l, i), l->lanes[i].stream);
	}
	gate_close(l->gate);
	free(l->devices);
	free(l->lanes);
	free(l);
}

static int open_lane(struct dev *dev, int priority, struct lane *lane)
{
	int status = dev_stream_open(dev, priority, &lane->stream);
	if (status == 0)
		status = dev_event_open(dev, &lane->begin);
	if (status == 0)
		status = dev_event_open(dev, &lane->end);
	if (status == 0)
		return 0;
	dev_event_close(dev, lane->begin);
	dev_stream_close(dev, lane->stream);
	return status;
}

uint32_t work_lane(struct work_lanes *l, uint32_t device, int priority)
{
	struct lane lane = {.device = device};
	if (l->status == 0 && device >= l->device_count)
		note(&l->status, l->text, err_note(-EINVAL, "a lane of device %u: there are %zu", device, l->device_count));
	if (l->status == 0 && l->count == l->room) {
		size_t more = l->room ? 2 * l->room : 16;
		struct lane *grown = realloc(l->lanes, more * sizeof(*grown));
		if (grown) {
			l->lanes = grown;
			l->room = more;
		} else {
			note(&l->status, l->text, err_note(-ENOMEM, "%zu lanes: out of memory", more));
		}
	}
	if (l->status == 0)
		note(&l->status, l->text, open_lane(l->devices[device], priority, &lane));
	if (l->status)
		return 0;
	l->lanes[l->count] = lane;
	return (uint32_t)l->count++;
}

/* ------------------------------------------------------------------ laying down */

int work_graph_open(struct work_lanes *lanes, struct work_graph **g_p)
{
	if (lanes->status)
		return err_note(lanes->status, "%s", lanes->text);
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
	sync_lanes(g->all, 0);
	for (size_t i = 0; i < g->node_count; i++)
		dev_event_close(device_of(g->all, g->nodes[i].lane), g->nodes[i].over);
	free(g->shares);
	free(g->kernels);
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

static uint32_t add_node(struct work_graph *g, struct node node)
{
	g->nodes = room(g, g->nodes, g->node_count, &g->node_room, sizeof(*g->nodes));
	if (g->status == 0 && node.lane >= g->all->count)
		keep(g, err_note(-EINVAL, "a node in lane %u: there are %zu", node.lane, g->all->count));
	if (g->status == 0 && (node.kind == ADD || node.kind == COPY_BY_KERNEL) &&
	    (node.blocks == 0 || node.bytes == 0 || node.bytes % DEV_KERNEL_ALIGN || (uintptr_t)node.to % DEV_KERNEL_ALIGN ||
	     (uintptr_t)node.from % DEV_KERNEL_ALIGN))
		keep(g, err_note(-EINVAL, "%s of %llu bytes by %u blocks: kernels take multiples of %u bytes", kernels[node.kind],
		                 (unsigned long long)node.bytes, node.blocks, DEV_KERNEL_ALIGN));
	if (g->status)
		return 0;
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
	size_t lanes = g->all->count;
	uint32_t *waited = calloc(lanes * lanes + 1, sizeof(*waited));
	if (!waited)
		return err_note(-ENOMEM, "edges among %zu lanes: out of memory", lanes);
	if (g->edge_count)
		qsort(g->edges, g->edge_count, sizeof(*g->edges), earlier);
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
		if (from->over)
			continue;
		status = dev_event_open(device_of(g->all, from->lane), &from->over);
		g->shares[from->lane].queued++;
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
			status = dev_kernel_find(device_of(g->all, n->lane), kernels[n->kind], kernel);
	}
	return status;
}

/* What each lane is given, and whose first lane it is. */
static int share_out(struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	for (size_t i = 0; i < g->node_count; i++)
		g->shares[g->nodes[i].lane].queued += 1 + g->nodes[i].waits;
	for (uint32_t i = 0; i < g->lane_count; i++) {
		struct share *share = &g->shares[i];
		if (share->queued == 0)
			continue;
		share->queued += LANE_EXTRA;
		while (l->lanes[share->first].device != l->lanes[i].device || g->shares[share->first].queued == 0)
			share->first++;
		uint32_t most = dev_props(device_of(l, i))->max_queued;
		if (share->queued > most)
			return err_note(-ENOTSUP, "%u operations in a stream that takes %u", share->queued, most);
	}
	return 0;
}

int work_graph_prepare(struct work_graph *g)
{
	if (g->status == 0 && g->prepared)
		keep(g, err_note(-EINVAL, "a graph is prepared once"));
	if (g->status)
		return err_note(g->status, "%s", g->text);
	g->prepared = true;
	g->lane_count = g->all->count;
	g->shares = calloc(g->lane_count + 1, sizeof(*g->shares));
	g->kernels = calloc(g->all->device_count, sizeof(*g->kernels));
	int status = g->shares && g->kernels ? drop_implied(g) : err_note(-ENOMEM, "a graph: out of memory");
	if (status == 0)
		status = open_events(g);
	if (status == 0)
		status = find_kernels(g);
	return status ? status : share_out(g);
}

uint32_t work_graph_most_queued(const struct work_graph *g)
{
	uint32_t most = 0;
	for (size_t i = 0; i < g->lane_count; i++)
		most = g->shares[i].queued > most ? g->shares[i].queued : most;
	return most;
}

uint32_t work_graph_waits(const struct work_graph *g) { return (uint32_t)g->edge_count; }

uint32_t work_graph_lanes(const struct work_graph *g) { return (uint32_t)g->lane_count; }

/* ------------------------------------------------------------------ running */

static int launch(const struct work_graph *g, const struct lane *lane, const struct node *n)
{
	uint32_t reps = 1;
	const void *const args[] = {&n->to, &n->from, &n->bytes, &reps};
	struct dev_launch l = {.grid = n->blocks, .args = args};
	return dev_launch(g->all->devices[lane->device], lane->stream, g->kernels[lane->device][n->kind], &l);
}

static int enqueue(const struct work_graph *g, const struct node *n)
{
	const struct lane *lane = &g->all->lanes[n->lane];
	struct dev *dev = g->all->devices[lane->device];
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < n->waits; i++)
		status = dev_stream_wait(dev, lane->stream, g->nodes[g->edges[n->first_wait + i].from].over);
	if (status)
		return status;
	if (n->kind == COPY)
		status = dev_copy(dev, lane->stream, n->to, n->from, n->bytes);
	else if (n->kind == GEMM)
		status = dev_gemm(dev, lane->stream, &n->gemm);
	else
		status = launch(g, lane, n);
	return status || !n->over ? status : dev_event_record(dev, lane->stream, n->over);
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
	struct work_lanes *l = g->all;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++) {
		const struct lane *lane = &l->lanes[i];
		struct dev *dev = device_of(l, i);
		bool first = g->shares[i].first == i;
		if (g->shares[i].queued == 0)
			continue;
		if (first)
			status = gate_shut(l->gate, dev, lane->stream);
		if (status == 0)
			status = first ? dev_event_record(dev, lane->stream, lane->begin)
			               : dev_stream_wait(dev, lane->stream, l->lanes[g->shares[i].first].begin);
	}
	return status;
}

int work_graph_sync(struct work_graph *g, int status) { return sync_lanes(g->all, status); }

int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p)
{
	const struct lane *lanes = g->all->lanes;
	double ns = 0.0;
	if (lane >= g->lane_count || g->shares[lane].queued == 0)
		return err_note(-ENOENT, "lane %u has nothing to do", lane);
	int status = dev_event_elapsed_ns(device_of(g->all, lane), lanes[g->shares[lane].first].begin, lanes[lane].end, &ns);
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
	note(&first, text, status);
	for (size_t i = 0; first == 0 && i < g->lane_count; i++)
		if (g->shares[i].queued)
			note(&first, text, dev_event_record(device_of(l, i), l->lanes[i].stream, l->lanes[i].end));
	note(&first, text, gate_release(l->gate));
	note(&first, text, work_graph_sync(g, 0));
	for (uint32_t i = 0; first == 0 && i < g->lane_count; i++) {
		double seconds = 0.0;
		if (g->shares[i].queued)
			note(&first, text, work_graph_lane_seconds(g, i, &seconds));
		longest = seconds > longest ? seconds : longest;
	}
	if (first)
		return err_note(first, "%s", text);
	*seconds_p = longest;
	return 0;
}
