/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/work_internals.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

/* Less work for a block does not pay for its start. */
#define MIN_BLOCK_BYTES 4096u

/* ------------------------------------------------------------------ building */

int work_graph_open(struct work_lanes *lanes, struct work_graph **g_p)
{
	int status = err_kept(&lanes->error);
	if (status)
		return status;
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
	if (g->prepared)
		work_graph_sync(g, 0);
	for (size_t i = 0; i < g->node_count; i++)
		dev_event_close(work_lane_device(g->all, g->nodes[i].lane), g->nodes[i].done);
	free(g->operands);
	free(g->kept_at);
	free(g->work);
	free(g->nodes);
	free(g->edges);
	free(g);
}

/* True if the graph can still be changed; keeps the error if not. */
static bool can_add(struct work_graph *g)
{
	if (g && g->prepared)
		err_keep(&g->error, err_note(-EINVAL, "a prepared graph cannot be changed"));
	return g && g->error.status == 0;
}

uint32_t work_node_add(struct work_graph *g, const struct node *node)
{
	if (!can_add(g))
		return 0;
	if (node->lane >= g->all->count) {
		err_keep(&g->error,
			 err_note(-EINVAL, "a node in lane %u of %zu", node->lane, g->all->count));
		return 0;
	}
	struct node *grown = vec_grow(g->nodes, g->node_count, &g->node_capacity, sizeof(*grown));
	if (!grown) {
		err_keep(&g->error,
			 err_note(-ENOMEM, "%zu nodes: out of memory", g->node_count + 1));
		return 0;
	}
	g->nodes = grown;
	g->nodes[g->node_count] = *node;
	g->nodes[g->node_count].turn = g->turn;
	return (uint32_t)g->node_count++;
}

static struct dev *find_device(const struct work_graph *g, uint32_t lane)
{
	return g && lane < g->all->count ? work_lane_device(g->all, lane) : NULL;
}

uint32_t work_graph_kernel(struct work_graph *g, uint32_t lane, const char *kernel, uint32_t grid,
			   const void *const *args)
{
	struct node node = {.kind = NODE_KERNEL, .lane = lane, .grid = grid};
	const struct kernel_signature *signature = kernel_signature_named(kernel);
	struct dev *dev = find_device(g, lane);
	if (!can_add(g))
		return 0;
	int status = dev ? dev_kernel_find(dev, kernel, &node.kernel) : 0;
	if (status == 0 && dev)
		status = kernel_args_check(signature, args);
	if (status == 0 && dev)
		kernel_args_copy(signature, args, node.args);
	node.signature = signature;
	if (status == 0 && dev && grid == 0)
		node.grid = dev_wave_blocks(dev, node.kernel);
	return err_keep(&g->error, status) ? 0 : work_node_add(g, &node);
}

static uint32_t pass_blocks(struct dev *dev, const char *kernel, uint64_t bytes)
{
	struct dev_kernel *found;
	if (!dev || dev_kernel_find(dev, kernel, &found))
		return 0;
	uint64_t blocks = (bytes + MIN_BLOCK_BYTES - 1) / MIN_BLOCK_BYTES;
	uint32_t wave = dev_wave_blocks(dev, found);
	return blocks < wave ? (uint32_t)blocks : wave;
}

uint32_t work_graph_pass(struct work_graph *g, uint32_t lane, const char *kernel, void *to,
			 const void *from, uint64_t bytes, uint32_t blocks)
{
	const uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	return work_graph_kernel(g, lane, kernel,
				 blocks ? blocks : pass_blocks(find_device(g, lane), kernel, bytes),
				 args);
}

uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from,
			 uint64_t bytes, uint32_t blocks)
{
	const struct node node = {
		.kind = NODE_COPY, .lane = lane, .to = to, .from = from, .bytes = bytes};
	return blocks ? work_graph_pass(g, lane, "copy_nt", to, from, bytes, blocks)
		      : work_node_add(g, &node);
}

uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm)
{
	const struct node node = {.kind = NODE_GEMM, .lane = lane, .gemm = *gemm};
	return work_node_add(g, &node);
}

uint32_t work_graph_fill(struct work_graph *g, uint32_t lane, void *to, uint8_t byte,
			 uint64_t bytes)
{
	const struct node node = {
		.kind = NODE_FILL, .lane = lane, .to = to, .bytes = bytes, .byte = byte};
	return work_node_add(g, &node);
}

uint32_t work_graph_wait_value(struct work_graph *g, uint32_t lane, uint32_t *at, uint32_t value)
{
	const struct node node = {.kind = NODE_WAIT_VALUE, .lane = lane, .at = at, .value = value};
	return work_node_add(g, &node);
}

void work_graph_set_value(struct work_graph *g, uint32_t node, uint32_t value)
{
	if (g && node < g->node_count && g->nodes[node].kind == NODE_WAIT_VALUE)
		g->nodes[node].value = value;
}

