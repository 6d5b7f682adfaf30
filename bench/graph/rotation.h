/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rotating buffers: operands that are cold (in no cache) in every run, without a flush. A rotation
 * holds copies, called SETS, of the memory that a program's runs read and write, and every run uses
 * the next set. There are enough sets that the runs between two uses of one touch at least twice
 * the last-level cache. Nothing but the addresses differs from a run on warm operands.
 *
 *     setup   bench_rotate(c, graphs, count, &s->rotation)    the graphs of the variants; or
 *             rotation_open(c, runs, count, &s->rotation)     for work that is not a graph
 *     body    work_graph_run(graph)                           takes the next set by itself; or
 *             set = rotation_take(r, 1), and rotation_address(r, set, operand) for each operand
 *     poison  as without, then rotation_spread(r, 1)
 *     check   rotation_collect(r), then as without
 *
 * HOME is the memory that the program itself allocated. It is not a set: it serves for set-up,
 * poison, check, and variants with warm operands. For each run, addresses of the home are replaced
 * by those of the set.
 *
 * Turns.     A graph that repeats its work, such as a pipeline of GEMMs, takes a set for each TURN
 *            (work_graph_turn()); else a run is one turn.
 * Sets.      Their number n is chosen so that n - 1 times the bytes that a run or turn leaves in
 *            the cache are at least 2 last-level caches, for the run that leaves least. Copies and
 *            streaming kernels may leave nothing, so they count only in graphs of nothing else, and
 *            those have sets of their own: otherwise they would bring a set back too early.
 * Memory.    Whole allocations of the case (bench/bench_alloc.h) that hold operands are copied: the
 *            arrays of GEMMs, copies, fills, collectives and kernels. Counters that are waited for
 *            and words that kernels stamp are not operands.
 * Limits.    The cache is the device's. Host memory that a discrete device reads rotates too, but
 *            how much of it the host's own caches keep is unknown.
 * Ownership. The case's. NULL is a rotation without sets: addresses stay as they are, and nothing
 *            is copied. So warm and cold cases share their code.
 */
#ifndef GPUSIG_ROTATION_H
#define GPUSIG_ROTATION_H

#include "bench/graph/bench_graph.h"

/* An axis of programs all of whose variants run in one condition. */
enum { OPERANDS_WARM, OPERANDS_COLD };
extern const char *const rotation_operands[];
#define BENCH_OPERANDS                                                                             \
	{                                                                                          \
		.name = "operands",                                                                \
		.help = "warm: the same buffers in every round, in a cache if they fit; cold: "    \
			"rotating buffers, in no cache",                                           \
		.kind = AXIS_WORD, .words = rotation_operands, .quick = "warm",                    \
		.full = "warm,cold"                                                                \
	}

struct rotation;

/* Memory that one kind of run, or turn, touches. */
struct rotation_range {
	const void *at;
	uint64_t bytes;
	bool bypasses; /* displaces nothing for sure */
};
struct rotation_run {
	const struct rotation_range *ranges;
	size_t count;
};

/* In setup, when the home holds its data. -ENOTSUP, which does not fail the case: a device does
 * not know its last-level cache, or the sets need more than half of its memory. -EINVAL: a range
 * outside the case's allocations. Else c->status. */
int rotation_open(struct bench_case *c, const struct rotation_run *runs, size_t count,
		  struct rotation **r_p);

/* The same for prepared graphs, whose runs take their sets from then on. NULL in the list counts
 * as no graph. */
int bench_rotate(struct bench_case *c, struct work_graph *const *graphs, size_t count,
		 struct rotation **r_p);

/* One more prepared graph takes its sets from the rotation, which counts nothing for it: its
 * operands are in memory that rotates. Returns c->status. */
int rotation_attach(struct rotation *r, struct work_graph *g);

/* bench_rotate() where the case's axis `operands` is cold; else *r_p stays NULL. */
int bench_rotate_cold(struct bench_case *c, struct work_graph *const *graphs, size_t count,
		      struct rotation **r_p);

/* Takes the next sets, one for each turn; returns the first, and the others follow it. */
uint32_t rotation_take(struct rotation *r, uint32_t turns);

/* An address of the home in a set; numbers beyond the last set wrap around. An address that does
 * not rotate is returned unchanged. */
void *rotation_address(const struct rotation *r, uint32_t set, const void *home);

/* The number of sets of graphs with GEMMs; 1 for NULL. */
uint32_t rotation_sets(const struct rotation *r);

/* Copies the home to the sets that are taken next, whichever graph runs; the set taken last to the
 * home. Both wait, also for the case's stream before. Not timed. */
int rotation_spread(struct rotation *r, uint32_t turns);
int rotation_collect(struct rotation *r);

/* In derive: the facts "operand_sets" and "operand_set_bytes"; none for NULL. */
void rotation_facts(const struct rotation *r, struct bench_case *c);

/* A graph that no measurement times: reads twice the last-level cache of each device, so that what
 * ran before is in no cache, and no cache has to write back for what runs next. lanes[i] is a lane
 * of device i. NULL, and an error of the case, without memory. */
struct work_graph *rotation_wash(struct bench_case *c, struct work_lanes *lanes,
				 const uint32_t *lane_of_device);

#endif
