/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Workloads, each alone and each while the other runs. CIL, contention inefficiency loss, is
 * our working definition of FiCCO's (arXiv 2512.10236): CIL(x | y) = time of x while y runs / time
 * of x alone. 1 is no loss; 2 is what taking turns would give.
 *
 * A piece of a workload repeats its work until it takes a millisecond (workload_open()), equally
 * often in both runs. The partner starts first, and its own stream is refilled until the timed one
 * has ended, so that one never runs alone.
 */
#ifndef GPUSIG_CONCURRENT_H
#define GPUSIG_CONCURRENT_H

#include "micro/contention/workload.h"

/* The variants, in the order in which a program lists them: two workloads, and perhaps a third that
 * takes the place of the first. */
enum concurrent_variant {
	FIRST_ALONE,
	SECOND_ALONE,
	FIRST_WITH_SECOND,
	SECOND_WITH_FIRST,
	THIRD_ALONE,
	THIRD_WITH_SECOND,
	SECOND_WITH_THIRD
};

struct concurrent {
	struct workload workload[3];
	unsigned workloads; /* 2 or 3 */
};

/* In admit and setup of a program whose state is struct concurrent. */
int concurrent_admit(const struct bench_case *c, const struct workload_spec *spec,
		     unsigned workloads);
int concurrent_open(struct bench_case *c, const struct workload_spec *spec, unsigned workloads);

/* Callbacks of struct bench for such a program. */
int concurrent_body(struct bench_case *c, unsigned variant, uint64_t iterations);
void concurrent_model(const struct bench_case *c, unsigned variant, struct bench_model *m);
int concurrent_poison(struct bench_case *c, unsigned variant);
int concurrent_check(struct bench_case *c, unsigned variant);

/* The streams of the workloads are independent, for otherwise they would run one after the other;
 * and what is said to be copied by an engine is copied while no unit is free. */
int concurrent_verify(struct bench_case *c);

/* "CIL" of every workload that ran with another one, reported under that variant. */
int concurrent_derive(struct bench_case *c);

#endif
