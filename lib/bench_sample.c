/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_run.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A sample is long enough to drown the clock's resolution and the calls around it, short enough to take many. */
#define SAMPLE_LEAST_S 100e-6
#define SAMPLE_MOST_S 5e-3
/* Neighbouring medians that differ by no more than this are steady. */
#define STEADY_WITHIN 0.05
/* A virtual clock is exact, and to simulate more takes longer without saying more. */
#define SAMPLE_VIRTUAL_S SAMPLE_LEAST_S
/* Samples of a variant and case that may be lost to an overdue gate: one may be chance. */
#define OVERDUE_MOST 2u
/* Queue entries kept free for the gate and the two events. */
#define QUEUE_RESERVE 8u

double bench_time(struct bench_run *r) { return 1e-9 * (double)dev_clock_ns(r->c.dev); }

int bench_follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to, struct dev_event *event)
{
	int status = dev_event_record(c->dev, from, event);
	return status ? status : dev_stream_wait(c->dev, to, event);
}

int bench_gate_open(struct bench_run *r)
{
	int status = dev_event_open(r->c.dev, &r->from);
	if (status == 0)
		status = dev_event_open(r->c.dev, &r->to);
	if (status == 0 && dev_can(r->c.dev, DEV_CAP_WAIT_VALUE))
		status = gate_open(r->c.dev, GATE_LIMIT_NS, &r->gate);
	r->queue_room = dev_props(r->c.dev)->max_queued;
	return status;
}

void bench_gate_close(struct bench_run *r)
{
	dev_event_close(r->c.dev, r->from);
	dev_event_close(r->c.dev, r->to);
	gate_close(r->gate);
	r->from = r->to = NULL;
	r->gate = NULL;
}

static int sample_gated(struct bench_run *r, unsigned variant, uint64_t iterations, double *seconds_p)
{
	struct dev *dev = r->c.dev;
	struct dev_stream *stream = r->c.stream;
	double ns = 0.0;
	int status = r->gate ? gate_shut(r->gate, dev, stream) : 0;
	if (status == 0)
		status = dev_event_record(dev, stream, r->from);
	if (status == 0)
		status = r->b->body(&r->c, variant, iterations);
	if (status == 0)
		status = dev_event_record(dev, stream, r->to);
	/* Opened even after a failure: what was enqueued must drain. */
	int opened = r->gate ? gate_release(r->gate) : 0;
	int drained = dev_stream_sync(dev, stream);
	status = status ? status : opened ? opened : drained;
	if (status == 0)
		status = dev_event_elapsed_ns(dev, r->from, r->to, &ns);
	*seconds_p = 1e-9 * ns;
	return status;
}

int bench_sample_once(struct bench_run *r, unsigned variant, uint64_t iterations, double *seconds_p)
{
	uint64_t start;
	int status;
	switch (r->b->variants[variant].timing) {
	case BENCH_DEVICE:
		return sample_gated(r, variant, iterations, seconds_p);
	case BENCH_SELF:
		r->c.self_seconds = NAN;
		status = r->b->body(&r->c, variant, iterations);
		*seconds_p = r->c.self_seconds;
		return status;
	case BENCH_HOST:
		break;
	}
	start = dev_clock_ns(r->c.dev);
	status = r->b->body(&r->c, variant, iterations);
	*seconds_p = 1e-9 * (double)(dev_clock_ns(r->c.dev) - start);
	return status;
}

static uint64_t most_iterations(const struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	if (v->timing != BENCH_DEVICE)
		return 1u << 30;
	uint32_t room = r->queue_room, each = v->queued ? v->queued : 1;
	uint64_t fit = room <= QUEUE_RESERVE + each ? 1 : (room - QUEUE_RESERVE) / each;
	uint64_t most = r->now.samples[variant].most;
	return most && most < fit ? most : fit;
}

static int checked_sample(struct bench_run *r, unsigned variant, uint64_t iterations, double *seconds_p)
{
	unsigned overdue = gate_overdue();
	int status = bench_sample_once(r, variant, iterations, seconds_p);
	if (status == 0 && gate_overdue() != overdue)
		status = err_note(-ETIMEDOUT, "a gate was opened by its watchdog");
	if (status)
		return status;
	if (!(*seconds_p >= 0.0) || isinf(*seconds_p))
		return err_note(-EPROTO, "variant %s gave no time", r->b->variants[variant].name);
	return bench_interrupted ? -EINTR : 0;
}

/* A queue that is shorter than the device says: from now on half of what was too much. False: that was one iteration, or it is
 * not the harness that fills the queue. */
static bool ask_less(struct bench_run *r, unsigned variant, uint64_t iterations)
{
	const struct bench_variant *v = &r->b->variants[variant];
	if (v->timing != BENCH_DEVICE || iterations < 2)
		return false;
	r->queue_room = QUEUE_RESERVE + (uint32_t)(iterations / 2) * (v->queued ? v->queued : 1);
	return true;
}

/* After a sample was lost to an overdue gate: is it time to go on without the variant? */
static bool gave_up(struct bench_run *r, unsigned variant)
{
	struct bench_samples *s = &r->now.samples[variant];
	if (++s->overdue < OVERDUE_MOST)
		return false;
	s->on = false;
	s->lost = true;
	bench_flag(r, "gate", (int)variant, "%.120s", err_text());
	return true;
}

/* Once without the gate: what loads code at its first use may wait for all queues, and a held one never ends. */
static int load_code(struct bench_run *r, unsigned variant)
{
	if (r->b->variants[variant].timing != BENCH_DEVICE || bench_virtual(r))
		return 0;
	int status = r->b->body(&r->c, variant, 1);
	int drained = dev_stream_sync(r->c.dev, r->c.stream);
	return status ? status : drained;
}

