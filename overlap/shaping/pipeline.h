/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of overlap/shaping: rounds of the pipeline GEMM_i -> comm_i as graphs. The GEMM of
 * iteration i writes its result to the start of buffer i mod 2, and comm_i sends that buffer as its
 * message. So comm_i and GEMM_{i+1} use different memory and may run at the same time, and
 * GEMM_{i+2} waits for comm_i. Where the message is longer than the result, the rest is filled in
 * setup and does not change.
 */
#ifndef GPUSIG_PIPELINE_H
#define GPUSIG_PIPELINE_H

#include "bench/bench_gemm.h"
#include "overlap/shaping/comm_load.h"
#include "overlap/shaping/model.h"

/* In those from OVERLAP on, communications have a stream of their own. */
enum {
	GEMM_ALONE,
	GEMM_SHAPED,
	COMM_ALONE,
	SERIAL,
	OVERLAP,
	SHAPED,
	PRIORITY,
	SHAPED_PRIORITY,
	VARIANTS
};

/* Their param: the lane of the communications (GEMMs are in LANE_SAME), and what a round has.
 * HAS_CLAIM: blocks of GEMMs claim shared memory. */
enum { LANE_SAME, LANE_NORMAL, LANE_URGENT, LANE_MASK = 3 };
enum { HAS_GEMM = 4, HAS_COMM = 8, HAS_CLAIM = 16 };
extern const struct bench_variant pipeline_variants[];

/* Medians of traced rounds, over all iterations with a concurrent partner: not the first GEMM, not
 * the last communication. */
struct pipeline_trace {
	double overlap_rate;
	double wait_s; /* from the end of a communication's GEMM, or of the communication before
			  it if that is later, to the start of its first block */
	double gemm_s, comm_s; /* from the start of the first block to the end */
};

struct pipeline {
	/* Set by the caller, as is the first part of `comm`. */
	unsigned iterations;
	uint64_t claim_bytes; /* of each block of a GEMM that is shaped */
	struct comm_load comm;
	/* Set by pipeline_open(). */
	struct bench_gemm gemm[2]; /* the same operands; C is one of the two buffers */
	struct work_lanes *lanes;
	uint32_t lane[3];
	struct work_graph *claiming;                           /* one GEMM with the claim */
	struct work_graph *timed[VARIANTS], *traced[VARIANTS]; /* rounds */
	/* Of each traced round: the time stamps, in PINNED memory; the nodes of the origin and at
	 * the ends of GEMMs, then of communications. */
	uint64_t *stamps;
	uint32_t origin, ends[2 * SHAPING_ITERATIONS_MAX];
	struct pipeline_trace trace[VARIANTS]; /* from OVERLAP on; set by pipeline_verify() */
};

/* In setup; the case owns everything. Turns off the variants that do not apply. -ENOTSUP: the claim
 * does not fit, which a GEMM has tried, or a round has more operations than a queue holds. */
int pipeline_open(struct pipeline *p, struct bench_case *c, const struct shape *gemm);

/* In verify_mechanism: the streams are independent, and in traced rounds every communication starts
 * after its GEMM. */
int pipeline_verify(struct pipeline *p, struct bench_case *c);

/* In derive, after pipeline_verify(): facts, ratios of times, and overlap rate, waits and losses
 * from the traced rounds. */
int pipeline_derive(const struct pipeline *p, struct bench_case *c);

#endif
