/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_queue/queue_lanes.h"
#include "lib/err.h"

#include <math.h>

/* Copies of equal size that share an engine end one after the other: the first at half the time of
 * the second. Copies that share no engine end together, though they share a link. */
#define ENDS_ALONE 0.75
/* The first of more copies than engines are done when the next begin. */
#define ENDS_TOGETHER 1.3
enum { RUNS = 3, BUSY_CHUNKS = 10 };

/* Ends of one chunk in each of these lanes, all released at once; the fastest of some runs. */
static void time_ends(struct bench_case *c, struct work_lanes *lanes, const uint32_t *lane,
		      unsigned count, const struct queue_memory *m, double *ends_s)
{
	struct work_graph *g = bench_graph(c, lanes);
	double seconds, end_s, best_s = INFINITY;
	for (unsigned i = 0; i < count; i++)
		work_graph_copy(g, lane[i], m->aside + i * m->chunk, m->from, m->chunk, 0);
	bench_graph_prepare(c, g);
	for (unsigned run = 0; c->status == 0 && run < RUNS; run++) {
		TRY(c->status, work_graph_time(g, &seconds));
		const bool better = seconds < best_s;
		for (unsigned i = 0; c->status == 0 && better && i < count; i++) {
			TRY(c->status, work_graph_lane_seconds(g, lane[i], &end_s));
			ends_s[i] = end_s;
		}
		best_s = fmin(best_s, seconds);
	}
}

static bool share_engine(struct bench_case *c, struct work_lanes *lanes, uint32_t a, uint32_t b,
			 const struct queue_memory *m)
{
	const uint32_t pair[2] = {a, b};
	double ends_s[2] = {0.0, 0.0};
	time_ends(c, lanes, pair, 2, m, ends_s);
	return fmin(ends_s[0], ends_s[1]) < ENDS_ALONE * fmax(ends_s[0], ends_s[1]);
}

/* Engines that copy at once for streams that do not share any; QUEUE_TRIED where none waits. */
static unsigned count_engines(struct bench_case *c, struct work_lanes *lanes, const uint32_t *lane,
			      const struct queue_memory *m)
{
	double ends_s[QUEUE_TRIED] = {0.0}, first_s = INFINITY;
	unsigned engines = 0;
	time_ends(c, lanes, lane, QUEUE_TRIED, m, ends_s);
	for (unsigned i = 0; i < QUEUE_TRIED; i++)
		first_s = fmin(first_s, ends_s[i]);
	for (unsigned i = 0; i < QUEUE_TRIED; i++)
		engines += ends_s[i] <= ENDS_TOGETHER * first_s;
	return engines;
}

static void open_busy(struct queue_lanes *q, struct bench_case *c, const struct queue_memory *m,
		      const uint32_t *lane)
{
	const unsigned engines = count_engines(c, q->lanes, lane, m);
	if (engines > QUEUE_ENGINES)
		return;
	q->busy = engines - 1;
	q->busy_bytes = BUSY_CHUNKS * m->chunk;
	for (unsigned i = 0; i < q->busy; i++) {
		q->busy_lane[i] = lane[3 + i];
		q->busy_to[i] = bench_alloc_on(c, m->to_dev, m->to_kind, q->busy_bytes);
	}
}

int queue_lanes_find(struct queue_lanes *q, struct bench_case *c, const struct queue_memory *m)
{
	const int high = dev_props(c->dev)->priority_high;
	uint32_t lane[QUEUE_TRIED];
	*q = (struct queue_lanes){.lanes = bench_lanes(c)};
	q->bulk = lane[0] = work_lane_normal(q->lanes, 0);
	for (unsigned i = 1; c->status == 0 && i < QUEUE_TRIED && q->sharing < 2; i++) {
		lane[i] = work_lane_normal(q->lanes, 0);
		q->tried++;
		if (share_engine(c, q->lanes, q->bulk, lane[i], m))
			q->other[q->sharing++] = lane[i];
	}
	for (unsigned i = q->sharing, k = 1; c->status == 0 && i < 2; k++)
		if (lane[k] != q->other[0])
			q->other[i++] = lane[k];
	if (c->status == 0 && q->sharing == 0)
		open_busy(q, c, m, lane);
	for (unsigned i = 0; c->status == 0 && i < QUEUE_TRIED && !q->high_sharing; i++) {
		const uint32_t next = work_lane(q->lanes, 0, high);
		q->high_tried++;
		if (i == 0)
			q->high = next;
		if (q->sharing == 0)
			break;
		q->high_sharing = share_engine(c, q->lanes, q->bulk, next, m);
		if (q->high_sharing)
			q->high = next;
	}
	return c->status;
}

const char *queue_lanes_lack(const struct queue_lanes *q)
{
	if (q->sharing == 1)
		return "only one of the streams tried shares the bulk copy's engine";
	if (q->sharing == 0 && q->busy == 0)
		return "more copies run at once than this program keeps engines busy";
	return NULL;
}

void queue_lanes_occupy(const struct queue_lanes *q, const struct queue_memory *m,
			struct work_graph *g)
{
	for (unsigned i = 0; i < q->busy; i++)
		work_graph_copy(g, q->busy_lane[i], q->busy_to[i], m->from, q->busy_bytes, 0);
}
