/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Surroundings of the samples of a case: clock, throttling, other work on the cores. They are
 * read while samples are taken, and judged after them.
 */
#ifndef GPUSIG_SURROUNDINGS_H
#define GPUSIG_SURROUNDINGS_H

#include "bench/run/run.h"
#include "bench/run/telemetry.h"
#include "lib/cpu_load.h"

/* Starts as {0}. */
struct surroundings {
	/* The current case's. */
	double clock_before_hz, clock_after_hz; /* NaN: unknown; `before` when the device is warm */
	uint64_t throttled;                     /* bit mask of devices that are flagged */
	bool may_throttle;                      /* bench_may_throttle() was called */
	char why_throttled[96];                 /* then; "": it did not */
	double thermal_s[DEV_MAX];    /* seconds of thermal throttling when sampling began */
	struct bench_telemetry state; /* of the first device right after the measurement */
	struct cpu_share share; /* of the cores, while the case was measured or since before */
	bool share_known;
	/* The run's. */
	double best_clock_hz;
	struct cpu_load load[2]; /* marks a second or more apart, the later one last */
	bool shared;             /* in the last seconds others certainly ran on the cores */
	double asked_s;          /* when that was asked last */
};

void bench_surroundings_clear(struct bench_run *r);

/* The first reading of the clock in a run: before the seeds of a case, so that the case draws the
 * same wherever it stands. */
void bench_know_clock(struct bench_run *r);

/* The device is warm and sampling begins: read its clock and telemetry. Sampling ended: again. */
void bench_surroundings_begin(struct bench_run *r);
void bench_surroundings_end(struct bench_run *r);

/* The cores' load now; of a job, without the CPU time of its other ranks. */
struct cpu_load bench_load_now(struct bench_run *r);

/* Note whether others ran on the cores in the last seconds, by the processors' account. */
void bench_note_load(struct bench_run *r, const struct cpu_load *now);

/* Samples of this variant whose threads waited for a core, whoever had it; those of them that
 * others may have disturbed, as these certainly ran on the cores. */
unsigned bench_waited(const struct bench_run *r, unsigned variant);
unsigned bench_disturbed(const struct bench_run *r, unsigned variant);

/* Flag the case and its variants: noise, throttling, contention, shared queues. */
void bench_judge(struct bench_run *r, const struct cpu_load *before, const struct cpu_load *after);

#endif
