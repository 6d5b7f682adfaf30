/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of overlap/units: a GEMM and a copy by a kernel, on all units or each on its own, one after
 * the other, or both at once. Every run is a graph (bench/graph/work_graph.h). The first `given`
 * units are the copy's own, the rest are the GEMM's.
 *
 * Where both run at once the copy is enqueued first, and starts first by the rule of two stamps
 * behind (overlap/pair/pair_run.h), also where each has its own units, so that the two differ by
 * the units alone.
 */
#ifndef GPUSIG_UNITS_RUN_H
#define GPUSIG_UNITS_RUN_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

enum units_run {
	GEMM,       /* on all units */
	ON_REST,    /* the GEMM on its own units */
	COPY,       /* on all units */
	ON_GIVEN,   /* the copy on its own units */
	SERIAL,     /* GEMM, then COPY */
	CONCURRENT, /* at once: the copy with as many blocks as ON_GIVEN, on any units */
	RESERVED,   /* ON_REST and ON_GIVEN at once */
	UNITS_RUNS
};

/* A case's state. */
struct units_state {
	struct bench_gemm gemm;
	float *pattern;
	char *to, *from;
	uint64_t bytes;
	uint32_t units, given;
	uint32_t wave, blocks; /* of the copy: on all units, on those given */
	struct work_lanes *lanes;
	struct work_graph *graph[UNITS_RUNS];
	uint32_t gemm_start[UNITS_RUNS]; /* the node before its GEMM */
};

/* In setup, from the case's axes: -ENOTSUP where the device cannot divide its units so. */
int units_open(struct bench_case *c);

bool units_run_has_gemm(long run);
bool units_run_has_copy(long run);

/* Callbacks of variants whose `arg` is a run: to its end, or to the end of a side. */
int units_time(struct bench_case *c, long run);
int units_time_gemm(struct bench_case *c, long run);
int units_time_copy(struct bench_case *c, long run);

/* In verify_mechanism: with launches that fill the device in the streams of both sides, each has
 * blocks resident on all slots of its units, and no others. Of the variants in `uses`. */
int units_verify(struct bench_case *c, uint64_t uses);

#endif
