/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A workload keeps one resource busy, piece by piece, in its own lane: the units' arithmetic,
 * memory, a copy engine, units that copy, or a GEMM. Two workloads at once show who slows whom.
 */
#ifndef GPUSIG_WORKLOAD_H
#define GPUSIG_WORKLOAD_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

enum workload_kind {
	WORKLOAD_COMPUTE,
	WORKLOAD_MEMORY,
	WORKLOAD_ENGINE,
	WORKLOAD_KERNEL,
	WORKLOAD_GEMM,
	WORKLOAD_KINDS
};

/* The name of each kind. */
extern const char *const workload_names[WORKLOAD_KINDS];

struct workload {
	enum workload_kind kind;
	struct work_lanes *lanes;
	uint32_t lane;
	struct work_graph *piece;                /* has a fork and a join: runs may be queued */
	struct dev_stream *stream;               /* of the lane */
	struct dev_event *begin, *end, *step[2]; /* for the caller */
	struct dev_kernel *kernel;               /* of multiply-adds */
	float *out;
	uint64_t bytes; /* of one array; 0: no arrays */
	char *array[3]; /* each as large as the last-level cache, so that memory is really used; the
			   first is written */
	float *result;  /* the pattern that the first array must hold after a piece */
	struct bench_gemm gemm;
	uint32_t repeats; /* of the work in a piece */
};

/* In setup; the case owns what this opens (bench/bench_alloc.h). Runs the work alone to find how
 * often a piece must repeat it to take at least a millisecond; a piece needs at most a sixteenth of
 * the queue. Pieces that were tried stay, unused, until the case ends. -ENOTSUP where the device
 * does not support this kind. */
int workload_open(struct workload *a, struct bench_case *c, struct work_lanes *lanes,
		  enum workload_kind kind);

/* The work of a piece. The bytes of a copy count once, those of a triad three times. */
void workload_model(const struct workload *a, const struct bench_case *c, struct bench_model *m);

/* workload_poison() enqueues on c->stream and destroys the results of the workload.
 * workload_check(), after another piece, returns 0 if they are right again; of an array it compares
 * the last MiB. */
int workload_poison(const struct workload *a, struct bench_case *c);
int workload_check(const struct workload *a, struct bench_case *c);

#endif
