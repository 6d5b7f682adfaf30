/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A round of the pipeline GEMM_i -> comm_i. The GEMM of iteration i writes its result to the start
 * of buffer i mod 2, and comm_i sends that buffer as its message. So comm_i and GEMM_{i+1} use
 * different memory and may run at the same time, and GEMM_{i+2} waits for comm_i. Where the message
 * is longer than the result, the rest is filled in setup and does not change.
 */
#ifndef GPUSIG_PIPELINE_H
#define GPUSIG_PIPELINE_H

#include "bench/bench_gemm.h"
#include "overlap/shaping/comm_load.h"
#include "overlap/shaping/model.h"

enum pipeline_queue { PIPELINE_SAME, PIPELINE_NORMAL, PIPELINE_URGENT };

/* What runs in a round, and the stream of the communications. `claim`: blocks of GEMMs claim shared
 * memory. */
struct pipeline_round {
	bool gemm, comm, claim;
	enum pipeline_queue queue;
};

struct pipeline {
	struct dev *dev;
	unsigned iterations;
	uint64_t claim_bytes; /* of a block of a GEMM, in rounds with `claim` */
	bool tiled;
	struct bench_gemm gemm;
	char *buffer[2];
	struct comm_load comm;
	struct dev_kernel *stamp;
	struct dev_stream *queue[3]; /* by enum pipeline_queue; the first is the case's */
	struct dev_event *origin, *done[SHAPING_ITERATIONS_MAX], *sent[SHAPING_ITERATIONS_MAX];
	uint64_t *start_ns; /* PINNED */
	struct gate *gate;  /* blocks a traced round while it is enqueued */
};

/* Times of a traced round: nanoseconds since its release. */
struct pipeline_trace {
	struct shaping_span gemm[SHAPING_ITERATIONS_MAX], comm[SHAPING_ITERATIONS_MAX];
	/* A span may seem to begin this much too late: its end is the time of an event, its begin
	 * a stamp of a kernel. */
	double resolution_ns;
};

struct pipeline_plan {
	struct shape gemm;
	enum comm_load_kind kind;
	uint64_t message_bytes, claim_bytes;
	uint32_t blocks; /* of the communication's kernels */
	unsigned iterations;
};

/* In setup; the case owns everything. Runs a GEMM with the claim, so that a claim which does not
 * fit is -ENOTSUP. */
int pipeline_open(struct pipeline *p, struct bench_case *c, const struct pipeline_plan *plan);

/* Enqueues a round; the case's stream waits for all of it. */
int pipeline_enqueue(struct pipeline *p, const struct pipeline_round *r);

/* Runs a round of GEMMs and communications, with a stamp at the begin of each and an event at its
 * end, and waits. Nothing else may be queued. */
int pipeline_run_traced(struct pipeline *p, const struct pipeline_round *r,
			struct pipeline_trace *t_p);

/* Enqueues on the case's stream: overwrites what the round writes. Then, after a round, checks
 * it. */
int pipeline_poison(struct pipeline *p, struct bench_case *c, const struct pipeline_round *r);
int pipeline_check(struct pipeline *p, struct bench_case *c, const struct pipeline_round *r);

#endif
