/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/device_collective.h"
#include "bench/out.h"
#include "collectives/devices/all_to_all_graph.h"
#include "collectives/devices/vectors.h"
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/nccl_tests/nccl_tests_table.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096u /* bytes; single collectives up to here are timed, too */
#define MAX_VARIANTS 16u

/* The program's; c->arg. */
struct program {
	const struct bench_variant *variants;
	enum dev_collective what;
};

struct state {
	struct vectors vectors;
	struct schedule_graph_plan plan[MAX_VARIANTS];
	struct work_graph *graph[MAX_VARIANTS];
	struct dev_comm *comm; /* the library's */
	uint64_t runs[MAX_VARIANTS], max_iterations[MAX_VARIANTS];
	double host_s[MAX_VARIANTS];              /* of the latest body with the most iterations */
	char skipped[512], skipped_why[ERR_TEXT]; /* the reason for the last of them */
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static enum dev_collective case_collective(const struct bench_case *c)
{
	const struct program *p = c->arg;
	return p->what;
}

static const char *variant_name(const struct bench_case *c, unsigned v)
{
	const struct program *p = c->arg;
	return v < MAX_VARIANTS ? p->variants[v].name : NULL;
}

static bool is_calls(const struct bench_case *c, unsigned v)
{
	return strcmp(variant_name(c, v), DEVICE_LIBRARY_CALLS) == 0;
}

static bool is_library(const struct bench_case *c, unsigned v)
{
	return strcmp(variant_name(c, v), DEVICE_LIBRARY) == 0 || is_calls(c, v);
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

static const enum schedule_kind kinds[DEV_COLLECTIVES] = {[DEV_ALLREDUCE] = SCHEDULE_ALLREDUCE,
							  [DEV_ALLGATHER] = SCHEDULE_ALLGATHER,
							  [DEV_REDUCE_SCATTER] =
								  SCHEDULE_REDUCE_SCATTER};

/* The library needs no peers: where there are none it goes through the host. */
static int enable_peers(const struct dev_set *set)
{
	int status = 0;
	for (size_t i = 1; status == 0 && i < set->count; i++)
		for (size_t k = 0; status == 0 && k < i; k++)
			status = dev_peer_enable(set->dev[i], set->dev[k]);
	return status;
}

static int plan_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	const enum dev_collective what = case_collective(c);
	const uint32_t devices = (uint32_t)c->devices->count;
	const uint64_t count = schedule_floats(c);
	if (is_library(c, v))
		return dev_comm_find(c->devices, &s->comm);
	int status = enable_peers(c->devices);
	if (status)
		return status;
	if (what == DEV_ALL_TO_ALL)
		return all_to_all_plan(variant_name(c, v), devices, count / devices, &s->plan[v]);
	return schedule_graph_plan(kinds[what], variant_name(c, v), devices, count, &s->plan[v]);
}

/* In place where the vendor can be, all but all-to-all; of originals out of place. */
static void add_library(struct work_graph *g, struct dev_comm *comm, const struct vectors *v,
			bool of_originals)
{
	const struct schedule_graph_places *p = &v->places;
	float *from[DEV_MAX], *to[DEV_MAX];
	for (uint32_t d = 0; d < p->devices; d++) {
		float *own = p->vector[d] + d * v->part;
		from[d] = (of_originals ? (float *)v->original[d] : p->vector[d]) +
			  (v->what == DEV_ALLGATHER ? d * v->part : 0);
		to[d] = v->what == DEV_REDUCE_SCATTER ? own
			: v->what == DEV_ALL_TO_ALL   ? p->staging[d]
						      : p->vector[d];
	}
	work_graph_collective(g, comm, v->what, p->lane[0], from, to, v->part);
}

static int build_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	const struct vectors *x = &s->vectors;
	const char *name = variant_name(c, v);
	struct work_graph *g = s->graph[v] = bench_graph(c, x->lanes);
	int status = bench_status(c);
	if (status == 0 && is_library(c, v))
		add_library(g, s->comm, x, is_calls(c, v));
	else if (status == 0 && x->what == DEV_ALL_TO_ALL)
		status = all_to_all_add(g, name, x->part, &x->places);
	else if (status == 0)
		status =
			schedule_graph_add(g, kinds[x->what], name, schedule_floats(c), &x->places);
	if (status == 0)
		status = work_graph_prepare(g);
	return status ? err_note(status, "%s: %s", name, err_text()) : 0;
}

static void skip_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	if (!bench_variant_on(c, v))
		return;
	bench_variant_off(c, v);
	text_fit_more(s->skipped, sizeof(s->skipped), "%s%s", s->skipped[0] ? " " : "",
		      variant_name(c, v));
}

