/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A train: one load, back to back, for seconds or minutes, with the sensors of the device read
 * meanwhile.
 *
 * The load is queued in batches of about 20 ms, and two batches are always queued behind the one
 * that runs. The thread that queues them reads the sensors between two of its waits, at most every
 * 0.25 s, so that a reading disturbs nothing while it takes less than two batches do. Where it took
 * longer, a batch was queued late; at most one in a hundred may be.
 *
 * Batches are summed up in up to TRAIN_WINDOWS windows of equal length: their rates, and the
 * readings at their ends, are the course, which the record of a train of minutes has.
 *
 * In setup: train_open(). In verify_mechanism: train_run(). In derive: train_derive(). The user's
 * interrupt ends a train early, with what was measured until then.
 */
#ifndef GPUSIG_TRAIN_H
#define GPUSIG_TRAIN_H

#include "bench/bench.h"

#define TRAIN_WINDOWS 300u
#define TRAIN_CAPACITY (TRAIN_WINDOWS + 4)
#define TRAIN_EVENTS 4u

/* Axis of a program with a train. */
#define TRAIN_MINUTES                                                                              \
	{                                                                                          \
		.name = "minutes", .help = "minutes of load; 0: two seconds", .kind = AXIS_COUNT,  \
		.quick = "0", .max = 1440                                                          \
	}

/* NaN: the device has no such sensor, or its driver does not tell. */
struct train_reading {
	double at_s; /* since the train began; below 0: before it */
	double clock_hz, watt, joule, celsius;
};

struct train_window {
	double end_s, rate; /* of the device since the train began; iterations per second */
	int reading;        /* at its end; -1: none */
};

struct train {
	unsigned variant;
	int (*once)(struct bench_case *c, long arg);
	bool is_long; /* of minutes */
	double asked_s, scale, ran_s;
	uint32_t entries; /* queue entries of an iteration in the fullest stream; 0 is 1 */
	uint64_t batch;   /* iterations */
	uint32_t batches, late;
	struct dev_event *ends[TRAIN_EVENTS];
	uint64_t began_ns;
	struct train_window window[TRAIN_CAPACITY];
	size_t windows;
	struct train_reading reading[TRAIN_CAPACITY];
	size_t readings;
	struct train_reading idle[2]; /* before it: of a train of minutes */
	double limit_watt;
	char no_energy[256], no_power[256], no_celsius[256], no_clock[256]; /* why */
};

/* Names and units of the quantities of a train. `work`: of an iteration. */
struct train_names {
	double work;
	const char *rate, *unit; /* "sustained_flop_rate", "flop/s" */
	double nominal;          /* as of bench_nominal(): a rate; 0: unknown */
	bool is_bound;
	bool follows_clock; /* a device that throttles lowers sm_clock and rate alike */
	const char *energy, *energy_unit; /* "energy_per_flop", "J/flop" */
};

/* The case's axis `minutes`. */
void train_open(struct train *t, struct bench_case *c);

/* True if it is to run: always when asked for; the two seconds only where the case's time is at
 * least a quarter of a second, because they would be most of a shorter run. */
bool train_is_wanted(const struct train *t, const struct bench_case *c);

/* Run `once` of the variant, of which there are samples, back to back, and record the mechanism
 * `name`. */
void train_run(struct train *t, struct bench_case *c, unsigned variant,
	       int (*once)(struct bench_case *c, long arg), const char *name);

/* All quantities of a train: its rate and "sustained_share", that over the rate of samples; what
 * follows from sensors; and of a train of minutes the fall of its rate and its course
 * (docs/method/gemm.md). */
void train_derive(const struct train *t, struct bench_case *c, const struct train_names *names);

#endif
