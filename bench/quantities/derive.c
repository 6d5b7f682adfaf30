/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/vec.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "seconds(serial) / seconds": without a name, of the variant that the quantity is of. */
static void put_formula(const struct bench_case *c, const struct bench_quantity *q,
			struct bench_derived *d)
{
	const char *what = q->kind == BENCH_SHARE ? "rate" : "seconds";
	char text[2][64] = {"", ""};
	for (size_t i = 0; i < 2 && q->of[i].sum; i++) {
		const int v = __builtin_ctzll(q->of[i].sum);
		snprintf(text[i], sizeof(text[i]), v == d->variant ? "%s" : "%s(%s)", what,
			 c->run->b->variants[v].name);
	}
	text_fit(d->formula, sizeof(d->formula), "%s %c %s", text[0],
		 q->kind == BENCH_DIFFERENCE ? '-' : '/', text[1]);
}

uint64_t bench_uses_of(const struct bench_quantity *q)
{
	uint64_t uses = 0;
	for (size_t i = 0; i < BENCH_TERMS; i++)
		uses |= q->of[i].sum | q->of[i].longest;
	return uses;
}

const char *bench_unit_of(enum bench_kind kind, const char *unit)
{
	return unit ? unit : kind == BENCH_TIME || kind == BENCH_DIFFERENCE ? "s" : "";
}

/* NULL without memory; then the case fails. */
static struct bench_derived *add_derived(struct bench_case *c, const char *name, int variant,
					 const struct bench_quantity *q, const char *formula)
{
	struct quantities *now = c->run->quantities;
	struct bench_derived *grown =
		vec_grow(now->derived, now->count, &now->capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(c, "derive", name);
		return NULL;
	}
	now->derived = grown;
	struct bench_derived *d = &grown[now->count++];
	*d = (struct bench_derived){.variant = variant,
				    .quantity = *q,
				    .uses = bench_uses_of(q),
				    .value = NAN,
				    .low = NAN,
				    .high = NAN,
				    .bound = NAN,
				    .share = NAN};
	text_fit(d->name, sizeof(d->name), "%s", name);
	snprintf(d->unit, sizeof(d->unit), "%s", bench_unit_of(q->kind, q->unit));
	if (formula)
		text_fit(d->formula, sizeof(d->formula), "%s", formula);
	else
		put_formula(c, q, d);
	return d;
}

/* True if all variants in the bit mask were measured. */
static bool variants_on(const struct bench_case *c, uint64_t uses)
{
	for (unsigned v = 0; v < c->run->variant_count; v++)
		if (uses >> v & 1 && !bench_variant_on(c, v))
			return false;
	return true;
}

/* Statistic of the finite values of x, which are moved into `finite`: it holds 2 n + 2 numbers. */
static void set_statistic(struct bench_derived *d, const double *x, size_t n, double *finite)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			finite[count++] = x[i];
	d->rounds = count;
	if (count == 0)
		return;
	struct stats_summary s = stats_summarise(finite, count, finite + n + 1);
	d->value = s.median;
	d->low = s.ci_low;
	d->high = s.ci_high;
}

int bench_derive_samples(struct bench_case *c, const char *name, int variant, const char *unit,
			 uint64_t uses, const double *x, size_t n, const char *formula)
{
	if (!variants_on(c, uses))
		return 0;
	double *finite = malloc((n + 1) * 2 * sizeof(*finite));
	if (!finite)
		return err_note(-ENOMEM, "derive %s: out of memory", name);
	const struct bench_quantity q = {BENCH_OBSERVED, {{.sum = uses}}, .unit = unit};
	struct bench_derived *d = add_derived(c, name, variant, &q, formula);
	if (!d) {
		free(finite);
		return c->status;
	}
	set_statistic(d, x, n, finite);
	d->observations = finite;
	return 0;
}

double bench_seconds_of(const struct bench_seconds *of, const double *seconds)
{
	double sum = 0.0, longest = 0.0;
	for (unsigned v = 0; v < BENCH_VARIANTS && (of->sum | of->longest) >> v; v++) {
		sum += of->sum >> v & 1 ? seconds[v] : 0.0;
		longest = of->longest >> v & 1 ? fmax(longest, seconds[v]) : longest;
	}
	return sum + longest;
}

static double round_value(const struct bench_quantity *q, const struct bench_round *r)
{
	double t[BENCH_TERMS];
	for (size_t i = 0; i < BENCH_TERMS; i++)
		t[i] = bench_seconds_of(&q->of[i], r->seconds);
	switch (q->kind) {
	case BENCH_FORMULA:
		return q->f(r);
	case BENCH_TIME:
		return q->factor > 0.0 ? t[0] / q->factor : t[0];
	case BENCH_DIFFERENCE:
		return t[0] - t[1];
	case BENCH_RATIO:
		return t[0] / t[1];
	case BENCH_SHARE:
		return q->factor * t[1] / t[0];
	case BENCH_FRACTION:
		return (t[0] / t[1] - 1.0) / (t[2] / t[3] - 1.0);
	default: /* of the time: bench_derive() forms the rate of its median */
		return t[0];
	}
}

