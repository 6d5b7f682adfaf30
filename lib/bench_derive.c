/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_run.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounding and clock granularity alone stay far below this share above a bound. */
#define BOUND_TOLERANCE 0.02

static size_t axis_index(const struct bench_case *c, const char *axis)
{
	size_t i = 0;
	while (i < c->run->axis_count && strcmp(c->run->b->axes[i].name, axis) != 0)
		i++;
	assert(i < c->run->axis_count);
	return i;
}

uint64_t bench_number(const struct bench_case *c, const char *axis)
{
	return c->run->now.point[axis_index(c, axis)].number;
}

const char *bench_word(const struct bench_case *c, const char *axis)
{
	return c->run->now.point[axis_index(c, axis)].word;
}

unsigned bench_choice(const struct bench_case *c, const char *axis)
{
	const char *const *words = c->run->b->axes[axis_index(c, axis)].words, *word = bench_word(c, axis);
	unsigned i = 0;
	while (strcmp(words[i], word) != 0)
		i++;
	return i;
}

void bench_variant_off(struct bench_case *c, unsigned variant) { c->run->now.samples[variant].on = false; }

bool bench_variant_on(const struct bench_case *c, unsigned variant) { return c->run->now.samples[variant].on; }

void bench_most_iterations(struct bench_case *c, unsigned variant, uint64_t most)
{
	c->run->now.samples[variant].most = most ? most : 1;
}

bool bench_checked(const struct bench_case *c) { return c->run->o.check; }

int bench_wrong(const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return err_note(-EBADMSG, "%s", text);
}

static const struct bench_proof *prove(struct bench_case *c, const char *name, bool realised, const char *format,
                                       va_list args)
{
	struct bench_now *now = &c->run->now;
	assert(now->proof_count < sizeof(now->proofs) / sizeof(now->proofs[0]));
	struct bench_proof *proof = &now->proofs[now->proof_count++];
	snprintf(proof->name, sizeof(proof->name), "%s", name);
	proof->realised = realised;
	vsnprintf(proof->detail, sizeof(proof->detail), format, args);
	return proof;
}

void bench_mechanism(struct bench_case *c, const char *name, bool realised, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_proof *proof = prove(c, name, realised, format, args);
	va_end(args);
	if (!realised)
		bench_flag(c->run, "mechanism", -1, "%s: %s", proof->name, proof->detail);
}

void bench_mechanism_of(struct bench_case *c, uint64_t uses, const char *name, bool realised, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_proof *proof = prove(c, name, realised, format, args);
	va_end(args);
	for (unsigned v = 0; !realised && v < c->run->variant_count; v++)
		if (uses >> v & 1 && bench_variant_on(c, v))
			bench_flag(c->run, "mechanism", (int)v, "%s: %s", proof->name, proof->detail);
}

void bench_doubt(struct bench_case *c, const char *flag, const char *format, ...)
{
	char reason[160];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	bench_flag(c->run, flag, -1, "%s", reason);
}

void bench_flag(struct bench_run *r, const char *flag, int about, const char *format, ...)
{
	va_list args;
	if (r->now.flag_count == BENCH_FLAGS)
		return;
	struct bench_flag *f = &r->now.flags[r->now.flag_count++];
	f->flag = flag;
	f->about = about;
	va_start(args, format);
	vsnprintf(f->reason, sizeof(f->reason), format, args);
	va_end(args);
}

bool bench_flagged(const struct bench_run *r, int about)
{
	for (size_t i = 0; i < r->now.flag_count; i++)
		if (r->now.flags[i].about == -1 || r->now.flags[i].about == about)
			return true;
	return false;
}

static struct bench_derived *add(struct bench_case *c, const char *name, int about, const char *unit,
                                 const char *formula)
{
	struct bench_now *now = &c->run->now;
	assert(now->derived_count < BENCH_DERIVED);
	struct bench_derived *d = &now->derived[now->derived_count++];
	*d = (struct bench_derived){.about = about, .value = NAN, .low = NAN, .high = NAN, .bound = NAN};
	snprintf(d->name, sizeof(d->name), "%s", name);
	snprintf(d->unit, sizeof(d->unit), "%s", unit);
	snprintf(d->formula, sizeof(d->formula), "%s", formula);
	return d;
}

int bench_derive(struct bench_case *c, const char *name, int about, const char *unit, uint64_t uses, bench_formula f,
                 const char *formula)
{
	struct bench_now *now = &c->run->now;
	double seconds[BENCH_VARIANTS];
	for (unsigned v = 0; v < c->run->variant_count; v++)
		if (uses >> v & 1 && !now->samples[v].on)
			return 0;
	double *x = malloc((now->blocks + 1) * 2 * sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "derive %s: out of memory", name);
	size_t finite = 0;
	for (size_t b = 0; b < now->blocks; b++) {
		for (unsigned v = 0; v < c->run->variant_count; v++)
			seconds[v] = now->samples[v].on ? now->samples[v].seconds[b] : NAN;
		double value = f(c, seconds);
		if (isfinite(value))
			x[finite++] = value;
	}
	struct bench_derived *d = add(c, name, about, unit, formula);
	d->uses = uses;
	if (finite) {
		struct stats_summary s = stats_summarise(x, finite, x + now->blocks + 1);
		d->value = s.median;
		d->low = s.ci_low;
		d->high = s.ci_high;
	}
	free(x);
	return 0;
}

/* bench_ratio() is bench_derive() with a formula that needs to know which two variants it divides. */
static _Thread_local unsigned ratio_of[2];

