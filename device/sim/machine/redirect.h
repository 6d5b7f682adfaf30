/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a matrix that the GEMMs of a device write to other memory, and what that costs. The
 * list belongs to who redirects them, and holds until it is `lost`.
 */
#ifndef GPUSIG_SIM_REDIRECT_H
#define GPUSIG_SIM_REDIRECT_H

#include "device/dev_tracking.h"
#include "device/sim/machine/gemm.h"

struct alloc;
struct flow;
struct op;
struct sim_tracked_tile;

struct sim_tracked_range {
	struct dev_tracked_rows rows;
	struct alloc *target; /* that holds rows.to; NULL: none */
	struct sim_tracked_tile *tiles;
};

struct sim_redirect {
	char *at;
	uint64_t bytes, row_bytes;
	struct sim_tracked_range *ranges; /* all rows, in their order */
	bool lost;                        /* memory that it names, or it, was closed */
};

/* Rows of C that go to the same place. */
struct sim_rows {
	uint32_t end;
	void *c;            /* where all of C would begin if all of it went there */
	struct alloc *away; /* NULL: C itself */
};
/* Those from this row on, at most up to `end`. */
struct sim_rows sim_redirect_rows(const struct op *op, uint32_t row, uint32_t end);

/* Rows of one of a block's tiles that go to the same place. */
struct sim_part {
	uint32_t number;
	struct tile tile; /* whole */
	struct tile area; /* of it */
	struct alloc *away;
	char *c;
};
/* False: there is none. */
bool sim_part_first(const struct op *op, uint32_t block, struct sim_part *p);
bool sim_part_next(const struct op *op, struct sim_part *p);

/* Part of a block's traffic of C that goes to C itself; demands of the rest, whose bytes are
 * returned; and the largest latency there. */
double sim_redirect_kept_part(const struct op *op, uint32_t block);
double sim_redirect_need(struct flow *f, const struct op *op, uint32_t block);
double sim_redirect_latency_ns(const struct op *op, uint32_t block);
/* Count the bytes of a whole GEMM that go away; returns how many rows of C do not. */
uint32_t sim_redirect_count(const struct op *op);
/* Number of blocks from this one on, out of `most` that are otherwise alike, that write alike. */
uint32_t sim_redirect_blocks_alike(const struct op *op, uint32_t block, uint32_t most);

#endif
