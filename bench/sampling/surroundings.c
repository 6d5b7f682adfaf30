/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampling/surroundings.h"
#include "bench/run/notes.h"
#include "bench/run/resources.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/samples.h"
#include "lib/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* A wider relative interval of the median is flagged as noise. */
#define NOISY_ABOVE 0.10
/* Ratio of the core clock around a case to the highest of the run; clocks of quiet machines
 * agree within a few percent. */
#define THROTTLED_BELOW 0.85
/* Fewer hardware queues than programs have streams. */
#define QUEUES_BELOW 8u
/* Share of the sampling time with thermal throttling. */
#define THERMAL_ABOVE 0.01
/* Shares of the process's cores that others may take before the case counts as contended. Up to 5 %
 * of stolen time headline numbers of a virtual machine were as far from their median as without. */
#define OTHERS_ABOVE 0.10
#define STOLEN_ABOVE 0.05
/* From one mark of the load to the next, at least. */
#define LATELY_S 1.0
/* Share of a variant's samples whose threads waited for others. The median of all of them is then
 * that of at least two thirds of the others. */
#define WAITED_ABOVE 0.25

/* A few per cent show only in a second or more. */
void bench_note_load(struct bench_run *r, const struct cpu_load *now)
{
	struct cpu_share lately;
	r->surroundings->shared = cpu_load_between(&r->surroundings->load[0], now, &lately) &&
				  cpu_load_was_shared(&lately);
	r->surroundings->asked_s = now->wall_s;
	if (now->wall_s - r->surroundings->load[1].wall_s > LATELY_S) {
		r->surroundings->load[0] = r->surroundings->load[1];
		r->surroundings->load[1] = *now;
	}
}

/* CPU time of the job's other ranks is not that of other processes. */
struct cpu_load bench_load_now(struct bench_run *r)
{
	return r->b->job ? r->b->job->load() : cpu_load_now();
}

static bool clock_is_low(const struct bench_run *r, double hz)
{
	return hz < THROTTLED_BELOW * r->surroundings->best_clock_hz;
}

static double read_clock(struct bench_run *r)
{
	double hz;
	if (!dev_can(r->c.dev, DEV_CAP_CLOCK_RATE) || dev_clock_rate(r->c.dev, &hz) != 0)
		return NAN;
	return hz;
}

/* One reading may be low by itself, where what takes it was held up, so a low one is taken again at
 * once and the second counts. */
static double clock_rate(struct bench_run *r)
{
	double hz = read_clock(r);
	if (clock_is_low(r, hz))
		hz = read_clock(r);
	r->surroundings->best_clock_hz = fmax(r->surroundings->best_clock_hz, hz);
	return hz;
}

/* The first reading of a run has nothing to be low against but another, which is taken before the
 * seeds of a case, so that the case draws the same wherever it stands. */
void bench_know_clock(struct bench_run *r)
{
	if (r->surroundings->best_clock_hz == 0.0)
		r->surroundings->best_clock_hz = fmax(0.0, read_clock(r));
}

static void flag_device(struct bench_run *r, size_t d, const char *why)
{
	if (r->surroundings->throttled >> d & 1)
		return;
	r->surroundings->throttled |= UINT64_C(1) << d;
	if (r->surroundings->may_throttle)
		text_fit(r->surroundings->why_throttled, sizeof(r->surroundings->why_throttled),
			 "%s", why);
	else if (r->set.count == 1)
		bench_flag_variant(r, "throttled", -1, "%s", why);
	else
		bench_flag_variant(r, "throttled", -1, "device %u: %s", r->set.dev[d]->index, why);
}

void bench_may_throttle(struct bench_case *c) { c->run->surroundings->may_throttle = true; }

const char *bench_throttled(const struct bench_case *c)
{
	const char *why = c->run->surroundings->why_throttled;
	return why[0] ? why : NULL;
}

/* Flag devices that throttle now or did in the last `since_s` seconds (0: no earlier reading).
 * Leaves the telemetry of the first device. */
static void flag_throttled(struct bench_run *r, double since_s)
{
	for (size_t d = r->set.count; d-- > 0;) {
		char reason[96];
		bench_telemetry_read(r->set.dev[d], &r->surroundings->state);
		const char *why = bench_telemetry_throttle(&r->surroundings->state);
		double total_s = bench_telemetry_thermal_s(&r->surroundings->state),
		       throttled_s = total_s - r->surroundings->thermal_s[d];
		r->surroundings->thermal_s[d] = total_s;
		snprintf(reason, sizeof(reason), "thermal throttling in %.2g s of %.2g s",
			 throttled_s, since_s);
		if (!why && since_s > 0 && throttled_s > THERMAL_ABOVE * since_s)
			why = reason;
		if (why)
			flag_device(r, d, why);
	}
}

/* Read the clock first: an idle device lowers it while its driver is asked. */
void bench_surroundings_begin(struct bench_run *r)
{
	r->surroundings->clock_before_hz = clock_rate(r);
	flag_throttled(r, 0);
	r->sampling->warm_s = bench_time(r);
}

void bench_surroundings_end(struct bench_run *r)
{
	double since_s = bench_time(r) - r->sampling->warm_s;
	r->surroundings->clock_after_hz = clock_rate(r);
	flag_throttled(r, since_s);
}

void bench_surroundings_clear(struct bench_run *r)
{
	struct surroundings *s = r->surroundings;
	s->state.count = 0;
	s->clock_before_hz = s->clock_after_hz = NAN;
	s->throttled = 0;
	s->may_throttle = false;
	s->why_throttled[0] = '\0';
	s->share_known = false;
}

/* ---------------------------------------------------------------- what follows for the case */

