/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/device_collective.h"
#include "bench/out.h"
#include "collectives/devices/collective_graph.h"
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "collectives/nccl_tests/nccl_tests_table.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 16 };

/* On a line with one port, bucket equals ring and rd-mirrored equals rd-b. */
const struct bench_variant device_half_variants[] = {
	{"direct", BENCH_SELF},     {"ring", BENCH_SELF},
	{"multi-ring", BENCH_SELF}, {"rd-b", BENCH_SELF},
	{"swing-b", BENCH_SELF},    {"bruck", BENCH_SELF},
	{"trivance", BENCH_SELF},   {"bine", BENCH_SELF},
	DEVICE_LIBRARY_ROWS,        {0}};

const struct axis device_parts_axes[] = {
	{"size",
	 "bytes of the whole vector of floats, rounded down to equal parts of a multiple of 16 "
	 "bytes",
	 AXIS_SIZE, "2K,128K,2M,16M", "2K:128M:x4,16M,256M", "2K,128K,2M", "2K,128K,2M,16M,256M",
	 "2K:128M:x4,256M", .min = 1, .max = DEVICE_MAX_BYTES},
	{0}};

/* The program's; c->arg. */
struct program {
	enum dev_collective what;
	struct bench bench;
	struct bench_variant rows[MAX_ROWS + 1]; /* the argument of each is its place */
	enum dev_comm_policy policy[MAX_ROWS];   /* of the library's */
	/* Reason of an earlier case, where the library takes units although it must not: later
	 * ones do not wait for that again. "": not found. */
	char takes_units[ERR_TEXT];
};

struct state {
	struct vectors vectors[DEV_COMM_POLICIES]; /* the first one is the schedules', too */
	struct schedule_graph_plan plan[MAX_ROWS];
	struct work_graph *graph[MAX_ROWS];
	struct dev_comm *comm[DEV_COMM_POLICIES];
	uint64_t staging_bytes;
	uint64_t runs[MAX_ROWS], max_iterations[MAX_ROWS];
	double host_s[MAX_ROWS]; /* of the latest body with the most iterations */
	char skipped[512], skipped_why[2 * ERR_TEXT]; /* each reason once */
};

static enum dev_collective case_collective(const struct bench_case *c)
{
	return ((const struct program *)c->arg)->what;
}

static enum dev_comm_policy row_policy(const struct bench_case *c, unsigned v)
{
	return ((const struct program *)c->arg)->policy[v];
}

static struct vectors *row_vectors(const struct bench_case *c, unsigned v)
{
	return &((struct state *)c->state)->vectors[row_policy(c, v)];
}

static bool is_reduction(enum dev_collective what)
{
	return what == DEV_ALLREDUCE || what == DEV_REDUCE_SCATTER;
}

static bool is_by_library(const struct bench_case *c, unsigned v)
{
	return bench_row(c, v)->check == device_library_check;
}

static uint64_t part_count(const struct bench_case *c)
{
	return case_collective(c) == DEV_ALLREDUCE ? 1 : c->devices->count;
}

static uint64_t vector_bytes(const struct bench_case *c)
{
	return nccl_tests_bytes(axis_u64(c, "size"), sizeof(float), part_count(c));
}

/* Floats of a vector of schedules. */
static uint64_t schedule_floats(const struct bench_case *c)
{
	const uint64_t parts = part_count(c);
	return parts * vectors_stride(case_collective(c), vector_bytes(c) / sizeof(float) / parts);
}

static int admit(const struct bench_case *c)
{
	if (!vector_bytes(c))
		return err_note(-ENOTSUP, "%llu bytes are too few for %llu equal parts",
				(unsigned long long)axis_u64(c, "size"),
				(unsigned long long)part_count(c));
	if (axis_u64(c, "size") > dev_props(c->dev)->memory_bytes / 8)
		return err_note(
			-ENOMEM,
			"vector, original and staging memory exceed the device's free memory");
	return 0;
}

/* ------------------------------------------------------------------ set-up */

static int enable_peers(const struct dev_set *set)
{
	int status = 0;
	for (size_t i = 1; i < set->count; i++)
		for (size_t k = 0; k < i; k++)
			TRY(status, dev_peer_enable(set->dev[i], set->dev[k]));
	return status;
}

