/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_engines/engine_streams.h"
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

enum { RUNS_ALONE = 3 };
#define CLEARLY 1.2

const char *const engine_directions[] = {"up", "down", "both", "local", "peer", "peers", NULL};

int engine_streams_admit(const struct bench_case *c, enum engine_direction direction,
			 uint64_t bulk_bytes)
{
	if (direction == ENGINE_PEER && c->devices->count < 2)
		return err_note(-ENODEV,
				"a peer copy needs two devices, such as --device host:0,1");
	if (direction == ENGINE_PEERS && c->devices->count < 3)
		return err_note(-ENODEV, "copies to several peers need three devices, such as "
					 "--device sim:0-2");
	if (bulk_bytes > dev_props(c->dev)->memory_bytes / (4 * ENGINE_STREAMS))
		return err_note(-ENOMEM,
				"%d sources and targets of this size exceed half of the device's "
				"free memory",
				2 * ENGINE_STREAMS);
	return 0;
}

/* ------------------------------------------------------------------ memory */

/* Beginning and end of a stream's copy. */
struct ends {
	enum dev_mem from, to;
	size_t target_device; /* in the list of the case's */
};

static struct ends choose_ends(enum engine_direction direction, size_t devices, unsigned stream)
{
	const struct ends to_device = {DEV_MEM_PINNED, DEV_MEM_DEVICE, 0},
			  to_host = {DEV_MEM_DEVICE, DEV_MEM_PINNED, 0};
	switch (direction) {
	case ENGINE_UP:
		return to_device;
	case ENGINE_DOWN:
		return to_host;
	case ENGINE_BOTH:
		return stream % 2 ? to_host : to_device;
	case ENGINE_LOCAL:
	case ENGINE_PEER:
	case ENGINE_PEERS:
		break;
	}
	const size_t peer = 1 + (direction == ENGINE_PEERS ? stream % (devices - 1) : 0);
	return (struct ends){DEV_MEM_DEVICE, DEV_MEM_DEVICE, direction == ENGINE_LOCAL ? 0 : peer};
}

int engine_streams_open(struct engine_streams *e, struct bench_case *c,
			enum engine_direction direction, uint64_t bulk_bytes)
{
	const struct dev_set *set = c->devices;
	e->bulk_bytes = bulk_bytes;
	e->short_bytes = bulk_bytes / SHORT_PART;
	e->both_ways = direction == ENGINE_BOTH;
	e->pattern = pattern_words(c);
	e->lanes = bench_lanes_on(c, &c->dev, 1);
	for (unsigned i = 0; c->status == 0 && i < ENGINE_STREAMS; i++) {
		const struct ends ends = choose_ends(direction, set->count, i);
		struct engine_stream *s = &e->stream[i];
		s->target_of = set->dev[ends.target_device];
		if (s->target_of != c->dev)
			TRY(c->status, dev_peer_enable(c->dev, s->target_of));
		s->lane = work_lane_normal(e->lanes, 0);
		s->from = pattern_alloc(c, c->dev, ends.from, bulk_bytes, e->pattern);
		s->to = bench_alloc_on(c, s->target_of, ends.to, bulk_bytes);
	}
	return c->status;
}

/* ------------------------------------------------------------------ graphs */

/* Events and copies that are behind another copy may be queued at its engine, so something else
 * comes between; where the cores are the device nothing is, and a kernel would wait for the core
 * that copies. */
static void leave_engine(const struct bench_case *c, struct work_graph *g, uint32_t lane)
{
	if (!dev_can(c->dev, DEV_CAP_HOST_ACCESS))
		work_graph_kernel(g, lane, "empty", 1, NULL);
}

