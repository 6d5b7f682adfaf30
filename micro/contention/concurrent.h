/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Workloads, each alone and each while another one runs. CIL, contention inefficiency loss, is
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

enum { MAX_WORKLOADS = 3 };

struct concurrent {
	struct workload workload[MAX_WORKLOADS];
	unsigned workloads;
};

/* A variant: the workload that it times and the one that runs at the same time; the same one is
 * alone. */
#define CONCURRENT(label, timed, partner)                                                          \
	{                                                                                          \
		.name = (label), .timing = BENCH_SELF, .arg = (timed)*MAX_WORKLOADS + (partner)    \
	}
/* The loss of a variant with a partner. */
#define CONCURRENT_LOSS(with, alone)                                                               \
	{                                                                                          \
		"CIL", BENCH_RATIO, (with), (alone),                                               \
			"time with the other one running / time alone, round by round"             \
	}

/* In admit and setup of a program whose state is struct concurrent. */
int concurrent_admit(const struct bench_case *c, const struct workload_spec *spec,
		     unsigned workloads);
int concurrent_open(struct bench_case *c, const struct workload_spec *spec, unsigned workloads);

/* Callbacks of struct bench for such a program, of variants by CONCURRENT(). */
int concurrent_body(struct bench_case *c, long pair, uint64_t iterations);
void concurrent_model(const struct bench_case *c, long pair, struct bench_model *m);
int concurrent_poison(struct bench_case *c, long pair);
int concurrent_check(struct bench_case *c, long pair);

/* The streams of the workloads are independent, for otherwise they would run one after the other;
 * and what is said to be copied by an engine is copied while no unit is free. */
int concurrent_verify(struct bench_case *c);

#endif
