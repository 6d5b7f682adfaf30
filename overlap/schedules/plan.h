/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A matrix product and the communication it depends on, cut into pieces: FiCCO's schedules (arXiv 2512.10236) as data. Pure C:
 * no device, no time. How the paper steps its schedules is not public; what follows is our working definition.
 *
 * C := A B on every one of G devices, A is m x k, B k x n. The m rows of a device belong in G groups to the devices:
 *     ag-gemm          all-gather, then product. Group r of every device is device r's shard of A.
 *     a2a-gemm         all-to-all, then product (expert parallel). Group r of device d is what device r has for d.
 *     a2a-gemm-uneven  the same with a seeded router: every device has m rows to give away, and the experts are not equally
 *                      popular, so a device may get fewer or more than m.
 *     gemm-rs          product, then reduce-scatter: the mirror. Every device has a term of all of C; group r of the sum is
 *                      device r's. An engine can't add: terms land in staging memory, and a kernel adds them.
 *
 * A schedule is a row of four answers (see overlap_schedule_rules[]): into how many parts are the rows of a group cut, and the
 * columns of A; is a device's own group a product of its own; is all that comes in a step one product (fused) or each.
 *     serial             1, 1, no, fused      everything arrives (leaves) before (after) one product
 *     shard              1, 1, own, not       G-1 transfers, one after the other over one link at a time, each with its product
 *     uniform-fused-1d   G, 1, no, fused      G equal steps: a part of every group, also of the own one
 *     hetero-fused-1d    G, 1, own, fused     the own group first (gemm-rs: last), then G steps over the others'
 *     hetero-unfused-1d  G, 1, own, not       every part that arrives is a product: G (G-1) + 1 of them
 *     uniform-fused-2d   1, G, no, fused      parts of A's columns; every step adds to C
 *
 * Layout. Every transfer is one contiguous range. The rows of a device stand in the order in which their products need them
 * (`blocks`), in A and in C alike: a caller's C has its rows in that order. Where columns are cut, A consists of k_steps slabs of
 * all rows, each with a leading dimension of its own. What a device sends stands group after group (ag-gemm: its one shard),
 * each as slabs of its rows in their own order. That sources are kept so is assumed, and costs nothing here.
 *
 * Sides that do not divide give parts that differ by one. Peers come in the order d+1, d+2, ... of device d, so that no two
 * devices begin with the same one.
 */
#ifndef GPUSIG_OVERLAP_PLAN_H
#define GPUSIG_OVERLAP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum overlap_op { OVERLAP_AG_GEMM, OVERLAP_GEMM_RS, OVERLAP_A2A_GEMM, OVERLAP_A2A_GEMM_UNEVEN, OVERLAP_OPS };
enum overlap_schedule {
	OVERLAP_SERIAL,
	OVERLAP_SHARD,
	OVERLAP_UNIFORM_FUSED_1D,
	OVERLAP_HETERO_FUSED_1D,
	OVERLAP_HETERO_UNFUSED_1D,
	OVERLAP_UNIFORM_FUSED_2D,
	OVERLAP_SCHEDULES
};

/* Names, in the order above; NULL-terminated. */
extern const char *const overlap_ops[], *const overlap_schedules[];

struct overlap_rules {
	bool rows_cut, columns_cut; /* into G parts; else 1 */
	bool own_apart, fused;
	bool one_link; /* a device's transfers follow each other, else those to different peers are independent */
};
extern const struct overlap_rules overlap_schedule_rules[OVERLAP_SCHEDULES];

#define OVERLAP_MOST_DEVICES 64u
#define OVERLAP_NONE UINT32_MAX

struct overlap_problem {
	enum overlap_op op;
	uint32_t devices, m, n, k;
	uint64_t seed; /* of a2a-gemm-uneven */
};

/* Rows [first, first + rows) of a group stand at row `at` of the device's A and C. */
struct overlap_block {
	uint32_t device, group, first, rows, at;
};

/* `count` elements from `from_at` of what device `from` sends (gemm-rs: of its C) to `to_at` of the receiver's A (gemm-rs: of its
 * staging memory). Those of one device with the same link follow each other. */
struct overlap_transfer {
	uint32_t from, to, step, link;
	uint32_t piece; /* gemm-rs: it leaves after this piece; else OVERLAP_NONE */
	uint64_t from_at, to_at, count;
};

/* Rows [row, row + rows) of C from columns [column, column + columns) of A, which begin at element a_at of A with leading
 * dimension lda; `adds` to what is there. Starts after transfers [first_transfer, first_transfer + transfers). A device's
 * pieces follow each other. */
struct overlap_piece {
	uint32_t device, step, row, rows, column, columns, lda;
	uint64_t a_at;
	bool adds;
	uint32_t first_transfer, transfers;
};

/* gemm-rs: `count` elements at from_at of the device's staging memory are added to those at to_at of its C, or of its staging
 * memory; after up to two transfers and a piece (OVERLAP_NONE: none). A device's reductions follow each other. */
struct overlap_reduction {
	uint32_t device;
	bool to_staging;
	uint64_t from_at, to_at, count;
	uint32_t transfer[2], piece;
};

struct overlap_plan {
	struct overlap_problem problem;
	enum overlap_schedule schedule;
	uint32_t rows[OVERLAP_MOST_DEVICES][OVERLAP_MOST_DEVICES]; /* [d][r]: of group r on device d */
	uint32_t all_rows[OVERLAP_MOST_DEVICES];                   /* of device d: their sum */
	uint64_t send_elements[OVERLAP_MOST_DEVICES];              /* of what device d sends; 0 for gemm-rs */
	uint64_t staging_elements[OVERLAP_MOST_DEVICES];           /* 0 but for gemm-rs */
	uint32_t steps, k_steps;
	struct overlap_block *blocks;         /* by device, then place */
	struct overlap_transfer *transfers;   /* by device that computes with it or has computed it, then step */
	struct overlap_piece *pieces;         /* by device, in order */
	struct overlap_reduction *reductions; /* by device, in order */
	size_t block_count, transfer_count, piece_count, reduction_count;
};

/* -EINVAL: fewer than 2 or too many devices, fewer rows (columns) than parts. -ENOTSUP: a schedule that means nothing for the
 * operation. -ENOMEM. Each with a text. */
int overlap_plan_open(const struct overlap_problem *problem, enum overlap_schedule schedule, struct overlap_plan **p_p);
void overlap_plan_close(struct overlap_plan *p); /* NULL is accepted */

/* Elements that what device `from` has for `to` is behind the beginning of what it sends. */
uint64_t overlap_plan_send_at(const struct overlap_plan *p, uint32_t from, uint32_t to);

/* Where part `number` of `parts` of a side begins; `parts` gives the end. */
uint32_t overlap_cut(uint32_t side, uint32_t parts, uint32_t number);

#endif
