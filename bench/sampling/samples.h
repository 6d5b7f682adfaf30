/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of the current case and their samples: what a variant is in this case, its
 * callbacks, and how one sample is taken.
 */
#ifndef GPUSIG_SAMPLES_H
#define GPUSIG_SAMPLES_H

#include "bench/bench_gate.h"
#include "bench/run/run.h"
#include "bench/sampling/placement.h"
#include "lib/run_delay.h"
#include "lib/stats.h"

struct bench_samples {
	bool on;
	uint64_t iterations;
	bool warm;               /* a sample follows an untimed iteration behind its gate */
	uint32_t queued;         /* queue entries of an iteration in the fullest stream */
	uint64_t max_iterations; /* limit set by the program; 0: as many as the queue holds */
	unsigned overdue;        /* samples that were lost because the watchdog opened a gate */
	bool lost;         /* the variant was dropped for that: its time is recorded as unknown */
	char skipped[160]; /* why the device cannot run it; "": it can, or nobody asked */
	double *seconds;   /* per iteration; one a round */
	double *singles;   /* of one operation each; NULL: none were taken */
	size_t single_count;
	bool wants_singles;
	struct stats_summary summary;
	struct bench_model model;
	bool converged;
	/* Samples that were replaced because others took the cores; by round, whether threads of
	 * this process waited for a core, whoever had it. */
	unsigned retaken;
	bool *waited;
};

/* Starts as {0}; of the current case up to `warm_s`, of the run below. */
struct sampling {
	struct bench_samples samples[BENCH_VARIANTS];
	uint32_t rounds;
	struct bench_placement placement;
	const char *stopped;  /* why sampling stopped: "goal", "time" or "max_samples"; NULL: no
				 samples were taken */
	unsigned variants_on; /* when sampling began */
	bool poisoned;        /* the execution is one that a full check follows */
	bool single_pass;     /* it is one of many, bench_single_pass() */
	double warm_s;        /* when sampling began */

	struct rng order;        /* of variants in a round */
	double *scratch;         /* max_samples, at least STATS_DRIFT_CAPACITY */
	double *gathered;        /* max_samples */
	struct run_delay delay;  /* while samples are taken */
	struct gate *gate;       /* NULL: streams can't wait for a value */
	uint32_t queue_capacity; /* entries that a stream takes without blocking, as far as known */
	struct dev_event *start_event, *stop_event;
	double given_s, sampled_s; /* to the cases of the run; sampling, checks included */
};

/* Open what sampling needs in all cases of a run; close it, after bench_sampling_clear(). */
int bench_sampling_open(struct bench_run *r);
void bench_sampling_close(struct bench_run *r);

/* Begin a case: its variants are on where the user wants them, and without samples. */
void bench_sampling_clear(struct bench_run *r);

/* A callback's error: what it returned, or kept in c->status, which is 0 afterwards. */
static inline int bench_take_status(struct bench_run *r, int returned)
{
	const int kept = r->c.status;
	if (kept)
		r->c.status = 0;
	return returned ? returned : kept;
}

/* variants.c: the callbacks of a variant, its own or the case's, each with its arg. _restore and
 * _poison also wait for c->stream. There is a _poison and a _check to call where the variant brings
 * one. */
int bench_call_restore(struct bench_run *r, unsigned variant);
bool bench_brings_poison(const struct bench_run *r, unsigned variant);
int bench_call_poison(struct bench_run *r, unsigned variant);
bool bench_brings_check(const struct bench_run *r, unsigned variant);
int bench_call_check(struct bench_run *r, unsigned variant);

/* Rows whose needs a device lacks are off; that may leave nothing to measure: -ENOTSUP. */
int bench_skip_unsupported(struct bench_run *r);

/* True if the time of this variant depends on the host's cores: the device uses them, or the host
 * takes the time, or enqueues while it is taken. */
bool bench_needs_cores(const struct bench_run *r, unsigned variant);

/* Run one sample of `iterations` of a variant and return its total seconds. _timed: the number of
 * iterations, and whether one is run before, are those of the variant; a gate that was overdue is
 * -ETIMEDOUT, and a signal -EINTR. */
int bench_sample_once(struct bench_run *r, unsigned variant, uint64_t iterations, bool warm,
		      double *seconds_p);
int bench_sample_timed(struct bench_run *r, unsigned variant, uint64_t iterations,
		       double *seconds_p);

/* A sample was lost to an overdue gate. Drops the variant when that was one too many. */
bool bench_drop_overdue(struct bench_run *r, unsigned variant);

/* Find the iterations of a sample that takes about `target_s`. */
int bench_calibrate(struct bench_run *r, unsigned variant, double target_s);

#endif
