/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_run.h"
#include "bench/out.h"
#include "lib/err.h"
#include "lib/provenance.h"
#include "lib/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION "1.0.0"
/* Samples of a variant in a record, which is a line that people read. Of more, every k-th is
 * kept. */
#define SAMPLES_KEPT 1000u

static void begin_record(struct bench_run *r, const char *kind)
{
	struct json *j = &r->json;
	json_clear(j);
	json_object_begin(j, NULL);
	json_string(j, "schema", RECORD_SCHEMA);
	json_string(j, "version", SCHEMA_VERSION);
	json_string(j, "kind", kind);
	json_string(j, "run", r->id);
	json_string(j, "program", r->b->name);
}

/* The file is written before stdout fails, for it must survive. */
static int finish_record(struct bench_run *r)
{
	json_object_end(&r->json);
	int status = json_finish(&r->json);
	if (status)
		return err_note(status, "record of %s: out of memory", r->current.key);
	if (r->o.json)
		out_write(r->json.text, r->json.length);
	status = record_append(&r->file, r->json.text, r->json.length);
	return status ? status : out_status();
}

static void put_job(struct json *j, const struct bench_job *job)
{
	json_object_begin(j, "job");
	json_string(j, "library", job->library);
	json_integer(j, "processes", job->processes);
	json_integer(j, "hosts", job->hosts);
	json_object_end(j);
}

static void put_options(struct json *j, const struct bench_options *o)
{
	char seed[24];
	snprintf(seed, sizeof(seed), "%" PRIu64, o->seed);
	json_object_begin(j, "options");
	json_string(j, "seed", seed);
	json_number(j, "budget_s", o->budget_s > 0.0 ? o->budget_s : NAN);
	json_number(j, "goal", o->goal);
	json_integer(j, "min_samples", o->min_samples);
	json_integer(j, "max_samples", o->max_samples);
	json_bool(j, "check", o->check != BENCH_CHECK_OFF);
	json_string(j, "check_when", bench_check_words[o->check]);
	json_bool(j, "full", o->full);
	json_object_end(j);
}

