/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Samples of a variant and case that may be lost to an overdue gate: one may be an accident. */
#define MAX_OVERDUE 2u
/* An untimed iteration takes no longer. What waking costs is nothing to a longer one. */
#define MAX_WARM_S 20e-3
/* Queue entries that are left for the gate and the two events. */
#define QUEUE_RESERVE 8u

int bench_follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to,
		 struct dev_event *event)
{
	int status = dev_event_record(c->dev, from, event);
	return status ? status : dev_stream_wait(c->dev, to, event);
}

static int open_gate(struct bench_run *r)
{
	struct sampling *s = r->sampling;
	int status = dev_event_open(r->c.dev, &s->start_event);
	TRY(status, dev_event_open(r->c.dev, &s->stop_event));
	if (dev_can(r->c.dev, DEV_CAP_WAIT_VALUE))
		TRY(status, gate_open(r->c.dev, GATE_LIMIT_NS, &s->gate));
	s->queue_capacity = dev_props(r->c.dev)->max_queued;
	return status;
}

int bench_sampling_open(struct bench_run *r)
{
	struct sampling *s = r->sampling;
	const uint64_t max = r->o.max_samples;
	int status = open_gate(r);
	if (status)
		return status;
	s->scratch =
		malloc((max > STATS_DRIFT_CAPACITY ? max : STATS_DRIFT_CAPACITY) * sizeof(double));
	s->gathered = malloc(max * sizeof(double));
	s->placement.of_round = malloc(max);
	bool enough = s->scratch && s->gathered && s->placement.of_round;
	for (size_t v = 0; v < r->variant_count; v++) {
		s->samples[v].seconds = malloc(max * sizeof(double));
		s->samples[v].waited = calloc(max, sizeof(bool));
		enough = enough && s->samples[v].seconds && s->samples[v].waited;
	}
	return enough ? 0
		      : err_note(-ENOMEM, "samples of %zu variants: out of memory",
				 r->variant_count);
}

void bench_sampling_close(struct bench_run *r)
{
	struct sampling *s = r->sampling;
	for (size_t v = 0; v < BENCH_VARIANTS; v++) {
		free(s->samples[v].seconds);
		free(s->samples[v].waited);
	}
	free(s->placement.of_round);
	free(s->scratch);
	free(s->gathered);
	if (!r->c.dev)
		return;
	dev_event_close(r->c.dev, s->start_event);
	dev_event_close(r->c.dev, s->stop_event);
	gate_close(s->gate);
}

void bench_sampling_clear(struct bench_run *r)
{
	struct sampling *now = r->sampling;
	for (size_t v = 0; v < BENCH_VARIANTS; v++) {
		struct bench_samples *s = &now->samples[v];
		free(s->singles);
		*s = (struct bench_samples){.seconds = s->seconds, .waited = s->waited};
	}
	now->placement = (struct bench_placement){.of_round = now->placement.of_round};
	now->rounds = 0;
	now->stopped = NULL;
}

static int repeat_once(struct bench_case *c, int (*once)(struct bench_case *c, long arg), long arg,
		       uint64_t iterations)
{
	c->self_seconds = 0.0;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++)
		TRY(c->status, once(c, arg));
	return c->status;
}

/* This many iterations of a variant. Inlined where samples are timed. */
static int call_body(struct bench_run *r, unsigned variant, uint64_t iterations)
{
	const struct bench *b = r->b;
	const struct bench_variant *v = &b->variants[variant];
	int (*body)(struct bench_case * c, long arg, uint64_t iterations) = v->once   ? NULL
									    : v->body ? v->body
										      : b->body;
	return bench_take_status(
		r, body ? body(&r->c, v->arg, iterations)
			: repeat_once(&r->c, v->once ? v->once : b->once, v->arg, iterations));
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
	int status = r->sampling->gate ? gate_shut(r->sampling->gate, dev, stream) : 0;
	if (status == 0 && warm)
		status = call_body(r, variant, 1);
	if (status == 0)
		status = dev_event_record(dev, stream, r->sampling->start_event);
	if (status == 0)
		status = call_body(r, variant, iterations);
	if (status == 0)
		status = dev_event_record(dev, stream, r->sampling->stop_event);
	/* Released even after a failure: what was enqueued must drain. */
	int opened = r->sampling->gate ? gate_release(r->sampling->gate) : 0;
	int drained = sync_stream(r);
	status = status ? status : opened ? opened : drained;
	if (status == 0)
		status = dev_event_elapsed_ns(dev, r->sampling->start_event,
					      r->sampling->stop_event, &ns);
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
		status = call_body(r, variant, iterations);
		*seconds_p = r->c.self_seconds;
		return status;
	case BENCH_HOST:
		break;
	}
	start = dev_clock_ns(r->c.dev);
	status = call_body(r, variant, iterations);
	*seconds_p = 1e-9 * (double)(dev_clock_ns(r->c.dev) - start);
	return status;
}

