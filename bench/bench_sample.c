/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_run.h"
#include "lib/clock.h"
#include "lib/cores.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A sample is much longer than the clock's resolution and the calls around it, and short enough
 * to take many. */
#define MIN_SAMPLE_S 100e-6
#define MAX_SAMPLE_S 5e-3
/* Consecutive medians that differ by no more than this are steady. */
#define STEADY_WITHIN 0.05
/* A virtual clock is exact, so longer samples only take longer to simulate. */
#define SAMPLE_VIRTUAL_S MIN_SAMPLE_S
/* Samples of a variant and case that may be lost to an overdue gate: one may be an accident. */
#define MAX_OVERDUE 2u
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
/* An untimed iteration takes no longer. What waking costs is nothing to a longer one. */
#define MAX_WARM_S 20e-3
/* Queue entries that are left for the gate and the two events. */
#define QUEUE_RESERVE 8u
/* A case goes on so much longer for the least rounds of one placement. */
#define MOVED_LONGER 3.0

double bench_time(struct bench_run *r) { return 1e-9 * (double)dev_clock_ns(r->c.dev); }

int bench_follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to,
		 struct dev_event *event)
{
	int status = dev_event_record(c->dev, from, event);
	return status ? status : dev_stream_wait(c->dev, to, event);
}

int bench_gate_open(struct bench_run *r)
{
	int status = dev_event_open(r->c.dev, &r->start_event);
	if (status == 0)
		status = dev_event_open(r->c.dev, &r->stop_event);
	if (status == 0 && dev_can(r->c.dev, DEV_CAP_WAIT_VALUE))
		status = gate_open(r->c.dev, GATE_LIMIT_NS, &r->gate);
	r->queue_capacity = dev_props(r->c.dev)->max_queued;
	return status;
}

void bench_gate_close(struct bench_run *r)
{
	dev_event_close(r->c.dev, r->start_event);
	dev_event_close(r->c.dev, r->stop_event);
	gate_close(r->gate);
	r->start_event = r->stop_event = NULL;
	r->gate = NULL;
}

static int sync_stream(struct bench_run *r)
{
	const unsigned begun = gate_wait_begins();
	int drained = dev_stream_sync(r->c.dev, r->c.stream);
	int ended = gate_wait_ended(begun);
	return drained ? drained : ended;
}

static int sample_gated(struct bench_run *r, unsigned variant, uint64_t iterations, bool warm,
			double *seconds_p)
{
	struct dev *dev = r->c.dev;
	struct dev_stream *stream = r->c.stream;
	double ns = 0.0;
	int status = r->gate ? gate_shut(r->gate, dev, stream) : 0;
	if (status == 0 && warm)
		status = bench_call_body(r, variant, 1);
	if (status == 0)
		status = dev_event_record(dev, stream, r->start_event);
	if (status == 0)
		status = bench_call_body(r, variant, iterations);
	if (status == 0)
		status = dev_event_record(dev, stream, r->stop_event);
	/* Released even after a failure: what was enqueued must drain. */
	int opened = r->gate ? gate_release(r->gate) : 0;
	int drained = sync_stream(r);
	status = status ? status : opened ? opened : drained;
	if (status == 0)
		status = dev_event_elapsed_ns(dev, r->start_event, r->stop_event, &ns);
	*seconds_p = 1e-9 * ns;
	return status;
}

int bench_sample_once(struct bench_run *r, unsigned variant, uint64_t iterations, bool warm,
		      double *seconds_p)
{
	uint64_t start;
	int status;
	switch (r->b->variants[variant].timing) {
	case BENCH_DEVICE:
		return sample_gated(r, variant, iterations, warm, seconds_p);
	case BENCH_SELF:
		r->c.self_seconds = NAN;
		status = bench_call_body(r, variant, iterations);
		*seconds_p = r->c.self_seconds;
		return status;
	case BENCH_HOST:
		break;
	}
	start = dev_clock_ns(r->c.dev);
	status = bench_call_body(r, variant, iterations);
	*seconds_p = 1e-9 * (double)(dev_clock_ns(r->c.dev) - start);
	return status;
}

static uint64_t find_max_iterations(const struct bench_run *r, unsigned variant)
{
	if (r->b->variants[variant].timing != BENCH_DEVICE)
		return 1u << 30;
	const struct bench_samples *s = &r->current.samples[variant];
	uint32_t capacity = r->queue_capacity;
	uint64_t fit =
		capacity <= QUEUE_RESERVE + s->queued ? 1 : (capacity - QUEUE_RESERVE) / s->queued;
	uint64_t max_iterations = s->max_iterations;
	return max_iterations && max_iterations < fit ? max_iterations : fit;
}

