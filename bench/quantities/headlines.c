/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/run/point.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A time so much longer or shorter than the others shows in whatever depends on it. */
#define FAR_APART 1e12

struct bench_derived *bench_find_metric(struct bench_run *r, const struct bench_metric *m)
{
	int variant = -1;
	for (size_t v = 0; m->variant && v < r->variant_count; v++)
		if (strcmp(r->b->variants[v].name, m->variant) == 0)
			variant = (int)v;
	return bench_find_derived(r, m->derived, variant);
}

static const struct bench_quantity_row *find_quantity(const struct bench_run *r, const char *name)
{
	static const struct bench_quantity_row own[] = {{"time", BENCH_TIME},
							{"bandwidth", BENCH_RATE, .unit = "byte/s"},
							{"flop_rate", BENCH_RATE, .unit = "flop/s"},
							{"op_rate", BENCH_RATE, .unit = "op/s"},
							{"message_rate", BENCH_RATE, .unit = "1/s"},
							{0}};
	const struct bench_quantity_row *lists[] = {r->b->quantities, own};
	for (size_t i = 0; i < 2; i++)
		for (const struct bench_quantity_row *q = lists[i]; q && q->name; q++)
			if (strcmp(q->name, name) == 0)
				return q;
	assert(false);
	return NULL;
}

/* As the row says; else a value is better as its unit is, anything else as its kind is. */
bool bench_more_is_better(const struct bench_run *r, const char *name)
{
	const struct bench_quantity_row *q = find_quantity(r, name);
	const char *per = q->unit ? strrchr(q->unit, '/') : NULL;
	return q->more_is_better || q->kind == BENCH_SPEEDUP || q->kind == BENCH_SHARE ||
	       q->kind == BENCH_FRACTION || (per && strcmp(per, "/s") == 0);
}

static void put_better(struct json *j, const struct bench_run *r, const char *name)
{
	json_string(j, "better", bench_more_is_better(r, name) ? "higher" : "lower");
}

void bench_headlines_write(struct json *j, struct bench_run *r)
{
	json_array_begin(j, "primary");
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++) {
		json_object_begin(j, NULL);
		json_string(j, "metric", m->metric);
		json_string(j, "derived", m->derived);
		json_string(j, "variant", m->variant);
		bench_write_where(j, r, m->where);
		const struct bench_quantity_row *q = find_quantity(r, m->derived);
		json_string(j, "unit", bench_unit_of(q->kind, q->unit));
		put_better(j, r, m->derived);
		json_object_end(j);
	}
	json_array_end(j);
}

void bench_cliff_write(struct json *j, struct bench_run *r)
{
	const struct bench_cliff *cliff = &r->b->cliff;
	if (!cliff->axis)
		return;
	json_object_begin(j, "cliff");
	json_string(j, "axis", cliff->axis);
	json_string(j, "derived", cliff->derived);
	json_string(j, "variant", cliff->variant);
	bench_write_where(j, r, cliff->where);
	put_better(j, r, cliff->derived);
	json_object_end(j);
}

/* ------------------------------------------------------------------ the variants they need */

/* Headline numbers as derived from one round of made-up times. */
struct rehearsal {
	uint64_t uses; /* all variants that they are of */
	uint64_t hash; /* of value, bound, share and validity of each */
};

static uint64_t add_to_hash(uint64_t hash, double value)
{
	uint64_t word = 0;
	if (!isnan(value))
		memcpy(&word, &value, sizeof(word));
	return (hash ^ word) * 0x100000001b3u;
}

static struct rehearsal read_headlines(struct bench_run *r)
{
	struct rehearsal x = {0};
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++) {
		const struct bench_derived *d =
			bench_is_headline(r, m) ? bench_find_metric(r, m) : NULL;
		if (!d)
			continue;
		x.uses |= d->uses | (d->variant < 0 ? 0 : UINT64_C(1) << d->variant);
		x.hash = add_to_hash(x.hash, d->value);
		x.hash = add_to_hash(x.hash, d->bound);
		x.hash = add_to_hash(x.hash, d->share);
		x.hash = add_to_hash(x.hash, bench_derived_valid(r, d));
	}
	return x;
}

/* Leaves no trace but what it returns. */
static int rehearse_headlines(struct bench_run *r, const double *seconds, struct rehearsal *x)
{
	struct sampling *now = r->sampling;
	const struct notes notes = *r->notes;
	const size_t derived = r->quantities->count;
	const struct rng rng = r->c.rng;
	now->rounds = 1;
	for (unsigned v = 0; v < r->variant_count; v++) {
		now->samples[v].seconds[0] = seconds[v];
		now->samples[v].summary.median = now->samples[v].summary.min = seconds[v];
	}
	bench_derive_rates(r);
	int status = bench_derive_rows(r);
	if (status == 0 && r->b->derive)
		status = r->b->derive(&r->c);
	status = TRY(r->c.status, status);
	*x = read_headlines(r);
	for (unsigned v = 0; v < r->variant_count; v++) {
		now->samples[v].summary = (struct stats_summary){0};
		now->samples[v].model = (struct bench_model){0};
	}
	now->rounds = 0;
	r->c.rng = rng;
	r->c.status = 0;
	bench_notes_restore(r->notes, &notes);
	bench_quantities_restore(r->quantities, derived);
	err_clear();
	return status;
}

/* The faster of two such references is the bound, so that changing one alone may change nothing. */
static bool is_plain_reference(const struct bench_variant *v) { return v->reference && !v->always; }

/* The variants that the headline numbers are of, or on whose time their value, bound, share or
 * validity depends. */
static int find_needed(struct bench_run *r, uint64_t *needed)
{
	double seconds[BENCH_VARIANTS];
	struct rehearsal all, changed;
	for (unsigned v = 0; v < BENCH_VARIANTS; v++)
		seconds[v] = 1.0;
	int status = rehearse_headlines(r, seconds, &all);
	*needed = all.uses;
	for (unsigned v = 0; v < r->variant_count && *needed; v++) {
		const double others[] = {FAR_APART, 1.0 / FAR_APART};
		*needed |= (uint64_t)is_plain_reference(&r->b->variants[v]) << v;
		for (unsigned i = 0; status == 0 && i < 2; i++) {
			if (*needed >> v & 1 || !bench_variant_on(&r->c, v))
				break;
			seconds[v] = others[i];
			status = rehearse_headlines(r, seconds, &changed);
			*needed |= (uint64_t)(changed.hash != all.hash) << v;
		}
		seconds[v] = 1.0;
	}
	return status;
}

static void leave_out(struct bench_run *r, uint64_t variants)
{
	char names[BENCH_VARIANTS * 48] = "";
	size_t used = 0;
	for (unsigned v = 0; v < r->variant_count; v++) {
		if (!(variants >> v & 1) || !bench_variant_on(&r->c, v))
			continue;
		bench_variant_off(&r->c, v);
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", r->b->variants[v].name);
		assert(used < sizeof(names));
	}
	if (used)
		bench_fact_text(&r->c, "not_measured_for_headline", names);
}

void bench_headline_variants(struct bench_run *r)
{
	uint64_t needed;
	if (find_needed(r, &needed) == 0 && needed)
		leave_out(r, ~needed);
}
