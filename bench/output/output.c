/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/output/output.h"
#include "bench/cases/cases.h"
#include "bench/out.h"
#include "bench/quantities/quantities.h"
#include "bench/run/devices.h"
#include "bench/run/notes.h"
#include "bench/run/point.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/rounds.h"
#include "bench/sampling/samples.h"
#include "bench/sampling/surroundings.h"
#include "lib/err.h"
#include "lib/provenance.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION "1.7.0"
/* Samples of a variant in a record, which is a line that people read. Of more, every k-th is
 * kept. */
#define SAMPLES_KEPT 1000u

static void begin_record(struct bench_run *r, const char *kind)
{
	struct json *j = &r->output->json;
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
	json_object_end(&r->output->json);
	int status = json_finish(&r->output->json);
	if (status)
		return err_note(status, "record of %s: out of memory", r->key);
	if (r->o.json)
		out_write(r->output->json.text, r->output->json.length);
	status = record_append(&r->output->file, r->output->json.text, r->output->json.length);
	return status ? status : out_status();
}

static bool is_for_people(const struct bench_run *r) { return !r->o.json && !r->o.format; }

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

static void put_names(struct bench_run *r, const char *key, uint64_t variants)
{
	json_array_begin(&r->output->json, key);
	for (unsigned v = 0; v < r->variant_count; v++)
		if (variants >> v & 1)
			json_string(&r->output->json, NULL, r->b->variants[v].name);
	json_array_end(&r->output->json);
}

static void put_axes(struct bench_run *r)
{
	struct json *j = &r->output->json;
	uint64_t references = 0;
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
	put_names(r, "variants", r->selected);
	for (size_t v = 0; v < r->variant_count; v++)
		if (r->b->variants[v].reference)
			references |= r->selected & UINT64_C(1) << v;
	put_names(r, "references", references);
}

int bench_output_run(struct bench_run *r)
{
	struct json *j = &r->output->json;
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
		bench_device_write(j, r, r->set.dev[d]);
	json_array_end(j);
	bench_device_write_libraries(j, r);
	if (r->b->job)
		put_job(j, r->b->job);
	put_options(j, &r->o);
	put_axes(r);
	bench_headlines_write(j, r);
	bench_cliff_write(j, r);
	provenance_write(j);
	if (is_for_people(r))
		bench_table_begin(r);
	return finish_record(r);
}

static void put_point(struct bench_run *r)
{
	struct json *j = &r->output->json;
	json_object_begin(j, "case");
	for (size_t a = 0; a < r->axis_count; a++) {
		if (r->b->axes[a].kind == AXIS_WORD)
			json_string(j, r->b->axes[a].name, r->point[a].word);
		else
			json_integer(j, r->b->axes[a].name, r->point[a].number);
	}
	json_object_end(j);
	json_string(j, "key", r->key);
}

static void put_samples(struct bench_run *r, unsigned v)
{
	struct json *j = &r->output->json;
	struct bench_samples *s = &r->sampling->samples[v];
	size_t step = (r->sampling->rounds + SAMPLES_KEPT - 1) / SAMPLES_KEPT;
	json_object_begin(j, NULL);
	json_string(j, "name", r->b->variants[v].name);
	json_integer(j, "iterations", s->iterations);
	json_array_begin(j, "samples_s");
	for (size_t i = 0; i < r->sampling->rounds; i += step)
		json_number(j, NULL, s->seconds[i]);
	json_array_end(j);
	json_array_begin(j, "round");
	for (size_t i = 0; i < r->sampling->rounds; i += step)
		json_integer(j, NULL, i);
	json_array_end(j);
	json_integer(j, "n", s->summary.n);
	json_integer(j, "retaken", s->retaken);
	json_integer(j, "disturbed", bench_disturbed(r, v));
	json_integer(j, "waited", bench_waited(r, v));
	json_number(j, "median_s", s->summary.median);
	json_number(j, "ci_low_s", s->summary.ci_low);
	json_number(j, "ci_high_s", s->summary.ci_high);
	json_number(j, "min_s", s->summary.min);
	json_number(j, "p95_s", s->summary.p95);
	json_number(j, "max_s", s->summary.max);
	json_number(j, "lag1", stats_lag1(s->seconds, r->sampling->rounds));
	json_number(j, "drift",
		    stats_drift(s->seconds, r->sampling->rounds, s->summary.median,
				r->sampling->scratch));
	json_bool(j, "converged", s->converged);
	bench_singles_write(j, s);
	json_object_begin(j, "model");
	json_number(j, "bytes", s->model.bytes > 0.0 ? s->model.bytes : NAN);
	json_number(j, "flops", s->model.flops > 0.0 ? s->model.flops : NAN);
	if (s->model.ops > 0.0)
		json_number(j, "ops", s->model.ops);
	json_number(j, "messages", s->model.messages > 0.0 ? s->model.messages : NAN);
	json_object_end(j);
	json_object_end(j);
}

