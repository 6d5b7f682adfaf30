/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What overlap/trigger compares, and what follows from the times of it.
 */
#ifndef GPUSIG_GAINS_H
#define GPUSIG_GAINS_H

#include "overlap/trigger/sender.h"

/* The program's variants. */
enum {
	GEMM_ALONE, GEMM_TILED, GEMM_COUNTING, SEND_ALONE, WHOLE, WHOLE_TILED, SPLIT, TRIGGERED, STAGGERED, ARRIVE_ADD,
	COPY_THEN_ADD, FIRST_WHOLE, FIRST_SPLIT, FIRST_TRIGGERED, VARIANTS
};

/* How each is done. */
extern const struct way trigger_ways[VARIANTS];

/* In derive: speed-ups, tails, costs, and beside them what T3's hardware would move, as a model. */
int gains_derive(struct bench_case *c, const struct senders *s);

#endif
