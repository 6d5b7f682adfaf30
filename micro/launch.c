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
 *   stream_hop        one event dependency between streams and the empty kernel behind it
 *   graph_launch      issue interval of graphs of 64 empty kernels in a full queue
 *   graph_enqueue     the host's call to launch that graph, while the stream is held
 *   graph_round_trip  completion latency of that graph
 *
 *     bin/micro/launch --device host
 */
#include "bench/bench_alloc.h"
#include "micro/launch/depth.h"
#include "micro/launch/graph.h"
#include "micro/launch/launch_metrics.h"

static const struct bench_variant variants[] = {
	[ENQUEUE] = {.name = "enqueue", .timing = BENCH_SELF},
	[BACK_TO_BACK] = {.name = "back_to_back", .timing = BENCH_DEVICE},
	[ROUND_TRIP] = {.name = "round_trip", .timing = BENCH_HOST},
	[SYNC_IDLE] = {.name = "sync_idle", .timing = BENCH_HOST},
	[EVENT_ROUND_TRIP] = {.name = "event_round_trip", .timing = BENCH_HOST},
	[TRIGGER] = {.name = "trigger", .timing = BENCH_SELF},
	[STREAM_HOP] = {.name = "stream_hop", .timing = BENCH_DEVICE, .queued = 6 * HOPS},
	[GRAPH_LAUNCH] = {.name = "graph_launch", .timing = BENCH_DEVICE},
	[GRAPH_ENQUEUE] = {.name = "graph_enqueue", .timing = BENCH_SELF},
	[GRAPH_ROUND_TRIP] = {.name = "graph_round_trip", .timing = BENCH_HOST},
	{0}};

static const struct bench_metric primary[] = {
	{"launch_round_trip", "time", "round_trip", NULL, "s", "lower"},
	{"launch_back_to_back", "time", "back_to_back", NULL, "s", "lower"},
	{"launch_enqueue", "time", "enqueue", NULL, "s", "lower"},
	{"launch_trigger", "time", "trigger", NULL, "s", "lower"},
	{0}};

struct state {
	struct dev_kernel *empty;
	struct dev_stream *other;
	struct dev_event *event, *fork, *join;
	struct dev_graph *graph;
	struct gate *gate;
	struct queue_depth launches, graphs;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static int launch_empty(struct bench_case *c, struct dev_stream *stream)
{
	struct dev_launch launch = {.grid = 1};
	return dev_launch(c->dev, stream, case_state(c)->empty, &launch);
}

static int enqueue_launch(struct bench_case *c) { return launch_empty(c, c->stream); }
static int enqueue_graph(struct bench_case *c)
{
	return dev_graph_launch(c->dev, c->stream, case_state(c)->graph);
}

static int find_depths(struct bench_case *c)
{
	struct state *s = case_state(c);
	int status = depth_find(&s->launches, c, "launches_queued_max", enqueue_launch,
				dev_props(c->dev)->max_queued - DEPTH_EVENTS);
	if (status == 0 && s->graph)
		status = depth_find(&s->graphs, c, "graphs_queued_max", enqueue_graph,
				    MAX_GRAPHS_QUEUED);
	bench_max_iterations(c, BACK_TO_BACK, s->launches.operations);
	bench_max_iterations(c, GRAPH_LAUNCH, s->graphs.operations);
	return status;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	s->empty = bench_kernel(c, "empty");
	s->other = bench_stream(c, dev_props(c->dev)->priority_normal);
	s->event = bench_event(c);
	s->fork = bench_event(c);
	s->join = bench_event(c);
	s->gate = bench_gate(c, GATE_LIMIT_NS);
	for (unsigned v = 0; variants[v].name; v++)
		if (variants[v].timing != BENCH_DEVICE)
			bench_single_times(c, v);
	int status = bench_status(c);
	if (status == 0 && dev_can(c->dev, DEV_CAP_GRAPH))
		status = graph_open(c, s->empty, &s->graph);
	for (unsigned v = GRAPH_LAUNCH; !s->graph && v <= GRAPH_ROUND_TRIP; v++)
		bench_variant_off(c, v);
	return status ? status : find_depths(c);
}

static void teardown(struct bench_case *c) { dev_graph_close(c->dev, case_state(c)->graph); }

static int time_triggers(struct bench_case *c, uint64_t iterations)
{
	struct state *s = case_state(c);
	uint64_t sum = 0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = gate_shut(s->gate, c->dev, c->stream);
		uint64_t start = dev_clock_ns(c->dev);
		int released = gate_release(s->gate);
		int drained = dev_stream_sync(c->dev, c->stream);
		sum += dev_clock_ns(c->dev) - start;
		status = status ? status : released ? released : drained;
	}
	c->self_seconds = 1e-9 * (double)sum;
	return status;
}

static int stream_hops(struct bench_case *c)
{
	struct state *s = case_state(c);
	int status = 0;
	for (unsigned hop = 0; status == 0 && hop < HOPS; hop++) {
		bool there = hop % 2 == 0;
		struct dev_stream *from = there ? c->stream : s->other,
				  *to = there ? s->other : c->stream;
		status = bench_follow(c, from, to, there ? s->fork : s->join);
		if (status == 0)
			status = launch_empty(c, to);
	}
	return status;
}

static int enqueue_operation(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	int status;
	switch (variant) {
	case BACK_TO_BACK:
		return enqueue_launch(c);
	case ROUND_TRIP:
		status = launch_empty(c, c->stream);
		return status ? status : dev_stream_sync(c->dev, c->stream);
	case SYNC_IDLE:
		return dev_stream_sync(c->dev, c->stream);
	case EVENT_ROUND_TRIP:
		status = dev_event_record(c->dev, c->stream, s->event);
		return status ? status : dev_event_sync(c->dev, s->event);
	case STREAM_HOP:
		return stream_hops(c);
	case GRAPH_LAUNCH:
		return enqueue_graph(c);
	default: /* GRAPH_ROUND_TRIP */
		status = enqueue_graph(c);
		return status ? status : dev_stream_sync(c->dev, c->stream);
	}
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	const struct state *s = case_state(c);
	int status = 0;
	if (variant == ENQUEUE || variant == GRAPH_ENQUEUE)
		return depth_calls(variant == ENQUEUE ? &s->launches : &s->graphs, c, iterations,
				   &c->self_seconds);
	if (variant == TRIGGER)
		return time_triggers(c, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = enqueue_operation(c, variant);
	return status;
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
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.indexed.body = body,
	.derive = launch_derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
