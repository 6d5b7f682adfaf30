/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/link_contention/traffic.h"
#include "bench/bench_expect.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

/* Queue entries that are left for the gate and events. */
#define QUEUE_RESERVE 16u

/* ------------------------------------------------------------------ memory */

static void add_copy(struct traffic *t, uint32_t device, enum traffic_kind kind,
		     struct traffic_copy copy)
{
	t->copy[device][kind] = copy;
	t->lane[device][kind] = work_lane_normal(t->lanes, device);
}

static void open_device(struct traffic *t, uint32_t device, const uint64_t *variants)
{
	struct bench_case *c = t->c;
	const uint32_t next = (device + 1) % t->devices;
	struct dev *d = c->devices->dev[device], *after = c->devices->dev[next];
	const uint32_t *contents = pattern_words(c);
	char *own = pattern_alloc(c, d, DEV_MEM_DEVICE, t->bytes, contents),
	     *of_next = bench_alloc_on(c, after, DEV_MEM_DEVICE, t->bytes);
	add_copy(t, device, TRAFFIC_RING, (struct traffic_copy){of_next, own});
	bench_expect(c, variants[TRAFFIC_RING], after, of_next, t->bytes, contents, 0.0f);
	if (t->host & TRAFFIC_BIT(TRAFFIC_UP)) {
		char *from = pattern_alloc(c, d, DEV_MEM_PINNED, t->bytes, contents),
		     *to = bench_alloc_on(c, d, DEV_MEM_DEVICE, t->bytes);
		add_copy(t, device, TRAFFIC_UP, (struct traffic_copy){to, from});
		bench_expect(c, variants[TRAFFIC_UP], d, to, t->bytes, contents, 0.0f);
	}
	if (t->host & TRAFFIC_BIT(TRAFFIC_DOWN)) {
		char *to = bench_alloc_on(c, d, DEV_MEM_PINNED, t->bytes);
		add_copy(t, device, TRAFFIC_DOWN, (struct traffic_copy){to, own});
		bench_expect(c, variants[TRAFFIC_DOWN], d, to, t->bytes, contents, 0.0f);
	}
}

int traffic_open(struct traffic *t, struct bench_case *c, unsigned host, uint64_t bytes,
		 const uint64_t variants[TRAFFIC_KINDS])
{
	*t = (struct traffic){
		.c = c, .bytes = bytes, .devices = (uint32_t)c->devices->count, .host = host};
	bench_enable_peers(c);
	t->lanes = bench_lanes(c);
	for (uint32_t i = 0; c->status == 0 && i < t->devices; i++)
		open_device(t, i, variants);
	return c->status;
}

/* ------------------------------------------------------------------ graphs */

void traffic_add(const struct traffic *t, struct work_graph *g, uint32_t device, unsigned kinds,
		 uint32_t repeats)
{
	for (unsigned kind = 0; t->c->status == 0 && kind < TRAFFIC_KINDS; kind++)
		for (uint32_t i = 0; kinds >> kind & 1 && i < repeats; i++)
			work_graph_copy(g, t->lane[device][kind], t->copy[device][kind].to,
					t->copy[device][kind].from, t->bytes, 0);
}

void traffic_add_all(const struct traffic *t, struct work_graph *g, unsigned kinds,
		     uint32_t repeats)
{
	for (uint32_t i = 0; i < t->devices; i++)
		traffic_add(t, g, i, kinds, repeats);
}

/* ------------------------------------------------------------------ running */

/* Runs whose operations fit into the queues, apart from work_graph_begin(). */
static uint64_t max_runs(const struct traffic *t, const struct work_graph *g)
{
	const uint32_t reserve = QUEUE_RESERVE + work_graph_lanes(g),
		       each = work_graph_max_queued(g);
	uint32_t queue = UINT32_MAX;
	for (uint32_t i = 0; i < t->devices; i++)
		if (dev_props(t->c->devices->dev[i])->max_queued < queue)
			queue = dev_props(t->c->devices->dev[i])->max_queued;
	return queue > reserve + each ? (queue - reserve) / each : 1;
}

static int add_seconds(const struct traffic *t, const struct work_graph *g, unsigned kinds,
		       double *seconds)
{
	for (uint32_t i = 0; i < t->devices; i++) {
		double longest = 0.0;
		for (unsigned kind = 0; kind < TRAFFIC_KINDS; kind++) {
			double of_lane = 0.0;
			int status =
				kinds >> kind & 1
					? work_graph_lane_seconds(g, t->lane[i][kind], &of_lane)
					: 0;
			if (status == -ENOENT) /* the graph is not of this device */
				err_clear();
			else if (status)
				return status;
			longest = fmax(longest, of_lane);
		}
		seconds[i] += longest;
	}
	return 0;
}

int traffic_time(const struct traffic *t, struct work_graph *g, uint64_t runs, unsigned timed,
		 unsigned partner, double *seconds)
{
	struct bench_case *c = t->c;
	const uint64_t fit = max_runs(t, g);
	const bool warm = bench_runs_warm(c) && fit > 1;
	const uint64_t most = warm ? fit - 1 : fit;
	while (c->status == 0 && runs > 0) {
		const uint64_t now = runs < most ? runs : most;
		double longest;
		TRY(c->status, work_graph_hold(g));
		TRY(c->status, warm ? work_graph_run(g) : 0);
		TRY(c->status, warm ? work_graph_begin(g) : 0);
		for (uint64_t i = 0; c->status == 0 && i < now; i++)
			TRY(c->status, work_graph_run(g));
		c->status = work_graph_release(g, c->status, &longest);
		TRY(c->status, add_seconds(t, g, timed, seconds));
		TRY(c->status, add_seconds(t, g, partner, seconds + t->devices));
		runs -= now;
	}
	return c->status;
}
