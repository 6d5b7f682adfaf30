/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Variants, mechanisms and metrics of overlap/shaping.
 */
#ifndef GPUSIG_SHAPING_METRICS_H
#define GPUSIG_SHAPING_METRICS_H

#include "overlap/shaping/trace.h"

/* The program's variants, in the order of shaping_variants. */
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

extern const struct bench_variant shaping_variants[];

/* The round of each variant. */
extern const struct pipeline_round shaping_rounds[VARIANTS];

struct shaping {
	struct pipeline pipeline;
	struct trace trace[VARIANTS];
};

/* In verify_mechanism: the streams are independent, and every communication starts after its GEMM.
 * Traces the variants from OVERLAP on. */
int shaping_verify(struct shaping *s, struct bench_case *c);

/* In derive, after shaping_verify(): ratios of times, and overlap rate, losses and waits from the
 * traces. */
int shaping_derive(const struct shaping *s, struct bench_case *c);

#endif
