/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Number of operations that a stream holds before a call blocks, and the time of a call that does
 * not block. The depth is found by trial: no driver documents it for graphs, and for launches it is
 * not guaranteed.
 */
#ifndef GPUSIG_DEPTH_H
#define GPUSIG_DEPTH_H

#include "bench/bench_alloc.h"

/* Queue entries of a sample in addition to its operations: its gate and events. */
#define DEPTH_EVENTS 8u

/* Enqueues one operation on c->stream: a variant's `once`. */
typedef int (*depth_operation)(struct bench_case *c, long unused);

/* In setup: finds the largest number of operations, a power of two or `max_count`, that c->stream
 * holds behind a shut gate together with the events of a sample, without a call that blocks. Twice
 * as many made a call block, or exceed `max_count`. 0: a single one blocked. In virtual time calls
 * never block: `max_count`. The result is recorded as the fact of this name. */
int depth_find(struct bench_case *c, const char *fact, depth_operation enqueue, uint64_t max_count,
	       uint64_t *operations_p);

/* In body: the seconds of `iterations` calls while the stream is held by this gate. If the queue
 * holds fewer, as depth_find() has told, the time of those is scaled up. */
int depth_calls(struct bench_case *c, struct gate *gate, depth_operation enqueue,
		uint64_t operations, uint64_t iterations);

#endif