static int find_comm(struct bench_case *c, unsigned v)
{
	struct state *s = c->state;
	const enum dev_comm_policy policy = row_policy(c, v);
	const char *takes_units = ((const struct program *)c->arg)->takes_units;
	return policy == DEV_COMM_ZERO_CTA && takes_units[0]
		       ? err_note(-ENOTSUP, "%s, as an earlier case found", takes_units)
		       : dev_comm_find(c->devices, policy, &s->comm[policy]);
}

/* The library needs no peers: where there are none it goes through the host. Where there are, lanes
 * reach the gate's memory by it. */
static int plan_row(struct bench_case *c, unsigned v)
{
	struct state *s = c->state;
	int status = enable_peers(c->devices);
	if (is_by_library(c, v))
		return status && status != -ENOTSUP ? status : find_comm(c, v);
	return TRY(status, collective_graph_plan(case_collective(c), bench_row(c, v)->name,
						 (uint32_t)c->devices->count, schedule_floats(c),
						 &s->plan[v]));
}

static int open_registered(struct bench_case *c, unsigned v)
{
	struct state *s = c->state;
	const enum dev_comm_policy policy = row_policy(c, v);
	if (policy == DEV_COMM_DEFAULT)
		return 0;
	int status = vectors_open_registered(&s->vectors[policy], &s->vectors[0], c,
					     s->comm[policy], s->staging_bytes);
	return status == -ENOMEM ? err_note(-ENOTSUP, "%s", err_text()) : status;
}

static int need_no_units(struct bench_case *c, unsigned v)
{
	struct program *p = c->arg;
	int status = bench_need_no_units(c, ((struct state *)c->state)->graph[v], vector_bytes(c));
	if (status == -ENOTSUP)
		text_fit(p->takes_units, sizeof(p->takes_units), "%s: %s", bench_row(c, v)->name,
			 err_text());
	return status;
}

static int build_row(struct bench_case *c, unsigned v)
{
	struct state *s = c->state;
	const struct bench_variant *row = bench_row(c, v);
	const enum dev_comm_policy policy = row_policy(c, v);
	int status = open_registered(c, v);
	const struct vectors *x = &s->vectors[policy];
	struct work_graph *g = s->graph[v] = bench_graph(c, s->vectors[0].lanes);
	TRY(status, c->status);
	if (status == 0 && is_by_library(c, v))
		collective_graph_add_library(g, s->comm[policy], x,
					     row->once == device_library_calls);
	else
		TRY(status,
		    collective_graph_add(g, x->what, row->name, schedule_floats(c), &x->places));
	TRY(status, work_graph_prepare(g));
	if (policy == DEV_COMM_ZERO_CTA)
		TRY(status, need_no_units(c, v));
	return status ? err_note(status, "%s: %s", row->name, err_text()) : 0;
}

/* Rows of the library with one policy have one communicator. */
static void skip_with_others(struct bench_case *c, unsigned skipped)
{
	struct state *s = c->state;
	if (!strstr(s->skipped_why, err_text()))
		text_fit_more(s->skipped_why, sizeof(s->skipped_why), "%s%s",
			      s->skipped_why[0] ? "; " : "", err_text());
	for (unsigned v = 0; v < bench_variants(c); v++) {
		if (!bench_variant_on(c, v) ||
		    (v != skipped && !(is_by_library(c, v) && is_by_library(c, skipped) &&
				       row_policy(c, v) == row_policy(c, skipped))))
			continue;
		bench_variant_off(c, v);
		text_fit_more(s->skipped, sizeof(s->skipped), "%s%s", s->skipped[0] ? " " : "",
			      bench_row(c, v)->name);
	}
}

static int set_up_rows(struct bench_case *c, int (*set_up)(struct bench_case *, unsigned))
{
	bool supported = false;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		int status = bench_variant_on(c, v) ? set_up(c, v) : 0;
		if (status && status != -ENOTSUP)
			return status;
		if (status)
			skip_with_others(c, v);
	}
	for (unsigned v = 0; v < bench_variants(c); v++)
		supported = supported || bench_variant_on(c, v);
	return supported ? 0 : -ENOTSUP;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const enum dev_collective what = case_collective(c);
	s->staging_bytes = what == DEV_ALL_TO_ALL ? vector_bytes(c) : DEV_KERNEL_ALIGN;
	uint64_t staging = s->staging_bytes;
	TRY(c->status, set_up_rows(c, plan_row));
	for (unsigned v = 0; v < bench_variants(c); v++) {
		if (s->plan[v].staging_bytes > staging)
			staging = s->plan[v].staging_bytes;
		if (vector_bytes(c) <= COLLECTIVE_SINGLE_BYTES &&
		    bench_row(c, v)->once != device_library_calls)
			bench_single_times(c, v);
	}
	TRY(c->status,
	    vectors_open(&s->vectors[0], c, what, vector_bytes(c) / sizeof(float), staging));
	return TRY(c->status, set_up_rows(c, build_row));
}

