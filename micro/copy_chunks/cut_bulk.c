/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_chunks/cut_bulk.h"
#include "lib/err.h"

/* The bulk's first piece, after which the small copy becomes ready. */
#define FIRST_BYTES 65536u

static void add_nothing(const struct cut_bulks *all, struct work_graph *g) {}
static void add_kernel(const struct cut_bulks *all, struct work_graph *g)
{
	work_graph_kernel(g, all->lanes.bulk, "empty", 1, NULL);
}
static void add_value(const struct cut_bulks *all, struct work_graph *g)
{
	work_graph_wait_value(g, all->lanes.bulk, all->reached, 1);
}
static void add_event(const struct cut_bulks *all, struct work_graph *g)
{
	work_graph_stamp_end(g, work_graph_mark(g, all->lanes.bulk));
}
static void (*const add_between[CUTS])(const struct cut_bulks *all, struct work_graph *g) = {
	add_nothing, add_nothing, add_kernel, add_value, add_event};

static uint32_t add_copy(const struct cut_bulks *all, struct work_graph *g, uint32_t lane,
			 uint64_t at, uint64_t bytes)
{
	return work_graph_copy(g, lane, all->route.to.ptr + at, all->route.from.ptr + at, bytes, 0);
}

static void add_bulk(const struct cut_bulks *all, struct work_graph *g, enum cut cut,
		     uint64_t chunks, uint64_t bytes)
{
	for (uint64_t i = 0; i < chunks; i++) {
		if (i)
			add_between[cut](all, g);
		add_copy(all, g, all->lanes.bulk, i * bytes, bytes);
	}
}

/* An empty kernel. Its end is when all before it in the lane has ended; an event right behind a
 * copy may be queued at the engine, behind what other streams copy (docs/reproduction/h100.md). */
static uint32_t add_stamp(struct work_graph *g, uint32_t lane)
{
	const uint32_t stamp = work_graph_kernel(g, lane, "empty", 1, NULL);
	work_graph_stamp_end(g, stamp);
	return stamp;
}

static void add_small(const struct cut_bulks *all, struct cut_bulk *b)
{
	b->ready = add_stamp(b->waited, all->lanes.other[0]);
	add_copy(all, b->waited, all->lanes.other[0], all->bulk_bytes, all->small_bytes);
	b->small_ended = add_stamp(b->waited, all->lanes.other[0]);
}

/* Copies of a part of the bulk tell which streams share an engine. */
#define PARTS 32u

static void find_lanes(struct cut_bulks *all, struct bench_case *c)
{
	const struct end *to = &all->route.to;
	struct queue_memory m = {.from = all->route.from.ptr,
				 .chunk = all->bulk_bytes / PARTS,
				 .to_dev = to->dev,
				 .to_kind = to->kind};
	m.aside = bench_alloc_on(c, to->dev, to->kind, QUEUE_TRIED * m.chunk);
	queue_lanes_find(&all->lanes, c, &m);
	bench_fact_number(c, "streams_tried", all->lanes.tried);
	bench_fact_number(c, "streams_that_share_an_engine", all->lanes.sharing);
}

void cut_bulks_open(struct cut_bulks *all, struct bench_case *c)
{
	find_lanes(all, c);
	all->reached = bench_alloc(c, DEV_MEM_PINNED, sizeof(*all->reached));
	TRY(c->status, dev_post_value(c->dev, all->reached, 1));
	all->idle.waited = bench_graph(c, all->lanes.lanes);
	add_small(all, &all->idle);
	bench_graph_prepare(c, all->idle.waited);
}

/* The small copy is enqueued last, as one that comes when the bulk is queued. */
void cut_bulks_cut(struct cut_bulks *all, struct bench_case *c, enum cut cut, uint64_t chunks,
		   uint64_t bytes)
{
	struct cut_bulk *b = &all->of[cut];
	b->alone = bench_graph(c, all->lanes.lanes);
	add_bulk(all, b->alone, cut, chunks, bytes);
	bench_graph_prepare(c, b->alone);
	b->waited = bench_graph(c, all->lanes.lanes);
	b->first = add_copy(all, b->waited, all->lanes.bulk, 0, FIRST_BYTES);
	work_graph_stamp_end(b->waited, b->first);
	add_bulk(all, b->waited, cut, chunks, bytes);
	b->bulk_ended = add_stamp(b->waited, all->lanes.bulk);
	add_small(all, b);
	work_graph_edge(b->waited, b->first, b->ready);
	bench_graph_prepare(c, b->waited);
}

double cut_bulk_wait(const struct cut_bulk *b, struct bench_case *c)
{
	double total_s = 0.0, wait_s = 0.0;
	TRY(c->status, work_graph_time(b->waited, &total_s));
	TRY(c->status, work_graph_seconds(b->waited, b->ready, b->small_ended, &wait_s));
	return wait_s;
}

/* Both stamps are later than what they are of, by about the same. */
double cut_bulk_left(const struct cut_bulk *b, struct bench_case *c)
{
	double left_s = 0.0, stamp_s = 0.0;
	TRY(c->status, work_graph_seconds(b->waited, b->ready, b->bulk_ended, &left_s));
	TRY(c->status, work_graph_seconds(b->waited, b->first, b->ready, &stamp_s));
	return left_s - stamp_s;
}
