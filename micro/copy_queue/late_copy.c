/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_queue/late_copy.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

#define HEAD_BYTES 65536u
#define TRIES 8u

static uint32_t stamp_end_of(struct work_graph *g, uint32_t node)
{
	work_graph_stamp_end(g, node);
	return node;
}

static uint32_t empty_kernel(struct work_graph *g, uint32_t lane)
{
	return stamp_end_of(g, work_graph_kernel(g, lane, "empty", 1, NULL));
}

/* The head; it is part of the bulk, or has a target of its own. */
static uint32_t add_head(struct work_graph *g, const struct late_scene *s, uint32_t lane)
{
	return stamp_end_of(
		g, work_graph_copy(g, lane, s->route.to.ptr, s->route.from.ptr, HEAD_BYTES, 0));
}

static uint32_t add_pieces(struct work_graph *g, const struct late_scene *s, unsigned pieces,
			   uint64_t bytes)
{
	for (unsigned i = 0; i < pieces; i++)
		work_graph_copy(g, s->lanes.bulk, s->route.to.ptr + i * bytes,
				s->route.from.ptr + i * bytes, bytes, 0);
	return empty_kernel(g, s->lanes.bulk);
}

static uint32_t add_small(struct work_graph *g, const struct small_copy *small)
{
	work_graph_copy(g, small->lane, small->to, small->from, small->bytes, small->blocks);
	return empty_kernel(g, small->lane);
}

void late_copy_behind(struct late_copy *l, struct bench_case *c, const struct late_scene *s,
		      unsigned chunks, const struct small_copy *small)
{
	struct work_graph *g = bench_graph(c, s->lanes.lanes);
	*l = (struct late_copy){.g = g, .divided_by = 1.0, .chunks = chunks};
	l->head = add_head(g, s, s->lanes.bulk);
	if (chunks)
		l->bulk = add_pieces(g, s, chunks, s->route.size / chunks);
	l->from = l->ready = empty_kernel(g, small->lane);
	work_graph_edge(g, l->head, l->ready);
	l->to = add_small(g, small);
	bench_graph_prepare(c, g);
}

void late_copy_rest(struct late_copy *l, const struct late_copy *behind)
{
	*l = *behind;
	l->to = behind->bulk;
}

void late_copy_after(struct late_copy *l, struct bench_case *c, const struct late_scene *s,
		     uint32_t head, const struct small_copy *small)
{
	struct work_graph *g = bench_graph(c, s->lanes.lanes);
	*l = (struct late_copy){.g = g, .divided_by = 1.0};
	queue_lanes_occupy(&s->lanes, &s->memory, g);
	l->head = add_head(g, s, head);
	l->from = empty_kernel(g, small->lane);
	if (head != small->lane)
		work_graph_edge(g, l->head, l->from);
	l->to = add_small(g, small);
	bench_graph_prepare(c, g);
}

void late_copy_order(struct late_copy l[2], struct bench_case *c, const struct late_scene *s,
		     const uint32_t lane[2])
{
	const uint64_t chunk = s->memory.chunk;
	struct work_graph *g = bench_graph(c, s->lanes.lanes);
	l[0] = (struct late_copy){.g = g, .divided_by = lane ? 1.0 : ORDER_CHUNKS};
	queue_lanes_occupy(&s->lanes, &s->memory, g);
	l[0].from = l[0].head = add_head(g, s, s->lanes.bulk);
	l[0].to = l[0].bulk = add_pieces(g, s, ORDER_CHUNKS, chunk);
	if (lane) {
		l[0].chunks = ORDER_CHUNKS + 2;
		const uint32_t first = empty_kernel(g, lane[1]);
		l[0].ready = empty_kernel(g, lane[0]);
		work_graph_edge(g, l[0].head, first);
		work_graph_edge(g, first, l[0].ready);
		l[1] = l[0];
		for (unsigned i = 0; i < 2; i++)
			l[i].to = add_small(
				g, &(struct small_copy){.lane = lane[i],
							.to = s->memory.aside + i * chunk,
							.from = s->route.from.ptr + i * chunk,
							.bytes = chunk});
	}
	bench_graph_prepare(c, g);
}

/* *late_p: the copy was not ready within the time that it has. */
static double time_once(struct late_copy *l, struct bench_case *c, bool *late_p)
{
	double all_s = 0.0, seconds = 0.0, ready_s = 0.0, bulk_s = 0.0;
	TRY(c->status, work_graph_time(l->g, &all_s));
	TRY(c->status, work_graph_seconds(l->g, l->from, l->to, &seconds));
	if (l->chunks) {
		TRY(c->status, work_graph_seconds(l->g, l->head, l->ready, &ready_s));
		TRY(c->status, work_graph_seconds(l->g, l->head, l->bulk, &bulk_s));
	}
	*late_p = l->chunks && ready_s * l->chunks >= bulk_s;
	return seconds / l->divided_by;
}

int late_copy_time(struct late_copy *l, struct bench_case *c)
{
	bool late = false;
	double seconds = time_once(l, c, &late);
	for (unsigned try = 1; c->status == 0 && late && try < TRIES; try++) {
		l->repeated++;
		seconds = time_once(l, c, &late);
	}
	l->samples++;
	l->missed += late;
	/* Nothing is left of a bulk that ended before the copy was ready. */
	c->self_seconds += fmax(seconds, 0.0);
	return c->status;
}