/* The library's variants have one communicator. */
static void skip_with_others(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	text_fit(s->skipped_why, sizeof(s->skipped_why), "%s", err_text());
	for (unsigned k = 0; variant_name(c, k); k++)
		if (k == v || (is_library(c, v) && is_library(c, k)))
			skip_variant(c, k);
}

static int set_up_variants(struct bench_case *c, int (*set_up)(struct bench_case *, unsigned))
{
	bool supported = false;
	for (unsigned v = 0; variant_name(c, v); v++) {
		int status = bench_variant_on(c, v) ? set_up(c, v) : 0;
		if (status && status != -ENOTSUP)
			return status;
		if (status)
			skip_with_others(c, v);
	}
	for (unsigned v = 0; variant_name(c, v); v++)
		supported = supported || bench_variant_on(c, v);
	return supported ? 0 : -ENOTSUP;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	const enum dev_collective what = case_collective(c);
	uint64_t staging = what == DEV_ALL_TO_ALL ? vector_bytes(c) : DEV_KERNEL_ALIGN;
	int status = set_up_variants(c, plan_variant);
	for (unsigned v = 0; variant_name(c, v); v++) {
		if (s->plan[v].staging_bytes > staging)
			staging = s->plan[v].staging_bytes;
		if (vector_bytes(c) <= SMALL)
			bench_single_times(c, v);
	}
	if (status == 0)
		status = vectors_open(&s->vectors, c, what, vector_bytes(c) / sizeof(float),
				      staging);
	return status ? status : set_up_variants(c, build_variant);
}

/* ------------------------------------------------------------------ running */

static int run_variant(struct bench_case *c, unsigned variant, double *seconds_p)
{
	const struct state *s = case_state(c);
	int status = work_graph_complete(is_library(c, variant) ? s->vectors.restore
								: s->vectors.spread);
	return status ? status : work_graph_time(s->graph[variant], seconds_p);
}

/* The seconds of one of the calls. */
static int run_row(struct bench_case *c, struct work_graph *g, double *seconds_p)
{
	int status = work_graph_complete(g);
	const uint64_t start_ns = dev_clock_ns(c->dev);
	for (unsigned i = 0; status == 0 && i < DEVICE_ROW_CALLS; i++)
		status = work_graph_run(g);
	status = work_graph_sync(g, status);
	*seconds_p = 1e-9 * (double)(dev_clock_ns(c->dev) - start_ns) / DEVICE_ROW_CALLS;
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	double sum_s = 0.0, host_s = 0.0, seconds = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = is_calls(c, variant) ? run_row(c, s->graph[variant], &seconds)
					      : run_variant(c, variant, &seconds);
		s->runs[variant]++;
		sum_s += seconds;
		host_s += work_graph_host_seconds(s->graph[variant]);
	}
	c->self_seconds = sum_s;
	if (iterations >= s->max_iterations[variant]) {
		s->max_iterations[variant] = iterations;
		s->host_s[variant] = host_s / (double)iterations;
	}
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->bytes = (double)vector_bytes(c);
}

static int poison(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return work_graph_complete(case_state(c)->vectors.poison);
}

static int check(struct bench_case *c, unsigned variant)
{
	return vectors_check(&case_state(c)->vectors, c, !is_library(c, variant));
}

static void verify_counts(struct bench_case *c, unsigned v)
{
	const struct state *s = case_state(c);
	const struct schedule_graph_plan *plan = &s->plan[v];
	uint64_t copies, bytes, runs = s->runs[v];
	char name[48];
	work_graph_copied(s->graph[v], &copies, &bytes);
	snprintf(name, sizeof(name), "%s ran", variant_name(c, v));
	bench_mechanism(c, name, copies == runs * plan->copies && bytes == runs * plan->bytes,
			"%.4g copies and %.6g bytes were sent in each of %.0f runs; the schedule "
			"has %.0f and %.0f",
			(double)copies / (double)runs, (double)bytes / (double)runs, (double)runs,
			(double)plan->copies, (double)plan->bytes);
}

/* The requested algorithm ran, and copy engines did the copies where the device has some. */
static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = case_state(c);
	uint64_t engine_variants = 0;
	for (unsigned v = 0; variant_name(c, v); v++) {
		if (!bench_variant_on(c, v) || is_library(c, v))
			continue;
		engine_variants |= UINT64_C(1) << v;
		verify_counts(c, v);
	}
	return dev_can(c->dev, DEV_CAP_COPY_ENGINE)
		       ? bench_verify_engine(c, engine_variants, s->graph, MAX_VARIANTS)
		       : 0;
}

/* ------------------------------------------------------------------ what follows from the times */

static unsigned find_library(const struct bench_case *c)
{
	unsigned v = 0;
	while (strcmp(variant_name(c, v), DEVICE_LIBRARY) != 0)
		v++;
	return v;
}

