/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of allreduce and of its two halves: who sends which blocks to whom, at which step.
 *
 * A schedule is a pure function of (algorithm, shape, ports, rank, step). It moves nothing and knows nobody's
 * bytes, so that the same one serves a symbolic checker, real ranks, a model of links and a device.
 *
 * PARTS. The vector is cut into schedule_parts() equal parts, and each runs its own collective at the same time, on
 * ports of its own: on one port one part, on all ports of a torus one part per dimension and direction ("plain"
 * ones, each starting in another dimension, and "mirrored" ones, with every coordinate negated; Swing, arXiv
 * 2401.09356). Bruck and Trivance send two messages at a step and have one part per dimension.
 *
 * BLOCKS. A part is cut into schedule_blocks() equal blocks. After a reduce-scatter a rank owns the sum of block
 * schedule_block(), and an all-gather starts from there. An algorithm that exchanges whole vectors has one block.
 *
 * STEPS. All ranks and parts do step 0, then step 1, ... At a step a rank first sends (from the state before the
 * step), then takes what it receives: `reduce` adds it to the blocks that are there, else it replaces them. What is
 * sent is always the sender's partial sum of the blocks named. A rank may be idle at a step. In each part and
 * direction a rank has at most one message a port and step; only the last rank of an odd ring (swing-b, bine) has more.
 *
 *     struct schedule *s;
 *     status = schedule_open("swing-b", &grid, SCHEDULE_ALL_PORTS, SCHEDULE_ALLREDUCE, SCHEDULE_RENAMED, &s);
 *     struct schedule_message m[schedule_most_messages(s)];
 *     struct schedule_range r[schedule_blocks(s)];
 *     for (unsigned step = 0; step < schedule_steps(s); step++)
 *             for (unsigned part = 0; part < schedule_parts(s); part++)
 *                     for (unsigned i = 0, n = schedule_messages(s, part, rank, step, m); i < n; i++)
 *                             count = schedule_ranges(s, part, &m[i], r);   r[0..count) of the part travel
 *
 * How the blocks of a step are found: the partners of all steps are images of those of rank 0 under a group that acts
 * on the ranks (rotations; for Swing, whose odd ranks go the other way, rotations by even distances and reflections;
 * for recursive doubling, exclusive or). A block leaves rank 0 at the LAST step whose partner can still pass it on or
 * owns it, hence along one path with ascending steps, hence exactly once, for every number of ranks that the steps
 * reach at all. The all-gather is the reduce-scatter backwards.
 */
#ifndef GPUSIG_SCHEDULE_H
#define GPUSIG_SCHEDULE_H

#include "collectives/schedules/grid.h"

enum schedule_ports {
	SCHEDULE_ONE_PORT,
	SCHEDULE_ALL_PORTS, /* as many as the algorithm can use: 2 per dimension for most, 1 for plain recursive doubling */
};

enum schedule_kind { SCHEDULE_ALLREDUCE, SCHEDULE_REDUCE_SCATTER, SCHEDULE_ALLGATHER };

enum schedule_layout {
	/* Rank r owns block r. A message is a list of ranges. */
	SCHEDULE_INDEXED,
	/* Blocks are so numbered that every message is one range (papers: "renaming"). It exists where each step
	 * multiplies the blocks in reach: sides that are powers of two for Swing and recursive doubling, of three for
	 * Bruck and Trivance, all for bucket and ring. An allreduce needs no more; the halves alone own block
	 * schedule_block(rank) instead of block r. */
	SCHEDULE_RENAMED,
};

/* One algorithm. */
struct schedule_row {
	const char *name;
	const char *about; /* one line */
	const char *sides; /* which shapes it takes, one line */
	bool halves;       /* has reduce-scatter and all-gather alone, where it needs no folding */
};

struct schedule_message {
	uint32_t peer;
	uint32_t blocks; /* how many travel; at least 1 */
	uint32_t port;   /* of this rank, numbered over all parts */
	bool send;       /* to the peer; otherwise received from it */
	bool reduce;     /* what arrives is added; otherwise it replaces */
	uint32_t origin, segment; /* for schedule_ranges() */
};

struct schedule_range {
	uint32_t first, count; /* in blocks of the part */
};

struct schedule;

/* The rows by index; NULL past the last. Their names, "ring bucket ...", are what error texts list. */
const struct schedule_row *schedule_row(unsigned index);

/* For an axis' `accept`: 0, or -EINVAL with a text that lists the names. */
int schedule_accept(const char *name);

/* -EINVAL: no such algorithm; -ENOTSUP: it can't do this shape, ports, kind or layout, the text says why; -ENOMEM.
 * Memory: 4 to 8 bytes a node and dimension. */
int schedule_open(const char *name, const struct grid *grid, enum schedule_ports ports, enum schedule_kind kind,
                  enum schedule_layout layout, struct schedule **s_p);
void schedule_close(struct schedule *s);

const char *schedule_name(const struct schedule *s); /* of the algorithm */
const struct grid *schedule_grid(const struct schedule *s);
unsigned schedule_parts(const struct schedule *s);
uint32_t schedule_blocks(const struct schedule *s);
uint32_t schedule_steps(const struct schedule *s);

/* The block that this rank owns between the halves; UINT32_MAX for a rank that is folded away meanwhile. */
uint32_t schedule_block(const struct schedule *s, unsigned part, uint32_t rank);

/* The most messages schedule_messages() writes. */
unsigned schedule_most_messages(const struct schedule *s);

/* What `rank` sends and receives at `step` in `part`, sends first. Returns the number written. */
unsigned schedule_messages(const struct schedule *s, unsigned part, uint32_t rank, uint32_t step,
                           struct schedule_message *messages);

/* Which blocks, ascending, adjacent ones merged; both ends of a message get the same list. Needs room for
 * message->blocks ranges and returns the number written. */
uint32_t schedule_ranges(const struct schedule *s, unsigned part, const struct schedule_message *message,
                         struct schedule_range *ranges);

/* How many steps from `step` on, itself included, have the same partners and message sizes, in all parts: what a
 * model of links computes once. At least 1. */
uint32_t schedule_repeats(const struct schedule *s, uint32_t step);

/* Does every message stay within one dimension, with a distance and a size that depend on the sender's coordinate
 * in that dimension alone? Then all lines of a dimension look alike, and one stands for them. */
bool schedule_by_line(const struct schedule *s);

#endif
