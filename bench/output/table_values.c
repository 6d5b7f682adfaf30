/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Quantities that the same variants have are the columns of a grid, a row per variant:
 *
 *                 bus_bandwidth              host_completion
 *     ring         4.193 MB/s [4.177, 4.211]   9.344 us
 *     swing-l      6.092 MB/s [6.085, 6.097]   6.961 us
 *
 * Where that takes no fewer lines, each value has its own, which ends with the quantity's name.
 */
#include "bench/out.h"
#include "bench/output/output.h"
#include "bench/output/table.h"
#include "bench/output/table_line.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GRID_COLUMNS = 16, MAX_LISTED = 256 };
/* Width of a value with its interval, so that most names of quantities are aligned. */
#define VALUE_WIDTH 26
/* A longer label has a line of its own. */
#define MAX_LABEL_WIDTH 32

/* Quantities with the same rows. */
struct grid {
	uint64_t variants; /* bit mask; 0: of the case */
	bool modelled;
	const char *names[GRID_COLUMNS];
	int widths[GRID_COLUMNS];
	size_t count;
	int label_width;
};

static const char *label_of(const struct bench_run *r, int variant)
{
	return variant >= 0 ? r->b->variants[variant].name : "(case)";
}

/* Counts stay whole, and what is exact has no zeros behind the point. */
static bool is_whole(const struct bench_derived *d, const char *unit)
{
	return isnan(d->low) && d->value == floor(d->value) && fabs(d->value) < 1e9 &&
	       (!unit[0] || strcmp(unit, "B") == 0);
}

/* The number that decides on prefix and digits: the value, unless its interval reaches far beyond
 * it. */
static double leading_number(const struct bench_derived *d)
{
	double widest = isnan(d->low) ? 0.0 : fmax(fabs(d->low), fabs(d->high));
	return widest > 10.0 * fabs(d->value) ? widest : d->value;
}

static const char *mark_of(const struct bench_run *r, const struct bench_derived *d)
{
	if (!bench_derived_valid(r, d))
		return " !";
	for (size_t g = 0; g < BENCH_GRADES; g++)
		if (bench_derived_graded(r, d, bench_grades[g]))
			return " ~";
	return "";
}

static int show_value(const struct bench_run *r, const struct bench_derived *d, char *out,
		      size_t capacity)
{
	char number[40], low[40], high[40], interval[90] = "";
	/* Some programs write the unit of a ratio as 1. */
	struct units_scale scale =
		units_scale_of(leading_number(d), strcmp(d->unit, "1") == 0 ? "" : d->unit);
	if (is_whole(d, scale.unit))
		scale.decimals = 0;
	if (!isnan(d->low))
		snprintf(interval, sizeof(interval), " [%s, %s]",
			 units_show_scaled(low, sizeof(low), d->low, &scale),
			 units_show_scaled(high, sizeof(high), d->high, &scale));
	return snprintf(out, capacity, "%6s%s%s%s%s",
			units_show_scaled(number, sizeof(number), d->value, &scale),
			scale.unit[0] ? " " : "", scale.unit, interval, mark_of(r, d));
}

static struct bench_derived *find_value(struct bench_run *r, const char *name, bool modelled,
					int variant)
{
	for (size_t i = 0; i < r->quantities->count; i++) {
		struct bench_derived *d = &r->quantities->derived[i];
		if (!d->shown && d->variant == variant && d->quantity.modelled == modelled &&
		    strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

static uint64_t variants_of(struct bench_run *r, const struct bench_derived *first)
{
	uint64_t variants = 0;
	for (int v = 0; first->variant >= 0 && v < (int)r->variant_count; v++)
		if (find_value(r, first->name, first->quantity.modelled, v))
			variants |= UINT64_C(1) << v;
	return variants;
}

static int width_of_column(struct bench_run *r, const struct grid *g, const char *name)
{
	char text[160];
	int width = (int)strlen(name);
	for (int v = -1; v < (int)r->variant_count; v++) {
		const struct bench_derived *d = find_value(r, name, g->modelled, v);
		int length = d ? show_value(r, d, text, sizeof(text)) : 0;
		if (length > width)
			width = length;
	}
	return width;
}

static bool has_column(const struct grid *g, const char *name)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->names[i], name) == 0)
			return true;
	return false;
}

/* The quantities of derived[from] and after it that have the same rows, as many as fit in a line.
 */
