/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/course_fit.h"
#include "bench/train.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <math.h>
#include <stdio.h>

/* Energy is that of parts of the second half: a counter may be refreshed ten times a second. */
#define PARTS 20
#define LEAST_PART_S 0.5

struct values {
	double x[TRAIN_CAPACITY];
	size_t n;
};

static void add_value(struct values *v, double x)
{
	if (isfinite(x) && v->n < TRAIN_CAPACITY)
		v->x[v->n++] = x;
}

/* The median of what was observed; without any, of a train of minutes, why. */
static void put_observed(const struct train *t, struct bench_case *c, const char *name,
			 const char *unit, const struct values *v, const char *formula,
			 const char *why)
{
	const uint64_t uses = UINT64_C(1) << t->variant;
	const struct bench_quantity q = {BENCH_OBSERVED, {BENCH_OF(t->variant)}, .unit = unit};
	if (v->n)
		TRY(c->status, bench_derive_samples(c, name, (int)t->variant, unit, uses, v->x,
						    v->n, formula));
	else if (t->is_long)
		bench_no_value(c, name, (int)t->variant, &q, formula,
			       why[0] ? why : "the device has no sensor for it");
}

static void put_value(const struct train *t, struct bench_case *c, const char *name,
		      const char *unit, double value, const char *formula, const char *why)
{
	const struct bench_quantity q = {BENCH_VALUE, {BENCH_OF(t->variant)}, .unit = unit};
	if (isfinite(value))
		bench_value(c, name, (int)t->variant, value, unit, formula);
	else if (t->is_long)
		bench_no_value(c, name, (int)t->variant, &q, formula,
			       why[0] ? why : "the device has no sensor for it");
}

/* ------------------------------------------------------------------ the rate */

static double half_of(const struct train *t) { return fmin(t->ran_s, t->scale * t->asked_s) / 2; }

/* The rate is that of the windows that begin in the second half of what was run. */
static void put_rate(const struct train *t, struct bench_case *c, const struct train_names *names)
{
	static const char formula[] = "work / time, of windows in the second half of the train",
			  of_samples[] = "rate of the same windows / that of samples";
	const struct bench_quantity q = {
		BENCH_OBSERVED, {BENCH_OF(t->variant)}, .unit = names->unit};
	struct values rate = {0}, share = {0};
	for (size_t i = 1; i < t->windows; i++) {
		if (t->window[i - 1].end_s < half_of(t))
			continue;
		add_value(&rate, names->work * t->window[i].rate);
		add_value(&share, bench_median(c, t->variant) * t->window[i].rate);
	}
	if (rate.n == 0) {
		bench_no_value(c, names->rate, (int)t->variant, &q, formula,
			       t->batches ? "one takes so long that none begins in the second half"
					  : "it needs two seconds; less is left: raise --budget");
		return;
	}
	put_observed(t, c, names->rate, names->unit, &rate, formula, "");
	bench_nominal(c, names->rate, (int)t->variant, names->nominal, names->is_bound);
	put_observed(t, c, "sustained_share", "", &share, of_samples, "");
}

/* ------------------------------------------------------------------ power */

/* The reason of the sensor that the device lists. */
static const char *why_no_power(const struct train *t)
{
	return t->no_energy[0] ? t->no_energy : t->no_power;
}

/* Mean power between two readings of a row: by the counter of energy, else the mean of the readings
 * of power, which are samples. */
static double watt_between(const struct train_reading *from, const struct train_reading *to)
{
	double joule = 0;
	if (isfinite(from->joule) && isfinite(to->joule))
		return (to->joule - from->joule) / (to->at_s - from->at_s);
	for (const struct train_reading *r = from; r < to; r++)
		joule += (r[0].watt + r[1].watt) / 2 * (r[1].at_s - r[0].at_s);
	return joule / (to->at_s - from->at_s);
}

/* Mean rate of the windows after one reading, up to the other. */
static double rate_between(const struct train *t, int from, int to)
{
	double iterations = 0, seconds = 0;
	bool is_between = false;
	for (size_t i = 0; i < t->windows; i++) {
		const struct train_window *w = &t->window[i];
		const double took_s = w->end_s - (i ? w[-1].end_s : 0);
		iterations += is_between ? w->rate * took_s : 0;
		seconds += is_between ? took_s : 0;
		is_between = (is_between || w->reading == from) && w->reading != to;
	}
	return iterations / seconds;
}

struct powers {
	struct values watt, joule, share; /* mean power; energy of a unit of work; of the limit */
};

