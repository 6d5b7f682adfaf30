/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampling/rounds.h"
#include "bench/run/notes.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/samples.h"
#include "bench/sampling/surroundings.h"
#include "lib/clock.h"
#include "lib/cores.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

/* A sample is much longer than the clock's resolution and the calls around it, and short enough
 * to take many. */
#define MIN_SAMPLE_S 100e-6
#define MAX_SAMPLE_S 5e-3
/* Consecutive medians that differ by no more than this are steady. */
#define STEADY_WITHIN 0.05
/* A virtual clock is exact, so longer samples only take longer to simulate. */
#define SAMPLE_VIRTUAL_S MIN_SAMPLE_S
/* Threads wait this long for a core without any neighbour. */
#define WAITED_ABOVE_NS 20e3
#define WAITED_ABOVE 0.02 /* of the sample */
#define MAX_RETAKES 4u
#define RETAKE_BELOW_NS 10000000u
/* Reading the processors' account takes longer than a short sample. */
#define WATCH_S 0.3
/* From this many rounds on, convergence is checked only after every 16th part more of them,
 * because the check sorts all samples. */
#define CHECK_ALWAYS_BELOW 200u
/* A case goes on so much longer for the least rounds of one placement. */
#define MOVED_LONGER 3.0

/* Threads of this process waited for a core for a part of the sample that began at `from`: for
 * others, or for each other. */
static bool waited_since(const struct bench_run *r, const struct run_delay_mark *from,
			 bool *worth_p)
{
	const struct run_delay_mark to = run_delay_now(&r->sampling->delay);
	const uint64_t took_ns = to.wall_ns - from->wall_ns;
	const double limit = fmax(WAITED_ABOVE_NS, WAITED_ABOVE * (double)took_ns);
	*worth_p = took_ns < RETAKE_BELOW_NS;
	if (r->sampling->delay.threads == 0)
		return to.switches > from->switches;
	return (double)run_delay_between(&r->sampling->delay, from, &to) > limit;
}

/* True if other processes ran on the cores lately: the kernel's account is too coarse for one
 * sample. */
static bool others_run(struct bench_run *r)
{
	if (1e-9 * (double)clock_ns() - r->surroundings->asked_s >= WATCH_S) {
		const struct cpu_load now = cpu_load_now();
		bench_note_load(r, &now);
	}
	return r->surroundings->shared;
}

/* A sample that others disturbed is taken again, at most MAX_RETAKES times: the kernel's accounts
 * tell, never the value. A long one cannot be free of them. */
static int sample_undisturbed(struct bench_run *r, unsigned variant, bool *waited_p,
			      double *seconds_p)
{
	struct bench_samples *s = &r->sampling->samples[variant];
	bool worth = false;
	int status = 0;
	*waited_p = false;
	if (!bench_needs_cores(r, variant))
		return bench_sample_timed(r, variant, s->iterations, seconds_p);
	for (unsigned retakes = 0; status == 0; retakes++) {
		const struct run_delay_mark from = run_delay_now(&r->sampling->delay);
		status = bench_sample_timed(r, variant, s->iterations, seconds_p);
		*waited_p = status == 0 && waited_since(r, &from, &worth);
		if (!*waited_p || !worth || retakes == MAX_RETAKES || !others_run(r))
			break;
		s->retaken++;
		status = bench_call_restore(r, variant);
	}
	return status;
}

/* One round: every variant that is on, once, in random order, stored at index `round`. */
static int sample_round(struct bench_run *r, uint32_t round, bool counts)
{
	uint32_t order[BENCH_VARIANTS];
	rng_shuffle(&r->sampling->order, order, r->variant_count);
	for (size_t i = 0; i < r->variant_count; i++) {
		struct bench_samples *s = &r->sampling->samples[order[i]];
		double seconds;
		if (!s->on)
			continue;
		int status = counts ? bench_check_poison(r, order[i]) : 0;
		if (status)
			return status;
		do
			status = sample_undisturbed(r, order[i], &s->waited[round], &seconds);
		while (status == -ETIMEDOUT && !bench_drop_overdue(r, order[i]));
		if (status == -ETIMEDOUT)
			continue;
		if (status == 0 && counts)
			status = bench_check_sample(r, order[i], round);
		if (status == 0)
			status = bench_call_restore(r, order[i]);
		if (status)
			return status;
		s->seconds[round] = seconds / (double)s->iterations;
	}
	return 0;
}

/* True if the medians of the last two triples of rounds agree for every variant. */
static bool is_steady(const struct bench_run *r, size_t rounds)
{
	if (rounds < 6)
		return false;
	for (size_t v = 0; v < r->variant_count; v++) {
		const double *x = r->sampling->samples[v].seconds + rounds - 6;
		if (!r->sampling->samples[v].on)
			continue;
		double before[3] = {x[0], x[1], x[2]}, after[3] = {x[3], x[4], x[5]};
		stats_sort(before, 3);
		stats_sort(after, 3);
		if (!(fabs(after[1] - before[1]) <= STEADY_WITHIN * before[1]))
			return false;
	}
	return true;
}

/* Run rounds that are discarded: as many as --warm-up says, else until times are steady or the
 * time is over. */
