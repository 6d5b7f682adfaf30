/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_own.h"
#include "lib/bench_run.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of the median, by order statistics. */
#define LEAST_FOR_INTERVAL 6u
/* A median whose interval is wider than this says nothing a reader could use. */
#define NOISY_ABOVE 0.10
/* The core clock around a case against the best of the run; clocks of quiet machines agree within a few percent. */
#define THROTTLED_BELOW 0.85
/* Share of the samples' time in which heat held the clocks back. */
#define THERMAL_ABOVE 0.01
/* Shares of our cores' time that others may take before the case counts as contended. */
#define OTHERS_ABOVE 0.10
#define STOLEN_ABOVE 0.02

bool bench_virtual(const struct bench_run *r)
{
	return dev_can(r->c.dev, DEV_CAP_VIRTUAL_TIME) || (r->b->job && r->b->job->virtual_time);
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static int check_results(struct bench_run *r)
{
	if (!r->b->check)
		return 0;
	if (!r->o.check) {
		r->now.check_status = "skipped";
		bench_flag(r, "unverified", -1, "--check off");
		return 0;
	}
	for (unsigned v = 0; v < r->variant_count; v++) {
		double unused;
		if (!r->now.samples[v].on)
			continue;
		int status = r->b->spoil ? r->b->spoil(&r->c, v) : 0;
		if (status == 0 && r->b->spoil)
			status = dev_stream_sync(r->c.dev, r->c.stream);
		if (status == 0)
			status = bench_sample_once(r, v, 1, &unused);
		if (status == 0)
			status = r->b->check(&r->c, v);
		if (status == -EBADMSG) {
			r->now.check_status = "failed";
			snprintf(r->now.check_detail, sizeof(r->now.check_detail), "%s: %.200s", r->b->variants[v].name,
			         err_text());
			return err_note(-EBADMSG, "wrong result: %s", r->now.check_detail);
		}
		if (status)
			return status;
	}
	r->now.check_status = "ok";
	return 0;
}

static void judge_samples(struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->now.samples[v];
		if (!s->on)
			continue;
		double width = stats_relative_width(&s->summary);
		if (r->now.blocks < LEAST_FOR_INTERVAL && !bench_virtual(r))
			bench_flag(r, "few_samples", (int)v, "%u samples; under %u there is no interval", r->now.blocks,
			           LEAST_FOR_INTERVAL);
		else if (r->now.blocks < r->o.min_samples)
			bench_flag(r, "few_samples", (int)v, "%u samples instead of at least %" PRIu64 ": raise the budget",
			           r->now.blocks, r->o.min_samples);
		else if (width > NOISY_ABOVE && !s->converged)
			bench_flag(r, "noisy", (int)v, "the interval of the median is +-%.0f %% after %u samples",
			           100.0 * width, r->now.blocks);
	}
}

/* Who works beside us slows down whatever the host does: all of it where the device's memory is the host's, else the variants
 * that the host times, or whose work it enqueues while they are timed. */
static void flag_contended(struct bench_run *r, const char *who, double share)
{
	if (dev_can(r->c.dev, DEV_CAP_HOST_ACCESS)) {
		bench_flag(r, "contended", -1, "%s took %.0f %% of the cores", who, 100.0 * share);
		return;
	}
	for (unsigned v = 0; v < r->variant_count; v++)
		if (r->now.samples[v].on && (r->b->variants[v].timing != BENCH_DEVICE || !r->gate))
			bench_flag(r, "contended", (int)v, "%s took %.0f %% of the host's cores", who, 100.0 * share);
}

static void judge_surroundings(struct bench_run *r, const struct load_mark *before, const struct load_mark *after)
{
	double others, stolen;
	double least = fmin(r->now.clock_before_hz, r->now.clock_after_hz);
	double most = fmax(r->now.clock_before_hz, r->now.clock_after_hz);
	if (most > r->best_clock_hz)
		r->best_clock_hz = most;
	/* A device that gives its reasons is judged by them: a power limit lowers the clock, too. */
	if (!bench_state_tells(&r->now.state) && least < THROTTLED_BELOW * r->best_clock_hz)
		bench_flag(r, "throttled", -1, "core clock %.2f GHz, best of this run %.2f GHz", 1e-9 * least,
		           1e-9 * r->best_clock_hz);
	if (bench_virtual(r) || !load_between(before, after, &others, &stolen))
		return;
	if (others > OTHERS_ABOVE)
		flag_contended(r, "other processes", others);
	if (stolen > STOLEN_ABOVE)
		flag_contended(r, "the hypervisor", stolen);
}

static void flag_device(struct bench_run *r, size_t d, const char *why)
{
	if (r->now.throttled >> d & 1)
		return;
	r->now.throttled |= UINT64_C(1) << d;
	if (r->set.count == 1)
		bench_flag(r, "throttled", -1, "%s", why);
	else
		bench_flag(r, "throttled", -1, "device %u: %s", r->set.dev[d]->index, why);
}

