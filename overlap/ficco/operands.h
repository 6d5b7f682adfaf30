/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the schedules of overlap/ficco/decomposition.h work on: A, B, C, what each rank sends
 * and where partial sums arrive. It is filled with integers of -3..3, which every element type can
 * represent, so that sums are exact in any order; large matrices repeat, as those of
 * bench/bench_gemm.h. With one device, PINNED host memory stands for its peers: it holds what they
 * send, and receives what they get. The partial sums that it holds are such integers times a power
 * of two.
 *
 * The case owns everything (bench/bench_alloc.h). The check needs no second GEMM: for a vector t of
 * small integers, C t must equal A (B t), exactly. Only the right C passes, so a result that passes
 * after any schedule equals the one of serial, bit for bit. In types whose C cannot hold the sums
 * (f16, bf16, f8) they must be equal up to the rounding of all partial sums: a row that lacks one
 * of 8 is found with 5 in 6, one wrong element if it is far too large, as if it was never written.
 *
 * Lanes. Each device has a lane for set-up and poison, and those of the schedules: one for GEMMs,
 * one for reductions, and one for each outgoing link; gemm-ar has a second one for each, in which
 * sums return. Peers in host memory share one lane for each
 * link, of the one device.
 */
#ifndef GPUSIG_OPERANDS_H
#define GPUSIG_OPERANDS_H

#include "bench/graph/bench_graph.h"
#include "overlap/ficco/decomposition.h"

/* As many as a list of devices or a plan has. Each rank needs G + 2 streams; gemm-ar 2 G + 1. */
#define OPERANDS_MAX_RANKS FICCO_MAX_DEVICES

enum { LANE_SETUP, LANE_COMPUTE, LANE_ADD, LANE_LINK };
#define LANE_RETURN (LANE_LINK + OPERANDS_MAX_RANKS - 1)
#define RANK_LANES (LANE_RETURN + OPERANDS_MAX_RANKS - 1)

/* A participant in the communication: a device, or a peer that host memory stands for. */
struct ficco_rank {
	struct dev *dev;           /* NULL: a peer in host memory */
	uint32_t lane[RANK_LANES]; /* 0, a lane for set-up, where the rank has none */
	char *b, *c;
	char *arrivals;       /* of a device: A; with sums: where partial sums arrive */
	char *scratch;        /* instead of A (with sums: C) where transfers depend on no GEMM */
	char *source[2];      /* what the rank sends, as plans lay it out: columns whole, and cut.
				 With sums: A; of a peer in host memory its partial sums */
	char *received;       /* of a peer in host memory: what it gets from the device */
	char *host_source[2]; /* the same as `source` on the host; of a device NULL where there are
				 no results, as is host_b */
	char *host_b;
	double *expected; /* C t by rows, as operands_expect() lays them out */
};

struct operands {
	const struct ficco_plan *plan; /* any plan of the problem; only its rows are used */
	struct work_lanes *lanes;
	struct work_graph *poison; /* what a schedule writes becomes what no GEMM gives */
	bool sums;                 /* every device has a partial sum of all of C */
	bool returns;              /* gemm-ar: and gets all of the sum */
	bool b_transposed;         /* B is stored as n x k */
	double *t;                 /* by columns of C: +-1 .. +-4 */
	enum dev_type type;
	uint64_t element_bytes, result_bytes; /* of A and B, and of C */
	uint64_t sent_bytes;                  /* of an element that is sent */
	uint32_t ranks, devices;              /* G; how many of them are devices: G or 1 */
	struct ficco_rank rank[OPERANDS_MAX_RANKS];
};

/* In setup. The plan outlives it; `columns_cut`: some schedule cuts columns. Peer access is enabled
 * before. -ENOMEM when device memory does not suffice. */
int operands_open(struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
		  enum dev_type type, bool columns_cut);

/* The GEMM of a piece on its device. */
struct dev_gemm operands_gemm(const struct operands *o, const struct ficco_piece *piece);

/* In setup. A prepared graph that lays A out for a schedule: it copies a device's own rows to where
 * the plan needs them. Empty with sums, where a plan only decides which device owns which row. */
struct work_graph *operands_arrange(const struct operands *o, struct bench_case *c,
				    const struct ficco_plan *plan);

/* In setup, for the check: draws t and computes A (B t). That of row i of group r is at r m + i of
 * a device's `expected`; with sums that of C's row i is at i, and a peer in host memory has its
 * partial sums times t. */
int operands_expect(struct operands *o, struct bench_case *c);

/* In check: that every device holds the result (its rows of the sum), and every peer in host memory
 * what it must receive. 0, -EBADMSG with the place, or an error of a device. */
int operands_check(const struct operands *o, struct bench_case *c, const struct ficco_plan *plan);

#endif