static struct grid make_grid(struct bench_run *r, size_t from, int label_width)
{
	const struct bench_derived *first = &r->quantities->derived[from];
	struct grid g = {.variants = variants_of(r, first),
			 .modelled = first->quantity.modelled,
			 .label_width = label_width};
	for (int v = 0; v < (int)r->variant_count; v++) {
		int length = g.variants >> v & 1 ? (int)strlen(label_of(r, v)) : 0;
		if (length > g.label_width && length <= MAX_LABEL_WIDTH)
			g.label_width = length;
	}
	int used = 2 + g.label_width - 1;
	for (size_t i = from; i < r->quantities->count && g.count < GRID_COLUMNS; i++) {
		const struct bench_derived *d = &r->quantities->derived[i];
		if (d->shown || d->quantity.modelled != g.modelled || has_column(&g, d->name) ||
		    (d->variant < 0) != (first->variant < 0) || variants_of(r, d) != g.variants)
			continue;
		int width = width_of_column(r, &g, d->name);
		if (g.count && used + 2 + width > OUT_COLUMNS)
			continue;
		used += 2 + width;
		g.names[g.count] = d->name;
		g.widths[g.count++] = width;
	}
	return g;
}

/* True if the grid, with its row of names, is shorter than a line per value. */
static bool is_shorter(const struct grid *g)
{
	size_t rows = g->variants ? 0 : 1;
	for (uint64_t left = g->variants; left; left &= left - 1)
		rows++;
	return rows + 1 < rows * g->count;
}

/* Calls for every row of the grid: its variant, or -1. */
static void print_rows(struct bench_run *r, const struct grid *g,
		       void (*print_row)(struct bench_run *r, const struct grid *g, int variant))
{
	if (!g->variants)
		print_row(r, g, -1);
	for (int v = 0; v < (int)r->variant_count; v++)
		if (g->variants >> v & 1)
			print_row(r, g, v);
}

static void print_grid_row(struct bench_run *r, const struct grid *g, int variant)
{
	struct table_line line = {0};
	char text[160];
	table_line_add_label(&line, g->label_width, label_of(r, variant));
	for (size_t i = 0; i < g->count; i++) {
		struct bench_derived *d = find_value(r, g->names[i], g->modelled, variant);
		assert(d);
		show_value(r, d, text, sizeof(text));
		table_line_add(&line, "%s%-*s", i ? "  " : " ", g->widths[i], text);
		d->shown = true;
	}
	table_line_print(&line);
}

static void print_grid(struct bench_run *r, const struct grid *g)
{
	struct table_line line = {0};
	table_line_add(&line, "  %-*s", g->label_width, g->modelled ? "(model)" : "");
	for (size_t i = 0; i < g->count; i++)
		table_line_add(&line, "%s%-*s", i ? "  " : " ", g->widths[i], g->names[i]);
	table_line_print(&line);
	print_rows(r, g, print_grid_row);
}

static void print_list_row(struct bench_run *r, const struct grid *g, int variant)
{
	struct table_line line = {0};
	char text[160];
	assert(g->count > 0);
	struct bench_derived *d = find_value(r, g->names[0], g->modelled, variant);
	assert(d);
	show_value(r, d, text, sizeof(text));
	table_line_add_label(&line, g->label_width, label_of(r, variant));
	table_line_add(&line, " %-*s  %s%s", VALUE_WIDTH, text, d->name,
		       d->quantity.modelled ? " (model)" : "");
	table_line_print(&line);
	d->shown = true;
}

static void print_without_value(struct bench_run *r, struct bench_derived *d)
{
	out_wrap("    ", "  no value, %s%s%s: %s", d->name, d->variant >= 0 ? " of " : "",
		 d->variant >= 0 ? label_of(r, d->variant) : "", bench_derived_reason(r, d));
}

/* Lists of many, as of all pairs of nodes, are in the record; people get the first ones. Returns
 * how many were left out. */
static size_t hide_the_rest(struct bench_run *r)
{
	size_t listed = 0, hidden = 0;
	for (size_t i = 0; i < r->quantities->count; i++) {
		struct bench_derived *d = &r->quantities->derived[i];
		if (d->shown || ++listed <= MAX_LISTED)
			continue;
		d->shown = true;
		hidden++;
	}
	return hidden;
}

void table_values_print(struct bench_run *r, int label_width)
{
	struct quantities *now = r->quantities;
	int width = label_width > (int)strlen("(model)") ? label_width : (int)strlen("(model)");
	for (size_t i = 0; i < now->count; i++)
		now->derived[i].shown =
			bench_table_in_row(&now->derived[i]) || !isfinite(now->derived[i].value);
	size_t hidden = hide_the_rest(r);
	for (size_t i = 0; i < now->count; i++) {
		if (now->derived[i].shown)
			continue;
		struct grid g = make_grid(r, i, width);
		if (is_shorter(&g))
			print_grid(r, &g);
		else
			print_rows(r, &g, print_list_row);
	}
	for (size_t i = 0; i < now->count; i++)
		if (!isfinite(now->derived[i].value) && !bench_table_in_row(&now->derived[i]))
			print_without_value(r, &now->derived[i]);
	if (hidden)
		out_wrap("    ", "  %zu more values are in the records (--out)", hidden);
}