/* ------------------------------------------------------------------ running */

/* One at a time, each behind the graph `restore`. */
static int run_each(struct bench_case *c, long row, uint64_t iterations, struct work_graph *restore)
{
	struct state *s = c->state;
	double seconds = 0.0, host_s = 0.0;
	c->self_seconds = 0.0;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++) {
		TRY(c->status, work_graph_complete(restore));
		TRY(c->status, work_graph_time(s->graph[row], &seconds));
		s->runs[row]++;
		c->self_seconds += seconds;
		host_s += work_graph_host_seconds(s->graph[row]);
	}
	if (iterations >= s->max_iterations[row]) {
		s->max_iterations[row] = iterations;
		s->host_s[row] = host_s / (double)iterations;
	}
	return c->status;
}

static int body(struct bench_case *c, long row, uint64_t iterations)
{
	return run_each(c, row, iterations, ((struct state *)c->state)->vectors[0].spread);
}

int device_library_body(struct bench_case *c, long row, uint64_t iterations)
{
	return run_each(c, row, iterations, row_vectors(c, (unsigned)row)->restore);
}

/* The seconds of one of the calls. */
int device_library_calls(struct bench_case *c, long row)
{
	struct work_graph *g = ((struct state *)c->state)->graph[row];
	TRY(c->status, work_graph_complete(g));
	const uint64_t start_ns = dev_clock_ns(c->dev);
	for (unsigned i = 0; i < DEVICE_ROW_CALLS; i++)
		TRY(c->status, work_graph_run(g));
	c->status = work_graph_sync(g, c->status);
	c->self_seconds += 1e-9 * (double)(dev_clock_ns(c->dev) - start_ns) / DEVICE_ROW_CALLS;
	return c->status;
}

static void model(const struct bench_case *c, long row, struct bench_model *m)
{
	m->bytes = (double)vector_bytes(c);
}

static int poison(struct bench_case *c, long row)
{
	return work_graph_complete(row_vectors(c, (unsigned)row)->poison);
}

static int check(struct bench_case *c, long row)
{
	return vectors_check(&((struct state *)c->state)->vectors[0], c, true);
}

int device_library_check(struct bench_case *c, long row)
{
	return vectors_check(row_vectors(c, (unsigned)row), c, false);
}

/* A collective of this policy that is measured took no unit. */
static int verify_no_units(struct bench_case *c)
{
	const struct state *s = c->state;
	int status = 0;
	for (unsigned v = 0; v < bench_variants(c); v++)
		if (row_policy(c, v) == DEV_COMM_ZERO_CTA && bench_variant_on(c, v))
			TRY(status, bench_verify_no_units(c, UINT64_C(1) << v, s->graph[v],
							  vector_bytes(c)));
	return status;
}

/* The requested algorithm ran, and copy engines did the copies where the device has some. */
static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	uint64_t engine_rows = 0;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		const struct schedule_graph_plan *plan = &s->plan[v];
		uint64_t copies, bytes, runs = s->runs[v];
		char name[48];
		if (!bench_variant_on(c, v) || is_by_library(c, v))
			continue;
		engine_rows |= UINT64_C(1) << v;
		work_graph_copied(s->graph[v], &copies, &bytes);
		snprintf(name, sizeof(name), "%s ran", bench_row(c, v)->name);
		bench_mechanism(c, name,
				copies == runs * plan->copies && bytes == runs * plan->bytes,
				"%.4g copies and %.6g bytes were sent in each of %.0f runs; the "
				"schedule has %.0f and %.0f",
				(double)copies / (double)runs, (double)bytes / (double)runs,
				(double)runs, (double)plan->copies, (double)plan->bytes);
	}
	int status = verify_no_units(c);
	if (dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		TRY(status, bench_verify_engine(c, engine_rows, s->graph, MAX_ROWS));
	return status;
}

