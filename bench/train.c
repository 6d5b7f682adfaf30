/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/train.h"
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "lib/text.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define SHORT_S 2.0
#define LEAST_CASE_S 0.25
/* Two seconds of virtual time are more than their result needs. */
#define VIRTUAL_FACTOR 0.01
#define LEAST_ITERATIONS 4
#define BATCH_S 0.02
#define READ_EVERY_S 0.25
#define LATE_SHARE 0.01
/* Nothing is queued for so long before a train of minutes; the first part settles. */
#define REST_S 3.0
#define SETTLE_S 1.0
#define POLL_NS 20000000

void train_open(struct train *t, struct bench_case *c)
{
	const uint64_t minutes = axis_u64(c, "minutes");
	t->is_long = minutes > 0;
	if (t->is_long)
		bench_may_throttle(c);
	t->asked_s = t->is_long ? 60.0 * (double)minutes : SHORT_S;
	for (unsigned i = 0; i < TRAIN_EVENTS; i++)
		t->ends[i] = bench_event(c);
}

bool train_is_wanted(const struct train *t, const struct bench_case *c)
{
	return t->is_long || c->seconds >= LEAST_CASE_S;
}

/* ------------------------------------------------------------------ sensors */

/* NaN, and the reason, where it is unknown; "": the device does not list it. */
static double find_value(const struct dev_telemetry *samples, size_t count, const char *name,
			 char *why, size_t capacity)
{
	why[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (strcmp(samples[i].name, name) != 0)
			continue;
		text_fit(why, capacity, "%s", samples[i].why);
		return samples[i].number;
	}
	return NAN;
}

static void read_sensors(struct train *t, struct bench_case *c, struct train_reading *r)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	char no_limit[256];
	size_t n = 0;
	TRY(c->status, dev_telemetry_read(c->dev, samples, &n));
	r->at_s = 1e-9 * ((double)dev_clock_ns(c->dev) - (double)t->began_ns);
	r->clock_hz = find_value(samples, n, "sm_clock", t->no_clock, sizeof(t->no_clock));
	r->watt = find_value(samples, n, "power", t->no_power, sizeof(t->no_power));
	r->joule = find_value(samples, n, "energy", t->no_energy, sizeof(t->no_energy));
	r->celsius = find_value(samples, n, "temperature", t->no_celsius, sizeof(t->no_celsius));
	t->limit_watt = find_value(samples, n, "power_limit", no_limit, sizeof(no_limit));
}

/* Virtual time passes in calls alone. */
static void let_rest(struct bench_case *c, double seconds)
{
	const bool virtual = dev_can(c->dev, DEV_CAP_VIRTUAL_TIME);
	const double wanted_ns = 1e9 * seconds * (virtual ? VIRTUAL_FACTOR : 1);
	const uint64_t from_ns = dev_clock_ns(c->dev);
	while (!bench_stopped(c) && (double)(dev_clock_ns(c->dev) - from_ns) < wanted_ns)
		if (!virtual)
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static void read_idle(struct train *t, struct bench_case *c)
{
	t->began_ns = dev_clock_ns(c->dev);
	let_rest(c, SETTLE_S);
	read_sensors(t, c, &t->idle[0]);
	let_rest(c, REST_S - SETTLE_S);
	read_sensors(t, c, &t->idle[1]);
}

/* ------------------------------------------------------------------ batches */

static void queue_batch(struct train *t, struct bench_case *c, uint64_t number)
{
	for (uint64_t i = 0; i < t->batch; i++)
		TRY(c->status, t->once(c, bench_row(c, t->variant)->arg));
	TRY(c->status, dev_event_record(c->dev, c->stream, t->ends[number % TRAIN_EVENTS]));
}

/* Keep two batches queued behind this one, wait for it, and return its seconds. */
static double follow_batch(struct train *t, struct bench_case *c, uint64_t number)
{
	struct dev_event *before = t->ends[(number - 1) % TRAIN_EVENTS],
			 *end = t->ends[number % TRAIN_EVENTS],
			 *last = t->ends[(number + 1) % TRAIN_EVENTS];
	double ns = 0.0;
	queue_batch(t, c, number + 2);
	t->late += c->status == 0 && dev_event_query(c->dev, last) == 0;
	TRY(c->status, dev_event_sync(c->dev, end));
	TRY(c->status, dev_event_elapsed_ns(c->dev, before, end, &ns));
	return 1e-9 * ns;
}

static void end_window(struct train *t, struct bench_case *c, double began_s, uint64_t batches)
{
	struct train_window *w = &t->window[t->windows++];
	const double now_s = 1e-9 * ((double)dev_clock_ns(c->dev) - (double)t->began_ns),
		     last_s = t->readings ? t->reading[t->readings - 1].at_s : 0;
	*w = (struct train_window){
		.end_s = t->ran_s,
		.rate = (double)(batches * t->batch) / (t->ran_s - began_s),
		.reading = -1,
	};
	if (now_s - last_s < t->scale * READ_EVERY_S)
		return;
	w->reading = (int)t->readings;
	read_sensors(t, c, &t->reading[t->readings++]);
}

static void follow_batches(struct train *t, struct bench_case *c)
{
	const double total_s = t->scale * t->asked_s, window_s = total_s / TRAIN_WINDOWS;
	double began_s = 0;
	uint64_t first = 0;
	while (c->status == 0 && t->ran_s < total_s && !bench_stopped(c) &&
	       t->windows < TRAIN_CAPACITY) {
		t->ran_s += follow_batch(t, c, ++t->batches);
		if (t->ran_s - began_s < window_s)
			continue;
		end_window(t, c, began_s, t->batches - first);
		began_s = t->ran_s;
		first = t->batches;
	}
}

static void size_batch(struct train *t, const struct bench_case *c)
{
	const double seconds = bench_median(c, t->variant),
		     least = LEAST_ITERATIONS * seconds / t->asked_s;
	const uint32_t entries = t->entries ? t->entries : 1,
		       capacity = (dev_props(c->dev)->max_queued / 3 - 2) / entries,
		       fit = capacity ? capacity : 1;
	const bool is_scaled = dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) && !t->is_long;
	t->scale = is_scaled ? fmax(VIRTUAL_FACTOR, least) : 1.0;
	t->batch = (uint64_t)(t->scale * BATCH_S / seconds) + 1;
	t->batch = t->batch < fit ? t->batch : fit;
}

void train_run(struct train *t, struct bench_case *c, unsigned variant,
	       int (*once)(struct bench_case *c, long arg), const char *name)
{
	t->variant = variant;
	t->once = once;
	if (!isfinite(bench_median(c, variant)))
		return; /* no sample says how long one takes */
	size_batch(t, c);
	if (t->is_long)
		read_idle(t, c);
	t->began_ns = dev_clock_ns(c->dev);
	TRY(c->status, dev_event_record(c->dev, c->stream, t->ends[0]));
	queue_batch(t, c, 1);
	queue_batch(t, c, 2);
	follow_batches(t, c);
	const int drained = dev_stream_sync(c->dev, c->stream); /* after an error, too */
	TRY(c->status, drained);
	if (c->status == 0)
		bench_mechanism(c, name, t->late <= LATE_SHARE * t->batches,
				"%u of %u batches of %llu were queued after the previous one had "
				"ended",
				t->late, t->batches, (unsigned long long)t->batch);
}