static uint64_t find_max_iterations(const struct bench_run *r, unsigned variant)
{
	if (r->b->variants[variant].timing != BENCH_DEVICE)
		return 1u << 30;
	const struct bench_samples *s = &r->sampling->samples[variant];
	uint32_t capacity = r->sampling->queue_capacity;
	uint64_t fit =
		capacity <= QUEUE_RESERVE + s->queued ? 1 : (capacity - QUEUE_RESERVE) / s->queued;
	uint64_t max_iterations = s->max_iterations;
	return max_iterations && max_iterations < fit ? max_iterations : fit;
}

int bench_sample_timed(struct bench_run *r, unsigned variant, uint64_t iterations,
		       double *seconds_p)
{
	unsigned overdue = gate_overdue();
	const bool warm = r->sampling->samples[variant].warm;
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
	r->sampling->queue_capacity =
		QUEUE_RESERVE + (uint32_t)(iterations / 2) * r->sampling->samples[variant].queued;
	return true;
}

/* A sample was lost to an overdue gate. Drops the variant when that was one too many. */
bool bench_drop_overdue(struct bench_run *r, unsigned variant)
{
	struct bench_samples *s = &r->sampling->samples[variant];
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
	int status = call_body(r, variant, 1);
	int drained = sync_stream(r);
	return status ? status : drained;
}

bool bench_runs_warm(const struct bench_case *c)
{
	const struct bench_run *r = c->run;
	return !dev_can(c->dev, DEV_CAP_HOST_ACCESS) && !r->sampling->poisoned &&
	       r->o.check != BENCH_CHECK_EVERY;
}

bool bench_single_pass(const struct bench_case *c) { return c->run->sampling->single_pass; }

/* All variants of a case are alike in this, or their ratios would have in them what waking costs.
 */
static bool case_computes(struct bench_run *r)
{
	bool computes = false;
	for (unsigned v = 0; v < r->variant_count; v++) {
		if (!r->sampling->samples[v].on)
			continue;
		const struct bench_model work = bench_work(&r->c, v);
		computes = computes || work.flops + work.ops > 0.0;
	}
	return computes;
}

/* The untimed iteration needs its part of the queue. */
static void choose_warm(struct bench_run *r, unsigned variant, double iteration_s)
{
	struct bench_samples *s = &r->sampling->samples[variant];
	const uint64_t most = find_max_iterations(r, variant);
	if (r->b->variants[variant].timing != BENCH_DEVICE || !r->sampling->gate ||
	    !bench_runs_warm(&r->c) || most < 2 || iteration_s > MAX_WARM_S || case_computes(r))
		return;
	s->warm = bench_work(&r->c, variant).bytes > 0.0;
	if (s->warm && s->iterations == most)
		s->iterations--;
}

int bench_calibrate(struct bench_run *r, unsigned variant, double target_s)
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
		int status = bench_sample_timed(r, variant, iterations, &seconds);
		if (status == 0)
			status = bench_call_restore(r, variant);
		if (status == -ETIMEDOUT && shrink_queue(r, variant, iterations)) {
			max_iterations = find_max_iterations(r, variant);
			iterations = 1;
			continue;
		}
		if (status == -ETIMEDOUT && !bench_drop_overdue(r, variant))
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
	r->sampling->samples[variant].iterations = iterations;
	choose_warm(r, variant, iteration_s);
	return 0;
}

bool bench_needs_cores(const struct bench_run *r, unsigned variant)
{
	return dev_can(r->c.dev, DEV_CAP_HOST_ACCESS) ||
	       r->b->variants[variant].timing != BENCH_DEVICE || !r->sampling->gate;
}
