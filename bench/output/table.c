/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/output/table.h"
#include "bench/out.h"
#include "bench/output/output.h"
#include "bench/output/table_line.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "device/dev_libraries.h"
#include "lib/provenance.h"
#include "lib/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of a row besides the labels and the rates: both margins, median, interval, samples. */
#define ROW_WIDTH 24
#define SHARE_WIDTH 5
#define FLAGS_WIDTH 5 /* of the heading and of "noisy" */
#define SHARE_BIT (1u << TABLE_RATES)

static const struct {
	const char *quantity, *heading, *words;
	int width; /* a number of five characters, a blank and the longest unit */
} rates[TABLE_RATES] = {{"bandwidth", "bandwidth", "bandwidth", 10},
			{"flop_rate", "flop rate", "flop rate", 13},
			{"op_rate", "op rate", "operation rate", 11},
			{"message_rate", "msg rate", "message rate", 9}};

static void print_libraries(void)
{
	const char *paths[DEV_LIBRARIES_MAX];
	const size_t count = dev_libraries(paths, DEV_LIBRARIES_MAX);
	for (size_t i = 0; i < count; i++)
		out_wrap("#   ", "# library %s", paths[i]);
}

void bench_table_begin(struct bench_run *r)
{
	const struct dev_props *p = dev_props(r->c.dev);
	const struct bench_job *job = r->b->job;
	out_wrap("#   ", "# %s: %s", r->b->name, r->b->question);
	out_wrap("#   ", "# formula: %s", r->b->formula);
	out_wrap("#   ", "# device %s: %s, %u %s%s%s; seed %" PRIu64 "; version %s", r->o.device,
		 p->name, p->units, units_word(p->units, "unit", "units"), p->blas[0] ? ", " : "",
		 p->blas, r->o.seed, provenance_version());
	if (r->is_default_device)
		out_wrap("#   ", "# %s is the default here%s", r->o.device, r->skipped_backends);
	if (r->o.verbose)
		print_libraries();
	if (p->shares[0])
		out_wrap("#   ", "# this device shares %s", p->shares);
	if (job)
		out_wrap("#   ", "# job: %u %s on %u %s, %s", job->processes,
			 units_word(job->processes, "process", "processes"), job->hosts,
			 units_word(job->hosts, "host", "hosts"), job->library);
	if (bench_virtual(r))
		out_wrap("#   ", "# simulated: nothing below is a measurement");
	out_print("\n");
}

/* ------------------------------------------------------------ rows of variants */

static int rate_of(const struct bench_derived *d)
{
	for (int i = 0; i < TABLE_RATES; i++)
		if (strcmp(d->name, rates[i].quantity) == 0)
			return i;
	return -1;
}

bool bench_table_in_row(const struct bench_derived *d)
{
	return d->variant >= 0 && (strcmp(d->name, "time") == 0 || rate_of(d) >= 0);
}

static const struct bench_derived *find_rate(struct bench_run *r, int rate, unsigned variant)
{
	return bench_find_derived(r, rates[rate].quantity, (int)variant);
}

static unsigned columns_of_case(struct bench_run *r)
{
	unsigned columns = 0;
	for (size_t i = 0; i < r->quantities->count; i++) {
		const struct bench_derived *d = &r->quantities->derived[i];
		int rate = d->variant >= 0 ? rate_of(d) : -1;
		if (rate >= 0)
			columns |= 1u << rate | (isnan(d->share) ? 0 : SHARE_BIT);
	}
	return columns;
}

/* That of the longest name, as far as the row has space; a longer one gets a line of its own. */
static int label_width_for(const struct bench_run *r, unsigned columns)
{
	int min = (int)strlen("variant"), width = min, space = OUT_COLUMNS - ROW_WIDTH;
	for (int i = 0; i < TABLE_RATES; i++)
		space -= columns >> i & 1 ? 2 + rates[i].width : 0;
	space -= columns & SHARE_BIT ? 2 + SHARE_WIDTH : 0;
	if (space - 2 - FLAGS_WIDTH >= min)
		space -= 2 + FLAGS_WIDTH;
	for (size_t v = 0; v < r->variant_count; v++) {
		int length = (int)strlen(r->b->variants[v].name);
		if (r->selected >> v & 1 && length > width)
			width = length;
	}
	return width < space ? width : space;
}