/* ------------------------------------------------------------------ what follows from the times */

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const bool twice = case_collective(c) == DEV_ALLREDUCE;
	uint64_t algorithms = 0;
	const char *library = NULL;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		algorithms |= (uint64_t)!is_by_library(c, v) << v;
		if (!bench_variant_on(c, v))
			continue;
		if (is_by_library(c, v))
			library = s->comm[row_policy(c, v)]->library;
		if (bench_row(c, v)->once == device_library_calls)
			bench_fact_number(c, "calls_in_a_row", DEVICE_ROW_CALLS);
		else
			bench_value(c, "host_completion", (int)v, s->host_s[v], "s",
				    "from the host's release to the call's return; mean of the "
				    "last full body");
	}
	TRY(c->status, nccl_tests_derive(c, twice, c->devices->count, vector_bytes(c), algorithms));
	bench_alias_fastest(c, "time", algorithms, "best_time",
			    "time of the fastest algorithm, excluding the library's");
	bench_fact_number(c, "devices", (double)c->devices->count);
	if (!twice || vector_bytes(c) != axis_u64(c, "size"))
		bench_fact_number(c, "vector_bytes", (double)vector_bytes(c));
	bench_fact_text(c, "skipped", s->skipped);
	if (s->skipped_why[0])
		bench_fact_text(c, "skipped_why", s->skipped_why);
	if (library)
		bench_fact_text(c, "library", library);
	return c->status;
}

/* ------------------------------------------------------------------ the table of nccl-tests */

static void describe_case(const struct bench_case *c, struct nccl_tests_point *p)
{
	p->asked = axis_u64(c, "size");
	p->bytes = vector_bytes(c);
	p->count = vector_bytes(c) / sizeof(float) / part_count(c);
	p->type = "f32";
	p->op = is_reduction(case_collective(c)) ? "sum" : NULL;
	p->in_place = case_collective(c) != DEV_ALL_TO_ALL;
}

static int list_devices(const struct bench_case *c, struct nccl_tests_rank **ranks_p,
			size_t *count_p)
{
	const size_t count = c->devices->count;
	struct nccl_tests_rank *ranks = calloc(count, sizeof(*ranks));
	if (!ranks)
		return err_note(-ENOMEM, "%zu devices of a table: out of memory", count);
	for (size_t i = 0; i < count; i++)
		ranks[i] = nccl_tests_rank_of(c->devices->dev[i]);
	*ranks_p = ranks;
	*count_p = count;
	return 0;
}

int device_collective_main(const struct bench *b, enum dev_collective what, int argc, char **argv)
{
	struct program p = {.what = what, .bench = *b};
	struct nccl_tests_args args;
	struct nccl_tests_table table = {.source = {.bench = b,
						    .twice = what == DEV_ALLREDUCE,
						    .row_variant = DEVICE_LIBRARY_CALLS,
						    .row_calls = DEVICE_ROW_CALLS,
						    .describe = describe_case,
						    .list_ranks = list_devices}};
	const struct bench_format format = nccl_tests_format(&table);
	const struct nccl_tests_program program = {.bench = b, .reduces = is_reduction(what)};
	out_open(); /* before anything is opened or printed */
	if (nccl_tests_args_translate(&program, argc, argv, &args)) {
		err_print("%s: %s", b->name, err_text());
		return 2;
	}
	for (unsigned i = 0; b->variants[i].name; i++) {
		assert(i < MAX_ROWS);
		p.rows[i] = b->variants[i];
		p.policy[i] = (enum dev_comm_policy)b->variants[i].arg;
		p.rows[i].arg = i;
	}
	p.bench.needs = DEV_CAP_WAIT_VALUE;
	p.bench.wants = DEV_CAP_PEER | DEV_CAP_COPY_ENGINE | DEV_CAP_COLLECTIVES;
	p.bench.min_devices = 2;
	p.bench.default_devices = args.devices;
	p.bench.variant_option = "algorithm";
	p.bench.variants = p.rows;
	p.bench.option_notes = nccl_tests_notes;
	p.bench.format = &format;
	p.bench.state_bytes = sizeof(struct state);
	p.bench.arg = &p;
	p.bench.admit = admit;
	p.bench.setup = setup;
	p.bench.body = body;
	p.bench.model = model;
	p.bench.poison = poison;
	p.bench.check = check;
	p.bench.verify_mechanism = verify_mechanism;
	p.bench.derive = derive;
	int code = bench_main(&p.bench, args.argc, args.argv);
	nccl_tests_table_free(&table);
	return code;
}
