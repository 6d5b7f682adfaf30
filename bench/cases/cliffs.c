/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/cliffs.h"
#include "bench/cases/cases.h"
#include "bench/quantities/quantities.h"
#include "bench/run/point.h"
#include "lib/err.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least growth of the cost that is looked at. */
#define FALL 1.25
#define NEAR 1.05     /* neighbours at this ratio are near enough */
#define APART 1.1     /* with a gap of this ratio next to it a value stands alone */
#define MOST_ADDED 24 /* on a curve, where each costs its time */
#define PARTS 64      /* places are multiples of a power of two, about such a part of them */

static size_t axis_of(const struct bench_run *r)
{
	return bench_axis_position(r, r->b->cliff.axis);
}

/* Distance between cases that differ in the next value of the axis. */
static size_t stride_of(const struct bench_run *r)
{
	size_t stride = 1;
	for (size_t a = axis_of(r) + 1; a < r->axis_count; a++)
		stride *= r->axes[a].count;
	return stride;
}

static size_t curve_of(const struct bench_run *r, size_t index)
{
	const size_t stride = stride_of(r);
	return index - index / stride % r->axes[axis_of(r)].count * stride;
}

/* The number of "64", or of "n64"; 0: there is none. */
static uint64_t number_in(const char *text)
{
	text += *text == 'n';
	return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

static uint64_t number_of(const struct bench_run *r, const struct axis_value *value)
{
	if (r->b->axes[axis_of(r)].kind != AXIS_WORD)
		return value->number;
	return *value->word == 'n' ? number_in(value->word) : 0;
}

static void set_value(struct bench_run *r, uint64_t at)
{
	struct axis_value *value = &r->point[axis_of(r)];
	if (r->b->axes[axis_of(r)].kind == AXIS_WORD) {
		snprintf(r->cases->cliffs.word, sizeof(r->cases->cliffs.word), "n%" PRIu64, at);
		value->word = r->cases->cliffs.word;
	} else {
		value->number = at;
	}
}

void bench_set_case(struct bench_run *r, const struct chosen_case *one)
{
	bench_set_point(r, one->index);
	if (one->added) {
		set_value(r, one->added);
		bench_set_key(r);
	}
}

static bool is_listed(const struct bench_run *r, uint64_t at)
{
	const struct axis_list *list = &r->axes[axis_of(r)];
	for (size_t i = 0; i < list->count; i++)
		if (number_of(r, &list->values[i]) == at)
			return true;
	return false;
}

/* True if a case may have been added there. */
static bool is_between(const struct bench_run *r, uint64_t at)
{
	const struct axis_list *list = &r->axes[axis_of(r)];
	const uint64_t multiple = r->b->axes[axis_of(r)].multiple;
	bool below = false, above = false;
	for (size_t i = 0; i < list->count; i++) {
		const uint64_t number = number_of(r, &list->values[i]);
		below = below || (number && number < at);
		above = above || number > at;
	}
	return below && above && (!multiple || at % multiple == 0);
}

/* ------------------------------------------------------------------ points */

static int compare_points(const void *a, const void *b)
{
	const struct cliff_point *x = a, *y = b;
	if (x->curve != y->curve)
		return x->curve < y->curve ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int add_point(struct cliffs *cliffs, struct cliff_point point)
{
	struct cliff_point *grown =
		vec_grow(cliffs->points, cliffs->count, &cliffs->capacity, sizeof(*grown));
	if (!grown)
		return err_note(-ENOMEM, "points of a curve: out of memory");
	cliffs->points = grown;
	grown[cliffs->count++] = point;
	qsort(grown, cliffs->count, sizeof(*grown), compare_points);
	return 0;
}

static bool has_curve(const struct bench_run *r)
{
	return bench_is_headline(r, &(struct bench_metric){.where = r->b->cliff.where});
}

/* Value of the axis in the key of a case; 0: none. */
static uint64_t value_in(const struct bench_run *r, const char *key)
{
	const char *axis = r->b->cliff.axis, *space;
	const size_t length = strlen(axis);
	for (; strncmp(key, axis, length) != 0 || key[length] != '='; key = space + 1)
		if (!(space = strchr(key, ' ')))
			return 0;
	return number_in(key + length + 1);
}

bool cliffs_find_case(struct bench_run *r, const char *key, struct chosen_case *one_p)
{
	const uint64_t value = r->b->cliff.axis ? value_in(r, key) : 0;
	for (size_t i = 0; value && i < r->cases->count.total && !bench_interrupted; i++) {
		if (curve_of(r, i) != i)
			continue;
		*one_p = (struct chosen_case){.index = i, .added = value};
		bench_set_case(r, one_p);
		if (strcmp(r->key, key) == 0)
			return is_listed(r, value) || (is_between(r, value) && has_curve(r));
	}
	return false;
}

/* The interval of the value is taken as seconds, or as 1 / the rate. */
static int add_value(struct bench_run *r, size_t curve, uint64_t at, double low, double high)
{
	const bool is_cost = !bench_more_is_better(r, r->b->cliff.derived);
	return add_point(&r->cases->cliffs,
			 (struct cliff_point){.curve = curve,
					      .at = at,
					      .low = is_cost ? low : 1.0 / high,
					      .high = is_cost ? high : 1.0 / low});
}

static int take_done(struct bench_run *r)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->cases->done.count; i++) {
		const struct case_key *key = &r->cases->done.key[i];
		struct chosen_case one;
		if (!cliffs_find_case(r, key->text, &one))
			continue;
		r->cases->cliffs.added_before += !is_listed(r, one.added);
		if (has_curve(r))
			status = add_value(r, one.index, one.added, key->low, key->high);
	}
	return status;
}

