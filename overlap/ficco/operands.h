/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the schedules of overlap/ficco/decomposition.h work on: A, B, C, what each rank sends
 * and where partial sums arrive. It is filled with integers of -3..3, which every element type can
 * represent, so that sums are exact in any order. With one device, PINNED host memory stands for
 * its peers: it holds what they send, and receives what they get.
 *
 * The case owns everything (bench/bench_alloc.h). The check needs no second GEMM: for a vector t of
 * small integers, C t must equal A (B t), exactly; in types whose C cannot hold the sums (f16,
 * bf16, f8), up to their rounding. Only the right C passes, so a result that passes after any
 * schedule equals the one of serial, bit for bit.
 */
#ifndef GPUSIG_OPERANDS_H
#define GPUSIG_OPERANDS_H

#include "bench/bench_alloc.h"
#include "overlap/ficco/decomposition.h"

/* Enough for any node; each further rank needs G more streams. */
#define OPERANDS_MAX_RANKS 16u

/* A participant in the communication: a device, or a peer that host memory stands for. */
struct ficco_rank {
	struct dev *dev;           /* NULL: a peer in host memory */
	struct dev_stream *stream; /* for set-up and checks */
	char *a, *b, *c;
	char *scratch;  /* instead of A (gemm-rs: of C) where transfers must not depend on GEMMs */
	char *send;     /* as plans lay it out, columns whole; a peer's is in host memory */
	char *slabs;    /* the same with columns cut */
	char *staging;  /* gemm-rs: where partial sums arrive */
	char *partials; /* gemm-rs, of a peer in host memory: its partial sums for the device */
	char *received; /* of a peer in host memory: what it gets from the device */
	int8_t *host_a; /* on the host: A for gemm-rs, else what is sent, row after row */
	int8_t *host_b; /* on the host: B */
};

struct operands {
	const struct ficco_plan *plan; /* any plan of the problem; only its rows are used */
	enum dev_type type;
	uint64_t element_bytes, result_bytes; /* of A and B, and of C */
	uint32_t ranks, devices;              /* G; how many of them are devices: G or 1 */
	struct ficco_rank rank[OPERANDS_MAX_RANKS];
};

/* In admit or setup: bytes that a device needs for this operation. */
double operands_bytes(const struct ficco_plan *plan, enum dev_type type, bool columns_cut);

/* In setup. The plan outlives it; `columns_cut`: some schedule cuts columns. Peer access is enabled
 * before. -ENOMEM when device memory does not suffice. */
int operands_open(struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
		  enum dev_type type, bool columns_cut);

/* The GEMM of a piece on its device. */
struct dev_gemm operands_gemm(const struct operands *o, const struct ficco_piece *piece);

/* Lays A out for a schedule: puts a device's own rows where the plan needs them. Waits. Does
 * nothing for gemm-rs, where a plan only decides which device owns which row. */
int operands_arrange(const struct operands *o, const struct ficco_plan *plan);

/* Overwrites everything that a schedule writes with values that no GEMM gives. Waits. */
int operands_poison(const struct operands *o);

/* Checks that every device holds the result (its rows of the sum), and every peer in host memory
 * what it must receive. 0, -EBADMSG with the place, or an error of a device. */
int operands_check(const struct operands *o, struct bench_case *c, const struct ficco_plan *plan);

/* For the check. Bytes that a peer in host memory receives. */
uint64_t operands_received_bytes(const struct operands *o, uint32_t rank);
/* For gemm-rs every device has a partial sum of all of C. */
static inline bool operands_reduce_scatter(const struct operands *o)
{
	return o->plan->problem.op == FICCO_GEMM_RS;
}

#endif
