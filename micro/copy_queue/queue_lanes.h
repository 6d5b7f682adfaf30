/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams whose copies wait for the same copy engine, found by trying: two copies that serialise
 * share one. Where each stream finds a free engine, all engines but one are kept busy instead.
 */
#ifndef GPUSIG_QUEUE_LANES_H
#define GPUSIG_QUEUE_LANES_H

#include "bench/graph/bench_graph.h"

/* Streams tried, the first of which is the bulk's; engines that can be kept busy. */
enum { QUEUE_TRIED = 12, QUEUE_ENGINES = 8 };

/* Chunks of `from` are copied to targets of their own. */
struct queue_memory {
	const char *from;
	char *aside; /* QUEUE_TRIED targets of a chunk each */
	uint64_t chunk;
	struct dev *to_dev;
	enum dev_mem to_kind;
};

struct queue_lanes {
	struct work_lanes *lanes;
	uint32_t bulk, other[2], high;
	unsigned tried, sharing;           /* other streams; those that share the bulk's engine */
	unsigned high_tried, high_sharing; /* streams of the highest priority */
	unsigned busy;                     /* engines that the others below keep busy */
	uint32_t busy_lane[QUEUE_ENGINES];
	char *busy_to[QUEUE_ENGINES];
	uint64_t busy_bytes;
};

/* In setup: opens streams and copies in them. `other` are the first two streams that share the
 * bulk's engine, or else the first two, and `high` is likewise one of the highest priority. Returns
 * c->status. */
int queue_lanes_find(struct queue_lanes *q, struct bench_case *c, const struct queue_memory *m);

/* NULL if copies in `bulk` and both `other` have to wait for each other, with engines kept busy by
 * queue_lanes_occupy() or without; else the reason why they have not. */
const char *queue_lanes_lack(const struct queue_lanes *q);

/* The copies that keep other engines busy for as long as busy_bytes take; none where streams share
 * one. */
void queue_lanes_occupy(const struct queue_lanes *q, const struct queue_memory *m,
			struct work_graph *g);

#endif