static void put_grades(struct bench_run *r, const struct bench_derived *d)
{
	struct json *j = &r->output->json;
	bool any = false;
	for (size_t g = 0; g < BENCH_GRADES; g++) {
		if (!bench_derived_graded(r, d, bench_grades[g]))
			continue;
		if (!any)
			json_array_begin(j, "grades");
		any = true;
		json_string(j, NULL, bench_grades[g]);
	}
	if (any)
		json_array_end(j);
}

/* Values that a program collected itself; those of rounds follow from the variants' samples. */
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

static void put_seconds(struct bench_run *r, const struct bench_seconds *of)
{
	if (!of->longest && !(of->sum & (of->sum - 1))) {
		json_string(&r->output->json, NULL, r->b->variants[__builtin_ctzll(of->sum)].name);
		return;
	}
	json_object_begin(&r->output->json, NULL);
	put_names(r, "sum", of->sum);
	put_names(r, "longest", of->longest);
	json_object_end(&r->output->json);
}

/* Definition of the quantity and its terms. */
static void put_kind(struct bench_run *r, const struct bench_derived *d)
{
	static const char *const kinds[] = {
		[BENCH_VALUE] = "value",         [BENCH_MODEL] = "model",
		[BENCH_OBSERVED] = "observed",   [BENCH_FORMULA] = "formula",
		[BENCH_TIME] = "time",           [BENCH_RATE] = "rate",
		[BENCH_RATIO] = "ratio",         [BENCH_DIFFERENCE] = "difference",
		[BENCH_SHARE] = "share_of_rate", [BENCH_FRACTION] = "fraction_of_ideal",
	};
	const struct bench_quantity *q = &d->quantity;
	json_string(&r->output->json, "kind", kinds[q->kind]);
	if (q->kind <= BENCH_FORMULA) {
		put_names(r, "of", d->uses);
		return;
	}
	json_array_begin(&r->output->json, "of");
	for (size_t i = 0; i < BENCH_TERMS && (q->of[i].sum | q->of[i].longest); i++)
		put_seconds(r, &q->of[i]);
	json_array_end(&r->output->json);
	if (q->factor > 0.0 && q->kind != BENCH_SHARE)
		json_number(&r->output->json, "factor", q->factor);
}

