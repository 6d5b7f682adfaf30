/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/nccl_tests/nccl_tests_table.h"
#include "bench/out.h"
#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "lib/err.h"
#include "lib/provenance.h"
#include "lib/text.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVERY_VARIANT = -1 };

/* Row of a variant and a case; of all variants, if the case has no results. */
struct nccl_tests_row {
	struct nccl_tests_point point;
	size_t order; /* in which it came */
	int variant;
	double seconds; /* where it has a value */
	uint64_t samples;
	int64_t warm_up;
	bool has_value, checked;
	int wrong; /* the variant whose result is wrong, or -1 */
	char note[2 *
		  ERR_TEXT]; /* why there is no value, or how far to trust it; "": nothing to say */
};

/* A table that is being printed. */
struct section {
	const struct nccl_tests_table *table;
	int variant;
	const char *shape;
};

/* ------------------------------------------------------------------ collecting */

struct nccl_tests_rank nccl_tests_rank_here(void)
{
	struct nccl_tests_rank rank = {.process = (int)getpid(), .name = "host memory"};
	provenance_host(rank.host, sizeof(rank.host), '_');
	return rank;
}

struct nccl_tests_rank nccl_tests_rank_of(const struct dev *dev)
{
	const struct dev_props *p = dev_props(dev);
	struct nccl_tests_rank rank = nccl_tests_rank_here();
	rank.device = dev->index;
	text_fit(rank.name, sizeof(rank.name), "%s", p->name);
	/* Without the function, as nccl-tests prints it. */
	snprintf(rank.bus, sizeof(rank.bus), "%.*s", (int)strcspn(p->bus, "."), p->bus);
	if (!dev_can(dev, DEV_CAP_VIRTUAL_TIME))
		return rank;
	rank.process = 0;
	snprintf(rank.host, sizeof(rank.host), "simulated");
	return rank;
}

