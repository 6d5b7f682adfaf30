/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Number of operations that a stream holds before a call blocks, and the time of a call that does
 * not block. The depth is found by trial: no driver documents it for graphs, and for launches it is
 * not guaranteed.
 */
#ifndef GPUSIG_DEPTH_H
#define GPUSIG_DEPTH_H

#include "bench/bench.h"

/* Queue entries of a sample in addition to its operations: its gate and events. */
#define DEPTH_EVENTS 8u

struct queue_depth {
	int (*enqueue)(struct bench_case *c); /* one operation on c->stream */
	struct gate *gate, *probe;
	struct dev_event *event;
	uint64_t operations; /* 0: a single one blocked */
};

/* In setup: finds the largest number of operations, a power of two or `max_count`, that c->stream
 * holds behind a shut gate together with the events of a sample, without a call that blocks. Twice
 * as many made a call block, or exceed `max_count`. In virtual time calls never block: `max_count`.
 * The result is recorded as the fact of this name. The case owns what this opens. */
int depth_find(struct queue_depth *d, struct bench_case *c, const char *fact,
	       int (*enqueue)(struct bench_case *c), uint64_t max_count);

/* In body: the seconds of `iterations` calls while the stream is held. If the queue holds fewer,
 * the time of those is scaled up. */
int depth_calls(const struct queue_depth *d, struct bench_case *c, uint64_t iterations,
		double *seconds_p);

#endif