uint32_t work_graph_collective(struct work_graph *g, struct dev_comm *comm,
			       enum dev_collective what, const uint32_t *lanes, float *const *from,
			       float *const *to, uint64_t count)
{
	uint32_t first = 0;
	for (uint32_t i = 0; i < comm->count; i++) {
		const struct node node = {.kind = NODE_COLLECTIVE,
					  .lane = lanes[i],
					  .comm = comm,
					  .what = what,
					  .rank = i,
					  .sent = from[i],
					  .received = to[i],
					  .count = count};
		uint32_t added = work_node_add(g, &node);
		first = i ? first : added;
	}
	return first;
}

uint32_t work_graph_mark(struct work_graph *g, uint32_t lane)
{
	const struct node node = {.kind = NODE_MARK, .lane = lane};
	return work_node_add(g, &node);
}

void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to)
{
	if (!can_add(g))
		return;
	struct edge *grown = vec_grow(g->edges, g->edge_count, &g->edge_capacity, sizeof(*grown));
	if (!grown)
		err_keep(&g->error,
			 err_note(-ENOMEM, "%zu edges: out of memory", g->edge_count + 1));
	else if (from >= to || to >= g->node_count)
		err_keep(&g->error, err_note(-EINVAL,
					     "an edge from node %u to %u of %zu: it must lead to a "
					     "later node",
					     from, to, g->node_count));
	g->edges = grown ? grown : g->edges;
	if (g->error.status == 0)
		g->edges[g->edge_count++] = (struct edge){from, to};
}

uint32_t work_graph_fork(struct work_graph *g, uint32_t lane)
{
	if (can_add(g) && g->node_count)
		err_keep(&g->error, err_note(-EINVAL, "a fork must be the first node"));
	if (g)
		g->forked = true;
	return work_graph_mark(g, lane);
}

/* An edge from the fork to every node, and from every node to the join: all but one of each lane
 * are implied by others. */
uint32_t work_graph_join(struct work_graph *g)
{
	if (can_add(g) && !g->forked)
		err_keep(&g->error, err_note(-EINVAL, "a join without a fork"));
	if (!can_add(g))
		return 0;
	uint32_t join = work_graph_mark(g, g->nodes[0].lane);
	for (uint32_t i = 1; i < join; i++) {
		work_graph_edge(g, 0, i);
		work_graph_edge(g, i, join);
	}
	return join;
}