static int calibrate(struct bench_run *r, unsigned variant, double target_s)
{
	uint64_t iterations = 1, most = most_iterations(r, variant);
	int loaded = load_code(r, variant);
	if (loaded)
		return loaded;
	for (;;) {
		double seconds, start = bench_time(r);
		int status = checked_sample(r, variant, iterations, &seconds);
		if (status == -ETIMEDOUT && ask_less(r, variant, iterations)) {
			most = most_iterations(r, variant);
			iterations = 1;
			continue;
		}
		if (status == -ETIMEDOUT && !gave_up(r, variant))
			continue;
		if (status)
			return status == -ETIMEDOUT ? 0 : status;
		/* What a self-timed body takes besides the interval it names costs time all the same. */
		seconds = fmax(seconds, bench_time(r) - start);
		if (seconds >= 0.7 * target_s || iterations >= most)
			break;
		/* The first rounds include first-use costs, so growth is limited. */
		double factor = seconds > 0.0 ? 1.1 * target_s / seconds : 10.0;
		factor = factor < 1.5 ? 1.5 : factor > 10.0 ? 10.0 : factor;
		uint64_t grown = (uint64_t)(factor * (double)iterations) + 1;
		iterations = grown > most ? most : grown;
	}
	r->now.samples[variant].iterations = iterations;
	return 0;
}

/* One block: every variant that is on, once, in random order, into column `block`. */
static int sample_block(struct bench_run *r, size_t block)
{
	uint32_t order[BENCH_VARIANTS];
	rng_shuffle(&r->order, order, r->variant_count);
	for (size_t i = 0; i < r->variant_count; i++) {
		struct bench_samples *s = &r->now.samples[order[i]];
		double seconds;
		if (!s->on)
			continue;
		int status;
		do
			status = checked_sample(r, order[i], s->iterations, &seconds);
		while (status == -ETIMEDOUT && !gave_up(r, order[i]));
		if (status == -ETIMEDOUT)
			continue;
		if (status)
			return status;
		s->seconds[block] = seconds / (double)s->iterations;
	}
	return 0;
}

/* Do the medians of the last two triples of blocks agree for every variant? */
static bool steady(const struct bench_run *r, size_t blocks)
{
	if (blocks < 6)
		return false;
	for (size_t v = 0; v < r->variant_count; v++) {
		const double *x = r->now.samples[v].seconds + blocks - 6;
		if (!r->now.samples[v].on)
			continue;
		double before[3] = {x[0], x[1], x[2]}, after[3] = {x[3], x[4], x[5]};
		stats_sort(before, 3);
		stats_sort(after, 3);
		if (!(fabs(after[1] - before[1]) <= STEADY_WITHIN * before[1]))
			return false;
	}
	return true;
}

/* Blocks that are thrown away: as many as were asked for, else until steady or the time is over. */
static int warm_up(struct bench_run *r, double until_s)
{
	const struct bench_warm_up *w = &r->o.warm_up;
	for (size_t blocks = 0; w->given ? blocks < w->blocks : !steady(r, blocks); blocks++) {
		if (!w->given && (blocks + 1 >= r->o.max_samples || bench_time(r) >= until_s))
			break;
		int status = sample_block(r, w->given ? 0 : blocks);
		if (status)
			return status;
	}
	return 0;
}

static bool converged(struct bench_run *r, uint32_t blocks)
{
	bool all = true;
	for (size_t v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->now.samples[v];
		if (!s->on)
			continue;
		s->summary = stats_summarise(s->seconds, blocks, r->scratch);
		s->converged = stats_relative_width(&s->summary) <= r->o.goal || s->summary.max == s->summary.min;
		all = all && s->converged;
	}
	return all;
}

static int no_sample(void)
{
	return err_note(-ETIMEDOUT, "no variant could be sampled: every gate was opened by its watchdog");
}

static size_t count_on(const struct bench_run *r)
{
	size_t on = 0;
	for (size_t v = 0; v < r->variant_count; v++)
		on += r->now.samples[v].on;
	return on;
}

int bench_sample_case(struct bench_run *r, double seconds)
{
	double start = bench_time(r);
	size_t on = count_on(r);
	int status = 0;
	double most = bench_virtual(r) ? SAMPLE_VIRTUAL_S : SAMPLE_MOST_S;
	double target = fmin(fmax(seconds / (30.0 * (double)(on ? on : 1)), SAMPLE_LEAST_S), most);
	for (unsigned v = 0; status == 0 && v < r->variant_count; v++)
		if (r->now.samples[v].on)
			status = calibrate(r, v, target);
	if (status == 0)
		status = warm_up(r, start + 0.2 * seconds);
	if (status == 0)
		bench_case_begin(r);
	uint32_t blocks = 0;
	/* The least number of blocks is worth more than the case's time, but not five times as much. */
	while (status == 0 && blocks < r->o.max_samples) {
		double spent = bench_time(r) - start;
		if (blocks >= r->o.min_samples && (spent >= seconds || converged(r, blocks)))
			break;
		if (blocks > 0 && spent >= 5.0 * seconds + 1.0)
			break;
		status = sample_block(r, blocks);
		blocks += status == 0;
	}
	r->now.blocks = blocks;
	if (r->queue_room < dev_props(r->c.dev)->max_queued)
		bench_fact_number(&r->c, "operations_queued_most", r->queue_room);
	if (status == 0)
		converged(r, blocks);
	return status == 0 && on && count_on(r) == 0 ? no_sample() : status;
}