/* The row of names is printed once, and again when a case has a rate that none before it had. */
static void print_names(struct bench_run *r)
{
	struct bench_table *t = &r->output->table;
	unsigned columns = t->columns | columns_of_case(r);
	struct table_line line = {0};
	if (t->label_width && columns == t->columns)
		return;
	if (t->label_width)
		out_print("\n");
	t->columns = columns;
	t->label_width = label_width_for(r, columns);
	table_line_add(&line, "  %-*s %9s %5s %5s", t->label_width, "variant", "median", "+- %",
		       "n");
	for (int i = 0; i < TABLE_RATES; i++)
		if (columns >> i & 1)
			table_line_add(&line, "  %*s", rates[i].width, rates[i].heading);
	if (columns & SHARE_BIT)
		table_line_add(&line, "  %*s", SHARE_WIDTH, "share");
	if (line.used + 2 + FLAGS_WIDTH <= OUT_COLUMNS)
		table_line_add(&line, "  flags");
	table_line_print(&line);
}

/* Print what the shares are of, if it differs from the last such line. */
static void print_bound(struct bench_run *r)
{
	struct bench_table *t = &r->output->table;
	for (size_t i = 0; i < r->quantities->count; i++) {
		const struct bench_derived *d = &r->quantities->derived[i];
		int rate = d->variant >= 0 ? rate_of(d) : -1;
		if (rate < 0 || isnan(d->share) ||
		    (t->share_of == rates[rate].words && strcmp(t->bound_name, d->bound_name) == 0))
			continue;
		t->share_of = rates[rate].words;
		snprintf(t->bound_name, sizeof(t->bound_name), "%s", d->bound_name);
		out_wrap("#   ", "# share = %s / %s", t->share_of, t->bound_name);
	}
}

static void add_rates(struct bench_run *r, unsigned v, struct table_line *line)
{
	char number[40];
	for (int i = 0; i < TABLE_RATES; i++) {
		const struct bench_derived *d = find_rate(r, i, v);
		if (!(r->output->table.columns >> i & 1))
			continue;
		if (!d) {
			table_line_add(line, "  %*s", rates[i].width, "");
			continue;
		}
		struct units_scale scale = units_scale_of(d->value, d->unit);
		table_line_add(line, "  %5s %-*s",
			       units_show_scaled(number, sizeof(number), d->value, &scale),
			       rates[i].width - 6, scale.unit);
	}
	bool any = false;
	for (int i = 0; i < TABLE_RATES; i++) {
		const struct bench_derived *d = find_rate(r, i, v);
		if (!d || isnan(d->share))
			continue;
		table_line_add(line, "  %*.0f %%", SHARE_WIDTH - 2, 100.0 * d->share);
		any = true;
	}
	if (!any && r->output->table.columns & SHARE_BIT)
		table_line_add(line, "  %*s", SHARE_WIDTH, "");
}

static void add_marks(struct bench_run *r, unsigned v, struct table_line *line)
{
	bool invalid = bench_flagged(r, (int)v);
	for (int i = 0; i < TABLE_RATES; i++) {
		const struct bench_derived *d = find_rate(r, i, v);
		invalid = invalid || (d && d->flagged);
	}
	const char *gap = "  ";
	if (invalid) {
		table_line_add(line, "%sINVALID", gap);
		gap = " ";
	}
	for (size_t g = 0; g < BENCH_GRADES; g++) {
		if (!bench_graded(r, (int)v, bench_grades[g]))
			continue;
		table_line_add(line, "%s%s", gap, bench_grades[g]);
		gap = " ";
	}
}

static void print_variant(struct bench_run *r, unsigned v)
{
	const struct bench_samples *s = &r->sampling->samples[v];
	const struct units_scale scale = units_scale_of(s->summary.median, "s");
	double percent = 100.0 * stats_relative_width(&s->summary);
	struct table_line line = {0};
	char number[40], interval[24] = "-";
	if (isfinite(percent))
		snprintf(interval, sizeof(interval), "%.*f", percent < 999.95, percent);
	table_line_add_label(&line, r->output->table.label_width, r->b->variants[v].name);
	table_line_add(&line, " %6s %-2s %5s %5zu",
		       units_show_scaled(number, sizeof(number), s->summary.median, &scale),
		       scale.unit, interval, s->summary.n);
	add_rates(r, v, &line);
	add_marks(r, v, &line);
	table_line_print(&line);
}