static void find_powers(const struct train *t, double work, struct powers *p)
{
	const double half_s = half_of(t), part_s = fmax(t->scale * LEAST_PART_S, half_s / PARTS);
	size_t from = 0;
	while (from < t->readings && t->reading[from].at_s < half_s)
		from++;
	for (size_t i = from + 1; i < t->readings; i++) {
		if (t->reading[i].at_s - t->reading[from].at_s < part_s)
			continue;
		const double watt = watt_between(&t->reading[from], &t->reading[i]);
		add_value(&p->watt, watt);
		add_value(&p->joule, watt / (work * rate_between(t, (int)from, (int)i)));
		add_value(&p->share, watt / t->limit_watt);
		from = i;
	}
}

static void put_powers(const struct train *t, struct bench_case *c, const struct train_names *names)
{
	struct powers p = {0};
	struct values clock = {0};
	find_powers(t, names->work, &p);
	if (p.watt.n)
		bench_fact_text(c, "energy_source",
				isfinite(t->reading[0].joule) ? "a counter of energy"
							      : "samples of power");
	for (size_t i = t->readings / 2; i < t->readings; i++)
		add_value(&clock, t->reading[i].clock_hz);
	put_observed(t, c, "power", "W", &p.watt, "energy / time, of parts of the second half",
		     why_no_power(t));
	put_observed(t, c, names->energy, names->energy_unit, &p.joule,
		     "energy / work in the same time, of parts of the second half",
		     why_no_power(t));
	put_observed(t, c, "power_cap_share", "", &p.share, "power / the device's power limit",
		     p.watt.n ? "the device tells no power limit" : why_no_power(t));
	put_observed(t, c, "sustained_clock", "Hz", &clock, "readings in the second half",
		     t->no_clock);
}

/* ------------------------------------------------------------------ temperature */

static void put_temperatures(const struct train *t, struct bench_case *c, double until_s)
{
	double at[TRAIN_CAPACITY], celsius[TRAIN_CAPACITY];
	struct course_approach fit = {0};
	size_t n = 0;
	for (size_t i = 0; i < t->readings && t->reading[i].at_s < until_s; i++) {
		if (!isfinite(t->reading[i].celsius))
			continue;
		at[n] = t->reading[i].at_s;
		celsius[n++] = t->reading[i].celsius;
	}
	put_value(t, c, "temperature_end", "degC",
		  t->readings ? t->reading[t->readings - 1].celsius : NAN, "the last reading",
		  t->no_celsius);
	if (!t->is_long)
		return;
	const char *why = n ? course_fit_approach(at, celsius, n, &fit) : t->no_celsius;
	put_value(t, c, "thermal_time_constant", "s", why ? NAN : fit.constant,
		  "end + (start - end) exp(-t / constant), least squares, until throttling", why);
}

/* ------------------------------------------------------------------ the fall of the rate */

/* Readings of the clock, and rates, of the windows [from, to). */
static void collect_windows(const struct train *t, double work, size_t from, size_t to,
			    struct values *rate, struct values *clock)
{
	rate->n = clock->n = 0;
	for (size_t i = from; i < to; i++) {
		const struct train_window *w = &t->window[i];
		add_value(rate, work * w->rate);
		if (w->reading >= 0)
			add_value(clock, t->reading[w->reading].clock_hz);
	}
}

/* The first windows are left out: a device at rest begins with a higher clock than its power
 * controller then allows. */
static size_t first_settled(const struct train *t)
{
	size_t first = 0;
	while (first < t->windows && t->window[first].end_s < 1.0)
		first++;
	return first + 1;
}

static double median_of(struct values *v)
{
	stats_sort(v->x, v->n);
	return v->n ? stats_median(v->x, v->n) : NAN;
}

/* Medians of the windows [from, to), and why there are none. Returns those of rate and clock. */
static struct medians {
	double rate, clock;
} put_medians(const struct train *t, struct bench_case *c, const struct train_names *names,
	      const char *when, size_t from, size_t to, const char *why)
{
	struct values rate, clock;
	char name[32], formula[48];
	collect_windows(t, names->work, from, to, &rate, &clock);
	snprintf(name, sizeof(name), "rate_%s", when);
	snprintf(formula, sizeof(formula), "windows %s the rate fell", when);
	put_observed(t, c, name, names->unit, &rate, formula, why);
	snprintf(name, sizeof(name), "clock_%s", when);
	snprintf(formula, sizeof(formula), "readings %s the rate fell", when);
	put_observed(t, c, name, "Hz", &clock, formula, from < to ? t->no_clock : why);
	return (struct medians){median_of(&rate), median_of(&clock)};
}

