/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stamps and events of some watched rounds say: that the order was kept, how long products and communications ran at
 * once, and how long the first block of a communication waited. These rounds are not timed.
 */
#ifndef GPUSIG_SHAPING_WATCH_H
#define GPUSIG_SHAPING_WATCH_H

#include "overlap/shaping/loop.h"

/* Medians. Of the waits and losses, over all iterations that have a partner: not the first product, not the last
 * communication. */
struct watch {
	bool in_order; /* in every round */
	double overlap_rate;
	double wait_ns;          /* of a communication's first block: from the end of its product, or of the communication before
	                            where that is later, until it starts */
	double gemm_ns, comm_ns; /* from its first block's start to its end, beside the other */
	double resolution_ns;    /* the largest; it is part of every wait and of no order */
};

int watch_rounds(struct loop *l, const struct loop_round *r, struct watch *w_p);

/* Is the second stream its own queue? Communications get through while the case's stream is held. */
int watch_queues(struct loop *l, enum loop_queue queue, bool *apart_p);

#endif