static void put_derived(struct bench_run *r)
{
	struct json *j = &r->output->json;
	json_array_begin(j, "derived");
	for (size_t i = 0; i < r->quantities->count; i++) {
		const struct bench_derived *d = &r->quantities->derived[i];
		json_object_begin(j, NULL);
		json_string(j, "name", d->name);
		json_string(j, "variant", d->variant >= 0 ? r->b->variants[d->variant].name : NULL);
		json_number(j, "value", d->value);
		json_number(j, "ci_low", d->low);
		json_number(j, "ci_high", d->high);
		json_number(j, "rounds", d->rounds ? (double)d->rounds : NAN);
		put_observations(j, d);
		json_bool(j, "modelled", d->quantity.modelled);
		json_string(j, "unit", d->unit);
		put_kind(r, d);
		json_string(j, "formula", d->formula);
		json_number(j, "bound", d->bound);
		json_string(j, "bound_name", d->bound_name[0] ? d->bound_name : NULL);
		json_number(j, "share", d->share);
		json_bool(j, "valid", bench_derived_valid(r, d));
		if (!isfinite(d->value))
			json_string(j, "reason", bench_derived_reason(r, d));
		put_grades(r, d);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Other load on the cores, and their placement; simulated cores have neither. */
static void put_surroundings(struct bench_run *r)
{
	const struct bench_placement *p = &r->sampling->placement;
	const struct cpu_share *load = &r->surroundings->share;
	struct json *j = &r->output->json;
	if (bench_virtual(r))
		return;
	json_object_begin(j, "surroundings");
	json_number(j, "others", r->surroundings->share_known ? load->others : NAN);
	json_number(j, "stolen", r->surroundings->share_known ? load->stolen : NAN);
	if (r->surroundings->share_known)
		json_number(j, "held_back", load->held_back);
	else
		json_string(
			j, "reason",
			"the kernel's CPU times are missing, inconsistent, or of less than 0.05 s");
	if (p->probes) {
		json_number(j, "core_latency_s", p->latency_s);
		json_number(j, "core_latency_min_s", p->low_s);
		json_number(j, "core_latency_max_s", p->high_s);
		json_integer(j, "rounds_left_out", p->left_out);
	}
	json_object_end(j);
}

static void put_course(struct bench_run *r)
{
	struct json *j = &r->output->json;
	if (r->notes->course_count == 0)
		return;
	json_object_begin(j, "course");
	for (size_t i = 0; i < r->notes->course_count; i++) {
		const struct bench_course_row *row = &r->notes->course[i];
		json_object_begin(j, row->name);
		json_string(j, "unit", row->unit);
		json_array_begin(j, "values");
		for (size_t k = 0; k < row->count; k++)
			json_number(j, NULL, row->values[k]);
		json_array_end(j);
		json_object_end(j);
	}
	json_object_end(j);
}

static void put_validity(struct bench_run *r)
{
	struct json *j = &r->output->json;
	bench_check_write(j, r);
	json_array_begin(j, "mechanism");
	for (size_t i = 0; i < r->notes->mechanism_count; i++) {
		json_object_begin(j, NULL);
		json_string(j, "name", r->notes->mechanisms[i].name);
		json_bool(j, "observed", r->notes->mechanisms[i].observed);
		json_string(j, "detail", r->notes->mechanisms[i].detail);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_begin(j, "facts");
	for (size_t i = 0; i < r->notes->fact_count; i++) {
		const struct bench_fact *f = &r->notes->facts[i];
		if (f->text)
			json_string(j, f->name, f->text);
		else
			json_number(j, f->name, f->number);
	}
	json_object_end(j);
	json_object_begin(j, "clock_hz");
	json_number(j, "before", r->surroundings->clock_before_hz);
	json_number(j, "after", r->surroundings->clock_after_hz);
	json_object_end(j);
	put_surroundings(r);
	bench_telemetry_write(j, &r->surroundings->state, true);
	json_object_begin(j, "validity");
	json_bool(j, "valid", bench_case_valid(r));
	json_array_begin(j, "flags");
	for (size_t i = 0; i < r->notes->flag_count; i++) {
		const struct bench_flag *f = &r->notes->flags[i];
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

static void put_not_supported(struct bench_run *r)
{
	struct json *j = &r->output->json;
	bool any = false;
	for (unsigned v = 0; v < r->variant_count; v++) {
		if (!r->sampling->samples[v].skipped[0])
			continue;
		if (!any)
			json_array_begin(j, "variants_not_supported");
		any = true;
		json_object_begin(j, NULL);
		json_string(j, "name", r->b->variants[v].name);
		json_string(j, "reason", r->sampling->samples[v].skipped);
		json_object_end(j);
	}
	if (any)
		json_array_end(j);
}

int bench_output_case(struct bench_run *r, const char *status, const char *cause,
		      const char *reason)
{
	struct json *j = &r->output->json;
	bool ok = strcmp(status, "ok") == 0;
	begin_record(r, "case");
	json_string(j, "device", r->o.device);
	put_point(r);
	json_string(j, "status", status);
	if (!ok) {
		json_string(j, "cause", cause);
		json_string(j, "reason", reason);
	}
	json_number(j, "elapsed_s", r->output->elapsed_s);
	json_string(j, "stopped", ok ? r->sampling->stopped : NULL);
	json_array_begin(j, "variants");
	for (unsigned v = 0; ok && v < r->variant_count; v++)
		if (r->sampling->samples[v].on)
			put_samples(r, v);
	json_array_end(j);
	put_not_supported(r);
	if (!ok)
		r->quantities->count = r->surroundings->state.count = 0;
	put_derived(r);
	put_course(r);
	put_validity(r);
	if (is_for_people(r))
		bench_table_case(r, status, reason);
	int added = r->o.format ? bench_format_case(r, status, reason) : 0,
	    finished = finish_record(r);
	return finished ? finished : added;
}

int bench_output_end(struct bench_run *r, const char *status, int code, const char *reason)
{
	struct json *j = &r->output->json;
	begin_record(r, "end");
	json_string(j, "status", status);
	json_integer(j, "exit", (uint64_t)code);
	json_object_begin(j, "cases");
	json_integer(j, "total", r->cases->count.total);
	json_integer(j, "ok", r->cases->count.ok);
	json_integer(j, "valid", r->cases->count.valid);
	json_integer(j, "failed", r->cases->count.failed);
	json_integer(j, "skipped", r->cases->count.skipped);
	json_integer(j, "already_done", r->cases->count.already_done);
	json_integer(j, "out_of_budget", r->cases->count.out_of_budget);
	json_object_end(j);
	json_string(j, "reason", reason);
	json_number(j, "elapsed_s", bench_time(r) - r->start_s);
	if (is_for_people(r))
		bench_table_end(r);
	int printed = r->o.format ? bench_format_end(r) : 0, finished = finish_record(r);
	return finished ? finished : printed;
}

void bench_output_list(struct bench_run *r)
{
	struct json *j = &r->output->json;
	if (!r->o.json) {
		out_print("%s\n", r->key);
		return;
	}
	json_clear(j);
	json_object_begin(j, NULL);
	json_string(j, "key", r->key);
	json_array_begin(j, "headlines");
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++)
		if (bench_is_headline(r, m))
			json_string(j, NULL, m->metric);
	json_array_end(j);
	json_object_end(j);
	if (json_finish(j) == 0)
		out_write(j->text, j->length);
}
