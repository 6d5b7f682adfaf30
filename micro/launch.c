/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What are the latencies of launches, events and synchronization?
 *
 * Every time is per operation:
 *
 *   enqueue           the host's call while the stream is held, so nothing runs meanwhile
 *   back_to_back      issue interval: device time between empty kernels in a full queue
 *   round_trip        completion latency: launch one empty kernel and wait for it
 *   sync_idle         wait for a stream that has nothing to do
 *   event_round_trip  record an event on an idle stream and wait for it
 *   trigger           from the host's write of a value until it has waited for the stream that the
 *                     value released
 *   waves             issue interval of empty kernels of 16 blocks for every slot: beyond that of
 *                     back_to_back it is what 15 waves of blocks take to start and end
 *   behind_value      issue interval of empty kernels that each wait for a value that is there
 *   stream_hop        one event dependency between streams and the empty kernel behind it
 *   graph_launch      issue interval of graphs of 64 empty kernels in a full queue
 *   graph_enqueue     the host's call to launch that graph, while the stream is held
 *   graph_round_trip  completion latency of that graph
 *
 *     bin/micro/launch --device host
 */
#include "lib/err.h"
#include "micro/launch/depth.h"

#define WAVES 16u         /* of a kernel of `waves` */
#define HOPS 16u          /* of one iteration of stream_hop */
#define GRAPH_KERNELS 64u /* of a graph */
/* Maximum of graphs in a queue: over four thousand kernels. */
#define MAX_GRAPHS_QUEUED 64u

struct state {
	struct dev_kernel *empty;
	struct dev_stream *other;
	struct dev_event *event, *fork, *join;
	struct dev_graph *graph;
	struct gate *gate;
	uint32_t *value;           /* 0 */
	uint64_t launches, graphs; /* that a queue holds */
};

static int launch_empty(struct bench_case *c, struct dev_stream *stream)
{
	const struct dev_launch launch = {.grid = 1};
	return dev_launch(c->dev, stream, ((struct state *)c->state)->empty, &launch);
}

static int launch_kernel(struct bench_case *c, long unused) { return launch_empty(c, c->stream); }

static int launch_waves(struct bench_case *c, long unused)
{
	const struct dev_props *p = dev_props(c->dev);
	const struct dev_launch launch = {.grid = WAVES * p->units * p->slots_per_unit};
	return dev_launch(c->dev, c->stream, ((struct state *)c->state)->empty, &launch);
}

static int wait_and_launch(struct bench_case *c, long unused)
{
	TRY(c->status, dev_wait_value(c->dev, c->stream, ((struct state *)c->state)->value, 0));
	return TRY(c->status, launch_kernel(c, 0));
}

static int launch_graph(struct bench_case *c, long unused)
{
	return dev_graph_launch(c->dev, c->stream, ((struct state *)c->state)->graph);
}

static int sync_stream(struct bench_case *c, long unused)
{
	return dev_stream_sync(c->dev, c->stream);
}

static int launch_and_sync(struct bench_case *c, long unused)
{
	TRY(c->status, launch_kernel(c, 0));
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int launch_graph_and_sync(struct bench_case *c, long unused)
{
	TRY(c->status, launch_graph(c, 0));
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int record_and_sync(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	TRY(c->status, dev_event_record(c->dev, c->stream, s->event));
	return TRY(c->status, dev_event_sync(c->dev, s->event));
}

static int time_triggers(struct bench_case *c, long unused, uint64_t iterations)
{
	struct gate *gate = ((struct state *)c->state)->gate;
	uint64_t sum = 0;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++) {
		TRY(c->status, gate_shut(gate, c->dev, c->stream));
		const uint64_t start = dev_clock_ns(c->dev);
		const int released = gate_release(gate),
			  drained = dev_stream_sync(c->dev, c->stream);
		sum += dev_clock_ns(c->dev) - start;
		TRY(c->status, released);
		TRY(c->status, drained);
	}
	c->self_seconds = 1e-9 * (double)sum;
	return c->status;
}

static int hop_between_streams(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	for (unsigned hop = 0; c->status == 0 && hop < HOPS; hop += 2) {
		TRY(c->status, bench_follow(c, c->stream, s->other, s->fork));
		TRY(c->status, launch_empty(c, s->other));
		TRY(c->status, bench_follow(c, s->other, c->stream, s->join));
		TRY(c->status, launch_empty(c, c->stream));
	}
	return c->status;
}

static int enqueue_launches(struct bench_case *c, long unused, uint64_t iterations)
{
	const struct state *s = c->state;
	return depth_calls(c, s->gate, launch_kernel, s->launches, iterations);
}

static int enqueue_graphs(struct bench_case *c, long unused, uint64_t iterations)
{
	const struct state *s = c->state;
	return depth_calls(c, s->gate, launch_graph, s->graphs, iterations);
}

static const struct bench_variant variants[] = {
	{"enqueue", BENCH_SELF, .body = enqueue_launches},
	{"back_to_back", BENCH_DEVICE, .once = launch_kernel},
	{"round_trip", BENCH_HOST, .once = launch_and_sync},
	{"sync_idle", BENCH_HOST, .once = sync_stream},
	{"event_round_trip", BENCH_HOST, .once = record_and_sync},
	{"trigger", BENCH_SELF, .body = time_triggers},
	{"waves", BENCH_DEVICE, .once = launch_waves},
	{"behind_value", BENCH_DEVICE, .once = wait_and_launch, .queued = 2},
	{"stream_hop", BENCH_DEVICE, .once = hop_between_streams, .queued = 6 * HOPS},
	{"graph_launch", BENCH_DEVICE, .arg = GRAPH_KERNELS, .once = launch_graph},
	{"graph_enqueue", BENCH_SELF, .arg = GRAPH_KERNELS, .body = enqueue_graphs},
	{"graph_round_trip", BENCH_HOST, .arg = GRAPH_KERNELS, .once = launch_graph_and_sync},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"later_waves_time", BENCH_DIFFERENCE, "waves", "back_to_back",
	 "device time of the 15 waves of empty blocks behind the first"},
	{"value_wait_time", BENCH_DIFFERENCE, "behind_value", "back_to_back",
	 "device time of a wait for a value that is there"},
	{0}};