static int timed_sample(struct bench_run *r, unsigned variant, uint64_t iterations,
			double *seconds_p)
{
	unsigned overdue = gate_overdue();
	const bool warm = r->current.samples[variant].warm;
	int status = bench_sample_once(r, variant, iterations, warm, seconds_p);
	if (status == 0 && gate_overdue() != overdue)
		status = err_note(-ETIMEDOUT, "a gate was opened by its watchdog");
	if (status)
		return status;
	if (!(*seconds_p >= 0.0) || isinf(*seconds_p))
		return err_note(-EPROTO, "variant %s reported no time",
				r->b->variants[variant].name);
	return bench_interrupted ? -EINTR : 0;
}

/* The queue is shorter than the device reports: use half of the iterations that did not fit.
 * False: that was one iteration, or the harness does not fill the queue. */
static bool shrink_queue(struct bench_run *r, unsigned variant, uint64_t iterations)
{
	if (r->b->variants[variant].timing != BENCH_DEVICE || iterations < 2)
		return false;
	r->queue_capacity =
		QUEUE_RESERVE + (uint32_t)(iterations / 2) * r->current.samples[variant].queued;
	return true;
}

/* A sample was lost to an overdue gate. Drops the variant when that was one too many. */
static bool drop_overdue_variant(struct bench_run *r, unsigned variant)
{
	struct bench_samples *s = &r->current.samples[variant];
	if (++s->overdue < MAX_OVERDUE)
		return false;
	s->on = false;
	s->lost = true;
	bench_flag_variant(r, "gate", (int)variant, "%s", err_text());
	return true;
}

/* Run once without the gate: code that is loaded at its first use may wait for all queues, and a
 * gated one never ends. */
static int load_code(struct bench_run *r, unsigned variant)
{
	if (r->b->variants[variant].timing != BENCH_DEVICE || bench_virtual(r))
		return 0;
	int status = bench_call_body(r, variant, 1);
	int drained = sync_stream(r);
	return status ? status : drained;
}

bool bench_runs_warm(const struct bench_case *c)
{
	const struct bench_run *r = c->run;
	return !dev_can(c->dev, DEV_CAP_HOST_ACCESS) && !r->current.poisoned &&
	       r->o.check != BENCH_CHECK_EVERY;
}

/* All variants of a case are alike in this, or their ratios would have in them what waking costs.
 */
static bool case_computes(struct bench_run *r)
{
	bool computes = false;
	for (unsigned v = 0; v < r->variant_count; v++)
		computes =
			computes || (r->current.samples[v].on && bench_work(&r->c, v).flops > 0.0);
	return computes;
}

/* The untimed iteration needs its part of the queue. */
static void choose_warm(struct bench_run *r, unsigned variant, double iteration_s)
{
	struct bench_samples *s = &r->current.samples[variant];
	const uint64_t most = find_max_iterations(r, variant);
	if (r->b->variants[variant].timing != BENCH_DEVICE || !r->gate || !bench_runs_warm(&r->c) ||
	    most < 2 || iteration_s > MAX_WARM_S || case_computes(r))
		return;
	s->warm = bench_work(&r->c, variant).bytes > 0.0;
	if (s->warm && s->iterations == most)
		s->iterations--;
}

static int calibrate_variant(struct bench_run *r, unsigned variant, double target_s)
{
	uint64_t iterations = 1, max_iterations = find_max_iterations(r, variant);
	double iteration_s = 0.0;
	int loaded = load_code(r, variant);
	if (loaded)
		return loaded;
	if (r->o.check == BENCH_CHECK_EVERY)
		max_iterations = 1;
	for (;;) {
		double seconds, start = bench_time(r);
		int status = timed_sample(r, variant, iterations, &seconds);
		if (status == 0)
			status = bench_call_restore(r, variant);
		if (status == -ETIMEDOUT && shrink_queue(r, variant, iterations)) {
			max_iterations = find_max_iterations(r, variant);
			iterations = 1;
			continue;
		}
		if (status == -ETIMEDOUT && !drop_overdue_variant(r, variant))
			continue;
		if (status)
			return status == -ETIMEDOUT ? 0 : status;
		/* A self-timed body's time outside the interval it names counts against the
		 * budget, too. */
		iteration_s = seconds / (double)iterations;
		seconds = fmax(seconds, bench_time(r) - start);
		if (seconds >= 0.7 * target_s || iterations >= max_iterations)
			break;
		/* The first iterations include first-use costs, so growth is limited. */
		double factor = seconds > 0.0 ? 1.1 * target_s / seconds : 10.0;
		factor = factor < 1.5 ? 1.5 : factor > 10.0 ? 10.0 : factor;
		uint64_t grown = (uint64_t)(factor * (double)iterations) + 1;
		iterations = grown > max_iterations ? max_iterations : grown;
	}
	r->current.samples[variant].iterations = iterations;
	choose_warm(r, variant, iteration_s);
	return 0;
}