int cliffs_open(struct bench_run *r)
{
	static const char defaults[] = "default";
	const bool all =
		!r->o.headline && !r->o.cases && !r->o.format && r->o.check != BENCH_CHECK_EVERY;
	if (!r->b->cliff.axis)
		return 0;
	const char *given = r->o.axis[axis_of(r)];
	r->cases->cliffs.wanted =
		all && (!given || strncmp(given, defaults, strlen(defaults)) == 0);
	return r->o.cases ? 0 : take_done(r);
}

void cliffs_free(struct cliffs *cliffs)
{
	free(cliffs->points);
	*cliffs = (struct cliffs){0};
}

int cliffs_note_case(struct bench_run *r, const struct chosen_case *one)
{
	const struct bench_cliff *cliff = &r->b->cliff;
	const uint64_t at = cliff->axis ? number_of(r, &r->point[axis_of(r)]) : 0;
	if (!r->cases->cliffs.wanted || at == 0 || !has_curve(r))
		return 0;
	const struct bench_metric metric = {.derived = cliff->derived, .variant = cliff->variant};
	const struct bench_derived *d = bench_find_metric(r, &metric);
	double low = NAN, high = NAN;
	if (d && bench_derived_valid(r, d)) {
		low = isfinite(d->low) ? d->low : d->value;
		high = isfinite(d->high) ? d->high : d->value;
	}
	return add_value(r, curve_of(r, one->index), at, low, high);
}

/* ------------------------------------------------------------------ the next case */

static double ratio_of_places(const struct cliff_point *low, const struct cliff_point *high)
{
	return (double)high->at / (double)low->at;
}

static double cost_of(const struct cliff_point *p) { return sqrt(p->low * p->high); }

/* Not where one of them is unknown. */
static bool is_fall(const struct cliff_point *from, const struct cliff_point *to)
{
	return cost_of(to) >= FALL * cost_of(from) && to->low > from->high;
}

/* A round number near `wanted` between the two, or 0: there is none. */
static uint64_t place_between(const struct bench_run *r, const struct cliff_point *low,
			      const struct cliff_point *high, double wanted)
{
	const uint64_t multiple = r->b->axes[axis_of(r)].multiple;
	uint64_t grain = 1;
	while (grain * 2 <= low->at / PARTS)
		grain *= 2;
	grain = multiple > grain ? multiple : grain;
	uint64_t at = (uint64_t)(wanted / (double)grain + 0.5) * grain;
	at -= multiple ? at % multiple : 0;
	return at > low->at && at < high->at ? at : 0;
}

/* Points an octave that are wanted anywhere; 0: only those at falls. */
static unsigned octave_of(const struct bench_run *r)
{
	return bench_virtual(r) && !bench_has_results(&r->c) ? r->b->axes[axis_of(r)].octave : 0;
}

/* Number of parts to divide two neighbours into; slightly more than an octave's part is one. */
static unsigned parts_between(const struct bench_run *r, const struct cliff_point *low,
			      const struct cliff_point *high)
{
	const double ratio = ratio_of_places(low, high), parts = log2(ratio) * octave_of(r) - 0.2;
	const unsigned least = is_fall(low, high) && ratio > NEAR ? 2 : 1;
	return parts > least ? (unsigned)ceil(parts) : least;
}

/* Place of a case that would show more about points i and i + 1 of a curve of `n`; 0: none. */
static uint64_t place_for(const struct bench_run *r, const struct cliff_point *p, size_t i,
			  size_t n)
{
	const struct cliff_point *low = &p[i], *high = &p[i + 1];
	const double middle = sqrt(cost_of(low) * cost_of(high));
	const unsigned parts = parts_between(r, low, high), half = parts / 2;
	if (parts > 1)
		return place_between(r, low, high,
				     (double)low->at *
					     pow(ratio_of_places(low, high), (double)half / parts));
	if (!is_fall(low, high))
		return 0;
	if (i + 2 < n && cost_of(&p[i + 2]) < middle && ratio_of_places(high, &p[i + 2]) > APART)
		return place_between(r, high, &p[i + 2], NEAR * (double)high->at);
	if (i > 0 && cost_of(&p[i - 1]) > middle && ratio_of_places(&p[i - 1], low) > APART)
		return place_between(r, &p[i - 1], low, (double)low->at / NEAR);
	return 0;
}

static size_t added_to(const struct bench_run *r, const struct cliff_point *p, size_t n)
{
	size_t added = 0;
	for (size_t i = 0; i < n; i++)
		added += !is_listed(r, p[i].at);
	return added;
}

size_t cliffs_next_case(const struct bench_run *r, struct chosen_case *next_p)
{
	const struct cliffs *cliffs = &r->cases->cliffs;
	double widest = 0.0, wanted = 0.0;
	for (size_t from = 0, to; cliffs->wanted && from < cliffs->count; from = to) {
		const struct cliff_point *p = &cliffs->points[from];
		for (to = from; to < cliffs->count && cliffs->points[to].curve == p->curve;)
			to++;
		const bool enough = !octave_of(r) && added_to(r, p, to - from) >= MOST_ADDED;
		for (size_t i = 0; !enough && i + 1 < to - from; i++) {
			const uint64_t at = place_for(r, p, i, to - from);
			const double width = log(ratio_of_places(&p[i], &p[i + 1])) / log(NEAR);
			if (at == 0)
				continue;
			wanted += fmax(width > 1.0 ? ceil(log2(width)) : 1.0,
				       parts_between(r, &p[i], &p[i + 1]) - 1.0);
			if (width > widest) {
				widest = width;
				*next_p = (struct chosen_case){.index = p->curve, .added = at};
			}
		}
	}
	return (size_t)wanted;
}
