/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The internals of a schedule: the algorithms as data, and the tables that schedule_open() makes
 * from them. Only schedule.c, rank_mapping.c, chunk_routing.c and algorithm_table.c include it.
 */
#ifndef GPUSIG_SCHEDULE_INTERNALS_H
#define GPUSIG_SCHEDULE_INTERNALS_H

#include "collectives/schedules/schedule.h"

#include <stddef.h>

/* Action of a position on an offset, dimension by dimension. */
enum motion {
	MOTION_SHIFT, /* x + offset */
	MOTION_SWING, /* x + offset for even x, x - offset for odd x */
	MOTION_XOR,   /* x ^ offset */
};

/* A port of position 0: sends the chunks order[first], ...: `count` of them, to the position at
 * `offset` along the dimension. */
struct stage_port {
	uint32_t offset, first, count;
};

/* `repeat` equal moves of the reduce-scatter along `dim`, through `fan` ports: stage_port(). With
 * repeats a port's chunks are those of the last move; those of the earlier moves follow. A move
 * takes `slices` steps and sends an equal share of its chunks at each. More than two ports are all
 * pairs at once: a port for each distance, in ascending order. */
enum { STAGE_PORTS = 2 };
struct stage {
	unsigned dim, fan;
	uint32_t begin, repeat, slices;
	struct stage_port port[STAGE_PORTS];
};

static inline struct stage_port stage_port(const struct stage *stage, unsigned port)
{
	return stage->fan > STAGE_PORTS ? (struct stage_port){port + 1, port + 1, 1}
					: stage->port[port];
}

/* Enough for GRID_MAX_NODES: a part has at least 2 ^ (stages - dimensions) nodes. */
enum { MAX_STAGES = 32 };

/* The reduce-scatter of one part: which chunks leave position 0 at which step. */
struct chunk_routing {
	struct stage stages[MAX_STAGES];
	unsigned count;
	uint32_t steps;
	uint32_t *order; /* chunks as offsets from position 0; those that leave last come first */
	uint32_t *slot;  /* inverse of `order`; NULL unless chunks are renamed, when `order` is a
			    mixed-radix numbering */
};

enum algorithm_flags {
	ALGORITHM_WHOLE_VECTOR = 1, /* exchanges whole vectors */
	ALGORITHM_FLAT = 2,         /* uses rank numbers and no coordinates */
	ALGORITHM_FOLDS = 4,        /* in one dimension, the ranks beyond a power of two are folded
				       into their neighbours */
	ALGORITHM_SPARE_RANK = 8,   /* in one dimension, the last of an odd number of ranks
				       exchanges single chunks */
	ALGORITHM_ROTATES = 16,     /* has a part that starts in each dimension */
	ALGORITHM_MIRRORS = 32,     /* has parts with negated coordinates */
	ALGORITHM_CYCLES = 64,      /* two dimensions become two Hamiltonian cycles */
	ALGORITHM_MESH = 128,       /* uses a link between every two ranks, whatever the ports */
};

struct algorithm {
	struct schedule_algorithm info;
	enum motion motion;
	unsigned flags;
	/* Appends the stages of a part that starts in dimension `start`. `concurrent`: other parts
	 * run at the same time. */
	void (*append_stages)(struct chunk_routing *routing, const struct algorithm *algorithm,
			      const struct grid *space, unsigned start, bool concurrent);
	/* NULL, or the reason why the algorithm does not support this grid and these ports; it may
	 * support all. */
	const char *(*unsupported_reason)(const struct grid *grid, enum schedule_ports ports);
	/* Interleaved stages: a step multiplies the positions in reach by `base`; append_step() is
	 * step number `sigma` of a dimension. */
	uint32_t base;
	void (*append_step)(struct chunk_routing *routing, unsigned dim, uint32_t side,
			    unsigned sigma, uint32_t reach);
};

/* Ends with a NULL name. */
extern const struct algorithm algorithm_table[];

/* Edge-disjoint Hamiltonian cycles: two of a torus with rows = k columns and
 * gcd(rows, columns - 1) = 1, or of a full mesh as many as there are. */
struct cycles {
	unsigned count; /* 0: none */
	bool of_mesh;
	unsigned row_dim; /* the dimension whose coordinate is the row */
	uint32_t inverse; /* of columns - 1, modulo rows */
};

struct schedule {
	const struct algorithm *algorithm;
	struct grid grid;  /* what the caller asked for */
	struct grid space; /* the positions that the routings use; fewer than ranks when ranks are
			      folded or one is spare */
	enum schedule_kind kind;
	unsigned rotations, parts;
	unsigned fan;    /* the most of a stage */
	uint32_t folded; /* pairs (2i, 2i+1) that act as one position */
	bool spare, whole;
	uint32_t fold_steps, half_steps, unfold_steps;
	uint32_t chunks;
	struct cycles cycles;
	unsigned routing_count;
	struct chunk_routing routings[GRID_DIMS];
};

#define NO_POSITION UINT32_MAX

/* The position that `from` reaches by `offset` along `dim`, and the position that reaches `from`
 * by it. */
uint32_t motion_along(const struct grid *space, enum motion motion, uint32_t from, unsigned dim,
		      uint32_t offset);
uint32_t motion_back(const struct grid *space, enum motion motion, uint32_t from, unsigned dim,
		     uint32_t offset);

/* motion_along() for an offset in all dimensions. */
uint32_t motion_act(const struct grid *space, enum motion motion, uint32_t from, uint32_t offset);

/* Fills `order`, `first` and `count` (and `slot`) of a routing whose stages are set. -ENOMEM;
 * -ENOTSUP when the steps do not reach every chunk or, with `renamed`, when no renaming exists. */
int chunk_routing_build(struct chunk_routing *routing, const struct grid *space, enum motion motion,
			bool renamed);
void chunk_routing_free(struct chunk_routing *routing);

/* Ranks and positions of a part. NO_POSITION for a rank that has none. */
uint32_t rank_to_position(const struct schedule *s, unsigned part, uint32_t rank);
uint32_t position_to_rank(const struct schedule *s, unsigned part, uint32_t position);

struct cycles cycles_of_torus(const struct grid *grid);
struct cycles cycles_of_mesh(const struct grid *grid);

#endif
