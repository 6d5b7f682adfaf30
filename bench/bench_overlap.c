/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_overlap.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Smaller ideal gains count as noise even on a quiet machine. */
#define MIN_GAIN 0.04

#define SUM(o) ((struct bench_seconds){.sum = (o)->sum})
#define LONGEST(o) ((struct bench_seconds){.longest = (o)->longest})

/* Name of one of the three quantities. */
struct name {
	char text[48];
};

static struct name name_with_suffix(const char *quantity, const struct bench_overlap *o)
{
	struct name n;
	snprintf(n.text, sizeof(n.text), "%s%s", quantity, o->suffix ? o->suffix : "");
	return n;
}

/* S_ideal, of the case or of the variant. */
static const struct bench_derived *find_ideal(const struct bench_case *c,
					      const struct bench_overlap *o, unsigned variant)
{
	return bench_find_derived(c->run, name_with_suffix("S_ideal", o).text,
				  o->own_ideal ? (int)variant : -1);
}

/* The ends of an interval, or the value where there is none. */
static double interval_low(const struct bench_derived *d)
{
	return isnan(d->low) ? d->value : d->low;
}
static double interval_high(const struct bench_derived *d)
{
	return isnan(d->high) ? d->value : d->high;
}

/* True if S_ideal is within noise of 1; the reason is in `why`. */
static bool gain_is_noise(const struct bench_derived *ideal, const struct bench_derived *s,
			  char *why, size_t capacity)
{
	double noise = fmax(interval_high(ideal) - interval_low(ideal),
			    interval_high(s) - interval_low(s)),
	       limit = 1.0 + fmax(MIN_GAIN, noise);
	snprintf(why, capacity, "%s %.4g is within noise of 1; the limit is %.4g", ideal->name,
		 ideal->value, limit);
	return ideal->value <= limit;
}

void bench_overlap_limit(struct bench_case *c, const struct bench_overlap *o, const char *name,
			 unsigned variant)
{
	const struct bench_derived *s = bench_find_derived(c->run, name, (int)variant),
				   *ideal = find_ideal(c, o, variant);
	if (!s || !ideal ||
	    !(interval_low(s) > interval_high(ideal) * (1.0 + BENCH_BOUND_TOLERANCE)))
		return;
	double medians[BENCH_VARIANTS];
	for (unsigned v = 0; v < BENCH_VARIANTS; v++)
		medians[v] = v < c->run->variant_count ? bench_median(c, v) : NAN;
	bench_flag_value(c, name, (int)variant, "above_bound",
			 "%s %.4g is above %s %.4g: serial takes %.3g times the parts' sum, this "
			 "%.3g times the longest part",
			 name, s->value, ideal->name, ideal->value,
			 medians[o->serial] / bench_seconds_of(&SUM(o), medians),
			 medians[variant] / bench_seconds_of(&LONGEST(o), medians));
}

static int derive_ideal(struct bench_case *c, const struct bench_overlap *o, int variant)
{
	const struct bench_quantity q = {BENCH_RATIO, .of = {SUM(o), LONGEST(o)}};
	return bench_derive(c, name_with_suffix("S_ideal", o).text, variant, &q,
			    "sum of the parts / the longest part, each alone");
}

static int derive_variant(struct bench_case *c, const struct bench_overlap *o, unsigned variant)
{
	static const char formula[] = "(S - 1) / (S_ideal - 1), unclamped";
	const struct name s_name = name_with_suffix("S", o),
			  fraction = name_with_suffix("fraction_of_ideal", o);
	const struct bench_quantity q = {
		BENCH_FRACTION, .of = {BENCH_OF(o->serial), BENCH_OF(variant), SUM(o), LONGEST(o)}};
	char why[128];
	int status = bench_speedup(c, s_name.text, variant, o->serial, NULL);
	if (o->own_ideal)
		TRY(status, derive_ideal(c, o, (int)variant));
	const struct bench_derived *s = bench_find_derived(c->run, s_name.text, (int)variant),
				   *ideal = find_ideal(c, o, variant);
	if (status || !s || !ideal)
		return status;
	bench_overlap_limit(c, o, s_name.text, variant);
	bool flagged = s->flagged;
	if (gain_is_noise(ideal, s, why, sizeof(why))) {
		bench_no_value(c, fraction.text, (int)variant, &q, formula, why);
		return 0;
	}
	status = bench_derive(c, fraction.text, (int)variant, &q, formula);
	if (flagged)
		bench_flag_value(c, fraction.text, (int)variant, "above_bound",
				 "%s is above S_ideal", s_name.text);
	return status;
}

int bench_derive_overlap(struct bench_case *c, const struct bench_overlap *o, uint64_t variants)
{
	int status = o->own_ideal ? 0 : derive_ideal(c, o, -1);
	for (unsigned v = 0; status == 0 && v < c->run->variant_count; v++)
		if (variants >> v & 1)
			status = derive_variant(c, o, v);
	return status;
}

/* ------------------------------------------------------------------ the fastest */

/* Lower end of the interval of seconds(v) / seconds(best). `x`: twice as many numbers as rounds. */
static double min_time_ratio(const struct bench_run *r, unsigned v, unsigned best, double *x)
{
	uint32_t n = r->sampling->rounds;
	for (uint32_t i = 0; i < n; i++)
		x[i] = r->sampling->samples[v].seconds[i] / r->sampling->samples[best].seconds[i];
	struct stats_summary s = stats_summarise(x, n, x + n);
	return isnan(s.ci_low) ? s.median : s.ci_low;
}

int bench_fastest(struct bench_case *c, uint64_t variants, uint64_t *fastest_p)
{
	const struct bench_run *r = c->run;
	unsigned best = BENCH_VARIANTS;
	*fastest_p = 0;
	for (unsigned v = 0; v < r->variant_count; v++) {
		/* A flag of the whole case concerns all alike. */
		bool valid = bench_flagged(r, -1) || !bench_flagged(r, (int)v);
		if (!bench_variant_on(c, v) || !valid)
			variants &= ~(UINT64_C(1) << v);
		if (variants >> v & 1 &&
		    (best == BENCH_VARIANTS || bench_median(c, v) < bench_median(c, best)))
			best = v;
	}
	if (best == BENCH_VARIANTS || r->sampling->rounds == 0)
		return 0;
	double *x = malloc(2 * (size_t)r->sampling->rounds * sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "fastest variants: out of memory");
	for (unsigned v = 0; v < r->variant_count; v++)
		if (variants >> v & 1 && min_time_ratio(r, v, best, x) <= BENCH_TIE)
			*fastest_p |= UINT64_C(1) << v;
	free(x);
	return 0;
}