/* What devices say of now and of the `since_s` since they were asked (0: they were not). Leaves the state of the first. */
static void flag_throttled(struct bench_run *r, double since_s)
{
	for (size_t d = r->set.count; d-- > 0;) {
		char heat[96];
		bench_state_read(r->set.dev[d], &r->now.state);
		const char *why = bench_state_throttle(&r->now.state);
		double total_s = bench_state_thermal_s(&r->now.state), held_s = total_s - r->now.thermal_s[d];
		r->now.thermal_s[d] = total_s;
		snprintf(heat, sizeof(heat), "heat held the clocks back in %.2g s of %.2g s", held_s, since_s);
		if (!why && since_s > 0 && held_s > THERMAL_ABOVE * since_s)
			why = heat;
		if (why)
			flag_device(r, d, why);
	}
}

/* What other ranks of the job used is not somebody else's. */
static struct load_mark load_of_job(const struct bench_run *r)
{
	double own_s = r->b->job ? r->b->job->cpu_s() : 0.0;
	struct load_mark mark = load_now();
	if (r->b->job)
		mark.own_s = own_s;
	return mark;
}

static double clock_rate(struct bench_run *r)
{
	double hz;
	if (!dev_can(r->c.dev, DEV_CAP_CLOCK_RATE) || dev_clock_rate(r->c.dev, &hz) != 0)
		return NAN;
	return hz;
}

/* The clock first: an idle device lowers it while its driver is asked. */
void bench_case_begin(struct bench_run *r)
{
	r->now.clock_before_hz = clock_rate(r);
	flag_throttled(r, 0);
	r->now.warm_s = bench_time(r);
}

static void end_samples(struct bench_run *r)
{
	double since_s = bench_time(r) - r->now.warm_s;
	r->now.clock_after_hz = clock_rate(r);
	flag_throttled(r, since_s);
}

static int measure_case(struct bench_run *r, double seconds)
{
	int status = 0;
	if (r->variant_count) {
		struct load_mark before = load_of_job(r);
		status = bench_sample_case(r, seconds);
		if (status == 0)
			end_samples(r);
		struct load_mark after = load_of_job(r);
		if (status == 0) {
			judge_samples(r);
			judge_surroundings(r, &before, &after);
			status = check_results(r);
		}
		if (status == 0)
			bench_derive_rates(r);
	}
	if (status == 0 && r->b->prove)
		status = r->b->prove(&r->c);
	if (status == 0 && r->b->derive)
		status = r->b->derive(&r->c);
	return status;
}

struct outcome {
	int status;
	char text[512];
};

static void note(struct outcome *o, int status)
{
	if (o->status)
		return;
	o->status = status;
	snprintf(o->text, sizeof(o->text), "%s", err_text());
}

/* The end of a case, whatever went wrong: queues are emptied before memory is freed. Returns the first error, whose text
 * outlives what is done after it. */
static int end_case(struct bench_run *r, bool set_up, int status)
{
	struct outcome first = {0};
	note(&first, status);
	int settled = dev_stream_sync(r->c.dev, r->c.stream);
	if (settled)
		note(&first, settled);
	int synced = own_sync(r);
	if (synced)
		note(&first, synced);
	if (set_up && r->b->teardown)
		r->b->teardown(&r->c);
	int closed = own_close(r);
	if (closed)
		note(&first, closed);
	return err_note(first.status, "%s", first.text);
}

/* Something of it may enter a signature: the case is not flagged, nor are all of its variants. */
static bool of_use(const struct bench_run *r)
{
	bool any = r->variant_count == 0;
	for (int v = 0; v < (int)r->variant_count; v++)
		any = any || (r->now.samples[v].on && !bench_flagged(r, v));
	return any && !bench_flagged(r, -1);
}

int bench_case_run(struct bench_run *r, double seconds)
{
	double start = bench_time(r);
	bool set_up = false;
	rng_seed(&r->c.rng, r->o.seed, hash_text(r->now.key));
	rng_seed(&r->order, r->o.seed, ~hash_text(r->now.key));
	memset(r->c.state, 0, r->b->state_bytes);
	for (size_t v = 0; v < r->variant_count; v++)
		r->now.samples[v].on = r->selected >> v & 1;
	err_clear();
	int status = r->b->admit ? r->b->admit(&r->c) : 0;
	if (status == 0) {
		set_up = true;
		status = r->b->setup ? r->b->setup(&r->c) : 0;
		status = status ? status : own_status(&r->c);
	}
	bool impossible = status == -EINVAL && !set_up;
	bool refused = status == -ENOTSUP || status == -ENODEV || status == -ENOMEM || impossible;
	if (status == 0)
		status = measure_case(r, seconds);
	status = end_case(r, set_up, status);
	r->now.elapsed_s = bench_time(r) - start;
	if (status == -EINTR && bench_interrupted)
		return status;
	const char *outcome = status == 0 ? "ok" : refused ? "skipped" : "failed";
	r->count.ok += status == 0;
	r->count.skipped += refused;
	r->count.failed += status != 0 && !refused;
	r->count.valid += status == 0 && of_use(r);
	char reason[512];
	snprintf(reason, sizeof(reason), "%s", err_text()[0] || status == 0 ? err_text() : strerror(-status));
	if (status && !refused)
		err_print("%s %s: %s", r->b->name, r->now.key, reason);
	return bench_output_case(r, outcome, reason);
}
