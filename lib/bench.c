/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench.h"
#include "lib/bench_run.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/out.h"
#include "lib/prov.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without --budget. */
#define CASE_SECONDS 0.5
/* Threads of one good block on every unit, from which on a device is wide (lib/axis.h). CPUs stay far below. */
#define WIDE_THREADS 4096u

volatile sig_atomic_t bench_interrupted;

static void interrupt(int number) { bench_interrupted = number; }

/* One signal asks for a tidy end, a second one of the same kind ends at once. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* A closed pipe is an error of out_status(), not a sudden death. */
	signal(SIGPIPE, SIG_IGN);
}

/* ---------------------------------------------------------------- what will run */

static int resolve_axes(struct bench_run *r)
{
	const struct dev_props *p = dev_props(r->c.dev);
	struct axis_capacities known = {
		.l1 = p->l1_bytes * p->units,
		.l2 = p->l2_bytes * p->units,
		.llc = p->llc_bytes,
		.mem = p->memory_bytes,
		.shared = p->shared_per_unit_bytes,
		.shared_granularity = p->shared_granularity_bytes,
		.shared_reserved = p->shared_reserved_bytes,
		.types = p->gemm_types,
		.devices = r->set.count,
	};
	bool wide = (uint64_t)p->units * p->block_threads >= WIDE_THREADS;
	r->count.total = 1;
	for (size_t a = 0; a < r->axis_count; a++) {
		const struct axis *axis = &r->b->axes[a];
		const char *text = r->o.axis[a] ? r->o.axis[a] : axis_default(axis, r->o.full, wide, bench_virtual(r));
		int status = axis_parse(axis, text, r->o.axis[a] != NULL, &known, &r->axes[a]);
		if (status)
			return status;
		r->count.total *= r->axes[a].count;
	}
	return 0;
}

static void select_variants(struct bench_run *r)
{
	r->selected = 0;
	for (size_t v = 0; v < r->variant_count; v++) {
		const char *name = r->b->variants[v].name, *list = r->o.variants;
		bool wanted = !list || r->b->variants[v].always || axis_list_has(list, name);
		r->selected |= (uint64_t)wanted << v;
	}
}

/* The order of cases. With time for all of them it is that of the axes; when time may run out, a stride coprime to
 * their number spreads the first ones over the whole product. */
static size_t stride(size_t total, bool spread)
{
	if (!spread || total < 3)
		return 1;
	for (size_t s = (size_t)(0.618 * (double)total); s > 1; s--) {
		size_t a = total, b = s;
		while (b) {
			size_t rest = a % b;
			a = b;
			b = rest;
		}
		if (a == 1)
			return s;
	}
	return 1;
}

static void set_point(struct bench_run *r, size_t index)
{
	size_t used = 0;
	for (size_t a = r->axis_count; a-- > 0;) {
		r->now.point[a] = r->axes[a].values[index % r->axes[a].count];
		index /= r->axes[a].count;
	}
	r->now.key[0] = '\0';
	for (size_t a = 0; a < r->axis_count && used < sizeof(r->now.key); a++) {
		const struct axis_value *value = &r->now.point[a];
		int length;
		if (r->b->axes[a].kind == AXIS_WORD)
			length = snprintf(r->now.key + used, sizeof(r->now.key) - used, "%s%s=%s", a ? " " : "",
			                  r->b->axes[a].name, value->word);
		else
			length = snprintf(r->now.key + used, sizeof(r->now.key) - used, "%s%s=%" PRIu64, a ? " " : "",
			                  r->b->axes[a].name, value->number);
		used += (size_t)length;
	}
}