void work_graph_stamp_end(struct work_graph *g, uint32_t node)
{
	if (can_add(g) && node < g->node_count)
		g->nodes[node].stamped = true;
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

static bool is_first_lane(const struct work_graph *g, uint32_t lane)
{
	return g->work[lane].queued && g->work[lane].first == lane;
}

size_t work_graph_devices(const struct work_graph *g)
{
	size_t devices = 0;
	for (uint32_t i = 0; i < g->lane_count; i++)
		devices += is_first_lane(g, i);
	return devices;
}

/* ------------------------------------------------------------------ running */

static int enqueue_copy(struct work_graph *g, struct dev *dev, struct dev_stream *stream,
			const struct node *n)
{
	int status = dev_copy(dev, stream, n->to, n->from, n->bytes);
	g->copies += status == 0;
	g->copied_bytes += status == 0 ? n->bytes : 0;
	return status;
}

bool work_node_works(const struct node *n)
{
	return n->kind != NODE_MARK && n->kind != NODE_WAIT_VALUE;
}

static int enqueue_work(struct work_graph *g, struct dev *dev, struct dev_stream *stream,
			const struct node *n)
{
	const struct dev_launch launch = {.grid = n->grid, .args = n->pointers};
	switch (n->kind) {
	case NODE_COPY:
		return enqueue_copy(g, dev, stream, n);
	case NODE_FILL:
		return dev_fill(dev, stream, n->to, n->byte, n->bytes);
	case NODE_GEMM:
		return dev_gemm(dev, stream, &n->gemm);
	case NODE_KERNEL:
		return dev_launch(dev, stream, n->kernel, &launch);
	case NODE_WAIT_VALUE:
		return dev_wait_value(dev, stream, n->at, n->value);
	case NODE_COPY_ADD:
	case NODE_ARM:
	case NODE_TRACKED:
		return work_enqueue_tracking(dev, stream, n);
	case NODE_COLLECTIVE:
	case NODE_MARK:
		break;
	}
	return 0;
}

static int record_done(const struct work_graph *g, const struct node *n)
{
	const struct lane *lane = &g->all->lanes[n->lane];
	return n->done ? dev_event_record(g->all->devices[lane->device], lane->stream, n->done) : 0;
}

/* One call enqueues the nodes of all devices, once all of them wait for their edges. */
static int enqueue_collective(const struct work_graph *g, const struct node *last)
{
	const struct node *first = last - last->rank;
	struct dev_stream *streams[DEV_MAX];
	float *from[DEV_MAX], *to[DEV_MAX];
	if (last->rank + 1 < last->comm->count)
		return 0;
	for (uint32_t i = 0; i <= last->rank; i++) {
		streams[i] = g->all->lanes[first[i].lane].stream;
		from[i] = first[i].sent;
		to[i] = first[i].received;
	}
	int status = dev_collective(last->comm, last->what, streams, from, to, last->count);
	for (uint32_t i = 0; status == 0 && i <= last->rank; i++)
		status = record_done(g, &first[i]);
	return status;
}

static int enqueue_node(struct work_graph *g, const struct node *n)
{
	struct lane *lane = &g->all->lanes[n->lane];
	struct dev *dev = g->all->devices[lane->device];
	int status = 0;
	if (work_node_works(n))
		lane->on_engine = n->kind == NODE_COPY;
	for (uint32_t i = 0; status == 0 && i < n->waits; i++)
		status = dev_stream_wait(dev, lane->stream,
					 g->nodes[g->edges[n->first_wait + i].from].done);
	if (status == 0 && n->kind == NODE_COLLECTIVE)
		return enqueue_collective(g, n);
	if (status == 0)
		status = enqueue_work(g, dev, lane->stream, n);
	return status ? status : record_done(g, n);
}

int work_graph_run(struct work_graph *g)
{
	int status = 0;
	work_rotate(g);
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		status = enqueue_node(g, &g->nodes[i]);
	return status;
}

int work_graph_sync(struct work_graph *g, int status)
{
	struct err_first first = {0};
	err_keep(&first, status);
	const unsigned begun = gate_wait_begins();
	for (size_t i = 0; i < g->lane_count; i++)
		if (g->work[i].queued)
			err_keep(&first, dev_stream_sync(work_lane_device(g->all, i),
							 g->all->lanes[i].stream));
	err_keep(&first, gate_wait_ended(begun));
	return err_kept(&first);
}

/* A library connects devices in the first collective of its kind and size, which would wait for
 * them behind a gate. */
static int run_collectives(struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		if (g->nodes[i].kind == NODE_COLLECTIVE &&
		    g->nodes[i].rank + 1 == g->nodes[i].comm->count)
			status = work_graph_sync(g, enqueue_collective(g, &g->nodes[i]));
	return status;
}

static int guard_counters(const struct work_graph *g)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->node_count; i++)
		if (g->nodes[i].kind == NODE_WAIT_VALUE)
			status =
				gate_guard(g->all->gate, work_lane_device(g->all, g->nodes[i].lane),
					   g->nodes[i].at);
	return status;
}

int work_graph_prepare(struct work_graph *g)
{
	if (!g)
		return err_note(-EINVAL, "a graph that was not opened");
	if (can_add(g))
		g->prepared = true;
	int status = g->error.status ? err_kept(&g->error) : work_plan(g);
	status = status ? status : guard_counters(g);
	return status ? status : run_collectives(g);
}

int work_graph_complete(struct work_graph *g) { return work_graph_sync(g, work_graph_run(g)); }

static int record_begins(const struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++)
		if (is_first_lane(g, i))
			status = dev_event_record(work_lane_device(l, i), l->lanes[i].stream,
						  l->lanes[i].begin);
	/* After all records: a wait is for the latest one at its call. */
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++)
		if (g->work[i].waits_for_begin)
			status = dev_stream_wait(work_lane_device(l, i), l->lanes[i].stream,
						 l->lanes[g->work[i].first].begin);
	return status;
}

/* Discard state that the previous run left in a stream. After a copy by an engine a stream's next
 * events are queued at that engine, behind other streams' copies, until the stream gets another
 * kind of work (docs/reproduction/h100.md). The last work of an adopted stream is not known. */
static int leave_engines(struct work_graph *g)
{
	static const struct dev_launch once = {.grid = 1};
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++) {
		struct lane *lane = &g->all->lanes[i];
		struct dev *dev = work_lane_device(g->all, i);
		struct dev_kernel *empty;
		if (!g->work[i].queued || !(lane->on_engine || lane->adopted) ||
		    g->work[i].begins_on_engine || dev_can(dev, DEV_CAP_VIRTUAL_TIME))
			continue;
		lane->on_engine = false;
		status = dev_kernel_find(dev, "empty", &empty);
		if (status == 0)
			status = dev_launch(dev, lane->stream, empty, &once);
	}
	return status;
}

int work_graph_hold(struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	int status = leave_engines(g);
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++)
		if (is_first_lane(g, i))
			status = gate_shut(l->gate, work_lane_device(l, i), l->lanes[i].stream);
	return status ? status : record_begins(g);
}