static int warm_up(struct bench_run *r, double until_s)
{
	const struct bench_warm_up *w = &r->o.warm_up;
	for (uint32_t rounds = 0; w->given ? rounds < w->rounds : !is_steady(r, rounds); rounds++) {
		if (!w->given && (rounds + 1 >= r->o.max_samples || bench_time(r) >= until_s))
			break;
		int status = sample_round(r, w->given ? 0 : rounds, false);
		if (status)
			return status;
	}
	return 0;
}

/* Summarise the rounds that count so far; true if every variant has converged. */
static bool update_convergence(struct bench_run *r, uint32_t rounds)
{
	bool all = true;
	for (size_t v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->sampling->samples[v];
		if (!s->on)
			continue;
		uint32_t kept =
			bench_placement_gather(r, s->seconds, rounds, r->sampling->gathered);
		s->summary = stats_summarise(r->sampling->gathered, kept, r->sampling->scratch);
		s->converged = stats_relative_width(&s->summary) <= r->o.goal ||
			       s->summary.max == s->summary.min;
		all = all && s->converged;
	}
	return all;
}

static int no_variant_sampled(void)
{
	return err_note(-ETIMEDOUT,
			"no variant could be sampled: every gate was opened by its watchdog");
}

static size_t count_variants_on(const struct bench_run *r)
{
	size_t on = 0;
	for (size_t v = 0; v < r->variant_count; v++)
		on += r->sampling->samples[v].on;
	return on;
}

/* Take rounds of samples until there is a reason to stop. */
static int take_samples(struct bench_run *r, double start, double seconds)
{
	uint32_t rounds = 0, next_check = 0;
	int status = 0;
	/* The minimum of rounds may exceed the case's time, but not five times, unless nothing is
	 * computed: what virtual time passes says nothing of the host's. */
	bool limited = bench_has_results(&r->c);
	bench_placement_begin(r);
	while (status == 0 && rounds < r->o.max_samples) {
		const uint32_t kept = bench_placement_kept(r);
		double spent = bench_time(r) - start;
		if (kept >= r->o.min_samples && spent >= seconds)
			break;
		if (kept >= r->o.min_samples && rounds >= next_check) {
			if (update_convergence(r, rounds) && r->o.check != BENCH_CHECK_EVERY)
				break;
			next_check = rounds + 1 + (rounds < CHECK_ALWAYS_BELOW ? 0 : rounds / 16);
		}
		if (limited && rounds > 0 && spent >= 5.0 * seconds + 1.0)
			break;
		if (rounds >= r->o.min_samples && spent >= MOVED_LONGER * seconds)
			break;
		status = sample_round(r, rounds, true);
		if (status == 0)
			bench_placement_round(r, rounds++);
	}
	bool exhausted = rounds >= r->o.max_samples;
	r->sampling->sampled_s += bench_time(r) - r->sampling->warm_s;
	if (status)
		return status;
	r->sampling->rounds = bench_placement_end(r, rounds);
	r->sampling->stopped = update_convergence(r, r->sampling->rounds) ? "goal"
			       : exhausted                                ? "max_samples"
									  : "time";
	return 0;
}

/* If the cores are the device, keep this thread on the last one, far from where blocks begin: the
 * scheduler's choice would make two kinds of samples. A job's launcher binds its ranks. */
static void choose_core(const struct bench_run *r)
{
	int cores[CORES_MAX];
	const size_t count = cores_allowed(cores);
	if (count > 1 && dev_can(r->c.dev, DEV_CAP_HOST_ACCESS) && !bench_virtual(r) && !r->b->job)
		cores_stay_on(cores[count - 1]);
}

static int sample_case(struct bench_run *r, double seconds)
{
	double start = bench_time(r);
	size_t on = count_variants_on(r);
	int status = 0;
	double max_s = bench_virtual(r) ? SAMPLE_VIRTUAL_S : MAX_SAMPLE_S;
	double target = fmin(fmax(seconds / (30.0 * (double)(on ? on : 1)), MIN_SAMPLE_S), max_s);
	for (unsigned v = 0; status == 0 && v < r->variant_count; v++)
		if (r->sampling->samples[v].on)
			status = bench_calibrate(r, v, target);
	if (status == 0)
		status = warm_up(r, start + 0.2 * seconds);
	if (status == 0)
		bench_surroundings_begin(r);
	r->sampling->variants_on = (unsigned)count_variants_on(r);
	if (status == 0 && !bench_virtual(r) && !r->b->job && r->o.check != BENCH_CHECK_EVERY)
		run_delay_open(&r->sampling->delay);
	if (status == 0)
		status = take_samples(r, start, seconds);
	run_delay_close(&r->sampling->delay);
	if (status == 0)
		status = bench_singles_take(r, seconds);
	if (r->sampling->queue_capacity < dev_props(r->c.dev)->max_queued)
		bench_fact_number(&r->c, "operations_queued_max", r->sampling->queue_capacity);
	return status == 0 && on && count_variants_on(r) == 0 ? no_variant_sampled() : status;
}

int bench_sample_case(struct bench_run *r, double seconds)
{
	r->sampling->given_s += seconds;
	choose_core(r);
	int status = sample_case(r, seconds);
	cores_roam();
	return status;
}
