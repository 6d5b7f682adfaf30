/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs in which copies become ready while another stream copies, without the host. A first copy,
 * the head, starts the stream of the bulk; when it ends, the bulk goes on, and an empty kernel in
 * another stream runs, whose end is when the copy behind it is ready. An empty kernel waits for
 * each copy, and its end is that of the copy: a driver may queue the event of a stream that copied
 * last behind what others copy. All times are the device's stamps.
 */
#ifndef GPUSIG_LATE_COPY_H
#define GPUSIG_LATE_COPY_H

#include "micro/copy_path/route.h"
#include "micro/copy_queue/queue_lanes.h"

enum { ORDER_CHUNKS = 4, BULK_CHUNKS = 16 };

/* Time from one node's end to another's, divided. */
struct late_copy {
	struct work_graph *g; /* NULL: there is none in this case */
	uint32_t from, to;
	double divided_by;
	/* Nodes of a copy behind a bulk: `ready` must end within the first `chunks`th of the time
	 * from the head to the bulk's end; else the sample is repeated. 0: there is no bulk. */
	uint32_t head, ready, bulk;
	unsigned chunks;
	unsigned samples, repeated, missed;
};

/* A small copy from `from` to `to` by the engine, or by `blocks` of a kernel. */
struct small_copy {
	uint32_t lane;
	char *to;
	const char *from;
	uint64_t bytes;
	uint32_t blocks;
};

struct late_scene {
	struct route route; /* its size is the bulk's */
	struct queue_memory memory;
	struct queue_lanes lanes;
};

/* The wait of a small copy behind a bulk that is made in so many copies; 0: behind the head. */
void late_copy_behind(struct late_copy *l, struct bench_case *c, const struct late_scene *s,
		      unsigned chunks, const struct small_copy *small);
/* From when the small copy of `behind` is ready until the end of the bulk. */
void late_copy_rest(struct late_copy *l, const struct late_copy *behind);
/* The small copy after a head in the stream `head`, with the other engines busy. */
void late_copy_after(struct late_copy *l, struct bench_case *c, const struct late_scene *s,
		     uint32_t head, const struct small_copy *small);

/* The order of the engine: ORDER_CHUNKS chunks in the bulk's stream, and one in each of two others,
 * which become ready during the first: that of lane[0] is enqueued first, that of lane[1] is ready
 * first. From the head's end to the end of each. lane NULL: a chunk's time, without the two. */
void late_copy_order(struct late_copy l[2], struct bench_case *c, const struct late_scene *s,
		     const uint32_t lane[2]);

/* In body: seconds per iteration of one sample go to c->self_seconds. */
int late_copy_time(struct late_copy *l, struct bench_case *c);

#endif
