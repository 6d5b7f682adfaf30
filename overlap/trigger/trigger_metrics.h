/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Variants and metrics of overlap/trigger.
 */
#ifndef GPUSIG_TRIGGER_METRICS_H
#define GPUSIG_TRIGGER_METRICS_H

#include "overlap/trigger/producer.h"

/* The program's variants, in the order of trigger_variants. */
enum {
	GEMM_ALONE,
	GEMM_TILED,
	GEMM_COUNTING,
	SEND_ALONE,
	WHOLE,
	WHOLE_TILED,
	SPLIT,
	TRIGGERED,
	STAGGERED,
	ARRIVE_ADD,
	COPY_THEN_ADD,
	FIRST_WHOLE,
	FIRST_SPLIT,
	FIRST_TRIGGERED,
	VARIANTS
};

extern const struct bench_variant trigger_variants[];

/* The strategy of each variant. */
extern const struct strategy trigger_strategies[VARIANTS];

/* In derive: speedups, exposed tails, costs, and the traffic that T3's hardware would have, as a
 * model. */
int trigger_derive(struct bench_case *c, const struct producers *s);

#endif
