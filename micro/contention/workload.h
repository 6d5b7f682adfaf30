/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A workload keeps one resource of a device busy, piece by piece, in its own lane: the units'
 * arithmetic, memory, a copy engine, units that copy, or a GEMM. Two concurrent workloads
 * show how much they slow each other (micro/contention/concurrent.h).
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

/* The name of each kind; NULL-terminated. */
extern const char *const workload_names[WORKLOAD_KINDS + 1];

/* From where to where a copy goes: from pinned memory, to pinned memory, within the device, into
 * the second device of the list, or as many bytes into each of the two at once. */
enum workload_direction {
	WORKLOAD_UP,
	WORKLOAD_DOWN,
	WORKLOAD_LOCAL,
	WORKLOAD_PEER,
	WORKLOAD_EXCHANGE
};

/* Words, in the order of the enum; NULL-terminated. */
extern const char *const workload_directions[];

struct workload_spec {
	enum workload_kind kind;
	unsigned device;                   /* by its position in the list */
	bool skinny;                       /* of a GEMM: below */
	enum dev_type type;                /* of a GEMM */
	enum workload_direction direction; /* of a copy */
	uint32_t blocks;                   /* of a copy kernel; 0: one wave */
};

struct workload {
	struct workload_spec spec;
	struct dev *dev;
	struct work_lanes *lanes;
	uint32_t lane, back_lane;      /* back_lane: of the second device, for an exchange */
	struct work_graph *piece;      /* has a fork and a join: runs may be queued */
	struct dev_stream *stream;     /* of the lane */
	struct dev_event *begin, *end; /* for the caller */
	struct dev_event *step[2];     /* the ends of the two pieces that are queued */
	unsigned oldest;               /* of these */
	struct dev_kernel *kernel;     /* of multiply-adds */
	float *out;
	uint64_t bytes; /* of one array; 0: no arrays */
	char *array[3]; /* each as large as the last-level cache, so that memory is really used; the
			   first is written */
	struct dev *target; /* where the first array is */
	char *back[2];      /* of an exchange: on the first device, and its source on the second */
	float *result;      /* the pattern that what is written must hold after a piece */
	struct bench_gemm gemm;
	uint32_t repeats; /* of the work in a piece */
	double piece_s;   /* of a piece, alone and once */
};

/* A GEMM is limited by arithmetic, or if it is skinny by memory (bench/bench_gemm.h).
 *
 * In admit: 0 if the devices of the case support this workload, else the reason to skip the case:
 * -ENOTSUP or -ENODEV. */
int workload_admit(const struct bench_case *c, const struct workload_spec *spec);

/* In setup; the case owns what this opens (bench/bench_alloc.h). Runs the work alone to find how
 * often a piece must repeat it to take at least a millisecond, or a fifth of it in virtual time; a
 * piece needs at most a sixteenth of the queue. Pieces that were tried stay, unused, until the case
 * ends. */
int workload_open(struct workload *a, struct bench_case *c, struct work_lanes *lanes,
		  const struct workload_spec *spec);

/* Keep it running: two pieces are queued, and for one that has ended another one. workload_start()
 * records `begin` before them, workload_follow() waits for the older one; workload_is_due() says
 * whether it has ended. Return c->status. */
int workload_start(struct workload *a, struct bench_case *c);
bool workload_is_due(const struct workload *a);
int workload_follow(struct workload *a, struct bench_case *c);

/* Measure it: workload_enqueue() so many pieces in a row, and workload_drain() waits for them and
 * has their time, by the device. Return c->status. workload_pieces(): at least one, as many as take
 * so long alone. */
uint64_t workload_pieces(const struct workload *a, double seconds);
int workload_enqueue(struct workload *a, struct bench_case *c, uint64_t pieces);
int workload_drain(struct workload *a, struct bench_case *c, double *seconds_p);

/* The work of a piece. The bytes of a copy count once, those of a triad three times, those of an
 * exchange in both directions. */
void workload_model(const struct workload *a, const struct bench_case *c, struct bench_model *m);

/* workload_poison() enqueues on c->stream and destroys the results of the workload.
 * workload_check(), after another piece, returns 0 if all of them are right again. */
int workload_poison(const struct workload *a, struct bench_case *c);
int workload_check(const struct workload *a, struct bench_case *c);

#endif
