/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of allreduce and of its two halves: which rank sends which chunks to which peer, at
 * which step.
 *
 * A schedule is a pure function of (algorithm, shape, ports, rank, step). It moves no data, so one
 * schedule serves a symbolic checker, MPI ranks, a model of links and a device.
 *
 * PARTS. The vector is cut into schedule_parts() equal parts. Each part runs its own collective at
 * the same time, on its own ports. One port has one part. All ports of a torus have one part per
 * dimension and direction: "plain" parts, each of which starts in another dimension, and "mirrored"
 * parts, in which every coordinate is negated (Swing, arXiv 2401.09356). Bruck and Trivance send
 * two messages at a step and have one part per dimension. Two algorithms are for a full mesh, a
 * link between every two ranks, and use rank numbers alone, with as many ports as they need
 * whatever the caller's choice: direct has one part and sends p - 1 messages at a step, multi-ring
 * has a part for each of its rings.
 *
 * CHUNKS. A part is cut into schedule_chunks() equal chunks. After a reduce-scatter a rank owns the
 * sum of chunk schedule_chunk(); an all-gather starts from there. An algorithm that exchanges whole
 * vectors has one chunk.
 *
 * STEPS. All ranks and parts do step 0, then step 1, and so on. At a step a rank first sends (from
 * the state before the step), then takes what it receives: with `reduce` it adds the data to the
 * chunks, otherwise it replaces them. A message always carries the sender's partial sums of the
 * chunks that it names. A rank may be idle at a step. In each part and direction a rank has at most
 * one message per port and step; only the last rank of an odd ring (swing-b, bine) has more.
 * schedule_ports() is how many messages leave a rank at once.
 *
 *     struct schedule *s;
 *     status = schedule_open("swing-b", &grid, SCHEDULE_ALL_PORTS, SCHEDULE_ALLREDUCE,
 *                            SCHEDULE_RENAMED, &s);
 *     struct schedule_message m[schedule_max_messages(s)];
 *     struct schedule_range r[schedule_chunks(s)];
 *     for (unsigned step = 0; step < schedule_steps(s); step++)
 *         for (unsigned part = 0; part < schedule_parts(s); part++)
 *             for (unsigned i = 0, n = schedule_messages(s, part, rank, step, m); i < n; i++)
 *                 count = schedule_ranges(s, part, &m[i], r);   message i carries r[0..count)
 *
 * How the chunks of a step are found: the partners of all steps are images of those of rank 0 under
 * a group that acts on the ranks (rotations; for Swing, whose odd ranks go the other way, rotations
 * by even distances and reflections; for recursive doubling, exclusive or). A chunk leaves rank 0
 * at the LAST step whose partner owns it or can still pass it on. So it travels along one path with
 * ascending steps, and exactly once, for every number of ranks that the steps can reach. The
 * all-gather is the reduce-scatter backwards.
 */
#ifndef GPUSIG_SCHEDULE_H
#define GPUSIG_SCHEDULE_H

#include "collectives/schedules/grid.h"

enum schedule_ports {
	SCHEDULE_ONE_PORT,
	/* As many as the algorithm can use: 2 per dimension for most, 1 for plain recursive
	 * doubling, up to p - 1 for those of a full mesh. */
	SCHEDULE_ALL_PORTS,
};

enum schedule_kind { SCHEDULE_ALLREDUCE, SCHEDULE_REDUCE_SCATTER, SCHEDULE_ALLGATHER };

enum schedule_layout {
	/* Rank r owns chunk r. A message is a list of ranges. */
	SCHEDULE_INDEXED,
	/* Chunks are numbered such that every message is one range (papers: "renaming"). This
	 * layout exists where each step multiplies the chunks in reach: sides that are powers of
	 * two for Swing and recursive doubling, powers of three for Bruck and Trivance, all sides
	 * for bucket and ring. An allreduce gives the same result in both layouts. In a
	 * reduce-scatter or all-gather alone, rank r owns chunk schedule_chunk(r) and not r. */
	SCHEDULE_RENAMED,
};

struct schedule_algorithm {
	const char *name;
	const char *summary; /* one line */
	const char *sides;   /* which shapes it supports, one line */
};

struct schedule_message {
	uint32_t peer;
	uint32_t chunks;          /* how many it carries; at least 1 */
	uint32_t port;            /* of this rank, numbered over all parts; all have as many */
	bool send;                /* to the peer; otherwise received from it */
	bool reduce;              /* the receiver adds; otherwise it replaces */
	uint32_t origin, segment; /* for schedule_ranges() */
};

struct schedule_range {
	uint32_t first, count; /* in chunks of the part */
};

struct schedule;

/* By index; NULL past the last. */
const struct schedule_algorithm *schedule_algorithm(unsigned index);

/* For an axis' `accept`: 0, or -EINVAL with a text that lists the names. */
int schedule_accept(const char *name);

/* -EINVAL: no such algorithm; -ENOTSUP: it does not support this shape, ports, kind or layout, and
 * the text says why; -ENOMEM. Memory: 4 to 8 bytes per node and dimension. */
int schedule_open(const char *name, const struct grid *grid, enum schedule_ports ports,
		  enum schedule_kind kind, enum schedule_layout layout, struct schedule **s_p);
void schedule_close(struct schedule *s);

const char *schedule_name(const struct schedule *s); /* of the algorithm */
const struct grid *schedule_grid(const struct schedule *s);
unsigned schedule_parts(const struct schedule *s);
unsigned schedule_ports(const struct schedule *s); /* of all parts */
uint32_t schedule_chunks(const struct schedule *s);
uint32_t schedule_steps(const struct schedule *s);

/* The chunk that this rank owns between the halves; UINT32_MAX for a rank that is folded into its
 * neighbour. */
uint32_t schedule_chunk(const struct schedule *s, unsigned part, uint32_t rank);

/* The capacity that schedule_messages() needs. */
unsigned schedule_max_messages(const struct schedule *s);

/* Writes the messages of `rank` at `step` in `part`, sends first. Returns their number. */
unsigned schedule_messages(const struct schedule *s, unsigned part, uint32_t rank, uint32_t step,
			   struct schedule_message *messages);

/* Writes the chunks of a message as ascending ranges; adjacent ranges are merged. Both ends of a
 * message get the same list. Needs a capacity of message->chunks ranges. Returns their number. */
uint32_t schedule_ranges(const struct schedule *s, unsigned part,
			 const struct schedule_message *message, struct schedule_range *ranges);

/* Number of steps from `step` on, itself included, that have the same partners and message sizes in
 * all parts. A model of links computes them once. At least 1. */
uint32_t schedule_repeats(const struct schedule *s, uint32_t step);

/* True when every message stays within one dimension, with a distance and a size that depend only
 * on the sender's coordinate in that dimension. Then all lines of a dimension carry the same load,
 * and a model needs one of them. */
bool schedule_by_line(const struct schedule *s);

#endif
