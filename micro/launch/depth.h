/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much a stream takes before a call waits for room: found by trying, for no driver says it of graphs, and what is said of
 * launches is not promised. And what such a call takes meanwhile.
 */
#ifndef GPUSIG_LAUNCH_DEPTH_H
#define GPUSIG_LAUNCH_DEPTH_H

#include "lib/bench.h"

/* What a sample has in its queue besides: its gate and events. */
#define DEPTH_EVENTS 8u

struct depth {
	int (*enqueue)(struct bench_case *c); /* one operation on c->stream */
	struct gate *gate, *probe;
	struct dev_event *event;
	uint64_t found;
};

/* In setup: finds the most operations, a power of two or `most`, that c->stream takes behind a shut gate, with the events of a
 * sample behind them, while no call waits; twice as many made one wait, or are over `most`. 0: one alone did. In virtual time
 * calls never wait: `most`. Recorded as the fact of this name. What is opened is the case's. */
int depth_find(struct depth *d, struct bench_case *c, const char *fact, int (*enqueue)(struct bench_case *c), uint64_t most);

/* In body: the seconds of so many calls while the stream is held. The queue may take less: what was seen is scaled. */
int depth_calls(const struct depth *d, struct bench_case *c, uint64_t iterations, double *seconds_p);

#endif