static void derive_best(struct bench_case *c)
{
	uint64_t algorithms = 0;
	for (unsigned v = 0; variant_name(c, v); v++)
		algorithms |= (uint64_t)!is_library(c, v) << v;
	bench_alias_fastest(c, "bus_bandwidth", algorithms, "best_bus_bandwidth",
			    "bus_bandwidth of the fastest algorithm, excluding the library's");
	bench_alias_fastest(c, "time", algorithms, "best_time",
			    "time of the fastest algorithm, excluding the library's");
}

static int derive(struct bench_case *c)
{
	const struct state *s = case_state(c);
	const bool twice = case_collective(c) == DEV_ALLREDUCE;
	const unsigned library = find_library(c);
	bool by_library = false;
	const double p = (double)c->devices->count,
		     bus_bytes = (twice ? 2.0 : 1.0) * (p - 1.0) / p * (double)vector_bytes(c);
	int status = 0;
	for (unsigned v = 0; status == 0 && variant_name(c, v); v++) {
		if (!bench_variant_on(c, v))
			continue;
		status = bench_rate(c, "bus_bandwidth", v, bus_bytes, "byte/s",
				    twice ? "2 (p-1)/p bytes / time" : "(p-1)/p bytes / time");
		by_library = by_library || is_library(c, v);
		if (is_calls(c, v))
			bench_fact_number(c, "calls_in_a_row", DEVICE_ROW_CALLS);
		else
			bench_value(c, "host_completion", (int)v, s->host_s[v], "s",
				    "from the host's release to the call's return; mean of the "
				    "last full body");
		if (status == 0 && v != library)
			status = bench_ratio(c, "library_time_ratio", v, library, NULL);
	}
	derive_best(c);
	bench_fact_number(c, "devices", (double)c->devices->count);
	if (!twice || vector_bytes(c) != axis_u64(c, "size"))
		bench_fact_number(c, "vector_bytes", (double)vector_bytes(c));
	bench_fact_text(c, "skipped", s->skipped);
	if (s->skipped_why[0])
		bench_fact_text(c, "skipped_why", s->skipped_why);
	if (by_library)
		bench_fact_text(c, "library", s->comm->library);
	return status;
}

/* ------------------------------------------------------------------ the table of nccl-tests */

static void describe_case(const struct bench_case *c, struct nccl_tests_point *p)
{
	const enum dev_collective what = case_collective(c);
	const uint64_t elements = vector_bytes(c) / sizeof(float);
	p->asked = axis_u64(c, "size");
	p->bytes = vector_bytes(c);
	p->count = what == DEV_ALLREDUCE ? elements : elements / c->devices->count;
	p->type = "f32";
	p->op = what == DEV_ALLREDUCE || what == DEV_REDUCE_SCATTER ? "sum" : NULL;
	p->in_place = what != DEV_ALL_TO_ALL;
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

static struct bench with_callbacks(const struct bench *b)
{
	struct bench whole = *b;
	whole.needs = DEV_CAP_WAIT_VALUE;
	whole.wants = DEV_CAP_PEER | DEV_CAP_COPY_ENGINE | DEV_CAP_COLLECTIVES;
	whole.min_devices = 2;
	whole.variant_option = "algorithm";
	whole.option_notes = nccl_tests_notes;
	whole.state_bytes = sizeof(struct state);
	whole.admit = admit;
	whole.setup = setup;
	whole.indexed.body = body;
	whole.indexed.model = model;
	whole.indexed.poison = poison;
	whole.indexed.check = check;
	whole.verify_mechanism = verify_mechanism;
	whole.derive = derive;
	return whole;
}

int device_collective_main(const struct bench *b, enum dev_collective what, int argc, char **argv)
{
	struct program p = {.variants = b->variants, .what = what};
	struct bench whole = with_callbacks(b);
	struct nccl_tests_args args;
	struct nccl_tests_table table = {.source = {.bench = b,
						    .twice = what == DEV_ALLREDUCE,
						    .row_variant = DEVICE_LIBRARY_CALLS,
						    .row_calls = DEVICE_ROW_CALLS,
						    .describe = describe_case,
						    .list_ranks = list_devices}};
	const struct bench_format format = nccl_tests_format(&table);
	const struct nccl_tests_program program = {
		.bench = b, .reduces = what == DEV_ALLREDUCE || what == DEV_REDUCE_SCATTER};
	out_open(); /* before anything is opened or printed */
	if (nccl_tests_args_translate(&program, argc, argv, &args)) {
		err_print("%s: %s", b->name, err_text());
		return 2;
	}
	whole.arg = &p;
	whole.format = &format;
	whole.default_devices = args.devices;
	int code = bench_main(&whole, args.argc, args.argv);
	nccl_tests_table_free(&table);
	return code;
}