/* A rate falls as time grows, so the ends of its interval are those of the time, exchanged. */
static void set_rate(struct bench_derived *d)
{
	const double low = d->low;
	d->value = d->quantity.factor / d->value;
	d->low = d->quantity.factor / d->high;
	d->high = low > 0.0 ? d->quantity.factor / low : NAN;
}

int bench_derive(struct bench_case *c, const char *name, int variant,
		 const struct bench_quantity *q, const char *formula)
{
	const struct sampling *now = c->run->sampling;
	double seconds[BENCH_VARIANTS];
	const struct bench_round round = {
		.c = c, .seconds = seconds, .variant = variant, .arg = q->arg};
	const size_t rounds = now->rounds;
	const uint64_t uses = bench_uses_of(q);
	if (!variants_on(c, uses))
		return 0;
	double *x = malloc((rounds + 1) * 3 * sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "derive %s: out of memory", name);
	for (size_t i = 0; i < rounds; i++) {
		for (unsigned v = 0; v < BENCH_VARIANTS; v++)
			seconds[v] = uses >> v & 1 ? now->samples[v].seconds[i] : NAN;
		x[i] = round_value(q, &round);
	}
	struct bench_derived *d = add_derived(c, name, variant, q, formula);
	if (d)
		set_statistic(d, x, rounds, x + rounds + 1);
	if (d && q->kind == BENCH_RATE)
		set_rate(d);
	/* A model's time is the same in every round, but for rounding. */
	if (d && q->modelled) {
		d->low = d->high = NAN;
		d->rounds = 0;
	}
	free(x);
	return d ? 0 : c->status;
}

/* Derive from two variants, A and B, and report under `variant`. */
static int derive_pair(struct bench_case *c, const char *name, enum bench_kind kind,
		       unsigned variant, unsigned a, unsigned b, const char *formula)
{
	const struct bench_quantity q = {kind, .of = {BENCH_OF(a), BENCH_OF(b)}};
	return bench_derive(c, name, (int)variant, &q, formula);
}

int bench_ratio(struct bench_case *c, const char *name, unsigned numerator, unsigned denominator,
		const char *formula)
{
	return derive_pair(c, name, BENCH_RATIO, numerator, numerator, denominator, formula);
}

int bench_speedup(struct bench_case *c, const char *name, unsigned variant, unsigned over,
		  const char *formula)
{
	return derive_pair(c, name, BENCH_RATIO, variant, over, variant, formula);
}

int bench_difference(struct bench_case *c, const char *name, unsigned variant, unsigned less,
		     const char *formula)
{
	return derive_pair(c, name, BENCH_DIFFERENCE, variant, variant, less, formula);
}

int bench_time_each(struct bench_case *c, const char *name, unsigned variant, double count,
		    const char *formula)
{
	const struct bench_quantity q = {BENCH_TIME, .of = {BENCH_OF(variant)}, .factor = count};
	return bench_derive(c, name, (int)variant, &q, formula);
}

int bench_rate(struct bench_case *c, const char *name, unsigned variant, double work,
	       const char *unit, const char *formula)
{
	const struct bench_quantity q = {BENCH_RATE, .of = {BENCH_OF(variant)}, .factor = work,
					 .unit = unit};
	return bench_derive(c, name, (int)variant, &q, formula);
}

/* A's work / B's, of that which both have. */
static double share_of_work(const struct bench_case *c, unsigned a, unsigned b)
{
	const struct bench_model of = bench_work(c, a), to = bench_work(c, b);
	if (of.flops > 0.0 && to.flops > 0.0)
		return of.flops / to.flops;
	if (of.ops > 0.0 && to.ops > 0.0)
		return of.ops / to.ops;
	return of.bytes > 0.0 && to.bytes > 0.0 ? of.bytes / to.bytes : of.messages / to.messages;
}

static int derive_row(struct bench_case *c, const struct bench_quantity_row *row, unsigned of)
{
	const unsigned to = bench_variant(c, row->to);
	const bool inverse = row->kind == BENCH_SPEEDUP;
	const struct bench_quantity q = {
		inverse ? BENCH_RATIO : row->kind,
		.of = {BENCH_OF(inverse ? to : of), BENCH_OF(inverse ? of : to)},
		.factor = row->kind == BENCH_SHARE ? share_of_work(c, of, to) : 0.0,
		.modelled = row->modelled};
	return bench_derive(c, row->name, (int)of, &q, row->formula);
}

int bench_derive_rows(struct bench_run *r)
{
	int status = 0;
	for (const struct bench_quantity_row *row = r->b->quantities; row && row->name; row++) {
		if (!row->to)
			continue;
		for (unsigned v = 0; status == 0 && v < r->variant_count; v++)
			if (row->of ? v == bench_variant(&r->c, row->of)
				    : !r->b->variants[v].reference &&
					      v != bench_variant(&r->c, row->to))
				status = derive_row(&r->c, row, v);
	}
	return status;
}