/* ------------------------------------------------------------ what follows the rows */

/* True if it is to be printed; without `always` only with -v. */
static bool is_printed(struct bench_run *r, bool always)
{
	r->output->table.left_out = r->output->table.left_out || !(always || r->o.verbose);
	return always || r->o.verbose;
}

static void print_goal(struct bench_run *r)
{
	const char *stopped = r->sampling->stopped;
	if (!stopped || strcmp(stopped, "goal") == 0 || !is_printed(r, false))
		return;
	out_wrap("    ", "  goal of %.4g %% not met after %u %s: %s", 100.0 * r->o.goal,
		 r->sampling->rounds, units_word(r->sampling->rounds, "sample", "samples"),
		 strcmp(stopped, "time") == 0 ? "the time is used up (--budget)"
					      : "the maximum is reached (--max-samples)");
}

static bool tells_what_is_missing(const struct bench_fact *f)
{
	bool named = strncmp(f->name, "skipped", strlen("skipped")) == 0 ||
		     strstr(f->name, "not_measured");
	return named && f->text && f->text[0];
}

static void print_facts(struct bench_run *r)
{
	for (size_t i = 0; i < r->notes->fact_count; i++) {
		const struct bench_fact *f = &r->notes->facts[i];
		if (!is_printed(r, r->variant_count == 0 || tells_what_is_missing(f)))
			continue;
		if (f->text)
			out_wrap("      ", "  %-26s %s", f->name, f->text);
		else
			out_wrap("      ", "  %-26s %.15g", f->name, f->number);
	}
}

static void print_mechanisms(struct bench_run *r)
{
	for (size_t i = 0; i < r->notes->mechanism_count; i++) {
		const struct bench_mechanism *m = &r->notes->mechanisms[i];
		if (is_printed(r, !m->observed))
			out_wrap("    ", "  mechanism %s: %s (%s)", m->name,
				 m->observed ? "observed" : "NOT OBSERVED", m->detail);
	}
}

static bool say_the_same(const struct bench_flag *a, const struct bench_flag *b)
{
	return strcmp(a->flag, b->flag) == 0 && strcmp(a->quantity, b->quantity) == 0 &&
	       strcmp(a->reason, b->reason) == 0;
}

/* One line for all variants that have this flag for this reason, printed with the first. */
static void print_flag(struct bench_run *r, size_t index)
{
	const struct bench_flag *flags = r->notes->flags, *f = &flags[index];
	char variants[BENCH_VARIANTS * 48] = "";
	size_t used = 0;
	for (size_t i = 0; i < index; i++)
		if (say_the_same(&flags[i], f))
			return;
	for (size_t i = index; i < r->notes->flag_count && used < sizeof(variants); i++)
		if (flags[i].variant >= 0 && say_the_same(&flags[i], f))
			used += (size_t)snprintf(variants + used, sizeof(variants) - used, "%s%s",
						 used ? ", " : "",
						 r->b->variants[flags[i].variant].name);
	out_wrap("    ", "  %s%s%s%s%s%s: %s", bench_is_grade(f) ? "" : "invalid, ", f->flag,
		 f->quantity[0] ? " " : "", f->quantity,
		 !used            ? ""
		 : f->quantity[0] ? " of "
				  : " ",
		 variants, f->reason);
}

static void print_flags(struct bench_run *r)
{
	for (size_t i = 0; i < r->notes->flag_count; i++)
		if (is_printed(r, !bench_is_grade(&r->notes->flags[i])))
			print_flag(r, i);
}

void bench_table_case(struct bench_run *r, const char *status, const char *reason)
{
	const char *key = r->key[0] ? r->key : "(one case)";
	if (strcmp(status, "ok") != 0) {
		out_wrap("    ", "%s: %s: %s", key, status, reason);
		return;
	}
	if (r->variant_count) {
		print_bound(r);
		print_names(r);
	}
	out_wrap("    ", "%s", key);
	for (unsigned v = 0; v < r->variant_count; v++)
		if (r->sampling->samples[v].on)
			print_variant(r, v);
	print_goal(r);
	table_values_print(r, r->output->table.label_width);
	print_facts(r);
	print_mechanisms(r);
	print_flags(r);
}

void bench_table_end(struct bench_run *r)
{
	if (r->output->table.left_out)
		out_wrap("#   ", "# -v also shows mechanisms, facts and the reasons of marks");
}