static void put_axes(struct bench_run *r)
{
	struct json *j = &r->json;
	json_array_begin(j, "axes");
	for (size_t a = 0; a < r->axis_count; a++) {
		const struct axis *axis = &r->b->axes[a];
		json_object_begin(j, NULL);
		json_string(j, "name", axis->name);
		json_string(j, "unit", axis->kind == AXIS_SIZE ? "byte" : "");
		json_array_begin(j, "values");
		for (size_t i = 0; i < r->axes[a].count; i++) {
			if (axis->kind == AXIS_WORD)
				json_string(j, NULL, r->axes[a].values[i].word);
			else
				json_integer(j, NULL, r->axes[a].values[i].number);
		}
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
	json_array_begin(j, "variants");
	for (size_t v = 0; v < r->variant_count; v++)
		if (r->selected >> v & 1)
			json_string(j, NULL, r->b->variants[v].name);
	json_array_end(j);
	json_array_begin(j, "references");
	for (size_t v = 0; v < r->variant_count; v++)
		if (r->selected >> v & 1 && r->b->variants[v].reference)
			json_string(j, NULL, r->b->variants[v].name);
	json_array_end(j);
}

int bench_output_run(struct bench_run *r)
{
	struct json *j = &r->json;
	char now[40];
	time_t seconds = time(NULL);
	struct tm utc;
	strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S+00:00", gmtime_r(&seconds, &utc));
	begin_record(r, "run");
	json_string(j, "question", r->b->question);
	json_string(j, "formula", r->b->formula);
	json_string(j, "timed", r->b->timed);
	json_string(j, "limits", r->b->limits);
	json_string(j, "started", bench_virtual(r) ? NULL : now);
	json_array_begin(j, "argv");
	for (int i = 0; i < r->argc; i++)
		json_string(j, NULL, r->argv[i]);
	json_array_end(j);
	json_array_begin(j, "device");
	for (size_t d = 0; d < r->set.count; d++)
		bench_device_write(r, r->set.dev[d]);
	json_array_end(j);
	if (r->b->job)
		put_job(j, r->b->job);
	put_options(j, &r->o);
	put_axes(r);
	bench_headlines_write(r);
	provenance_write(j);
	if (!r->o.json) {
		const struct dev_props *p = dev_props(r->c.dev);
		out_print("# %s: %s\n# %s\n# device %s: %s, %u units%s%s; seed %" PRIu64
			  "; version %s\n",
			  r->b->name, r->b->question, r->b->formula, r->o.device, p->name, p->units,
			  p->blas[0] ? ", " : "", p->blas, r->o.seed, provenance_version());
		if (r->is_default_device)
			out_print("# %s is the default here%s\n", r->o.device, r->skipped_backends);
		if (p->shares[0])
			out_print("# this device shares %s\n", p->shares);
		if (r->b->job)
			out_print("# %u processes on %u hosts, %s\n", r->b->job->processes,
				  r->b->job->hosts, r->b->job->library);
		if (bench_virtual(r))
			out_print("# simulated: nothing below is a measurement\n");
	}
	return finish_record(r);
}

static void put_point(struct bench_run *r)
{
	struct json *j = &r->json;
	json_object_begin(j, "case");
	for (size_t a = 0; a < r->axis_count; a++) {
		if (r->b->axes[a].kind == AXIS_WORD)
			json_string(j, r->b->axes[a].name, r->current.point[a].word);
		else
			json_integer(j, r->b->axes[a].name, r->current.point[a].number);
	}
	json_object_end(j);
	json_string(j, "key", r->current.key);
}

static void put_samples(struct bench_run *r, unsigned v)
{
	struct json *j = &r->json;
	struct bench_samples *s = &r->current.samples[v];
	size_t step = (r->current.rounds + SAMPLES_KEPT - 1) / SAMPLES_KEPT;
	json_object_begin(j, NULL);
	json_string(j, "name", r->b->variants[v].name);
	json_integer(j, "iterations", s->iterations);
	json_array_begin(j, "samples_s");
	for (size_t i = 0; i < r->current.rounds; i += step)
		json_number(j, NULL, s->seconds[i]);
	json_array_end(j);
	json_array_begin(j, "round");
	for (size_t i = 0; i < r->current.rounds; i += step)
		json_integer(j, NULL, i);
	json_array_end(j);
	json_integer(j, "n", s->summary.n);
	json_integer(j, "retaken", s->retaken);
	json_integer(j, "disturbed", s->disturbed);
	json_number(j, "median_s", s->summary.median);
	json_number(j, "ci_low_s", s->summary.ci_low);
	json_number(j, "ci_high_s", s->summary.ci_high);
	json_number(j, "min_s", s->summary.min);
	json_number(j, "p95_s", s->summary.p95);
	json_number(j, "max_s", s->summary.max);
	json_number(j, "lag1", stats_lag1(s->seconds, r->current.rounds));
	json_number(j, "drift",
		    stats_drift(s->seconds, r->current.rounds, s->summary.median, r->scratch));
	json_bool(j, "converged", s->converged);
	json_object_begin(j, "model");
	json_number(j, "bytes", s->model.bytes > 0.0 ? s->model.bytes : NAN);
	json_number(j, "flops", s->model.flops > 0.0 ? s->model.flops : NAN);
	json_number(j, "messages", s->model.messages > 0.0 ? s->model.messages : NAN);
	json_object_end(j);
	json_object_end(j);
}

bool bench_derived_valid(const struct bench_run *r, const struct bench_derived *d)
{
	if (!isfinite(d->value) || d->flagged)
		return false;
	if (d->modelled)
		return true;
	if (bench_flagged(r, d->variant))
		return false;
	for (int v = 0; v < (int)r->variant_count; v++)
		if (d->uses >> v & 1 && bench_flagged(r, v))
			return false;
	return true;
}

/* A value has the grades of all variants that it is of. */
static void put_grades(struct bench_run *r, const struct bench_derived *d)
{
	struct json *j = &r->json;
	bool any = false;
	for (size_t g = 0; g < BENCH_GRADES && !d->modelled; g++) {
		bool graded = bench_graded(r, d->variant, bench_grades[g]);
		for (int v = 0; v < (int)r->variant_count; v++)
			graded =
				graded || (d->uses >> v & 1 && bench_graded(r, v, bench_grades[g]));
		if (!graded)
			continue;
		if (!any)
			json_array_begin(j, "grades");
		any = true;
		json_string(j, NULL, bench_grades[g]);
	}
	if (any)
		json_array_end(j);
}

static bool variant_lost(const struct bench_run *r, const struct bench_derived *d)
{
	return d->variant >= 0 && r->current.samples[d->variant].lost;
}

/* What a program collected itself; values of rounds follow from the variants' samples. */
static void put_observations(struct json *j, const struct bench_derived *d)
{
	size_t step = (d->rounds + SAMPLES_KEPT - 1) / SAMPLES_KEPT;
	if (!d->observations) {
		json_null(j, "observations");
		return;
	}
	json_array_begin(j, "observations");
	for (size_t i = 0; i < d->rounds; i += step)
		json_number(j, NULL, d->observations[i]);
	json_array_end(j);
}

static void put_derived(struct bench_run *r)
{
	struct json *j = &r->json;
	json_array_begin(j, "derived");
	for (size_t i = 0; i < r->current.derived_count; i++) {
		const struct bench_derived *d = &r->current.derived[i];
		json_object_begin(j, NULL);
		json_string(j, "name", d->name);
		json_string(j, "variant", d->variant >= 0 ? r->b->variants[d->variant].name : NULL);
		json_number(j, "value", d->value);
		json_number(j, "ci_low", d->low);
		json_number(j, "ci_high", d->high);
		json_number(j, "rounds", d->rounds ? (double)d->rounds : NAN);
		put_observations(j, d);
		json_bool(j, "modelled", d->modelled);
		json_string(j, "unit", d->unit);
		json_string(j, "formula", d->formula);
		json_number(j, "bound", d->bound);
		json_string(j, "bound_name", d->bound_name[0] ? d->bound_name : NULL);
		json_number(j, "share", d->share);
		json_bool(j, "valid", bench_derived_valid(r, d));
		if (!isfinite(d->value))
			json_string(j, "reason",
				    d->reason[0]         ? d->reason
				    : d->modelled        ? "the model has no value"
				    : variant_lost(r, d) ? "gate: every sample was lost"
							 : "no round gave a finite value");
		put_grades(r, d);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_validity(struct bench_run *r)
{
	struct json *j = &r->json;
	bench_check_write(r);
	json_array_begin(j, "mechanism");
	for (size_t i = 0; i < r->current.mechanism_count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "name", r->current.mechanisms[i].name);
		json_bool(j, "observed", r->current.mechanisms[i].observed);
		json_string(j, "detail", r->current.mechanisms[i].detail);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_begin(j, "facts");
	for (size_t i = 0; i < r->current.fact_count; i++) {
		const struct bench_fact *f = &r->current.facts[i];
		if (f->text)
			json_string(j, f->name, f->text);
		else
			json_number(j, f->name, f->number);
	}
	json_object_end(j);
	json_object_begin(j, "clock_hz");
	json_number(j, "before", r->current.clock_before_hz);
	json_number(j, "after", r->current.clock_after_hz);
	json_object_end(j);
	bench_telemetry_write(j, &r->current.state, true);
	json_object_begin(j, "validity");
	json_bool(j, "valid", bench_case_valid(r));
	json_array_begin(j, "flags");
	for (size_t i = 0; i < r->current.flag_count; i++) {
		const struct bench_flag *f = &r->current.flags[i];
		json_object_begin(j, NULL);
		json_string(j, "flag", f->flag);
		json_string(j, "variant", f->variant >= 0 ? r->b->variants[f->variant].name : NULL);
		json_string(j, "quantity", f->quantity[0] ? f->quantity : NULL);
		json_string(j, "reason", f->reason);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static bool is_rate(const struct bench_derived *d)
{
	return strcmp(d->name, "bandwidth") == 0 || strcmp(d->name, "flop_rate") == 0 ||
	       strcmp(d->name, "message_rate") == 0;
}

/* One line per variant: its time, its interval, and the rates that follow from it. */
static void table_variants(const struct bench_run *r)
{
	char text[40];
	for (unsigned v = 0; v < r->variant_count; v++) {
		const struct bench_samples *s = &r->current.samples[v];
		if (!s->on)
			continue;
		out_print("  %-20s %10s  +-%4.1f %%  n=%-3zu", r->b->variants[v].name,
			  units_show(text, sizeof(text), s->summary.median, "s"),
			  100.0 * stats_relative_width(&s->summary), s->summary.n);
		for (size_t i = 0; i < r->current.derived_count; i++) {
			const struct bench_derived *d = &r->current.derived[i];
			if (d->variant != (int)v || !is_rate(d))
				continue;
			out_print("  %12s", units_show(text, sizeof(text), d->value, d->unit));
			if (!isnan(d->share))
				out_print("  %.0f %% of %s", 100.0 * d->share, d->bound_name);
		}
		out_print("\n");
	}
}

static void table_derived(const struct bench_run *r)
{
	char a[40], b[40], c[40];
	for (size_t i = 0; i < r->current.derived_count; i++) {
		const struct bench_derived *d = &r->current.derived[i];
		/* The variant's own line shows its time and rates. */
		if (d->variant >= 0 && (strcmp(d->name, "time") == 0 || is_rate(d)))
			continue;
		out_print("  %-20s %10s  %s",
			  d->variant >= 0 ? r->b->variants[d->variant].name : "",
			  units_show(a, sizeof(a), d->value, d->unit), d->name);
		if (!isnan(d->low))
			out_print(" [%s, %s]", units_show(b, sizeof(b), d->low, d->unit),
				  units_show(c, sizeof(c), d->high, d->unit));
		out_print(d->modelled ? " (model)\n" : "\n");
	}
}

static void table_goal(const struct bench_run *r)
{
	if (!r->current.stopped || strcmp(r->current.stopped, "goal") == 0)
		return;
	out_print("  goal of %.4g %% not met after %u samples: %s\n", 100.0 * r->o.goal,
		  r->current.rounds,
		  strcmp(r->current.stopped, "time") == 0
			  ? "the time is used up (--budget)"
			  : "the maximum is reached (--max-samples)");
}

static void table_case(struct bench_run *r, const char *status, const char *reason)
{
	out_print("\n%s%s\n", r->current.key[0] ? r->current.key : "(one case)",
		  strcmp(status, "ok") == 0 ? "" : ":");
	if (strcmp(status, "ok") != 0) {
		out_print("  %s: %s\n", status, reason);
		return;
	}
	table_variants(r);
	table_goal(r);
	table_derived(r);
	for (size_t i = 0; i < r->current.fact_count; i++) {
		if (r->current.facts[i].text)
			out_print("  %-30s %s\n", r->current.facts[i].name,
				  r->current.facts[i].text);
		else
			out_print("  %-30s %.10g\n", r->current.facts[i].name,
				  r->current.facts[i].number);
	}
	for (size_t i = 0; i < r->current.mechanism_count; i++)
		out_print("  mechanism %s: %s (%s)\n", r->current.mechanisms[i].name,
			  r->current.mechanisms[i].observed ? "observed" : "NOT OBSERVED",
			  r->current.mechanisms[i].detail);
	for (size_t i = 0; i < r->current.flag_count; i++) {
		const struct bench_flag *f = &r->current.flags[i];
		out_print("  %s%s%s%s: %s\n", bench_is_grade(f) ? "" : "invalid, ", f->flag,
			  f->variant >= 0 ? " " : "",
			  f->variant >= 0 ? r->b->variants[f->variant].name : "", f->reason);
	}
}

int bench_output_case(struct bench_run *r, const char *status, const char *reason)
{
	struct json *j = &r->json;
	bool ok = strcmp(status, "ok") == 0;
	begin_record(r, "case");
	json_string(j, "device", r->o.device);
	put_point(r);
	json_string(j, "status", status);
	if (!ok)
		json_string(j, "reason", reason);
	json_number(j, "elapsed_s", r->current.elapsed_s);
	json_string(j, "stopped", ok ? r->current.stopped : NULL);
	json_array_begin(j, "variants");
	for (unsigned v = 0; ok && v < r->variant_count; v++)
		if (r->current.samples[v].on)
			put_samples(r, v);
	json_array_end(j);
	if (!ok)
		r->current.derived_count = r->current.state.count = 0;
	put_derived(r);
	put_validity(r);
	if (!r->o.json)
		table_case(r, status, reason);
	return finish_record(r);
}

int bench_output_end(struct bench_run *r, const char *status, int code, const char *reason)
{
	struct json *j = &r->json;
	begin_record(r, "end");
	json_string(j, "status", status);
	json_integer(j, "exit", (uint64_t)code);
	json_object_begin(j, "cases");
	json_integer(j, "total", r->count.total);
	json_integer(j, "ok", r->count.ok);
	json_integer(j, "valid", r->count.valid);
	json_integer(j, "failed", r->count.failed);
	json_integer(j, "skipped", r->count.skipped);
	json_integer(j, "already_done", r->count.already_done);
	json_integer(j, "out_of_budget", r->count.out_of_budget);
	json_object_end(j);
	json_string(j, "reason", reason);
	json_number(j, "elapsed_s", bench_time(r) - r->start_s);
	return finish_record(r);
}