/* ---------------------------------------------------------------- other work on the cores */

bool bench_needs_cores(const struct bench_run *r, unsigned variant)
{
	return dev_can(r->c.dev, DEV_CAP_HOST_ACCESS) ||
	       r->b->variants[variant].timing != BENCH_DEVICE || !r->gate;
}

/* Threads of this process waited for a core for a part of the sample that began at `from`: for
 * others, or for each other. */
static bool waited_since(const struct bench_run *r, const struct run_delay_mark *from,
			 bool *worth_p)
{
	const struct run_delay_mark to = run_delay_now(&r->delay);
	const uint64_t took_ns = to.wall_ns - from->wall_ns;
	const double limit = fmax(WAITED_ABOVE_NS, WAITED_ABOVE * (double)took_ns);
	*worth_p = took_ns < RETAKE_BELOW_NS;
	if (r->delay.threads == 0)
		return to.switches > from->switches;
	return (double)run_delay_between(&r->delay, from, &to) > limit;
}

/* True if other processes ran on the cores lately: the kernel's account is too coarse for one
 * sample. */
static bool others_run(struct bench_run *r)
{
	if (1e-9 * (double)clock_ns() - r->asked_s >= WATCH_S) {
		const struct cpu_load now = cpu_load_now();
		bench_note_load(r, &now);
	}
	return r->shared;
}

/* A sample that others disturbed is taken again, at most MAX_RETAKES times: the kernel's accounts
 * tell, never the value. A long one cannot be free of them. */
static int sample_undisturbed(struct bench_run *r, unsigned variant, bool *waited_p,
			      double *seconds_p)
{
	struct bench_samples *s = &r->current.samples[variant];
	bool worth = false;
	int status = 0;
	*waited_p = false;
	if (!bench_needs_cores(r, variant))
		return timed_sample(r, variant, s->iterations, seconds_p);
	for (unsigned retakes = 0; status == 0; retakes++) {
		const struct run_delay_mark from = run_delay_now(&r->delay);
		status = timed_sample(r, variant, s->iterations, seconds_p);
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
	rng_shuffle(&r->order, order, r->variant_count);
	for (size_t i = 0; i < r->variant_count; i++) {
		struct bench_samples *s = &r->current.samples[order[i]];
		double seconds;
		if (!s->on)
			continue;
		int status = counts ? bench_check_poison(r, order[i]) : 0;
		if (status)
			return status;
		do
			status = sample_undisturbed(r, order[i], &s->waited[round], &seconds);
		while (status == -ETIMEDOUT && !drop_overdue_variant(r, order[i]));
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
		const double *x = r->current.samples[v].seconds + rounds - 6;
		if (!r->current.samples[v].on)
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
		struct bench_samples *s = &r->current.samples[v];
		if (!s->on)
			continue;
		uint32_t kept = bench_placement_gather(r, s->seconds, rounds, r->gathered);
		s->summary = stats_summarise(r->gathered, kept, r->scratch);
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
		on += r->current.samples[v].on;
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
	r->sampled_s += bench_time(r) - r->current.warm_s;
	if (status)
		return status;
	r->current.rounds = bench_placement_end(r, rounds);
	r->current.stopped = update_convergence(r, r->current.rounds) ? "goal"
			     : exhausted                              ? "max_samples"
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
		if (r->current.samples[v].on)
			status = calibrate_variant(r, v, target);
	if (status == 0)
		status = warm_up(r, start + 0.2 * seconds);
	if (status == 0)
		bench_case_begin(r);
	r->current.variants_on = (unsigned)count_variants_on(r);
	if (status == 0 && !bench_virtual(r) && !r->b->job && r->o.check != BENCH_CHECK_EVERY)
		run_delay_open(&r->delay);
	if (status == 0)
		status = take_samples(r, start, seconds);
	run_delay_close(&r->delay);
	if (status == 0)
		status = bench_singles_take(r, seconds);
	if (r->queue_capacity < dev_props(r->c.dev)->max_queued)
		bench_fact_number(&r->c, "operations_queued_max", r->queue_capacity);
	return status == 0 && on && count_variants_on(r) == 0 ? no_variant_sampled() : status;
}

int bench_sample_case(struct bench_run *r, double seconds)
{
	r->given_s += seconds;
	choose_core(r);
	int status = sample_case(r, seconds);
	cores_roam();
	return status;
}