void bench_value(struct bench_case *c, const char *name, int variant, double value,
		 const char *unit, const char *formula)
{
	const uint64_t of = variant < 0 ? 0 : UINT64_C(1) << variant;
	const struct bench_quantity q = {BENCH_VALUE, {{.sum = of}}, .unit = unit};
	struct bench_derived *d = add_derived(c, name, variant, &q, formula);
	if (d)
		d->value = value;
}

void bench_no_value(struct bench_case *c, const char *name, int variant,
		    const struct bench_quantity *q, const char *formula, const char *reason)
{
	struct bench_derived *d = add_derived(c, name, variant, q, formula);
	if (d)
		text_fit(d->reason, sizeof(d->reason), "%s", reason);
}

void bench_model_value(struct bench_case *c, const char *name, int variant, double value,
		       const char *unit, const char *formula)
{
	const struct bench_quantity q = {BENCH_MODEL, .unit = unit, .modelled = true};
	struct bench_derived *d = add_derived(c, name, variant, &q, formula);
	if (d)
		d->value = value;
}

struct bench_derived *bench_find_derived(struct bench_run *r, const char *name, int variant)
{
	struct quantities *now = r->quantities;
	for (size_t i = now->count; i-- > 0;)
		if (now->derived[i].variant == variant && strcmp(now->derived[i].name, name) == 0)
			return &now->derived[i];
	return NULL;
}

static struct bench_derived *add_alias(struct bench_case *c, const char *name, int variant,
				       const char *alias, const char *formula)
{
	const struct bench_derived *found = bench_find_derived(c->run, name, variant);
	if (!found)
		return NULL;
	/* A copy, for the list may move when it grows. */
	const struct bench_derived from = *found;
	struct bench_derived *to = add_derived(c, alias, variant, &from.quantity, formula);
	if (!to)
		return NULL;
	*to = from;
	to->observations = NULL;
	text_fit(to->name, sizeof(to->name), "%s", alias);
	text_fit(to->formula, sizeof(to->formula), "%s", formula);
	return to;
}

void bench_alias(struct bench_case *c, const char *name, int variant, const char *alias,
		 const char *formula)
{
	add_alias(c, name, variant, alias, formula);
}

void bench_alias_fastest(struct bench_case *c, const char *name, uint64_t variants,
			 const char *alias, const char *formula)
{
	int fastest = -1;
	uint64_t compared = 0;
	assert(strncmp(alias, "best_", 5) == 0); /* the report knows it by that */
	for (int v = 0; v < (int)c->run->variant_count; v++) {
		const bool asked = c->run->selected >> v & 1;
		if (!(variants >> v & 1))
			continue;
		if (!asked || c->run->sampling->samples[v].lost)
			return;
		if (!bench_variant_on(c, (unsigned)v))
			continue;
		compared |= UINT64_C(1) << v;
		if (fastest < 0 ||
		    bench_median(c, (unsigned)v) < bench_median(c, (unsigned)fastest))
			fastest = v;
	}
	struct bench_derived *to = add_alias(c, name, fastest, alias, formula);
	if (!to)
		return;
	to->variant = -1;
	to->uses = compared;
}

static void derive_rates_of(struct bench_case *c, unsigned v)
{
	const struct bench_model *m = &c->run->sampling->samples[v].model;
	const struct {
		const char *name, *unit, *formula;
		double work;
	} rates[] = {{"bandwidth", "byte/s", "bytes / median_s", m->bytes},
		     {"flop_rate", "flop/s", "flops / median_s", m->flops},
		     {"op_rate", "op/s", "ops / median_s", m->ops},
		     {"message_rate", "1/s", "messages / median_s", m->messages}};
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i].work > 0.0 && bench_median(c, v) > 0.0)
			TRY(c->status, bench_rate(c, rates[i].name, v, rates[i].work, rates[i].unit,
						  rates[i].formula));
}

void bench_derive_rates(struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->sampling->samples[v];
		const struct bench_quantity time = {BENCH_TIME, .of = {BENCH_OF(v)}};
		if (s->lost)
			bench_no_value(&r->c, "time", (int)v, &time, "median_s", "");
		if (!s->on || r->sampling->rounds == 0)
			continue;
		s->model = bench_work(&r->c, v);
		TRY(r->c.status, bench_derive(&r->c, "time", (int)v, &time, "median_s"));
		derive_rates_of(&r->c, v);
	}
}

void bench_quantities_restore(struct quantities *q, size_t count)
{
	for (size_t i = count; i < q->count; i++)
		free(q->derived[i].observations);
	q->count = count;
}

void bench_quantities_free(struct quantities *q)
{
	bench_quantities_restore(q, 0);
	free(q->derived);
}