static const struct bench_metric primary[] = {{"launch_round_trip", "time", "round_trip"},
					      {"launch_back_to_back", "time", "back_to_back"},
					      {"launch_enqueue", "time", "enqueue"},
					      {"launch_trigger", "time", "trigger"},
					      {0}};

/* Empty kernels, one after the other, launched as one operation: the cost of a kernel without its
 * own launch. */
static void open_graph(struct bench_case *c)
{
	struct state *s = c->state;
	if (TRY(c->status, dev_graph_begin(c->dev, c->stream)))
		return;
	for (unsigned i = 0; i < GRAPH_KERNELS; i++)
		TRY(c->status, launch_kernel(c, 0));
	/* Also after a failure: otherwise the stream would keep capturing. */
	const int ended = dev_graph_end(c->dev, c->stream, &s->graph);
	TRY(c->status, ended);
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	s->empty = bench_kernel(c, "empty");
	s->other = bench_stream(c, dev_props(c->dev)->priority_normal);
	s->event = bench_event(c);
	s->fork = bench_event(c);
	s->join = bench_event(c);
	s->gate = bench_gate(c, GATE_LIMIT_NS);
	s->value = bench_alloc(c, DEV_MEM_PINNED, sizeof(*s->value));
	TRY(c->status, dev_post_value(c->dev, s->value, 0));
	for (unsigned v = 0; variants[v].name; v++) {
		if (variants[v].timing != BENCH_DEVICE)
			bench_single_times(c, v);
		if (variants[v].arg && !dev_can(c->dev, DEV_CAP_GRAPH))
			bench_variant_off(c, v);
	}
	depth_find(c, "launches_queued_max", launch_kernel,
		   dev_props(c->dev)->max_queued - DEPTH_EVENTS, &s->launches);
	bench_max_iterations(c, bench_variant(c, "back_to_back"), s->launches);
	bench_max_iterations(c, bench_variant(c, "waves"), s->launches);
	bench_max_iterations(c, bench_variant(c, "behind_value"), s->launches / 2);
	if (!dev_can(c->dev, DEV_CAP_GRAPH))
		return c->status;
	open_graph(c);
	depth_find(c, "graphs_queued_max", launch_graph, MAX_GRAPHS_QUEUED, &s->graphs);
	bench_max_iterations(c, bench_variant(c, "graph_launch"), s->graphs);
	return c->status;
}

static void teardown(struct bench_case *c)
{
	dev_graph_close(c->dev, ((struct state *)c->state)->graph);
}

static const struct {
	const char *name, *variant;
	double count;
	const char *formula;
} parts[] = {
	{"stream_hop_time", "stream_hop", HOPS, "seconds(stream_hop) / 16 hops"},
	{"graph_kernel_interval", "graph_launch", GRAPH_KERNELS,
	 "device time from graph to graph in a full queue / 64 kernels in each"},
	{"graph_enqueue_per_kernel", "graph_enqueue", GRAPH_KERNELS,
	 "the host's call to launch a graph / 64 kernels in it"},
	{"graph_round_trip_per_kernel", "graph_round_trip", GRAPH_KERNELS,
	 "launching a graph and waiting for its end / 64 kernels in it"},
};

static int derive(struct bench_case *c)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		TRY(c->status, bench_time_each(c, parts[i].name, bench_variant(c, parts[i].variant),
					       parts[i].count, parts[i].formula));
	return c->status;
}

static const struct bench bench = {
	.name = "micro/launch",
	.question = "how long do launches, events and syncs take?",
	.formula = "time per operation",
	.timed = "the operation named by the variant (top of the source file); not opening streams "
		 "or events",
	.limits = "a waiting host thread shares the cores with a host device",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GRAPH,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
