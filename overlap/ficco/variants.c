/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/variants.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WHOLE(id, label, ...)                                                                      \
	{.name = (label),                                                                          \
	 .timing = BENCH_SELF,                                                                     \
	 .param = FICCO_##id * VARIANT_PARTS + VARIANT_WHOLE},
#define PART(id, label, part)                                                                      \
	{.name = (label),                                                                          \
	 .timing = BENCH_SELF,                                                                     \
	 .reference = true,                                                                        \
	 .always = true,                                                                           \
	 .param = FICCO_##id * VARIANT_PARTS + (part)},
#define PARTS(id, label, ...)                                                                      \
	PART(id, label "-gemms", VARIANT_GEMMS)                                                    \
	PART(id, label "-transfers", VARIANT_TRANSFERS)                                            \
	PART(id, label "-gemms-concurrent", VARIANT_GEMMS_CONCURRENT)                              \
	PART(id, label "-transfers-concurrent", VARIANT_TRANSFERS_CONCURRENT)
#define BASELINE_PARTS(id, label, ...)

const struct bench_variant ficco_variants[VARIANTS_ALL + 1] = {
	FICCO_SCHEDULE_TABLE(WHOLE, WHOLE)               /**/
	PART(SERIAL, "gemm", VARIANT_GEMMS)              /**/
	PART(SERIAL, "communication", VARIANT_TRANSFERS) /**/
	FICCO_SCHEDULE_TABLE(BASELINE_PARTS, PARTS)      /**/
	{.name = "serial-library",
	 .timing = BENCH_SELF,
	 .param = FICCO_SERIAL * VARIANT_PARTS + VARIANT_LIBRARY},
	PART(SERIAL, "communication-library", VARIANT_LIBRARY_COMM){0}};

unsigned variants_variant(enum ficco_schedule schedule, enum variant_part part)
{
	unsigned v = 0;
	while (variants_schedule(v) != schedule || variants_part(v) != part)
		v++;
	return v;
}

/* ------------------------------------------------------------------ set-up */

static void note_skipped(struct variants *all, const char *name)
{
	text_fit_more(all->skipped, sizeof(all->skipped), "%s%s", all->skipped[0] ? " " : "", name);
	text_fit(all->skipped_why, sizeof(all->skipped_why), "%s", err_text());
}

static void skip_schedule(struct bench_case *c, enum ficco_schedule schedule)
{
	for (unsigned v = 0; v < VARIANTS_ALL; v++)
		if (variants_schedule(v) == schedule)
			bench_variant_off(c, v);
	note_skipped(c->state, ficco_schedules[schedule]);
}

static int check_any_left(const struct bench_case *c)
{
	bool any = bench_variant_on(c, VARIANTS_LIBRARY);
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		any = any || bench_variant_on(c, s);
	return any ? 0 : err_note(-ENOTSUP, "%s", err_text());
}

/* Skips a schedule that the plan or the devices refuse; returns other errors. What serial refuses,
 * the references need. */
static int open_plan(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		     enum ficco_schedule schedule)
{
	struct variants *all = c->state;
	int status = ficco_plan_open(problem, schedule, &all->plan[schedule]);
	if (status == 0)
		status = flow_admit(all->plan[schedule], type, all->blocks);
	if (status != -EINVAL && status != -ENOTSUP)
		return status;
	if (schedule == FICCO_SERIAL)
		return err_note(-ENOTSUP, "%s", err_text());
	skip_schedule(c, schedule);
	return 0;
}

static void skip_library(struct bench_case *c)
{
	struct variants *all = c->state;
	for (unsigned v = VARIANTS_LIBRARY; v < VARIANTS_ALL; v++) {
		bench_variant_off(c, v);
		all->graph[v] = NULL;
	}
	all->library.comm = NULL;
	note_skipped(all, ficco_variants[VARIANTS_LIBRARY].name);
}

static int open_library_graph(struct bench_case *c, unsigned v)
{
	struct variants *all = c->state;
	int status = library_graph(&all->library, &all->operands, c, variants_compute(v),
				   &all->graph[v]);
	if (status == -ENOTSUP)
		skip_library(c);
	return status == -ENOTSUP ? 0 : status;
}

/* Skips a schedule with too many operations for a queue. The sides of concurrent parts share a
 * graph. */
static int open_graph(struct bench_case *c, unsigned v)
{
	static const enum flow_part flows[VARIANT_PARTS] = {FLOW_WHOLE, FLOW_GEMMS, FLOW_TRANSFERS,
							    FLOW_CONCURRENT, FLOW_CONCURRENT};
	struct variants *all = c->state;
	enum ficco_schedule schedule = variants_schedule(v);
	enum variant_part part = variants_part(v);
	if (!all->plan[schedule] || (variants_by_library(v) && !all->library.comm))
		bench_variant_off(c, v);
	if (!bench_variant_on(c, v))
		return 0;
	if (variants_by_library(v))
		return open_library_graph(c, v);
	if (part == VARIANT_TRANSFERS_CONCURRENT) {
		all->graph[v] = all->graph[variants_variant(schedule, VARIANT_GEMMS_CONCURRENT)];
		return 0;
	}
	int status = flow_open(&all->operands, c, all->plan[schedule], flows[part], all->blocks,
			       &all->graph[v]);
	if (status == -ENOTSUP)
		skip_schedule(c, schedule);
	return status == -ENOTSUP ? 0 : status;
}

/* Without the library, or where it cannot do the problem, only its own variants are missing. */
static int open_library(struct bench_case *c, const struct ficco_problem *problem,
			enum dev_type type)
{
	struct variants *all = c->state;
	if (!bench_variant_on(c, VARIANTS_LIBRARY))
		return 0;
	if (c->devices->count < 2 || !dev_can(c->dev, DEV_CAP_COLLECTIVES)) {
		err_note(-ENOTSUP, "these devices have no collectives library");
		return 0;
	}
	int status = library_open(&all->library, c, problem, type);
	if (status == -ENOTSUP)
		note_skipped(all, ficco_variants[VARIANTS_LIBRARY].name);
	return status == -ENOTSUP ? 0 : status;
}

/* The plan whose result a variant has; NULL: it has none. */
static const struct ficco_plan *whole_plan(const struct variants *all, unsigned v)
{
	return variants_part(v) == VARIANT_WHOLE     ? all->plan[variants_schedule(v)]
	       : variants_part(v) == VARIANT_LIBRARY ? all->library.plan
						     : NULL;
}

/* Arranging is not a run: it is not timed, and what it touches is washed out of the caches. */
static int rotate_operands(struct bench_case *c)
{
	struct variants *all = c->state;
	uint32_t lanes[DEV_MAX];
	int status = bench_rotate_cold(c, all->graph, VARIANTS_ALL, &all->rotation);
	if (status || !all->rotation)
		return status;
	for (unsigned v = 0; status == 0 && v < VARIANTS_ALL; v++)
		if (all->arrange[v])
			status = rotation_attach(all->rotation, all->arrange[v]);
	for (uint32_t i = 0; i < all->operands.devices; i++)
		lanes[i] = all->operands.rank[i].lane[LANE_SETUP];
	all->wash = rotation_wash(c, all->operands.lanes, lanes);
	return bench_status(c);
}

int variants_open(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		  uint32_t blocks)
{
	struct variants *all = c->state;
	bool columns_cut = false;
	int status = 0;
	all->blocks = blocks;
	for (unsigned s = 0; status == 0 && s < FICCO_SCHEDULES; s++) {
		if (s == FICCO_SERIAL || bench_variant_on(c, s))
			status = open_plan(c, problem, type, (enum ficco_schedule)s);
		columns_cut |= status == 0 && bench_variant_on(c, s) && all->plan[s]->k_steps > 1;
	}
	if (status == 0)
		status = check_any_left(c);
	if (status == 0)
		status = bench_enable_peers(c);
	if (status == 0)
		status = operands_open(&all->operands, c, all->plan[FICCO_SERIAL], type,
				       columns_cut);
	if (status == 0 && bench_checked(c))
		status = operands_expect(&all->operands, c);
	if (status == 0)
		status = open_library(c, problem, type);
	for (unsigned v = 0; status == 0 && v < VARIANTS_ALL; v++)
		status = open_graph(c, v);
	for (unsigned v = 0; status == 0 && v < VARIANTS_ALL; v++)
		if (bench_variant_on(c, v) && whole_plan(all, v))
			all->arrange[v] = operands_arrange(&all->operands, c, whole_plan(all, v));
	if (status == 0)
		status = check_any_left(c);
	return status ? status : rotate_operands(c);
}

void variants_teardown(struct bench_case *c)
{
	struct variants *all = c->state;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		ficco_plan_close(all->plan[s]);
	library_close(&all->library);
}

/* ------------------------------------------------------------------ running */

/* Adds the seconds of the longest GEMM lane, or of the longest of all other lanes. */
static int add_side_seconds(const struct operands *o, const struct work_graph *g, bool gemms,
			    double *sum_s)
{
	double longest_s = 0.0, seconds;
	for (uint32_t i = 0; i < o->ranks * RANK_LANES; i++) {
		uint32_t kind = i % RANK_LANES;
		if ((kind == LANE_COMPUTE) != gemms)
			continue;
		int status =
			work_graph_lane_seconds(g, o->rank[i / RANK_LANES].lane[kind], &seconds);
		if (status && status != -ENOENT)
			return status;
		if (status == 0)
			longest_s = fmax(longest_s, seconds);
	}
	*sum_s += longest_s;
	return 0;
}

static int time_side(struct bench_case *c, unsigned v, uint64_t iterations)
{
	struct variants *all = c->state;
	double sum_s = 0.0, seconds;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = work_graph_time(all->graph[v], &seconds);
		if (status == 0)
			status = add_side_seconds(&all->operands, all->graph[v],
						  variants_compute(v), &sum_s);
	}
	c->self_seconds = sum_s;
	return status;
}

/* Lays A out for a whole variant, in every set that will be used. */
static int arrange_operands(struct variants *all, struct work_graph *arrange)
{
	int status = 0;
	all->arranged = arrange;
	for (uint32_t i = 0; status == 0 && i < rotation_sets(all->rotation); i++)
		status = work_graph_complete(arrange);
	return status || !all->wash ? status : work_graph_complete(all->wash);
}

int variants_body(struct bench_case *c, unsigned v, uint64_t iterations)
{
	struct variants *all = c->state;
	enum variant_part part = variants_part(v);
	int status = 0;
	if (part == VARIANT_GEMMS_CONCURRENT || part == VARIANT_TRANSFERS_CONCURRENT)
		return time_side(c, v, iterations);
	if (all->arrange[v] && all->arranged != all->arrange[v])
		status = arrange_operands(all, all->arrange[v]);
	return status ? status : bench_graph_time(c, all->graph[v], iterations);
}

void variants_model(const struct bench_case *c, unsigned v, struct bench_model *m)
{
	const struct variants *all = c->state;
	const struct operands *o = &all->operands;
	const struct ficco_plan *p = all->plan[variants_schedule(v)];
	for (uint32_t d = 0; variants_compute(v) && d < o->devices; d++)
		m->flops += 2.0 * p->all_rows[d] * p->problem.n * p->problem.k;
	for (uint32_t i = 0; variants_transfer(v) && i < p->transfer_count; i++)
		if (flow_carries(o, &p->transfers[i])) {
			m->bytes += (double)(p->transfers[i].count * o->sent_bytes);
			m->messages += variants_by_library(v) ? 0.0 : 1.0;
		}
}

int variants_poison(struct bench_case *c, unsigned v)
{
	struct variants *all = c->state;
	(void)v;
	all->arranged = NULL;
	int status = work_graph_complete(all->operands.poison);
	return status ? status : rotation_spread(all->rotation, 1);
}

int variants_check(struct bench_case *c, unsigned v)
{
	const struct variants *all = c->state;
	const struct ficco_plan *plan = whole_plan(all, v);
	int status = rotation_collect(all->rotation);
	return status == 0 && plan ? operands_check(&all->operands, c, plan) : status;
}
