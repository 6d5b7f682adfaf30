/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_queue/measures.h"
#include "bench/bench_expect.h"

int measures_open_memory(struct measures *m, struct bench_case *c)
{
	struct late_scene *s = &m->scene;
	struct route *r = &s->route;
	route_open_one_way(r, c, (enum direction)axis_index(c, "direction"), axis_u64(c, "size"));
	s->memory = (struct queue_memory){.to_dev = r->to.dev,
					  .to_kind = r->to.kind,
					  .from = r->from.ptr,
					  .chunk = r->size / BULK_CHUNKS};
	s->memory.aside = bench_alloc_on(c, r->to.dev, r->to.kind, QUEUE_TRIED * s->memory.chunk);
	return c->status;
}

static void open_waits(struct measures *s, struct bench_case *c)
{
	const struct late_scene *scene = &s->scene;
	const struct route *r = &scene->route;
	const struct queue_lanes *lanes = &scene->lanes;
	struct small_copy small = {.lane = lanes->other[0],
				   .to = scene->memory.aside + 2 * scene->memory.chunk,
				   .from = r->from.ptr,
				   .bytes = axis_u64(c, "small")};
	bench_expect(c, WITH_BULK, r->to.dev, r->to.ptr, r->size, r->pattern, 0.0f);
	bench_expect(c, OF_SMALL, r->to.dev, small.to, small.bytes, r->pattern, 0.0f);
	late_copy_behind(&s->of[ALONE], c, scene, 0, &small);
	late_copy_behind(&s->of[BEHIND], c, scene, 1, &small);
	late_copy_rest(&s->of[REST], &s->of[BEHIND]);
	late_copy_behind(&s->of[CHUNKS], c, scene, BULK_CHUNKS, &small);
	late_copy_after(&s->of[SWITCH], c, scene, lanes->bulk, &small);
	late_copy_after(&s->of[STAY], c, scene, small.lane, &small);
	struct small_copy other = small;
	other.blocks = 1;
	late_copy_behind(&s->of[KERNEL], c, scene, 1, &other);
	other = small;
	other.lane = lanes->high;
	late_copy_behind(&s->of[PRIORITY], c, scene, 1, &other);
	late_copy_behind(&s->of[CHUNKS_PRIORITY], c, scene, BULK_CHUNKS, &other);
	if (r->direction == LOCAL) {
		bench_variant_off(c, OPPOSITE);
		return;
	}
	other = small;
	other.from = pattern_alloc(c, r->to.dev, r->to.kind, small.bytes, r->pattern);
	other.to = bench_alloc_on(c, r->from.dev, r->from.kind, small.bytes);
	bench_expect(c, BIT(OPPOSITE), r->from.dev, other.to, small.bytes, r->pattern, 0.0f);
	late_copy_behind(&s->of[OPPOSITE], c, scene, 1, &other);
}

static void open_order(struct measures *s, struct bench_case *c)
{
	const struct late_scene *scene = &s->scene;
	const struct route *r = &scene->route;
	const struct queue_lanes *q = &scene->lanes;
	struct late_copy both[2];
	bench_expect(c, OF_ORDER, r->to.dev, r->to.ptr, ORDER_CHUNKS * scene->memory.chunk,
		     r->pattern, 0.0f);
	bench_expect(c, OF_ORDER & ~BIT(CHUNK), r->to.dev, scene->memory.aside,
		     2 * scene->memory.chunk, r->pattern, 0.0f);
	late_copy_order(&s->of[CHUNK], c, scene, NULL);
	late_copy_order(both, c, scene, q->other);
	s->of[ENQUEUED] = both[0];
	s->of[READY] = both[1];
	late_copy_order(both, c, scene, (const uint32_t[]){q->other[0], q->high});
	s->of[HIGH_READY] = both[1];
	late_copy_order(both, c, scene, (const uint32_t[]){q->high, q->other[0]});
	s->of[HIGH_ENQUEUED] = both[0];
}

static void open_queues(struct measures *s, struct bench_case *c)
{
	const struct late_scene *scene = &s->scene;
	s->held = bench_graph(c, scene->lanes.lanes);
	work_graph_kernel(s->held, scene->lanes.bulk, "empty", 1, NULL);
	bench_graph_prepare(c, s->held);
	s->other = bench_graph(c, scene->lanes.lanes);
	work_graph_kernel(s->other, scene->lanes.other[0], "empty", 1, NULL);
	bench_graph_prepare(c, s->other);
}

int measures_open(struct measures *m, struct bench_case *c)
{
	queue_lanes_find(&m->scene.lanes, c, &m->scene.memory);
	open_waits(m, c);
	open_order(m, c);
	open_queues(m, c);
	return c->status;
}
