/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The experts of a mixture for gemm/grouped: their rows, their operands, and a work graph for each
 * way to multiply them.
 */
#ifndef GPUSIG_EXPERTS_H
#define GPUSIG_EXPERTS_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

/* From EXPERTS_WHOLE on operands stay where they are. */
enum {
	EXPERTS_SERIAL,  /* a GEMM for each, in one stream */
	EXPERTS_STREAMS, /* the same in several, in turn */
	EXPERTS_GROUPED, /* one grouped GEMM */
	EXPERTS_READ,    /* kernel `read`, of the weights of as many experts as have rows */
	EXPERTS_WHOLE,   /* one GEMM of all rows by the weights of the first expert */
	EXPERTS_RUNS
};
#define EXPERTS_LANES 4u

extern const char *const experts_routings[]; /* of the axis `routing`: even, uneven */

/* A case's state. */
struct experts {
	struct bench_gemm gemm;
	struct work_graph *graph[EXPERTS_RUNS]; /* by variant; NULL: off */
	struct rotation *cold;
	uint32_t lane[EXPERTS_LANES]; /* the first one is the case's stream */
	double read_bytes;
};

/* The shape of so many experts with the average number of rows, by the axes `rows` and `weights`.
 * -EINVAL with a text. */
int experts_shape(const struct bench_case *c, uint32_t experts, struct shape *shape_p);

/* In setup: reads the axes `type`, `experts`, `rows`, `routing` and `weights`. A device without
 * grouped GEMMs of the type leaves that variant out, which is a fact. Returns c->status. */
int experts_open(struct bench_case *c);

#endif
