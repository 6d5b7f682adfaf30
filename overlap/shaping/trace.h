/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results of some traced rounds, from stamps and events: whether the order was kept, how long GEMMs
 * and communications ran at once, and how long the first block of a communication waited. These
 * rounds are not timed.
 */
#ifndef GPUSIG_TRACE_H
#define GPUSIG_TRACE_H

#include "overlap/shaping/pipeline.h"

/* Medians. Waits and slowed times are over all iterations with a concurrent partner: not the first
 * GEMM, not the last communication. */
struct trace {
	bool in_order; /* in every round */
	double overlap_rate;
	double wait_ns; /* from the end of a communication's GEMM, or of the communication before
			   it if that is later, to the start of its first block */
	double gemm_ns, comm_ns; /* from the start of its first block to its end, concurrent with
				    the other */
	double resolution_ns;    /* the largest of all rounds; every wait contains it */
};

int trace_rounds(struct pipeline *p, const struct pipeline_round *r, struct trace *w_p);

/* Is the second stream an independent queue: do communications complete while the case's stream is
 * blocked? */
int trace_queue_independent(struct pipeline *p, enum pipeline_queue queue, bool *independent_p);

#endif
