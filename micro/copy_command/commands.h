/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways of micro/copy_command to give copies to an engine; each waits for the last one.
 */
#ifndef GPUSIG_COPY_COMMANDS_H
#define GPUSIG_COPY_COMMANDS_H

#include "bench/bench_alloc.h"
#include "micro/copy_path/route.h"

enum { MOST_COPIES = 16 };

/* c->state of the program. */
struct copies {
	struct route route; /* of all copies: part i of its source goes to part i of its target */
	struct dev_stream *back;
	struct gate *gate;
	struct dev_graph *graph; /* of all copies; NULL: it is not launched */
	size_t count;
	void *dsts[MOST_COPIES];
	const void *srcs[MOST_COPIES];
	uint64_t bytes[MOST_COPIES]; /* all alike */
};

/* Part after part, by a copy and a wait an iteration, from the first part on. */
int copy_each(struct bench_case *c, long unused, uint64_t iterations);

/* All parts. The host's calls are inside, but in release_copies(), which adds the seconds from the
 * release on to c->self_seconds. */
int copy_back_to_back(struct bench_case *c, long unused);
int copy_batch(struct bench_case *c, long unused);
int launch_graph(struct bench_case *c, long unused);
int release_copies(struct bench_case *c, long unused);

/* The first part, and as many bytes back. */
int copy_both_ways(struct bench_case *c, long unused);
int copy_in_turns(struct bench_case *c, long unused);

/* Enqueue what copy_batch() and launch_graph() wait for. */
int enqueue_batch(struct bench_case *c);
int enqueue_graph(struct bench_case *c);

/* In setup: capture what launch_graph() launches; the program closes it. */
int capture_copies(struct bench_case *c);

#endif
