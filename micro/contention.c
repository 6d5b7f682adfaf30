/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who slows whom? For every pair of {compute, memory, engine copy, kernel copy, gemm}: how much
 * longer each one takes while the other runs. CIL, contention inefficiency loss, is our working
 * definition of FiCCO's (arXiv 2512.10236): CIL(x | y) = time of x while y runs / time of x alone.
 * 1 is no loss; 2 is what taking turns would give.
 *
 * Timed: pieces of x by the device's events, in x's own stream. The partner y starts first, and its
 * own stream is refilled until x has ended, so x never runs alone. A piece repeats its work until
 * it takes a millisecond, equally often in both runs. GEMMs are large enough to occupy every unit,
 * and buffers exceed the last-level cache, so both workloads really use memory.
 *
 *     bin/micro/contention --device host --pair compute+memory,engine+gemm
 */
#include "lib/err.h"
#include "micro/contention/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Odd variants time y. */
enum { X_ALONE, Y_ALONE, X_WITH_Y, Y_WITH_X };

static int parse_pair(const char *word, enum workload_kind pair[2])
{
	char text[32];
	for (unsigned x = 0; x < WORKLOAD_KINDS; x++) {
		for (unsigned y = 0; y < WORKLOAD_KINDS; y++) {
			snprintf(text, sizeof(text), "%s+%s", workload_names[x], workload_names[y]);
			if (strcmp(text, word) != 0)
				continue;
			pair[0] = (enum workload_kind)x;
			pair[1] = (enum workload_kind)y;
			return 0;
		}
	}
	return err_note(-EINVAL,
			"unknown pair '%s'; values: X+Y of compute, memory, engine, kernel, gemm",
			word);
}

static int accept_pair(const char *word)
{
	enum workload_kind unused[2];
	return parse_pair(word, unused);
}

static const struct axis axes[] = {{.name = "pair",
				    .help = "X+Y of compute, memory, engine, kernel, gemm",
				    .kind = AXIS_WORD,
				    .accept = accept_pair,
				    .quick =
					    "compute+compute,compute+memory,compute+engine,compute+"
					    "kernel,compute+gemm,memory+memory,memory+engine,"
					    "memory+kernel,memory+gemm,engine+engine,engine+kernel,"
					    "engine+gemm,kernel+kernel,kernel+gemm,gemm+gemm"},
				   {0}};

static const struct bench_variant variants[] = {{.name = "x_alone", .timing = BENCH_SELF},
						{.name = "y_alone", .timing = BENCH_SELF},
						{.name = "x_with_y", .timing = BENCH_SELF},
						{.name = "y_with_x", .timing = BENCH_SELF},
						{0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_with_engine", "CIL", "y_with_x", "pair=engine+gemm", "", "lower"},
	{"cil_gemm_with_kernel", "CIL", "y_with_x", "pair=kernel+gemm", "", "lower"},
	{0}};

struct state {
	struct workload workload[2];
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static int setup(struct bench_case *c)
{
	struct workload *workload = case_state(c)->workload;
	enum workload_kind pair[2];
	struct work_lanes *lanes = bench_lanes(c);
	int status = parse_pair(axis_str(c, "pair"), pair);
	if (status == 0)
		status = workload_open(&workload[0], c, lanes, pair[0]);
	return status ? status : workload_open(&workload[1], c, lanes, pair[1]);
}

static int enqueue_recorded_piece(struct bench_case *c, struct workload *a, unsigned which)
{
	int status = work_graph_run(a->piece);
	return status ? status : dev_event_record(c->dev, a->stream, a->step[which]);
}

static int start_partner(struct bench_case *c, struct workload *x, struct workload *y)
{
	int status = dev_event_record(c->dev, y->stream, y->begin);
	if (status == 0)
		status = enqueue_recorded_piece(c, y, 0);
	if (status == 0)
		status = enqueue_recorded_piece(c, y, 1);
	return status ? status : dev_stream_wait(c->dev, x->stream, y->begin);
}

/* Keeps two pieces of y queued: when one ends, another one is added, until x has ended. */
static int feed_partner(struct bench_case *c, struct workload *x, struct workload *y)
{
	for (unsigned i = 0;; i ^= 1) {
		int status = dev_event_query(c->dev, x->end);
		if (status != -EAGAIN)
			return status;
		status = dev_event_sync(c->dev, y->step[i]);
		if (status == 0)
			status = enqueue_recorded_piece(c, y, i);
		if (status)
			return status;
	}
}

static int time_workload(struct bench_case *c, struct workload *x, struct workload *y,
			 bool concurrent, uint64_t iterations)
{
	double ns = 0.0;
	int status = concurrent ? start_partner(c, x, y) : 0;
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->begin);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = work_graph_run(x->piece);
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->end);
	if (status == 0 && concurrent)
		status = feed_partner(c, x, y);
	int drained = dev_stream_sync(c->dev, x->stream);
	int partner = concurrent ? dev_stream_sync(c->dev, y->stream) : 0;
	status = status ? status : drained ? drained : partner;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, x->begin, x->end, &ns);
	c->self_seconds = 1e-9 * ns;
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct workload *workload = case_state(c)->workload;
	bool times_y = variant % 2;
	return time_workload(c, &workload[times_y], &workload[!times_y], variant >= X_WITH_Y,
			     iterations);
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	workload_model(&case_state(c)->workload[variant % 2], c, m);
}

static int poison(struct bench_case *c, unsigned variant)
{
	(void)variant;
	int status = workload_poison(&case_state(c)->workload[0], c);
	return status ? status : workload_poison(&case_state(c)->workload[1], c);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct workload *workload = case_state(c)->workload;
	int status = variant == Y_ALONE ? 0 : workload_check(&workload[0], c);
	return status == 0 && variant != X_ALONE ? workload_check(&workload[1], c) : status;
}

/* Otherwise the workloads would run one after the other. */
static int verify_mechanism(struct bench_case *c)
{
	const struct workload *workload = case_state(c)->workload;
	return bench_verify_independent(c, UINT64_MAX, "streams_are_independent", workload[0].piece,
					workload[1].piece);
}

static int derive(struct bench_case *c)
{
	bench_fact_number(c, "x_repeats", case_state(c)->workload[0].repeats);
	bench_fact_number(c, "y_repeats", case_state(c)->workload[1].repeats);
	int status = bench_ratio(c, "CIL", X_WITH_Y, X_ALONE,
				 "time of x while y runs / time of x alone, round by round");
	return status ? status
		      : bench_ratio(c, "CIL", Y_WITH_X, Y_ALONE,
				    "time of y while x runs / time of y alone, round by round");
}

static const struct bench bench = {
	.name = "micro/contention",
	.question = "who slows whom when two things run at once?",
	.formula = "CIL(x | y) = time of x while y runs / time of x alone; 1 is no loss",
	.timed = "pieces of one workload by device events while the other is kept running; not the "
		 "partner's start and drain",
	.limits = "the partner is launched first; both use every unit, and on a host device copy "
		  "engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