/* The first lane of a device waits for the other lanes of all devices. */
int work_graph_begin(struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < g->lane_count; i++)
		if (g->work[i].queued)
			status = dev_event_record(work_lane_device(l, i), l->lanes[i].stream,
						  l->lanes[i].end);
	for (uint32_t i = 0; i < g->lane_count; i++)
		for (uint32_t k = 0; status == 0 && is_first_lane(g, i) && k < g->lane_count; k++)
			if (k != i && g->work[k].queued)
				status = dev_stream_wait(work_lane_device(l, i), l->lanes[i].stream,
							 l->lanes[k].end);
	return status ? status : record_begins(g);
}

static int record_ends(struct work_graph *g)
{
	const struct work_lanes *l = g->all;
	int status = 0;
	for (size_t i = 0; status == 0 && i < g->lane_count; i++)
		if (g->work[i].queued && g->work[i].end == l->lanes[i].end)
			status = dev_event_record(work_lane_device(l, i), l->lanes[i].stream,
						  g->work[i].end);
	return status;
}

int work_graph_unfinished(struct work_graph *g, size_t *devices_p)
{
	size_t unfinished = 0;
	int status = record_ends(g);
	for (uint32_t device = 0; status == 0 && device < g->all->device_count; device++) {
		bool waits = false;
		for (size_t i = 0; i < g->lane_count; i++)
			waits = waits || (g->work[i].queued && g->all->lanes[i].device == device &&
					  dev_event_query(g->all->devices[device],
							  g->work[i].end) == -EAGAIN);
		unfinished += waits;
	}
	if (status == 0)
		*devices_p = unfinished;
	return status;
}

int work_graph_release(struct work_graph *g, int status, double *seconds_p)
{
	struct dev *clock = g->all->devices[0];
	struct err_first first = {0};
	double longest = 0.0;
	if (err_keep(&first, status) == 0)
		err_keep(&first, record_ends(g));
	uint64_t released_ns = dev_clock_ns(clock);
	err_keep(&first, gate_release(g->all->gate));
	err_keep(&first, work_graph_sync(g, 0));
	g->host_s = 1e-9 * (double)(dev_clock_ns(clock) - released_ns);
	for (uint32_t i = 0; first.status == 0 && i < g->lane_count; i++) {
		double seconds = 0.0;
		if (g->work[i].queued)
			err_keep(&first, work_graph_lane_seconds(g, i, &seconds));
		longest = seconds > longest ? seconds : longest;
	}
	if (first.status == 0)
		*seconds_p = longest;
	return err_kept(&first);
}

int work_graph_time(struct work_graph *g, double *seconds_p)
{
	int status = work_graph_hold(g);
	return work_graph_release(g, status ? status : work_graph_run(g), seconds_p);
}

/* ------------------------------------------------------------------ times */

static int elapsed_seconds(const struct work_graph *g, uint32_t lane, struct dev_event *from,
			   struct dev_event *to, double *seconds_p)
{
	double ns = 0.0;
	int status = dev_event_elapsed_ns(work_lane_device(g->all, lane), from, to, &ns);
	if (status == 0)
		*seconds_p = 1e-9 * ns;
	return status;
}

int work_graph_seconds(const struct work_graph *g, uint32_t from, uint32_t to, double *seconds_p)
{
	const struct node *begin = from == WORK_GRAPH_BEGIN ? NULL : &g->nodes[from];
	if (!g->nodes[to].done || (begin && !begin->done))
		return err_note(-EINVAL, "the time of a node whose end has no stamp");
	uint32_t lane = g->nodes[to].lane, first = g->work[lane].first;
	return elapsed_seconds(g, lane, begin ? begin->done : g->all->lanes[first].begin,
			       g->nodes[to].done, seconds_p);
}

int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p)
{
	if (lane >= g->lane_count || g->work[lane].queued == 0)
		return err_note(-ENOENT, "lane %u has no work", lane);
	const struct lane_work *work = &g->work[lane];
	return elapsed_seconds(g, lane, g->all->lanes[work->first].begin, work->end, seconds_p);
}

double work_graph_host_seconds(const struct work_graph *g) { return g->host_s; }

bool work_graph_next_copy(const struct work_graph *g, size_t *at, struct work_copy *copy_p)
{
	while (*at < g->node_count && g->nodes[*at].kind != NODE_COPY)
		++*at;
	if (*at == g->node_count)
		return false;
	const struct node *n = &g->nodes[(*at)++];
	*copy_p = (struct work_copy){.dev = work_lane_device(g->all, n->lane),
				     .stream = g->all->lanes[n->lane].stream,
				     .to = n->to,
				     .from = n->from,
				     .bytes = n->bytes};
	return true;
}

void work_graph_copied(const struct work_graph *g, uint64_t *copies_p, uint64_t *bytes_p)
{
	*copies_p = g->copies;
	*bytes_p = g->copied_bytes;
}