static void add_copy(const struct engine_streams *e, struct bench_case *c, struct work_graph *g,
		     unsigned variant, unsigned stream, uint64_t bytes)
{
	const struct engine_stream *s = &e->stream[stream];
	work_graph_copy(g, s->lane, s->to, s->from, bytes, 0);
	leave_engine(c, g, s->lane);
	bench_expect(c, UINT64_C(1) << variant, s->target_of, s->to, bytes, e->pattern, 0.0f);
}

/* Ready when the streams of the bulk copies are, and later than those by the start of a kernel. */
static void add_late_copy(const struct engine_streams *e, struct bench_case *c,
			  struct work_graph *g, unsigned variant, unsigned stream,
			  const uint32_t *ready, unsigned bulk)
{
	const uint32_t lane = e->stream[stream].lane, late = work_graph_mark(g, lane);
	for (unsigned i = 0; i < bulk; i++)
		work_graph_edge(g, ready[i], late);
	leave_engine(c, g, lane);
	add_copy(e, c, g, variant, stream, e->short_bytes);
}

struct work_graph *engine_streams_graph(const struct engine_streams *e, struct bench_case *c,
					unsigned variant, const struct engine_work *work)
{
	struct work_graph *g = bench_graph(c, e->lanes);
	uint32_t ready[ENGINE_STREAMS];
	for (unsigned i = 0; i < work->bulk && work->shorts; i++)
		ready[i] = work_graph_mark(g, e->stream[i].lane);
	for (unsigned i = 0; i < work->bulk; i++)
		add_copy(e, c, g, variant, i, e->bulk_bytes);
	for (unsigned i = 0; i < work->shorts; i++)
		add_late_copy(e, c, g, variant, work->bulk + (i + work->rotated) % work->shorts,
			      ready, work->bulk);
	bench_graph_prepare(c, g);
	return g;
}

int engine_streams_seconds(const struct engine_streams *e, const struct work_graph *g,
			   unsigned stream, double *seconds_p)
{
	return work_graph_lane_seconds(g, e->stream[stream].lane, seconds_p);
}

static int time_alone(const struct engine_streams *e, struct bench_case *c, unsigned variant,
		      const struct engine_work *work, double *seconds_p)
{
	struct work_graph *g = engine_streams_graph(e, c, variant, work);
	double seconds = 0.0;
	*seconds_p = INFINITY;
	for (unsigned run = 0; c->status == 0 && run < RUNS_ALONE; run++) {
		TRY(c->status, work_graph_time(g, &seconds));
		*seconds_p = fmin(*seconds_p, seconds);
	}
	return c->status;
}

int engine_streams_time_alone(struct engine_streams *e, struct bench_case *c, unsigned variant)
{
	const struct engine_work bulk = {1, 0}, late = {0, 1};
	time_alone(e, c, variant, &bulk, &e->bulk_s);
	return time_alone(e, c, variant, &late, &e->short_s);
}

bool engine_streams_tell(const struct engine_streams *e)
{
	return CLEARLY * e->short_s < e->bulk_s;
}

/* By the case's stream, which was opened first: that of a lane may share a hardware queue with the
 * blocks that hold the units. */
int engine_streams_verify(const struct engine_streams *e, struct bench_case *c, uint64_t with_short)
{
	const struct engine_stream *to = &e->stream[0], *back = &e->stream[1];
	const struct {
		uint64_t uses, bytes;
	} size[] = {{~with_short, e->bulk_bytes}, {with_short, e->short_bytes}};
	bench_mechanism_of(c, with_short, "a_short_copy_ends_before_a_bulk_copy",
			   engine_streams_tell(e), "%.3g s and %.3g s where nothing holds them up",
			   e->short_s, e->bulk_s);
	for (size_t i = 0; i < 2; i++) {
		TRY(c->status, blocking_kernel_verify_engine(c, size[i].uses, to->to, to->from,
							     size[i].bytes));
		if (e->both_ways)
			TRY(c->status, blocking_kernel_verify_back(c, size[i].uses, back->to,
								   back->from, size[i].bytes));
	}
	return c->status;
}
