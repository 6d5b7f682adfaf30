/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes of micro/link_contention: over every device alone, over every two, and of all at once,
 * with the time of each device in each pass. The state and callbacks of the program.
 */
#ifndef GPUSIG_LINK_PASSES_H
#define GPUSIG_LINK_PASSES_H

#include "bench/links/link_log.h"
#include "micro/link_contention/traffic.h"

/* The variants, by number. */
enum pass { PASS_ALONE, PASS_ALL, PASS_PAIRS, PASS_RING, PASS_WITH_RING, PASS_RING_WITH, PASSES };
#define PASS_BIT(pass) (UINT64_C(1) << (pass))
/* Passes that leave results of these copies, which are checked. */
#define PASSES_OF_HOST (PASS_BIT(PASSES) - 1 - PASS_BIT(PASS_RING))
#define PASSES_OF_RING (PASS_BIT(PASS_RING) | PASS_BIT(PASS_WITH_RING) | PASS_BIT(PASS_RING_WITH))

struct passes {
	struct traffic traffic;
	struct mix {
		struct work_graph *graph; /* of all devices */
		unsigned timed, partner;  /* kinds of copies */
		uint32_t repeats;         /* of the partner */
	} mix[PASSES];
	struct work_graph *alone[DEV_MAX], **pair;
	struct link_log devices; /* times of all devices, and behind them of their partners */
	struct link_log pairs;   /* of both devices of each pair, one after the other */
	double *seconds;         /* of a pass */
};

/* In setup, with `host` as of traffic_open(). */
int passes_open(struct passes *p, struct bench_case *c, unsigned host, uint64_t bytes);
void passes_close(struct passes *p);

/* Bodies and model, of a program whose state is struct passes; the argument is the pass. Each is as
 * long as the slowest device takes; a pass over pairs as all pairs do, one after the other. */
int passes_time_alone(struct bench_case *c, long pass, uint64_t runs);
int passes_time_pairs(struct bench_case *c, long pass, uint64_t runs);
int passes_time_all(struct bench_case *c, long pass, uint64_t runs);
void passes_model(const struct bench_case *c, long pass, struct bench_model *m);

/* In verify_mechanism: finds the passes that are samples; partners lasted longer than what
 * was timed; and copies are those of engines. */
int passes_verify(struct bench_case *c);

/* In derive: rate_kept "3" of each device. */
int passes_derive(struct bench_case *c);

#endif
