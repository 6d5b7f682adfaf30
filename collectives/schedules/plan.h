/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a schedule: rows as data, and the tables that schedule_open() makes from them. For schedule*.c,
 * walk.c and rows.c alone.
 */
#ifndef GPUSIG_PLAN_H
#define GPUSIG_PLAN_H

#include "collectives/schedules/schedule.h"

#include <stddef.h>

/* How a position acts on an offset, dimension by dimension. */
enum motion {
	MOTION_SHIFT, /* x + offset */
	MOTION_SWING, /* x + offset for even x, x - offset for odd x */
	MOTION_XOR,   /* x ^ offset */
};

/* `repeat` equal moves of the reduce-scatter: send to the positions at `offset` along `dim`. The blocks that leave
 * position 0 through port j are walk.order[first[j]], count[j] of them; with repeats, those of the latest move, and
 * those of the others follow. A move takes `slices` steps, each with its share of the blocks. */
struct stage {
	unsigned dim, fan;
	uint32_t offset[2];
	uint32_t begin, repeat, slices;
	uint32_t first[2], count[2];
};

/* At least 2 ^ (stages - dimensions) nodes. */
enum { MOST_STAGES = 32 };

/* The reduce-scatter of one part. */
struct walk {
	struct stage stages[MOST_STAGES];
	unsigned count;
	uint32_t steps;
	uint32_t *order; /* blocks as offsets from position 0, those that leave last come first */
	uint32_t *slot;  /* inverse of order; NULL unless blocks are renamed, when order is a mixed-radix numbering */
};

enum row_flags {
	ROW_WHOLE = 1,  /* exchanges whole vectors */
	ROW_FLAT = 2,   /* sees ranks, not coordinates */
	ROW_FOLD = 4,   /* in one dimension, ranks beyond a power of two are folded into their neighbours */
	ROW_SPARE = 8,  /* in one dimension, the last of an odd number of ranks trades single blocks */
	ROW_TURN = 16,  /* parts that start in each dimension */
	ROW_MIRROR = 32, /* parts with negated coordinates */
	ROW_CYCLES = 64, /* two dimensions become two Hamiltonian cycles */
};

struct row {
	struct schedule_row shown;
	enum motion motion;
	unsigned flags;
	/* Appends the stages of a part that starts in dimension `start`; `paced`: other parts run beside it. */
	void (*stages)(struct walk *w, const struct grid *space, unsigned start, bool paced);
	/* NULL, or why this can't be done. */
	const char *(*refuse)(const struct grid *grid, enum schedule_ports ports);
};

/* Ends with a NULL name. */
extern const struct row schedule_rows[];

/* Two edge-disjoint Hamiltonian cycles of a torus with rows = k columns and gcd(rows, columns - 1) = 1. */
struct cycles {
	bool exist;
	unsigned row_dim;  /* the dimension whose coordinate is the row */
	uint32_t inverse;  /* of columns - 1, modulo rows */
};

struct schedule {
	const struct row *row;
	struct grid grid;  /* what was asked for */
	struct grid space; /* the positions among which the walks go; fewer than ranks when some are folded or spare */
	enum schedule_kind kind;
	unsigned turns, parts;
	uint32_t folded; /* pairs (2i, 2i+1) that act as one position */
	bool spare, whole;
	uint32_t before, core, after; /* steps: folding, one half, unfolding */
	uint32_t blocks;
	struct cycles cycles;
	unsigned walk_count;
	struct walk walks[GRID_DIMS];
};

#define NOWHERE UINT32_MAX

/* The position reached from `from` by `offset` along `dim`, and the one that reaches `from`. */
uint32_t motion_along(const struct grid *space, enum motion motion, uint32_t from, unsigned dim, uint32_t offset);
uint32_t motion_back(const struct grid *space, enum motion motion, uint32_t from, unsigned dim, uint32_t offset);

/* `from` acts on a whole offset. */
uint32_t motion_act(const struct grid *space, enum motion motion, uint32_t from, uint32_t offset);

/* Fill order, first and count (and slot) of a walk whose stages are set. -ENOMEM; -ENOTSUP when some block is out of
 * reach or, with `renamed`, when no renaming exists. */
int walk_fill(struct walk *w, const struct grid *space, enum motion motion, bool renamed);
void walk_free(struct walk *w);

/* Ranks and positions of a part. NOWHERE for a rank that has none. */
uint32_t place_of(const struct schedule *s, unsigned part, uint32_t rank);
uint32_t rank_at(const struct schedule *s, unsigned part, uint32_t position);

struct cycles cycles_find(const struct grid *grid);

#endif
