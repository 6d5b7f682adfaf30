/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench.h"
#include "bench/bench_case.h"
#include "bench/cases/cases.h"
#include "bench/out.h"
#include "bench/output/output.h"
#include "bench/quantities/quantities.h"
#include "bench/run/devices.h"
#include "bench/run/notes.h"
#include "bench/run/point.h"
#include "bench/run/resources.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/samples.h"
#include "bench/sampling/surroundings.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/provenance.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The time of a case without --budget. */
#define CASE_SECONDS 0.5
/* The share of a case that holds a headline number, where another one's is 1. */
#define HEADLINE_WEIGHT 4.0
/* The time that is kept for the cases which are added at cliffs, where that of all others is 1. */
#define CLIFFS_WEIGHT 0.3
/* A device with at least this many threads, one block of the usual size on every unit, is
 * GPU-class (bench/axis.h), and so is one without data, on which large work takes no longer. CPUs
 * stay far below. */
#define GPU_CLASS_THREADS 4096u
/* More than any sample takes that is worth waiting for. */
#define GRACE_S 10

static struct {
	timer_t timer;
	bool there;
} grace;

static void on_signal(int number)
{
	const struct itimerspec limit = {.it_value.tv_sec = GRACE_S};
	const int kept = errno;
	bench_interrupted = number;
	/* Not SA_RESETHAND: a second signal may be the other one. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (grace.there)
		timer_settime(grace.timer, 0, &limit, NULL);
	errno = kept;
}

/* The running call has not returned within the grace time. Every line of the records is whole, but
 * the end is missing. */
static void on_end_of_grace(int number)
{
	static const char text[] =
		"gpusig: interrupted, and a call did not return; completed cases are kept\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)number, (void)ignored;
	raise(bench_interrupted);
}

static void catch_signals(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	struct sigaction action = {.sa_handler = on_signal};
	sigemptyset(&action.sa_mask);
	bench_interrupted = 0;
	/* A timer's signal, for a thread that waits would keep others from forking. */
	signal(SIGRTMIN, on_end_of_grace);
	grace.there = timer_create(CLOCK_MONOTONIC, &event, &grace.timer) == 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* A closed pipe is an error of out_status() and does not end the process. */
	signal(SIGPIPE, SIG_IGN);
}

static void disarm_grace(void)
{
	if (grace.there)
		timer_delete(grace.timer);
	grace.there = false;
}

/* ---------------------------------------------------------------- selection */

/* A GPU is bought for its matrix units, which f32 does not use. */
static void set_types(struct bench_run *r)
{
	const struct dev_props *p = dev_props(r->c.dev);
	uint32_t plain = 0;
	for (unsigned type = 0; type < DEV_TYPES; type++)
		plain |= (uint32_t)dev_type_is_plain((enum dev_type)type) << type;
	const uint32_t types[] = {[AXIS_GEMM_TYPES] = p->gemm_types,
				  [AXIS_PLAIN_TYPES] = p->gemm_types & plain,
				  [AXIS_TILED_TYPES] = p->gemm_tiled_types & plain};
	bool matrix = r->gpu_class && !r->simulated_lists;
	for (unsigned i = AXIS_GEMM_TYPES; i < AXIS_TYPE_SETS; i++) {
		r->known.types[i] = types[i];
		r->known.main_type[i] = matrix && types[i] >> DEV_BF16 & 1 ? DEV_BF16 : DEV_F32;
	}
}

static int resolve_axes(struct bench_run *r)
{
	const struct dev_props *p = dev_props(r->c.dev);
	r->known = (struct axis_capacities){
		.l1 = p->l1_bytes * p->units,
		.l2 = p->l2_bytes * p->units,
		.llc = p->llc_bytes,
		.mem = p->memory_bytes,
		.shared = p->shared_per_unit_bytes,
		.shared_granularity = p->shared_granularity_bytes,
		.shared_reserved = p->shared_reserved_bytes,
		.devices = r->set.count,
	};
	r->known.node_count = dev_numa_nodes(r->c.dev, r->known.nodes, AXIS_NODES);
	bool computes = bench_has_results(&r->c);
	r->simulated_lists = bench_virtual(r) && computes;
	r->gpu_class = !computes || (uint64_t)p->units * p->block_threads >= GPU_CLASS_THREADS;
	set_types(r);
	r->cases->count.total = 1;
	for (size_t a = 0; a < r->axis_count; a++) {
		const struct axis *axis = &r->b->axes[a];
		const char *given = r->o.axis[a];
		const char *defaults =
			axis_default(axis, r->o.full, r->gpu_class, r->simulated_lists);
		int status = given ? axis_parse_given(axis, given, defaults, &r->known, &r->axes[a])
				   : axis_parse(axis, defaults, false, &r->known, &r->axes[a]);
		if (status)
			return status;
		r->cases->count.total *= r->axes[a].count;
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

/* Seconds on the clock that --budget counts: the wall clock. A simulated second says nothing about
 * how long the simulation takes. */
static double wall_time(void) { return 1e-9 * (double)clock_ns(); }

static double weight_of(const struct chosen_case *one)
{
	return one->headline ? HEADLINE_WEIGHT : 1.0;
}

/* A simulated case takes the same samples whatever the budget is, so that the same seed gives the
 * same bytes; the budget decides how many cases are begun. */
static double case_seconds(const struct bench_run *r, double share_of_left, double now)
{
	if (isinf(r->cases->deadline_s) || bench_virtual(r))
		return CASE_SECONDS;
	double seconds = (r->cases->deadline_s - now) * share_of_left;
	return seconds > 0.0 ? seconds : 0.0;
}

/* Fail before any measurement when no case of the run is possible. */
static int check_any_case_possible(struct bench_run *r)
{
	for (size_t i = 0; r->b->admit && i < r->cases->count.total && !bench_interrupted; i++) {
		bench_set_point(r, i);
		if (r->b->admit(&r->c) != -EINVAL)
			break;
		if (i + 1 == r->cases->count.total)
			return -EINVAL;
	}
	err_clear();
	return 0;
}

static int choose_cases(struct bench_run *r)
{
	bool scarce =
		r->o.budget_s > 0.0 && r->o.budget_s < CASE_SECONDS * (double)r->cases->count.total;
	int status = cliffs_open(r);
	if (status == 0)
		status = case_list_make(r, scarce, &r->cases->chosen);
	r->cases->count.already_done =
		r->cases->chosen.already_done + r->cases->cliffs.added_before;
	r->cases->count.total += r->cases->cliffs.added_before;
	return status;
}

/* Measures a case within this share of the time that is left, if there is any. */
static int run_case(struct bench_run *r, const struct chosen_case *one, double share, size_t number,
		    size_t of)
{
	double now = wall_time();
	bool first = r->cases->count.ok + r->cases->count.failed == 0;
	bench_case_clear(r);
	bench_set_case(r, one);
	if (now >= r->cases->deadline_s && !first) {
		r->cases->count.out_of_budget++;
		return 0;
	}
	case_progress_begin(r, number, of);
	int status = bench_case_run(r, case_seconds(r, share, now));
	if (status && !bench_interrupted)
		return status;
	case_progress_end(r);
	return cliffs_note_case(r, one);
}

static int run_added_cases(struct bench_run *r)
{
	struct chosen_case next;
	size_t number = r->cases->chosen.count, wanted;
	int status = 0;
	while (status == 0 && !bench_interrupted && (wanted = cliffs_next_case(r, &next)) > 0) {
		const size_t before = r->cases->count.out_of_budget;
		r->cases->count.total++;
		status = run_case(r, &next, 1.0 / (double)wanted, number + 1, number + wanted);
		number++;
		if (r->cases->count.out_of_budget > before)
			break;
	}
	return status;
}

static int run_cases(struct bench_run *r)
{
	double left = 0.0;
	int status = 0;
	for (size_t i = 0; i < r->cases->chosen.count; i++)
		left += weight_of(&r->cases->chosen.cases[i]);
	left *= r->cases->cliffs.wanted ? 1.0 + CLIFFS_WEIGHT : 1.0;
	for (size_t i = 0; status == 0 && i < r->cases->chosen.count && !bench_interrupted; i++) {
		const struct chosen_case *one = &r->cases->chosen.cases[i];
		status = run_case(r, one, weight_of(one) / left, i + 1, r->cases->chosen.count);
		left -= weight_of(one);
	}
	if (status == 0)
		status = run_added_cases(r);
	return status ? status : bench_interrupted ? -EINTR : 0;
}

/* ---------------------------------------------------------------- the run */

static int open_run(struct bench_run *r)
{
	int status = dev_stream_open(r->c.dev, dev_props(r->c.dev)->priority_normal, &r->c.stream);
	TRY(status, bench_sampling_open(r));
	if (status)
		return status;
	r->c.state = malloc(r->b->state_bytes + 1);
	r->start_s = bench_time(r);
	r->cases->deadline_s = INFINITY;
	if (bench_virtual(r))
		snprintf(r->id, sizeof(r->id), "sim-%" PRIu64, r->o.seed);
	else
		snprintf(r->id, sizeof(r->id), "%" PRIx64 "-%x", clock_ns(), (unsigned)getpid());
	return r->c.state ? 0
			  : err_note(-ENOMEM, "the state of a case, %zu bytes: out of memory",
				     r->b->state_bytes);
}

static void close_run(struct bench_run *r)
{
	bench_case_clear(r);
	for (size_t a = 0; a < r->axis_count; a++)
		axis_free(&r->axes[a]);
	case_progress_close(&r->cases->progress);
	case_keys_free(&r->cases->done);
	case_keys_free(&r->cases->wanted);
	case_list_free(&r->cases->chosen);
	cliffs_free(&r->cases->cliffs);
	bench_checks_free(r);
	bench_quantities_free(r->quantities);
	bench_notes_free(r->notes);
	free(r->c.state);
	json_free(&r->output->json);
	if (r->c.dev)
		bench_resources_free(r);
	bench_sampling_close(r);
	if (r->c.dev)
		dev_stream_close(r->c.dev, r->c.stream);
	dev_close(&r->set);
}

static void list_cases(struct bench_run *r)
{
	for (size_t i = 0; i < r->cases->chosen.count; i++) {
		bench_set_case(r, &r->cases->chosen.cases[i]);
		bench_output_list(r);
	}
}

static int exit_code(const struct bench_run *r, const char **status_p)
{
	size_t ran = r->cases->count.ok + r->cases->count.failed;
	/* --check every asks for correctness, not for valid times. */
	bool want_valid = r->o.check != BENCH_CHECK_EVERY;
	int code = r->cases->count.failed                        ? BENCH_BAD
		   : ran && !r->cases->count.valid && want_valid ? BENCH_INVALID
								 : BENCH_OK;
	*status_p = r->cases->count.failed ? "failed" : code == BENCH_INVALID ? "invalid" : "ok";
	if (ran == 0 && r->cases->count.already_done == 0 && r->cases->count.skipped)
		code = BENCH_CANNOT;
	return code;
}

static int measure_program(struct bench_run *r)
{
	const char *status_word;
	int status = r->o.out ? record_open(&r->output->file, r->o.out) : 0;
	if (status)
		return status;
	/* Opening the device counts towards the program's time. */
	status = bench_output_run(r);
	if (status == 0)
		status = run_cases(r);
	int code = exit_code(r, &status_word);
	r->interrupted = status == -EINTR;
	if (r->interrupted)
		bench_output_end(r, "interrupted", BENCH_INVALID,
				 bench_interrupted == SIGINT ? "interrupted by SIGINT"
							     : "interrupted by SIGTERM");
	else if (status == 0)
		status = bench_output_end(r, status_word, code,
					  code == BENCH_CANNOT ? "every case was skipped" : "");
	int closed = record_close(&r->output->file);
	status = status ? status : closed;
	/* The text in err_text() is that of a skipped case, so none describes the whole program. */
	if (status == 0 && code == BENCH_CANNOT)
		err_print("%s: every case was skipped", r->b->name);
	if (status == 0 && code == BENCH_INVALID)
		err_note(0, "nothing valid was measured: every case is flagged");
	return status ? status : code;
}

static int run_program(struct bench_run *r)
{
	double began = wall_time();
	if (case_keys_read("--done", r->o.done, &r->cases->done) ||
	    case_keys_read("--cases", r->o.cases, &r->cases->wanted))
		return BENCH_USAGE;
	if (case_progress_open(&r->cases->progress, r->o.progress))
		return BENCH_USAGE;
	int status = bench_device_open(r);
	if (status)
		return status == -EINVAL   ? BENCH_USAGE
		       : status == -ENODEV ? BENCH_CANNOT
					   : BENCH_BAD;
	status = resolve_axes(r);
	if (status)
		return status == -ENOTSUP ? BENCH_CANNOT : BENCH_USAGE;
	select_variants(r);
	bench_options_resolve(&r->o, bench_virtual(r));
	r->time_only = !bench_has_results(&r->c) && r->o.check != BENCH_CHECK_OFF;
	if (r->time_only)
		r->o.check = BENCH_CHECK_OFF;
	status = choose_cases(r);
	r->interrupted = status == -EINTR;
	if (status)
		return r->interrupted ? BENCH_INVALID : BENCH_USAGE;
	if (r->o.mode == BENCH_LIST) {
		list_cases(r);
		return out_status() ? BENCH_BAD : BENCH_OK;
	}
	if (open_run(r))
		return BENCH_BAD;
	if (check_any_case_possible(r))
		return BENCH_USAGE;
	if (r->o.budget_s > 0.0)
		r->cases->deadline_s = began + r->o.budget_s;
	status = measure_program(r);
	return status < 0 ? BENCH_BAD : status;
}

static int print_information(const struct bench *b, enum bench_mode mode)
{
	if (mode == BENCH_HELP)
		bench_options_help(b);
	else if (mode == BENCH_ABOUT)
		bench_options_about(b);
	else if (mode == BENCH_DEVICES)
		bench_device_list();
	else
		out_print("%s, gpusig %s\n%s", b->name, provenance_version(), provenance_config());
	return out_status() ? BENCH_BAD : BENCH_OK;
}

/* Run or list the cases. */
static int run_and_close(struct bench_run *r)
{
	err_clear();
	int code = run_program(r);
	if (code != BENCH_OK && err_text()[0] && !r->interrupted &&
	    (code != BENCH_BAD || !r->cases->count.failed))
		err_print("%s: %s", r->b->name, err_text());
	close_run(r);
	return code;
}

/* A run, and what its layers keep. */
struct whole_run {
	struct bench_run run;
	struct resources resources;
	struct notes notes;
	struct sampling sampling;
	struct surroundings surroundings;
	struct checks checks;
	struct quantities quantities;
	struct cases cases;
	struct output output;
};

static struct bench_run *make_run(const struct bench *b, int argc, char **argv)
{
	struct whole_run *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->run = (struct bench_run){.b = b,
				    .argc = argc,
				    .argv = argv,
				    .c = {.run = &w->run, .arg = b->arg},
				    .axis_count = bench_axis_count(b),
				    .variant_count = bench_variant_count(b),
				    .resources = &w->resources,
				    .notes = &w->notes,
				    .sampling = &w->sampling,
				    .surroundings = &w->surroundings,
				    .checks = &w->checks,
				    .quantities = &w->quantities,
				    .cases = &w->cases,
				    .output = &w->output};
	w->cases.progress.fd = w->output.file.fd = -1;
	return &w->run;
}

int bench_main(const struct bench *b, int argc, char **argv)
{
	out_open();
	struct bench_run *r = make_run(b, argc, argv);
	if (!r) {
		err_print("%s: the state of a run: out of memory", b->name);
		return BENCH_BAD;
	}
	catch_signals();
	int code = BENCH_USAGE;
	if (bench_options_parse(b, argc, argv, &r->o))
		err_print("%s: %s", b->name, err_text());
	else if (r->o.mode != BENCH_RUN && r->o.mode != BENCH_LIST)
		code = print_information(b, r->o.mode);
	else
		code = run_and_close(r);
	bool interrupted = r->interrupted;
	free(r);
	disarm_grace();
	if (interrupted) {
		err_print("%s: interrupted; completed cases are kept", b->name);
		/* Its default action is restored, so the parent sees an exit by this signal. */
		raise(bench_interrupted);
	}
	return code;
}