static struct nccl_tests_row *add_row(struct nccl_tests_table *t, const struct bench_case *c,
				      int variant)
{
	struct nccl_tests_row *grown = vec_grow(t->rows, t->count, &t->capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	t->rows = grown;
	struct nccl_tests_row *row = &grown[t->count];
	*row = (struct nccl_tests_row){.variant = variant, .wrong = -1, .order = t->count};
	t->source.describe(c, &row->point);
	t->count++;
	return row;
}

static int out_of_memory(void) { return err_note(-ENOMEM, "rows of a table: out of memory"); }

static int add_result(void *arg, const struct bench_case *c, const struct bench_result *result)
{
	struct nccl_tests_row *row = add_row(arg, c, (int)result->variant);
	if (!row)
		return out_of_memory();
	row->seconds = result->seconds;
	row->samples = result->samples;
	row->warm_up = result->warm_up;
	row->has_value = !result->invalid && result->seconds > 0.0;
	row->checked = result->checked;
	if (!row->has_value)
		text_fit(row->note, sizeof(row->note), "invalid, %s",
			 result->invalid ? result->invalid : "no time");
	else if (result->grade)
		text_fit(row->note, sizeof(row->note), "%s", result->grade);
	return 0;
}

static int add_miss(void *arg, const struct bench_case *c, const char *status, const char *reason,
		    int wrong)
{
	struct nccl_tests_row *row = add_row(arg, c, EVERY_VARIANT);
	if (!row)
		return out_of_memory();
	text_fit(row->note, sizeof(row->note), "%s: %s", status, reason);
	row->wrong = wrong;
	return 0;
}

/* ------------------------------------------------------------------ a row */

static const char *their_type(const char *type)
{
	static const char *const names[][2] = {
		{"i32", "int32"}, {"i64", "int64"}, {"f32", "float"}, {"f64", "double"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type, names[i][0]) == 0)
			return names[i][1];
	return type;
}

/* `width` characters with as many digits after the point as there are places for, at most two. */
static const char *fit_number(char *text, double value, int width)
{
	for (int digits = 2; digits >= 0; digits--)
		if (snprintf(text, 24, "%*.*f", width, digits, value) <= width)
			return text;
	snprintf(text, 24, "%*.*e", width, width >= 7, value);
	return text;
}

/* A size that leaves no element: the row says so. */
static bool is_empty(const struct nccl_tests_row *row)
{
	return row->variant == EVERY_VARIANT && row->wrong < 0 && row->point.bytes == 0;
}

static double bus_bandwidth(const struct nccl_tests_table *t, const struct nccl_tests_row *row)
{
	return is_empty(row) ? 0.0
			     : 1e-9 *
				       nccl_tests_bus_bytes(t->source.twice, t->rank_count,
							    row->point.bytes) /
				       row->seconds;
}

static void print_row(const struct nccl_tests_table *t, const struct nccl_tests_row *row)
{
	const struct nccl_tests_point *p = &row->point;
	const bool empty = is_empty(row);
	char time[24], algorithm[24], bus[24];
	out_print("%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6d", p->bytes, p->count,
		  their_type(p->type), p->op ? p->op : "none", -1);
	out_print("  %7s  %6s  %6s  %6s", empty ? "N/A" : fit_number(time, 1e6 * row->seconds, 7),
		  fit_number(algorithm, empty ? 0.0 : 1e-9 * (double)p->bytes / row->seconds, 6),
		  fit_number(bus, bus_bandwidth(t, row), 6), row->checked ? "0" : "N/A");
	out_print("  %7s  %6s  %6s  %6s\n", "N/A", "N/A", "N/A", "N/A");
}

static void print_note(const struct nccl_tests_row *row)
{
	const struct nccl_tests_point *p = &row->point;
	if (row->note[0])
		out_print("# %" PRIu64 " B %s%s%s: %.*s\n", row->has_value ? p->bytes : p->asked,
			  their_type(p->type), p->op ? " " : "", p->op ? p->op : "",
			  (int)strcspn(row->note, "\n"), row->note);
}

/* ------------------------------------------------------------------ a table */

static bool is_in(const struct section *s, const struct nccl_tests_row *row)
{
	return (row->variant == EVERY_VARIANT || row->variant == s->variant) &&
	       strcmp(row->point.shape, s->shape) == 0;
}

/* "2(factor)", "1024(bytes)", or "0(list)" where the sizes are neither. */
static void format_step(const struct section *s, char *text, size_t capacity)
{
	uint64_t before = 0, step = 0, factor = 0;
	bool by_step = true, by_factor = true;
	for (size_t i = 0; i < s->table->count; i++) {
		uint64_t bytes = s->table->rows[i].point.asked;
		if (!is_in(s, &s->table->rows[i]) || bytes == before)
			continue;
		if (before && bytes > before) {
			by_step = by_step && (!step || bytes - before == step);
			by_factor = by_factor && bytes % before == 0 &&
				    (!factor || bytes / before == factor);
			step = bytes - before;
			factor = bytes / before;
		}
		before = bytes;
	}
	if (factor && by_factor)
		snprintf(text, capacity, "%" PRIu64 "(factor)", factor);
	else if (step && by_step)
		snprintf(text, capacity, "%" PRIu64 "(bytes)", step);
	else
		snprintf(text, capacity, "0(list)");
}

static bool is_row(const struct section *s)
{
	const struct nccl_tests_source *source = &s->table->source;
	return source->row_variant &&
	       strcmp(source->bench->variants[s->variant].name, source->row_variant) == 0;
}

/* Print what the time of a row includes. */
static void print_timing(const struct section *s, const char *samples)
{
	const struct nccl_tests_source *source = &s->table->source;
	if (is_row(s))
		out_print("# Time: median of %s samples of %u calls in a row, on the host's clock; "
			  "calls included\n",
			  samples, source->row_calls);
	else
		out_print("# Time: median of %s samples, each collective complete before the next "
			  "begins%s\n",
			  samples,
			  source->row_variant ? "; calls not included: enqueued beforehand" : "");
}

/* As nccl-tests has them, with "auto" where rows differ or the harness chooses. */
static void print_settings(const struct section *s)
{
	uint64_t min_bytes = UINT64_MAX, max_bytes = 0, fewest = UINT64_MAX, most = 0;
	char step[40], warm_up[24] = "auto", samples[24] = "auto", range[48];
	const size_t devices = s->table->source.one_device ? 1 : s->table->rank_count;
	bool checked = false;
	for (size_t i = 0; i < s->table->count; i++) {
		const struct nccl_tests_row *row = &s->table->rows[i];
		if (!is_in(s, row))
			continue;
		min_bytes = row->point.asked < min_bytes ? row->point.asked : min_bytes;
		max_bytes = row->point.asked > max_bytes ? row->point.asked : max_bytes;
		if (row->variant == EVERY_VARIANT)
			continue;
		fewest = row->samples < fewest ? row->samples : fewest;
		most = row->samples > most ? row->samples : most;
		checked = checked || row->checked;
		if (row->warm_up >= 0)
			snprintf(warm_up, sizeof(warm_up), "%" PRId64, row->warm_up);
	}
	snprintf(range, sizeof(range), "%" PRIu64 " to %" PRIu64, fewest, most);
	if (fewest == most)
		snprintf(range, sizeof(range), "%" PRIu64, most);
	if (is_row(s)) {
		snprintf(warm_up, sizeof(warm_up), "1");
		snprintf(samples, sizeof(samples), "%u", s->table->source.row_calls);
	} else if (fewest == most) {
		snprintf(samples, sizeof(samples), "%" PRIu64, most);
	}
	format_step(s, step, sizeof(step));
	out_print("# nThread 1 nGpus %zu minBytes %" PRIu64 " maxBytes %" PRIu64
		  " step: %s warmup iters: %s iters: %s agg iters: 1 validation: %d graph: 0 "
		  "unalign: 0\n",
		  devices, min_bytes, max_bytes, step, warm_up, samples, checked);
	if (most)
		print_timing(s, range);
}

static const char *program_name(const struct section *s)
{
	const char *slash = strrchr(s->table->source.bench->name, '/');
	return slash ? slash + 1 : s->table->source.bench->name;
}

static void print_head(const struct section *s)
{
	const struct nccl_tests_source *source = &s->table->source;
	out_print("# gpusig %s, in the format of nccl-tests 2.19.6\n", provenance_version());
	if (s->table->simulated)
		out_print("# Simulated: nothing below is a measurement\n");
	out_print("# Collective test starting: %s\n", program_name(s));
	out_print("# Algorithm: %s%s%s\n", source->bench->variants[s->variant].name,
		  *s->shape ? " " : "", s->shape);
	print_settings(s);
	out_print("#\n# Using devices\n");
	for (size_t i = 0; i < s->table->rank_count; i++) {
		const struct nccl_tests_rank *rank = &s->table->ranks[i];
		out_print("#  Rank %2zu Group %2d Pid %6d on %10s device %2u [%s] %s\n", i, 0,
			  rank->process, rank->host, rank->device, rank->bus, rank->name);
	}
}

static void print_columns(bool in_place)
{
	const char *measured = in_place ? "in-place" : "out-of-place",
		   *other = in_place ? "out-of-place" : "in-place";
	out_print("# Only %s was measured; the columns of %s are N/A\n#\n", measured, other);
	out_print("# %10s  %12s  %8s  %6s  %6s           %-12s                       %-18s\n", "",
		  "", "", "", "", measured, other);
	out_print("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n", "size",
		  "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
		  "algbw", "busbw", "#wrong");
	out_print("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n", "(B)",
		  "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
		  "(GB/s)", "");
}

/* Nothing was checked: the line that parsers look for says neither OK nor FAILED, but whether there
 * was something to check. */
static void print_foot(const struct section *s, double average, size_t values, size_t wrong,
		       bool checked)
{
	if (s->table->left_out || s->table->interrupted)
		out_print("# %s: %zu of the cases did not run\n",
			  s->table->interrupted ? "Interrupted"
						: "Incomplete, the time of --budget is used up",
			  s->table->left_out);
	if (checked || wrong)
		out_print("# %-20s : %zu %s\n", "Out of bounds values", wrong,
			  wrong ? "FAILED" : "OK");
	else
		out_print("# %-20s : N/A %s\n", "Out of bounds values",
			  s->table->time_only ? "no data to check" : "not checked");
	if (values)
		out_print("# %-20s : %g \n", "Avg bus bandwidth", average);
	else
		out_print("# %-20s : N/A no valid result\n", "Avg bus bandwidth");
	if (!s->table->interrupted)
		out_print("#\n# Collective test concluded: %s\n", program_name(s));
	out_print("\n");
}

static void print_section(const struct section *s)
{
	const struct nccl_tests_table *t = s->table;
	double sum = 0.0;
	size_t rows = 0, values = 0, wrong = 0;
	bool checked = true;
	print_head(s);
	print_columns(t->rows[0].point.in_place && !is_row(s));
	for (size_t i = 0; i < t->count; i++) {
		const struct nccl_tests_row *row = &t->rows[i];
		if (!is_in(s, row))
			continue;
		wrong += row->wrong == s->variant;
		if (!row->has_value && !is_empty(row))
			continue;
		print_row(t, row);
		sum += bus_bandwidth(t, row);
		checked = checked && (row->checked || is_empty(row));
		rows++;
		values += row->has_value;
	}
	for (size_t i = 0; i < t->count; i++)
		if (is_in(s, &t->rows[i]))
			print_note(&t->rows[i]);
	print_foot(s, values ? sum / (double)rows : 0.0, values, wrong, checked && values);
}

/* ------------------------------------------------------------------ all tables */

/* By what is the same in a table; sizes from small to large. */
static int compare_rows(const void *a, const void *b)
{
	const struct nccl_tests_row *x = a, *y = b;
	const struct nccl_tests_point *p = &x->point, *q = &y->point;
	int order = strcmp(p->type, q->type);
	order = order ? order : strcmp(p->op ? p->op : "", q->op ? q->op : "");
	if (order)
		return order;
	if (p->asked != q->asked)
		return p->asked < q->asked ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_first_of_shape(const struct nccl_tests_table *t, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(t->rows[i].point.shape, t->rows[index].point.shape) == 0)
			return false;
	return true;
}

static bool has_variant(const struct section *s)
{
	for (size_t i = 0; i < s->table->count; i++) {
		const struct nccl_tests_row *row = &s->table->rows[i];
		if (is_in(s, row) && (row->variant == s->variant || row->wrong == s->variant))
			return true;
	}
	return false;
}

/* A table for each algorithm and shape that was measured or is wrong, and at the end how many, so
 * that a file that was cut off between two of them is found out. Where there is none, what was
 * skipped is said once. */
static void print_tables(struct section *s)
{
	const struct nccl_tests_table *t = s->table;
	unsigned printed = 0;
	for (s->variant = 0; t->source.bench->variants[s->variant].name; s->variant++)
		for (size_t i = 0; i < t->count; i++) {
			s->shape = t->rows[i].point.shape;
			if (!is_first_of_shape(t, i) || !has_variant(s))
				continue;
			print_section(s);
			printed++;
		}
	if (printed) {
		out_print("# All tables: %u\n", printed);
		return;
	}
	for (size_t i = 0; i < t->count; i++)
		print_note(&t->rows[i]);
	print_foot(s, 0.0, 0, 0, false);
}

static int print_all(void *arg, const struct bench_case *c, size_t left_out, bool interrupted)
{
	struct nccl_tests_table *t = arg;
	struct section section = {.table = t};
	if (!t->count)
		return 0;
	int status = t->source.list_ranks(c, &t->ranks, &t->rank_count);
	if (status)
		return status;
	t->left_out = left_out;
	t->interrupted = interrupted;
	t->simulated = t->source.simulated || dev_can(c->dev, DEV_CAP_VIRTUAL_TIME);
	t->time_only = dev_can(c->dev, DEV_CAP_TIME_ONLY);
	qsort(t->rows, t->count, sizeof(*t->rows), compare_rows);
	print_tables(&section);
	return 0;
}

struct bench_format nccl_tests_format(struct nccl_tests_table *table)
{
	return (struct bench_format){.name = NCCL_TESTS_FORMAT,
				     .arg = table,
				     .add = add_result,
				     .miss = add_miss,
				     .print = print_all};
}

void nccl_tests_table_free(struct nccl_tests_table *table)
{
	free(table->rows);
	free(table->ranks);
	table->rows = NULL;
	table->ranks = NULL;
	table->count = table->capacity = 0;
}