static void judge_samples(struct bench_run *r)
{
	if (r->o.check == BENCH_CHECK_EVERY && bench_has_checks(r))
		bench_flag_variant(r, "soak", -1,
				   "--check every: single executions, each with a poisoned output");
	for (unsigned v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->sampling->samples[v];
		if (!s->on)
			continue;
		double width = stats_relative_width(&s->summary);
		if (r->sampling->rounds < BENCH_LEAST_SAMPLES && !bench_virtual(r))
			bench_flag_variant(r, "few_samples", (int)v,
					   "%u samples; fewer than %u give no interval",
					   r->sampling->rounds, BENCH_LEAST_SAMPLES);
		else if (r->sampling->rounds < r->o.min_samples)
			bench_flag_variant(r, "noisy", (int)v,
					   "%u samples instead of at least %" PRIu64
					   ": raise the budget",
					   r->sampling->rounds, r->o.min_samples);
		else if (width > NOISY_ABOVE && !s->converged)
			bench_flag_variant(
				r, "noisy", (int)v,
				"the interval of the median is +-%.0f %% after %u samples",
				100.0 * width, r->sampling->rounds);
	}
}

unsigned bench_waited(const struct bench_run *r, unsigned variant)
{
	const struct bench_samples *s = &r->sampling->samples[variant];
	unsigned waited = 0;
	for (uint32_t i = 0; i < r->sampling->rounds; i++)
		waited += s->waited[i];
	return waited;
}

unsigned bench_disturbed(const struct bench_run *r, unsigned variant)
{
	return r->surroundings->shared ? bench_waited(r, variant) : 0;
}

/* Samples that were disturbed and could not be replaced by others. */
static void judge_disturbed(struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++) {
		const unsigned disturbed = bench_disturbed(r, v);
		if (r->sampling->samples[v].on && disturbed > WAITED_ABOVE * r->sampling->rounds)
			bench_flag_variant(
				r, "contended", (int)v,
				"other processes ran on the cores; %u of %u samples waited",
				disturbed, r->sampling->rounds);
	}
}

/* Other work on the host slows down what the host does: every variant where the device's memory
 * is the host's; else the variants that the host times, or whose work it enqueues while they are
 * timed. */
static void flag_contended(struct bench_run *r, const char *who, double share)
{
	if (dev_can(r->c.dev, DEV_CAP_HOST_ACCESS)) {
		bench_flag_variant(r, "contended", -1, "%s took %.0f %% of the cores", who,
				   100.0 * share);
		return;
	}
	for (unsigned v = 0; v < r->variant_count; v++)
		if (r->sampling->samples[v].on && bench_needs_cores(r, v))
			bench_flag_variant(r, "contended", (int)v,
					   "%s took %.0f %% of the host's cores", who,
					   100.0 * share);
}

static void judge_placement(struct bench_run *r)
{
	const struct bench_placement *p = &r->sampling->placement;
	if (p->scattered)
		bench_flag_variant(r, "noisy", -1,
				   "the cores were moved every few rounds: core-to-core latency of "
				   "%.0f to %.0f ns",
				   1e9 * p->low_s, 1e9 * p->high_s);
}

/* The load while the case was measured; of a case too short for that, up to its end from the latest
 * mark that is far enough back. Unknown where the process is too young for any. */
static void set_load(struct bench_run *r, const struct cpu_load *before,
		     const struct cpu_load *after)
{
	struct cpu_share *load = &r->surroundings->share;
	r->surroundings->share_known = cpu_load_between(before, after, load) ||
				       cpu_load_between(&r->surroundings->load[1], after, load) ||
				       cpu_load_between(&r->surroundings->load[0], after, load);
	bench_note_load(r, after);
}

/* Streams that share a queue run one after the other, or wait for what they need not. */
static void judge_queues(struct bench_run *r)
{
	for (size_t i = 0; bench_has_streams(r) && i < r->set.count; i++) {
		const struct dev_props *p = dev_props(r->set.dev[i]);
		if (p->queues && p->queues < QUEUES_BELOW) {
			bench_flag_variant(
				r, "queues", -1,
				"the environment limits %s to %u queue%s for all streams", p->name,
				p->queues, p->queues == 1 ? "" : "s");
			return;
		}
	}
}

static void judge_surroundings(struct bench_run *r, const struct cpu_load *before,
			       const struct cpu_load *after)
{
	const struct cpu_share *load = &r->surroundings->share;
	double min_hz = fmin(r->surroundings->clock_before_hz, r->surroundings->clock_after_hz);
	char why[96];
	snprintf(why, sizeof(why), "core clock %.2f GHz, best of this run %.2f GHz", 1e-9 * min_hz,
		 1e-9 * r->surroundings->best_clock_hz);
	/* A device with a driver for it is judged by what that reports, and where that is nothing,
	 * not at all: a power limit lowers the clock, too. */
	if (!bench_telemetry_lists_throttle(&r->surroundings->state) && clock_is_low(r, min_hz))
		flag_device(r, 0, why);
	if (bench_virtual(r))
		return;
	judge_placement(r);
	set_load(r, before, after);
	if (!r->surroundings->share_known)
		return;
	if (load->others - load->error > OTHERS_ABOVE)
		flag_contended(r, "other processes", load->others);
	else if (load->stolen - load->error > STOLEN_ABOVE)
		flag_contended(r, "the hypervisor", load->stolen);
	else if (load->held_back > STOLEN_ABOVE)
		flag_contended(r, "the CPU quota of a control group", load->held_back);
	else
		judge_disturbed(r);
}

void bench_judge(struct bench_run *r, const struct cpu_load *before, const struct cpu_load *after)
{
	judge_samples(r);
	judge_queues(r);
	judge_surroundings(r, before, after);
}
