/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM and the communication it depends on, cut into parts: FiCCO's schedules (arXiv 2512.10236)
 * as data. Pure C: no device, no time. The paper does not publish the steps of its schedules; this
 * is our working definition of them.
 *
 * Each of G devices computes C := A B, where A is m x k and B is k x n. The m rows of a device
 * consist of G groups, one for each device:
 *
 *     ag-gemm          all-gather, then GEMM. Group r of every device is device r's shard of A.
 *     a2a-gemm         all-to-all, then GEMM (expert parallelism). Group r of device d is what
 *                      device r has for device d.
 *     a2a-gemm-uneven  the same with a seeded router: every device has m rows to give away, and
 *                      experts differ in popularity, so a device gets more or fewer than m rows.
 *     gemm-rs          GEMM, then reduce-scatter: the mirror image. Every device has a partial sum
 *                      of all of C; group r of the sum belongs to device r. A copy engine cannot
 *                      add, so partial sums arrive in staging memory and a kernel adds them.
 *     gemm-ar          GEMM, then all-reduce: the same, and every device sends the parts of its
 *                      group to all others, each as soon as it is the sum of all.
 *
 * With few rows there is nothing to cut, or each part reads all of B for some rows. Where sums are
 * sent, all of this also holds for C^T = B^T A^T: the columns of C are cut, each part reads its own
 * share of B once, and C is column-major. Then m and n of the problem are exchanged, A is B^T, and
 * B is A^T. Where rows of A are sent, this is impossible: they are the columns of A^T, and every
 * part needs all of them.
 *
 * A schedule is a row of FICCO_SCHEDULE_TABLE. Per device it does:
 *
 *     serial             all transfers, then one GEMM (with sums: one GEMM, then all transfers)
 *     shard              G-1 transfers, one link at a time, each with a GEMM of its own
 *     uniform-fused-1d   G equal steps; a step takes a part of every group, also of the own one
 *     hetero-fused-1d    the own group first (with sums: last), then G steps over the other groups
 *     hetero-unfused-1d  a GEMM for every part that arrives: G (G-1) + 1 GEMMs
 *     uniform-fused-2d   G steps over parts of A's columns; every step adds to C
 *
 * Layout. Every transfer is one contiguous range. The rows of a device are stored in the order in
 * which its GEMMs need them (`chunks`), in A and in C alike: the caller's C has its rows in that
 * order. Where columns are cut, A consists of k_steps slabs of all rows, each with its own leading
 * dimension. A device stores what it sends group after group (ag-gemm: its one shard), each group
 * as slabs of its rows in their own order. We assume that the sources already have this layout.
 *
 * Sides that do not divide evenly give parts that differ by one. Device d starts with peer d+1,
 * then d+2, and so on, so that no two devices start with the same peer.
 */
#ifndef GPUSIG_DECOMPOSITION_H
#define GPUSIG_DECOMPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ficco_op {
	FICCO_AG_GEMM,
	FICCO_GEMM_RS,
	FICCO_A2A_GEMM,
	FICCO_A2A_GEMM_UNEVEN,
	FICCO_GEMM_AR,
	FICCO_OPS
};

#define FICCO_PER_DEVICE UINT32_MAX

/* Decomposition of a device's work by a schedule. */
struct ficco_rules {
	uint32_t row_parts; /* of each group: a number, or FICCO_PER_DEVICE for G; 0: not cut */
	bool columns_cut;   /* the columns of A are cut into G slabs, else 1 */
	bool own_separate;  /* the device's own group is a GEMM of its own */
	bool fused;         /* one GEMM for all that a step brings, else one for each transfer */
	bool one_link;      /* a device's transfers follow each other; else those to different peers
			       are independent */
};

/* All schedules: constant, name, and members of struct ficco_rules. The enum, the names, the rules
 * and the variants of overlap/ficco are generated from these rows. BASELINE is the schedule that
 * the others are compared with. A further one is a row, such as
 * SCHEDULE(HALVES_FUSED_1D, "halves-fused-1d", .row_parts = 2). */
#define FICCO_SCHEDULE_TABLE(BASELINE, SCHEDULE)                                                   \
	BASELINE(SERIAL, "serial", .fused = true)                                                  \
	SCHEDULE(SHARD, "shard", .own_separate = true, .one_link = true)                           \
	SCHEDULE(UNIFORM_FUSED_1D, "uniform-fused-1d", .row_parts = FICCO_PER_DEVICE,              \
		 .fused = true)                                                                    \
	SCHEDULE(HETERO_FUSED_1D, "hetero-fused-1d", .row_parts = FICCO_PER_DEVICE,                \
		 .own_separate = true, .fused = true)                                              \
	SCHEDULE(HETERO_UNFUSED_1D, "hetero-unfused-1d", .row_parts = FICCO_PER_DEVICE,            \
		 .own_separate = true)                                                             \
	SCHEDULE(UNIFORM_FUSED_2D, "uniform-fused-2d", .columns_cut = true, .fused = true)

#define FICCO_SCHEDULE_ENUM(id, ...) FICCO_##id,
enum ficco_schedule {
	FICCO_SCHEDULE_TABLE(FICCO_SCHEDULE_ENUM, FICCO_SCHEDULE_ENUM) FICCO_SCHEDULES
};
#undef FICCO_SCHEDULE_ENUM

