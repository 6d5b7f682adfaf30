/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Placement of a virtual machine's processors while the rounds of a case are measured.
 */
#ifndef GPUSIG_PLACEMENT_H
#define GPUSIG_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct bench_run;

enum { BENCH_LEVELS = 8 };

/* Fewer samples give no 95 % interval of the median. */
#define BENCH_LEAST_SAMPLES 6u

struct bench_placement {
	bool probed; /* else there is one level, and nothing else is known */
	struct {
		double latency_s; /* from core to core, when it was met first */
		uint32_t rounds;
	} levels[BENCH_LEVELS];
	uint8_t level_count, now;     /* of the latest probe */
	uint8_t *of_round;            /* each one's level; max_samples of them */
	uint32_t since;               /* the first round after the latest probe */
	uint64_t probed_ns, every_ns; /* the latest probe, and from one to the next */
	unsigned probes;
	double latency_s, low_s, high_s; /* of the rounds that count (NaN: unknown); of all */
	uint32_t left_out;               /* rounds of other levels, or during which it changed */
	bool scattered;                  /* of rounds of several levels, as too few are of one */
};

/* _begin: before the first round that counts. _round: after each. _kept: how many are of the
 * commonest level so far. _gather: those of an array by round, in their order, and how many. _end:
 * leave out the others from all variants' samples, unless too few for an interval would be left;
 * how many there are then. */
void bench_placement_begin(struct bench_run *r);
void bench_placement_round(struct bench_run *r, uint32_t round);
uint32_t bench_placement_kept(const struct bench_run *r);
uint32_t bench_placement_gather(const struct bench_run *r, const double *of_rounds, uint32_t rounds,
				double *kept);
uint32_t bench_placement_end(struct bench_run *r, uint32_t rounds);

#endif
