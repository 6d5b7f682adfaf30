/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/variants.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum ficco_schedule variants_schedule(unsigned v)
{
	if (v < FICCO_SCHEDULES)
		return (enum ficco_schedule)v;
	return v < VARIANTS_PARTS ? FICCO_SERIAL
				  : (enum ficco_schedule)((v - VARIANTS_PARTS) / 3 + 1);
}

enum flow_part variants_part(unsigned v)
{
	if (v < FICCO_SCHEDULES)
		return FLOW_WHOLE;
	if (v < VARIANTS_PARTS)
		return v == VARIANTS_GEMM ? FLOW_GEMMS : FLOW_TRANSFERS;
	return (enum flow_part)((v - VARIANTS_PARTS) % 3 + 1);
}

unsigned variants_variant(enum ficco_schedule schedule, enum flow_part part)
{
	if (part == FLOW_WHOLE)
		return schedule;
	if (schedule == FICCO_SERIAL)
		return part == FLOW_GEMMS ? VARIANTS_GEMM : VARIANTS_COMM;
	return VARIANTS_PARTS + 3 * (schedule - 1u) + part - 1u;
}

/* ------------------------------------------------------------------ set-up */

static void skip_schedule(struct variants *all, struct bench_case *c, enum ficco_schedule schedule)
{
	size_t used = strlen(all->skipped);
	bench_variant_off(c, schedule);
	snprintf(all->skipped + used, sizeof(all->skipped) - used, "%s%s", used ? " " : "",
		 ficco_schedules[schedule]);
	snprintf(all->skipped_why, sizeof(all->skipped_why), "%.159s", err_text());
}

/* Skips a schedule that the plan or the devices refuse; returns other errors. */
static int open_plan(struct variants *all, struct bench_case *c,
		     const struct ficco_problem *problem, enum dev_type type,
		     enum ficco_schedule schedule)
{
	int status = ficco_plan_open(problem, schedule, &all->plan[schedule]);
	if (status == 0)
		status = flow_admit(all->plan[schedule], type, all->blocks);
	if (status != -EINVAL && status != -ENOTSUP)
		return status;
	skip_schedule(all, c, schedule);
	ficco_plan_close(all->plan[schedule]);
	all->plan[schedule] = NULL;
	return 0;
}

static int open_plans(struct variants *all, struct bench_case *c,
		      const struct ficco_problem *problem, enum dev_type type)
{
	bool any = false;
	int status = ficco_plan_open(problem, FICCO_SERIAL, &all->serial);
	if (status == 0)
		status = flow_admit(all->serial, type, all->blocks);
	for (unsigned s = 0; status == 0 && s < FICCO_SCHEDULES; s++) {
		if (bench_variant_on(c, s))
			status = open_plan(all, c, problem, type, (enum ficco_schedule)s);
		any = any || all->plan[s];
	}
	if (status == -EINVAL || (status == 0 && !any))
		return err_note(-ENOTSUP, "%s", err_text());
	return status;
}

static int open_graph(struct variants *all, struct bench_case *c, unsigned v)
{
	const struct ficco_plan *plan = v == VARIANTS_GEMM || v == VARIANTS_COMM
						? all->serial
						: all->plan[variants_schedule(v)];
	if (!plan) {
		bench_variant_off(c, v);
		return 0;
	}
	if (!bench_variant_on(c, v))
		return 0;
	int status = flow_open(&all->lanes, &all->operands, plan, variants_part(v), all->blocks,
			       &all->graph[v]);
	if (status != -ENOTSUP)
		return status;
	/* Too many operations for a queue: turn off the schedule's parts as well. */
	skip_schedule(all, c, variants_schedule(v));
	for (unsigned other = 0; other < VARIANTS_ALL; other++)
		if (variants_schedule(other) == variants_schedule(v))
			bench_variant_off(c, other);
	return 0;
}

static bool any_columns_cut(const struct variants *all)
{
	bool any = false;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		any = any || (all->plan[s] && all->plan[s]->k_steps > 1);
	return any;
}