/* Names, in the order of the enums; NULL-terminated. */
extern const char *const ficco_ops[], *const ficco_schedules[];
extern const struct ficco_rules ficco_schedule_rules[FICCO_SCHEDULES];

#define FICCO_MAX_DEVICES 64u
#define FICCO_NONE UINT32_MAX

struct ficco_problem {
	enum ficco_op op;
	uint32_t devices, m, n, k;
	uint64_t seed;  /* for the router of a2a-gemm-uneven */
	bool exchanged; /* m and n are, only with sums: the columns of C are cut */
};

/* Rows [first, first + rows) of a group, stored from row `at` on in the device's A and C; `piece`
 * is the first one that computes them. */
struct ficco_chunk {
	uint32_t device, group, first, rows, at, piece;
};

/* `count` elements, from from_offset of what device `from` sends (with sums: of its C) to to_offset
 * of the receiver's A (with sums: of its staging memory). Transfers of one device over the same
 * link follow each other. */
struct ficco_transfer {
	uint32_t from, to, step, link;
	uint32_t piece; /* with sums: the transfer starts after this piece; else FICCO_NONE */
	uint64_t from_offset, to_offset, count;
};

/* One GEMM: rows [row, row + rows) of C from columns [column, column + columns) of A, which start
 * at element a_offset of A, in a slab of so many columns. From column 0 it overwrites C, from any
 * other it adds to C. It starts after transfers [first_transfer, first_transfer + transfers). The
 * pieces of a device follow each other. */
struct ficco_piece {
	uint32_t device, row, rows, column, columns;
	uint64_t a_offset;
	uint32_t first_transfer, transfers;
};

/* With sums: adds `count` elements at from_offset of the device's staging memory to those at
 * to_offset of its C, or of its staging memory. It starts after up to two transfers and a piece
 * (FICCO_NONE: none). The reductions of a device follow each other. */
struct ficco_reduction {
	uint32_t device;
	bool to_staging;
	uint64_t from_offset, to_offset, count;
	uint32_t transfer[2], piece;
};

/* gemm-ar: `count` elements of the sum, from from_offset of C of device `from` to to_offset of that
 * of device `to`, after this reduction. The receiver's own partial sums left before. Those of one
 * device over the same link follow each other, and no transfer. */
struct ficco_return {
	uint32_t from, to, link, reduction;
	uint64_t from_offset, to_offset, count;
};

struct ficco_plan {
	struct ficco_problem problem;
	enum ficco_schedule schedule;
	uint32_t rows[FICCO_MAX_DEVICES][FICCO_MAX_DEVICES]; /* [d][r]: of group r on device d */
	uint32_t all_rows[FICCO_MAX_DEVICES];                /* of device d: their sum */
	uint32_t max_rows; /* of a device; more than m only with the uneven router */
	uint64_t send_elements[FICCO_MAX_DEVICES];    /* that device d sends; 0 with sums */
	uint64_t staging_elements[FICCO_MAX_DEVICES]; /* 0 without sums */
	uint32_t steps, row_parts, k_steps; /* parts of each group's rows, and of A's columns */
	struct ficco_chunk *chunks;         /* by device, then row */
	struct ficco_transfer *transfers; /* by the device whose GEMM needs or made it, then step */
	struct ficco_piece *pieces;       /* by device, in order */
	struct ficco_reduction *reductions; /* by device, in order */
	struct ficco_return *returns;       /* by sender, then part */
	uint32_t chunk_count, transfer_count, piece_count, reduction_count, return_count;
};

/* Does every device have a partial sum of all of C? */
static inline bool ficco_sums(enum ficco_op op)
{
	return op == FICCO_GEMM_RS || op == FICCO_GEMM_AR;
}

/* -EINVAL: fewer than 2 or more than FICCO_MAX_DEVICES devices, or fewer rows (columns) than parts.
 * -ENOTSUP: the schedule is not defined for the operation. -ENOMEM. Each with a text. */
int ficco_plan_open(const struct ficco_problem *problem, enum ficco_schedule schedule,
		    struct ficco_plan **p_p);
void ficco_plan_close(struct ficco_plan *p); /* NULL is accepted */

/* Serial, laid out for a collective of a library, which replaces its transfers and reductions:
 * there are none. Group r of every device begins at row r m / G. Errors as above; -ENOTSUP: groups
 * of unequal size. */
int ficco_collective_plan_open(const struct ficco_problem *problem, struct ficco_plan **p_p);

/* True if two plans do the same work: equal GEMMs, and equal transfers between the same devices in
 * the same order. The data may lie elsewhere at the sender. */
bool ficco_plan_same_work(const struct ficco_plan *a, const struct ficco_plan *b);

/* Elements between the start of what device `from` sends and its part for device `to`. */
uint64_t ficco_plan_send_offset(const struct ficco_plan *p, uint32_t from, uint32_t to);

/* The transfer of a slab of a chunk to its device; a device's own rows come from what it sends,
 * too. Without step and link. Not with sums. */
struct ficco_transfer ficco_arriving_transfer(const struct ficco_plan *p,
					      const struct ficco_chunk *chunk, uint32_t slab);

/* Begin of part `number` of `parts` of a side; number == parts gives the end. */
uint32_t ficco_part_begin(uint32_t side, uint32_t parts, uint32_t number);

#endif