static double ratio(const struct bench_case *c, const double *seconds)
{
	(void)c;
	return seconds[ratio_of[0]] / seconds[ratio_of[1]];
}

int bench_ratio(struct bench_case *c, const char *name, unsigned numerator, unsigned denominator, const char *formula)
{
	ratio_of[0] = numerator;
	ratio_of[1] = denominator;
	uint64_t uses = UINT64_C(1) << numerator | UINT64_C(1) << denominator;
	return bench_derive(c, name, (int)numerator, "", uses, ratio, formula);
}

void bench_value(struct bench_case *c, const char *name, int about, double value, const char *unit, const char *formula)
{
	struct bench_derived *d = add(c, name, about, unit, formula);
	d->value = value;
	d->uses = about >= 0 ? UINT64_C(1) << about : 0;
}

static struct bench_derived *find(struct bench_now *now, const char *name, int about)
{
	for (size_t i = now->derived_count; i-- > 0;)
		if (now->derived[i].about == about && strcmp(now->derived[i].name, name) == 0)
			return &now->derived[i];
	return NULL;
}

void bench_alias(struct bench_case *c, const char *name, int about, const char *alias, const char *formula)
{
	const struct bench_derived *from = find(&c->run->now, name, about);
	if (!from)
		return;
	struct bench_derived *to = add(c, alias, about, from->unit, formula);
	to->uses = from->uses;
	to->value = from->value;
	to->low = from->low;
	to->high = from->high;
	to->bound = from->bound;
	memcpy(to->bound_name, from->bound_name, sizeof(to->bound_name));
}

void bench_bound(struct bench_case *c, const char *name, int about, double bound, const char *bound_name)
{
	struct bench_derived *d = find(&c->run->now, name, about);
	if (!d)
		return;
	d->bound = bound;
	snprintf(d->bound_name, sizeof(d->bound_name), "%s", bound_name);
	/* The whole interval must lie above before physics is said to be violated. */
	double least = isnan(d->low) ? d->value : d->low;
	if (least > bound * (1.0 + BOUND_TOLERANCE))
		bench_flag(c->run, "above_bound", about, "%s %.4g %s is above %s, %.4g", name, d->value, d->unit, bound_name,
		           bound);
}

static struct bench_fact *fact(struct bench_case *c, const char *name)
{
	struct bench_now *now = &c->run->now;
	if (now->fact_count == BENCH_FACTS)
		return NULL;
	struct bench_fact *f = &now->facts[now->fact_count++];
	*f = (struct bench_fact){.number = NAN};
	snprintf(f->name, sizeof(f->name), "%s", name);
	return f;
}

void bench_fact_text(struct bench_case *c, const char *name, const char *value)
{
	struct bench_fact *f = fact(c, name);
	if (f)
		f->text = strdup(value);
}

void bench_fact_number(struct bench_case *c, const char *name, double value)
{
	struct bench_fact *f = fact(c, name);
	if (f)
		f->number = value;
}

double bench_median(const struct bench_case *c, unsigned variant)
{
	const struct bench_samples *s = &c->run->now.samples[variant];
	return s->on && c->run->now.blocks ? s->summary.median : NAN;
}

double bench_best(const struct bench_case *c, unsigned variant)
{
	const struct bench_samples *s = &c->run->now.samples[variant];
	return s->on && c->run->now.blocks ? s->summary.min : NAN;
}

/* A rate falls as time grows: its interval is the time's, turned round. */
static void rate(struct bench_run *r, unsigned v, const char *name, double work, const char *unit, const char *formula)
{
	const struct stats_summary *s = &r->now.samples[v].summary;
	if (work <= 0.0 || s->median <= 0.0)
		return;
	struct bench_derived *d = add(&r->c, name, (int)v, unit, formula);
	d->uses = UINT64_C(1) << v;
	d->value = work / s->median;
	d->low = work / s->ci_high;
	d->high = s->ci_low > 0.0 ? work / s->ci_low : NAN;
}

static void add_time(struct bench_run *r, unsigned v)
{
	const struct stats_summary *s = &r->now.samples[v].summary;
	struct bench_derived *d = add(&r->c, "time", (int)v, "s", "median_s");
	d->uses = UINT64_C(1) << v;
	d->value = s->median;
	d->low = s->ci_low;
	d->high = s->ci_high;
}

void bench_derive_rates(struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->now.samples[v];
		if (s->lost)
			bench_value(&r->c, "time", (int)v, NAN, "s", "median_s");
		if (!s->on || r->now.blocks == 0)
			continue;
		if (r->b->model)
			r->b->model(&r->c, v, &s->model);
		add_time(r, v);
		rate(r, v, "bandwidth", s->model.bytes, "byte/s", "bytes / median_s");
		rate(r, v, "flop_rate", s->model.flops, "flop/s", "flops / median_s");
		rate(r, v, "message_rate", s->model.messages, "1/s", "messages / median_s");
	}
}

void bench_now_clear(struct bench_now *now)
{
	for (size_t i = 0; i < now->fact_count; i++)
		free(now->facts[i].text);
	for (size_t v = 0; v < BENCH_VARIANTS; v++) {
		double *kept = now->samples[v].seconds;
		now->samples[v] = (struct bench_samples){.seconds = kept};
	}
	now->key[0] = '\0';
	now->blocks = 0;
	now->derived_count = now->flag_count = now->proof_count = now->fact_count = 0;
	now->check_status = "none";
	now->check_detail[0] = '\0';
	now->state.count = 0;
	now->clock_before_hz = now->clock_after_hz = NAN;
	now->throttled = 0;
	now->elapsed_s = 0.0;
}