int variants_open(struct variants *all, struct bench_case *c, const struct ficco_problem *problem,
		  enum dev_type type, uint32_t blocks)
{
	*all = (struct variants){.blocks = blocks, .arranged = FICCO_SCHEDULES};
	const struct dev_set *set = c->devices;
	int status = open_plans(all, c, problem, type);
	for (size_t i = 1; status == 0 && i < set->count; i++)
		for (size_t k = 0; status == 0 && k < i; k++)
			status = dev_peer_enable(set->dev[i], set->dev[k]);
	if (status == 0)
		status = operands_open(&all->operands, c, all->serial, type, any_columns_cut(all));
	if (status == 0)
		status = flow_lanes_open(&all->lanes, set, problem->devices,
					 problem->op == FICCO_GEMM_RS);
	for (unsigned v = 0; status == 0 && v < VARIANTS_ALL; v++)
		status = open_graph(all, c, v);
	bool any = false;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		any = any || all->graph[s];
	return status || any ? status : err_note(-ENOTSUP, "%s", err_text());
}

void variants_close(struct variants *all)
{
	for (unsigned v = 0; v < VARIANTS_ALL; v++)
		work_graph_close(all->graph[v]);
	flow_lanes_close(&all->lanes);
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		ficco_plan_close(all->plan[s]);
	ficco_plan_close(all->serial);
}

/* ------------------------------------------------------------------ running */

static int arrange_operands(struct variants *all, unsigned v)
{
	enum ficco_schedule schedule = variants_schedule(v);
	if (variants_part(v) != FLOW_WHOLE || all->arranged == schedule)
		return 0;
	int status = operands_arrange(&all->operands, all->plan[schedule]);
	all->arranged = status ? FICCO_SCHEDULES : schedule;
	return status;
}

int variants_run(struct variants *all, unsigned v, uint64_t iterations, double *seconds_p)
{
	double sum = 0.0, transfers = 0.0;
	int status = arrange_operands(all, v);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		double seconds = 0.0, others = 0.0;
		status = work_graph_hold(all->graph[v]);
		status = status ? status : work_graph_run(all->graph[v]);
		status = work_graph_release(all->graph[v], status, &seconds);
		if (status == 0 && variants_part(v) == FLOW_CONCURRENT)
			status = flow_side_seconds(&all->lanes, all->graph[v], &seconds, &others);
		sum += seconds;
		transfers += others;
	}
	if (iterations >= all->max_iterations[v]) {
		all->max_iterations[v] = iterations;
		all->transfer_s[v] = transfers / (double)iterations;
	}
	*seconds_p = sum;
	return status;
}

void variants_model(const struct variants *all, unsigned v, struct bench_model *m)
{
	const struct ficco_plan *p = v == VARIANTS_GEMM || v == VARIANTS_COMM
					     ? all->serial
					     : all->plan[variants_schedule(v)];
	enum flow_part part = variants_part(v);
	const struct operands *o = &all->operands;
	for (uint32_t d = 0; part != FLOW_TRANSFERS && d < o->devices; d++)
		m->flops += 2.0 * p->all_rows[d] * p->problem.n * p->problem.k;
	for (size_t i = 0; (part == FLOW_WHOLE || part == FLOW_TRANSFERS) && i < p->transfer_count;
	     i++) {
		const struct ficco_transfer *t = &p->transfers[i];
		if (!o->rank[t->from].dev && !o->rank[t->to].dev)
			continue;
		m->bytes += (double)t->count * (double)(p->problem.op == FICCO_GEMM_RS
								? o->result_bytes
								: o->element_bytes);
		m->messages += 1.0;
	}
}

int variants_poison(struct variants *all)
{
	all->arranged = FICCO_SCHEDULES;
	return operands_poison(&all->operands);
}

int variants_check(const struct variants *all, struct bench_case *c, unsigned v)
{
	return variants_part(v) == FLOW_WHOLE
		       ? operands_check(&all->operands, c, all->plan[variants_schedule(v)])
		       : 0;
}