/* A rate that falls without the clock is no throttling. */
static void judge_fall(const struct train *t, struct bench_case *c, const struct medians *before,
		       const struct medians *after)
{
	static const char name[] = "time_to_throttle";
	const double of_rate = 1 - after->rate / before->rate,
		     of_clock = 1 - after->clock / before->clock;
	if (of_clock < of_rate / 2)
		bench_flag_value(c, name, (int)t->variant, "mechanism",
				 "the rate fell by %.1f %%, the clock by %.1f %%", 100 * of_rate,
				 100 * of_clock);
}

/* Returns when it began; infinity: not at all. */
static double put_fall(const struct train *t, struct bench_case *c, const struct train_names *names)
{
	static const char formula[] = "until the rate stays below that of the first windows";
	struct values rate, clock, scratch;
	const size_t first = first_settled(t);
	char why[128] = "";
	collect_windows(t, names->work, first, t->windows, &rate, &clock);
	if (rate.n < COURSE_LEAST) {
		put_value(t, c, "time_to_throttle", "s", NAN, formula, "there are too few windows");
		return INFINITY;
	}
	const struct course_fall fall = course_find_fall(rate.x, rate.n, scratch.x);
	const bool fell = fall.first < rate.n;
	const size_t at = first + fall.first;
	const double began_s = fell ? t->window[at - 1].end_s : INFINITY;
	bench_fact_number(c, "least_fall", 1 - fall.limit / fall.level);
	snprintf(why, sizeof(why), "the rate did not fall by %.1f %% and stay there in %.0f s",
		 100 * (1 - fall.limit / fall.level), t->ran_s);
	put_value(t, c, "time_to_throttle", "s", fell ? began_s : NAN, formula, why);
	const struct medians before = put_medians(t, c, names, "before", first, fell ? at : first,
						  why),
			     after = put_medians(t, c, names, "after", at, t->windows, why);
	if (names->follows_clock)
		judge_fall(t, c, &before, &after);
	return began_s;
}

/* ------------------------------------------------------------------ the course */

static void put_course(const struct train *t, struct bench_case *c, const struct train_names *names)
{
	struct {
		const char *name, *unit;
		double x[TRAIN_CAPACITY];
		bool known;
	} rows[] = {{.name = "time", .unit = "s"},
		    {.name = "rate", .unit = names->unit},
		    {.name = "clock", .unit = "Hz"},
		    {.name = "power", .unit = "W"},
		    {.name = "temperature", .unit = "degC"}};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	const struct train_reading none = {.clock_hz = NAN, .watt = NAN, .celsius = NAN};
	const struct train_reading *last = NULL;
	for (size_t i = 0; i < t->windows; i++) {
		const struct train_window *w = &t->window[i];
		const struct train_reading *r = w->reading < 0 ? &none : &t->reading[w->reading];
		const double watt = last && r != &none ? watt_between(last, r) : r->watt;
		const double values[] = {w->end_s, names->work * w->rate, r->clock_hz, watt,
					 r->celsius};
		for (size_t j = 0; j < ROWS; j++) {
			rows[j].x[i] = values[j];
			rows[j].known |= isfinite(values[j]) != 0;
		}
		last = r == &none ? last : r;
	}
	for (size_t j = 0; j < ROWS; j++)
		if (rows[j].known)
			bench_course(c, rows[j].name, rows[j].unit, rows[j].x, t->windows);
}

/* Flag the values of samples that were taken while the device was hot from another load. */
static void judge_samples(const struct train *t, struct bench_case *c)
{
	static const char *const names[] = {"time", "flop_rate", "bandwidth", "sustained_share"};
	const char *why = bench_throttled(c);
	for (size_t i = 0; why && i < sizeof(names) / sizeof(names[0]); i++)
		bench_flag_value(c, names[i], (int)t->variant, "throttled", "%s", why);
}

void train_derive(const struct train *t, struct bench_case *c, const struct train_names *names)
{
	double until_s = INFINITY;
	put_rate(t, c, names);
	if (t->batches == 0)
		return;
	put_powers(t, c, names);
	if (t->is_long) {
		const struct train_reading *idle = t->idle;
		put_value(t, c, "idle_power", "W", watt_between(&idle[0], &idle[1]),
			  "energy / time, of two seconds with nothing queued, before the load",
			  why_no_power(t));
		until_s = put_fall(t, c, names);
		put_course(t, c, names);
	}
	put_temperatures(t, c, until_s);
	judge_samples(t, c);
}
