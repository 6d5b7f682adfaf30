/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the schedules of overlap/schedules work on, in memory: A, B, C, what each device sends and where terms land; filled with
 * integers of -3..3, which every element type holds, so that sums are exact in any order. With one device its peers are PINNED
 * host memory: what they send stands there, and what they get lands there.
 *
 * All of it is the case's (lib/bench_own.h). Checks need no second product: for a vector t of small integers, C t must be
 * A (B t), exactly; in types whose C can't hold the sums (f16, bf16, f8), up to their rounding. A C that passes is the one and
 * only product, so what passes after any schedule equals what passes after serial, bit for bit.
 */
#ifndef GPUSIG_FICCO_OPERANDS_H
#define GPUSIG_FICCO_OPERANDS_H

#include "lib/bench_own.h"
#include "overlap/schedules/plan.h"

/* Enough for any node; a member more is G streams more. */
#define OPERANDS_MOST 16u

struct member {
	struct dev *dev;           /* NULL: a peer that is host memory */
	struct dev_stream *stream; /* for set-up and checks */
	char *a, *b, *c;
	char *spare;               /* instead of A (gemm-rs: of C) where transfers must not depend on products */
	char *send, *slabs;        /* as plans lay them out, columns whole and cut; a peer's are in host memory */
	char *staging;             /* gemm-rs: where terms land */
	char *terms;               /* gemm-rs, of a peer that is host memory: its terms for the device */
	char *landed;              /* of such a peer: what it gets from the device */
	int8_t *host_a, *host_b;   /* the same on the host: A of gemm-rs, else what is sent, row after row */
};

struct operands {
	const struct overlap_plan *plan; /* any of the problem: for its rows */
	enum dev_type type;
	uint64_t element_bytes, result_bytes; /* of A and B, and of C */
	uint32_t members, devices;            /* G; those of them that are devices: G or 1 */
	struct member member[OPERANDS_MOST];
};

/* In admit or set-up: what a device of this operation needs, in bytes. */
double operands_bytes(const struct overlap_plan *plan, enum dev_type type, bool columns_cut);

/* In set-up. The plan outlives it; `columns_cut`: some schedule cuts them. Peers are enabled. -ENOMEM when it doesn't fit. */
int operands_open(struct operands *o, struct bench_case *c, const struct overlap_plan *plan, enum dev_type type,
                  bool columns_cut);

/* The product of a piece on its device. */
struct dev_gemm operands_gemm(const struct operands *o, const struct overlap_piece *piece);

/* Lay A out for a schedule: a device's own rows stand where the plan wants them. Waits. Nothing for gemm-rs, whose A is what it
 * is: a plan only says which row is whose. */
int operands_arrange(const struct operands *o, const struct overlap_plan *plan);

/* Everything that a schedule writes becomes what no product gives. Waits. */
int operands_spoil(const struct operands *o);

/* Does every device hold the product (its rows of the sum), and every peer what it was to get? 0, -EBADMSG with the place, or an
 * error of a device. */
int operands_check(const struct operands *o, struct bench_case *c, const struct overlap_plan *plan);

#endif