static int read_done(struct bench_run *r)
{
	char *line = NULL;
	size_t room = 0;
	int status = 0;
	FILE *file = fopen(r->o.done, "re");
	if (!file)
		return err_note(-EINVAL, "--done %s: %s", r->o.done, strerror(errno));
	while (status == 0 && getline(&line, &room, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		char **grown = realloc(r->done, (r->done_count + 1) * sizeof(*grown));
		if (grown)
			r->done = grown;
		char *kept = grown ? strdup(line) : NULL;
		if (kept)
			r->done[r->done_count++] = kept;
		else
			status = err_note(-ENOMEM, "--done %s: out of memory", r->o.done);
	}
	free(line);
	fclose(file);
	return status;
}

static bool already_done(const struct bench_run *r)
{
	for (size_t i = 0; i < r->done_count; i++)
		if (strcmp(r->done[i], r->now.key) == 0)
			return true;
	return false;
}

/* ---------------------------------------------------------------- all cases */

static double case_seconds(const struct bench_run *r, size_t left, double now)
{
	if (isinf(r->deadline_s))
		return CASE_SECONDS;
	double share = (r->deadline_s - now) / (double)left;
	return share > 0.0 ? share : 0.0;
}

/* Nothing of what was asked for can be: said before anything is measured. */
static int refuse_impossible(struct bench_run *r)
{
	for (size_t i = 0; r->b->admit && i < r->count.total; i++) {
		set_point(r, i);
		if (r->b->admit(&r->c) != -EINVAL)
			break;
		if (i + 1 == r->count.total)
			return -EINVAL;
	}
	err_clear();
	return 0;
}

static int run_cases(struct bench_run *r)
{
	bool spread = r->o.budget_s > 0.0 && r->o.budget_s < CASE_SECONDS * (double)r->count.total;
	size_t step = stride(r->count.total, spread), index = 0;
	for (size_t i = 0; i < r->count.total; i++, index = (index + step) % r->count.total) {
		bench_now_clear(&r->now);
		set_point(r, index);
		if (already_done(r)) {
			r->count.already_done++;
			continue;
		}
		double now = bench_time(r);
		bool first = r->count.ok + r->count.failed == 0;
		if (now >= r->deadline_s && !first) {
			r->count.out_of_budget++;
			continue;
		}
		int status = bench_case_run(r, case_seconds(r, r->count.total - i, now));
		if (bench_interrupted)
			return -EINTR;
		if (status)
			return status;
	}
	return 0;
}

/* ---------------------------------------------------------------- the program */

static int prepare(struct bench_run *r)
{
	size_t scratch = r->o.max_samples > STATS_DRIFT_ROOM ? r->o.max_samples : STATS_DRIFT_ROOM;
	int status = dev_stream_open(r->c.dev, dev_props(r->c.dev)->priority_normal, &r->c.stream);
	if (status == 0)
		status = bench_gate_open(r);
	if (status)
		return status;
	r->scratch = malloc(scratch * sizeof(double));
	r->c.state = malloc(r->b->state_bytes + 1);
	bool enough = r->scratch && r->c.state;
	for (size_t v = 0; v < r->variant_count; v++) {
		r->now.samples[v].seconds = malloc(r->o.max_samples * sizeof(double));
		enough = enough && r->now.samples[v].seconds;
	}
	r->start_s = bench_time(r);
	r->deadline_s = INFINITY;
	if (bench_virtual(r))
		snprintf(r->id, sizeof(r->id), "sim-%" PRIu64, r->o.seed);
	else
		snprintf(r->id, sizeof(r->id), "%" PRIx64 "-%x", clock_ns(), (unsigned)getpid());
	return enough ? 0 : err_note(-ENOMEM, "samples of %zu variants: out of memory", r->variant_count);
}

static void release(struct bench_run *r)
{
	for (size_t v = 0; v < r->variant_count; v++)
		free(r->now.samples[v].seconds);
	bench_now_clear(&r->now);
	for (size_t a = 0; a < r->axis_count; a++)
		axis_free(&r->axes[a]);
	for (size_t i = 0; i < r->done_count; i++)
		free(r->done[i]);
	free(r->done);
	free(r->scratch);
	free(r->c.state);
	json_free(&r->json);
	if (r->c.dev) {
		own_free(r);
		bench_gate_close(r);
		dev_stream_close(r->c.dev, r->c.stream);
	}
	dev_close(&r->set);
}

static void list_cases(struct bench_run *r)
{
	for (size_t i = 0; i < r->count.total; i++) {
		set_point(r, i);
		if (!already_done(r))
			out_print("%s\n", r->now.key);
	}
}

static int end_code(const struct bench_run *r, const char **status_p)
{
	size_t ran = r->count.ok + r->count.failed;
	int code = r->count.failed ? BENCH_BAD : ran && !r->count.valid ? BENCH_INVALID : BENCH_OK;
	*status_p = r->count.failed ? "failed" : code == BENCH_INVALID ? "invalid" : "ok";
	if (ran == 0 && r->count.already_done == 0 && r->count.skipped)
		code = BENCH_CANNOT;
	return code;
}

static int run(struct bench_run *r)
{
	const char *status_word;
	int status = r->o.out ? record_open(&r->file, r->o.out) : 0;
	if (status)
		return status;
	/* Opening the device is part of the program's time. */
	status = bench_output_run(r);
	if (status == 0)
		status = run_cases(r);
	int code = end_code(r, &status_word);
	if (status == -EINTR)
		bench_output_end(r, "interrupted", BENCH_INVALID, "interrupted by a signal");
	else if (status == 0)
		status = bench_output_end(r, status_word, code, code == BENCH_CANNOT ? "every case was skipped" : "");
	int closed = record_close(&r->file);
	status = status ? status : closed;
	/* A skipped case has left its reason; no other text is about the program as a whole. */
	if (status == 0 && code == BENCH_CANNOT)
		err_print("%s: every case was skipped", r->b->name);
	if (status == 0 && code == BENCH_INVALID)
		err_note(0, "nothing valid was measured: every case is flagged");
	return status ? status : code;
}

static int start(struct bench_run *r)
{
	double began = 1e-9 * (double)clock_ns();
	if (r->o.done && read_done(r))
		return BENCH_USAGE;
	int status = bench_device_open(r);
	if (status)
		return status == -EINVAL ? BENCH_USAGE : status == -ENODEV ? BENCH_CANNOT : BENCH_BAD;
	if (resolve_axes(r))
		return BENCH_USAGE;
	select_variants(r);
	if (r->o.mode == BENCH_LIST) {
		list_cases(r);
		return out_status() ? BENCH_BAD : BENCH_OK;
	}
	if (prepare(r))
		return BENCH_BAD;
	if (refuse_impossible(r))
		return BENCH_USAGE;
	if (r->o.budget_s > 0.0)
		r->deadline_s = (bench_virtual(r) ? r->start_s : began) + r->o.budget_s;
	status = run(r);
	return status < 0 ? BENCH_BAD : status;
}

static int show(const struct bench *b, enum bench_mode mode)
{
	if (mode == BENCH_HELP)
		bench_options_help(b);
	else if (mode == BENCH_ABOUT)
		bench_options_about(b);
	else if (mode == BENCH_DEVICES)
		bench_device_list();
	else
		out_print("%s, gpusig %s\n%s", b->name, prov_version(), prov_config());
	return out_status() ? BENCH_BAD : BENCH_OK;
}

int bench_main(const struct bench *b, int argc, char **argv)
{
	static struct bench_run r;
	int code;
	r = (struct bench_run){.b = b, .argc = argc, .argv = argv, .file = {.fd = -1}};
	r.c.run = &r;
	r.axis_count = bench_axis_count(b);
	r.variant_count = bench_variant_count(b);
	catch_signals();
	if (bench_options_parse(b, argc, argv, &r.o)) {
		err_print("%s: %s", b->name, err_text());
		return BENCH_USAGE;
	}
	if (r.o.mode != BENCH_RUN && r.o.mode != BENCH_LIST)
		return show(b, r.o.mode);
	err_clear();
	code = start(&r);
	if (code != BENCH_OK && err_text()[0] && !bench_interrupted && (code != BENCH_BAD || !r.count.failed))
		err_print("%s: %s", b->name, err_text());
	release(&r);
	if (bench_interrupted) {
		err_print("%s: interrupted; what was complete is kept", b->name);
		/* The default action is back in place: whoever started us sees a death by signal. */
		raise(bench_interrupted);
	}
	return code;
}
