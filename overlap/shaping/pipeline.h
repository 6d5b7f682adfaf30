/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of overlap/shaping: rounds of the pipeline GEMM_i -> comm_i as graphs, the same on
 * every device of the case. The GEMM of iteration i writes its result to the start of buffer i mod
 * 2, and comm_i sends that buffer as its message. So comm_i and GEMM_{i+1} use different memory and
 * may run at the same time, and GEMM_{i+2} waits for comm_i. Where the message is longer than the
 * result, the rest is filled in setup and does not change.
 */
#ifndef GPUSIG_PIPELINE_H
#define GPUSIG_PIPELINE_H

#include "bench/bench_gemm.h"
#include "bench/graph/rotation.h"
#include "overlap/shaping/comm_load.h"
#include "overlap/shaping/model.h"

/* Bits that say what a round does, the argument of its variant: the lane of the communications
 * (GEMMs are in LANE_SAME), and what it has. HAS_CLAIM: blocks of GEMMs claim shared memory. */
enum { LANE_SAME, LANE_NORMAL, LANE_URGENT, LANES, LANE_MASK = 3 };
enum { HAS_GEMM = 4, HAS_COMM = 8, HAS_BOTH = 12, HAS_CLAIM = 16, BY_LIBRARY = 32, ROUNDS = 64 };

/* A GEMM or communication of a traced round, by its nodes: the one before its work, the last. */
struct pipeline_part {
	uint32_t begin, end;
};

/* Traced rounds: enough for an interval that a single outlier does not move. */
enum { TRACED_ROUNDS = 9 };

struct pipeline_round {
	struct work_graph *timed, *traced; /* NULL: not built */
	/* Nodes of the traced one by device and iteration, a device's iterations in a row. */
	uint32_t origin[DEV_MAX];
	struct pipeline_part *gemm, *comm;
	/* Set by pipeline_verify(): medians of each traced round over all iterations with a
	 * concurrent partner (not the first GEMM, not the last communication) and all devices.
	 * Undefined of a part that the variant does not have. */
	double gemm_s[TRACED_ROUNDS], comm_s[TRACED_ROUNDS]; /* from begin to end */
	double overlap_rate[TRACED_ROUNDS];                  /* of the device with the median */
	double wait_s[TRACED_ROUNDS]; /* from the end of a communication's GEMM, or of the
					 communication before it if that is later, to the start of
					 its first block */
	bool out_of_order;
	double late_s; /* the most by which ends appear early (trace.c) */
};

struct pipeline {
	/* Set by the caller, as is the first part of `comm`. */
	unsigned iterations;
	uint64_t claim_bytes; /* of each block of a GEMM that is shaped */
	uint32_t tile_k, grid;
	struct comm_load comm;
	/* Set by pipeline_open(). */
	uint32_t devices;
	struct bench_gemm gemm[DEV_MAX][2]; /* the same operands; C is one of the two buffers */
	struct work_lanes *lanes;
	uint32_t lane[LANES][DEV_MAX];
	struct pipeline_round round[ROUNDS];
	struct rotation *rotation; /* cold operands; a turn is an iteration */
	uint64_t *stamps[DEV_MAX]; /* of a traced round, in PINNED memory */
};
/* Stamps of a device: around the origin, then at the starts of GEMMs, then of communications. */
enum { STAMP_BEFORE_ORIGIN, STAMP_AFTER_ORIGIN, STAMP_GEMM };

/* In setup; the case owns everything. Turns off the variants that do not apply. -ENOTSUP: the claim
 * does not fit, which a GEMM has tried, or a round has more operations than a queue holds. */
int pipeline_open(struct pipeline *p, struct bench_case *c, const struct shape *gemm);

/* The GEMM of an iteration on a device; a graph of one on every device, with the claim. */
struct dev_gemm pipeline_gemm(const struct pipeline *p, uint32_t device, unsigned iteration,
			      bool shaped);
struct work_graph *pipeline_claiming_gemms(const struct pipeline *p, struct bench_case *c);
/* Adds the communication of an iteration: of the GEMMs `after`, by device. With start times,
 * kernels write them. */
void pipeline_add_comm(const struct pipeline *p, struct work_graph *g, long what,
		       unsigned iteration, struct comm_call *call);

/* In verify_mechanism: the streams are independent, and in traced rounds every communication starts
 * after its GEMM. */
int pipeline_verify(struct bench_case *c);

/* In derive, after pipeline_verify(): facts, ratios of times, and overlap rate, waits and losses
 * from the traced rounds. */
int pipeline_derive(struct bench_case *c);

#endif
