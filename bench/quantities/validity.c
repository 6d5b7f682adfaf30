/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/text.h"

#include <math.h>
#include <stdarg.h>

bool bench_derived_valid(const struct bench_run *r, const struct bench_derived *d)
{
	if (!isfinite(d->value) || d->flagged)
		return false;
	if (d->quantity.modelled)
		return true;
	if (bench_flagged(r, d->variant))
		return false;
	for (int v = 0; v < (int)r->variant_count; v++)
		if (d->uses >> v & 1 && bench_flagged(r, v))
			return false;
	return true;
}

bool bench_derived_graded(const struct bench_run *r, const struct bench_derived *d,
			  const char *grade)
{
	if (d->quantity.modelled)
		return false;
	if (bench_graded(r, d->variant, grade))
		return true;
	const uint64_t of = bench_uses_of(&d->quantity);
	for (int v = 0; v < (int)r->variant_count; v++)
		if (of >> v & 1 && bench_graded(r, v, grade))
			return true;
	return false;
}

const char *bench_derived_reason(const struct bench_run *r, const struct bench_derived *d)
{
	bool lost = d->variant >= 0 && r->sampling->samples[d->variant].lost;
	return d->reason[0]           ? d->reason
	       : d->quantity.modelled ? "the model has no value"
	       : lost                 ? "gate: every sample was lost"
				      : "no round gave a finite value";
}

void bench_flag_value(struct bench_case *c, const char *name, int variant, const char *flag,
		      const char *format, ...)
{
	struct bench_derived *d = bench_find_derived(c->run, name, variant);
	va_list args;
	if (!d)
		return;
	d->flagged = true;
	va_start(args, format);
	bench_add_flag(c->run, flag, variant, name, format, args);
	va_end(args);
}

bool bench_outside(const struct bench_case *c, const char *name, int variant, double low,
		   double high)
{
	const struct bench_derived *d = bench_find_derived(c->run, name, variant);
	return d && ((isnan(d->low) ? d->value : d->low) > high ||
		     (isnan(d->high) ? d->value : d->high) < low);
}

/* ---------------------------------------------------------------- bounds */

void bench_bound(struct bench_case *c, const char *name, int variant, double bound,
		 const char *bound_name)
{
	struct bench_derived *d = bench_find_derived(c->run, name, variant);
	if (!d)
		return;
	d->bound = bound;
	d->share = d->value / bound;
	text_fit(d->bound_name, sizeof(d->bound_name), "%s", bound_name);
	/* Flag only when the whole interval lies above the bound. */
	double min_value = isnan(d->low) ? d->value : d->low;
	if (min_value > bound * (1.0 + BENCH_BOUND_TOLERANCE))
		bench_flag_variant(c->run, "above_bound", variant, "%s %.4g %s is above %s, %.4g",
				   name, d->value, d->unit, bound_name, bound);
}

void bench_nominal(struct bench_case *c, const char *name, int variant, double nominal,
		   bool is_bound)
{
	struct bench_derived *d = bench_find_derived(c->run, name, variant);
	if (!d || !(nominal > 0.0))
		return;
	if (is_bound) {
		bench_bound(c, name, variant, nominal, BENCH_NOMINAL);
		return;
	}
	d->bound = nominal;
	d->share = d->value / nominal;
	text_fit(d->bound_name, sizeof(d->bound_name), BENCH_NOMINAL);
}

void bench_bound_share(struct bench_case *c, const char *name, int variant, const char *share)
{
	struct bench_derived *d = bench_find_derived(c->run, name, variant);
	const struct bench_derived *of = share ? bench_find_derived(c->run, share, variant) : NULL;
	if (d)
		d->share = of ? of->value : NAN;
}
