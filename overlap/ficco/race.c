/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/race.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum overlap_schedule race_schedule(unsigned v)
{
	if (v < OVERLAP_SCHEDULES)
		return (enum overlap_schedule)v;
	return v < RACE_PARTS ? OVERLAP_SERIAL : (enum overlap_schedule)((v - RACE_PARTS) / 3 + 1);
}

enum flow_part race_part(unsigned v)
{
	if (v < OVERLAP_SCHEDULES)
		return FLOW_WHOLE;
	if (v < RACE_PARTS)
		return v == RACE_GEMM ? FLOW_PIECES : FLOW_TRANSFERS;
	return (enum flow_part)((v - RACE_PARTS) % 3 + 1);
}

unsigned race_variant(enum overlap_schedule schedule, enum flow_part part)
{
	if (part == FLOW_WHOLE)
		return schedule;
	if (schedule == OVERLAP_SERIAL)
		return part == FLOW_PIECES ? RACE_GEMM : RACE_COMM;
	return RACE_PARTS + 3 * (schedule - 1u) + part - 1u;
}

/* ------------------------------------------------------------------ set-up */

static void leave_out(struct race *r, struct bench_case *c, enum overlap_schedule schedule)
{
	size_t used = strlen(r->left_out);
	bench_variant_off(c, schedule);
	snprintf(r->left_out + used, sizeof(r->left_out) - used, "%s%s", used ? " " : "", overlap_schedules[schedule]);
	snprintf(r->why, sizeof(r->why), "%.159s", err_text());
}

/* What a plan or the devices refuse is left out; other errors are errors. */
static int open_plan(struct race *r, struct bench_case *c, const struct overlap_problem *problem, enum dev_type type,
                     enum overlap_schedule schedule)
{
	int status = overlap_plan_open(problem, schedule, &r->plan[schedule]);
	if (status == 0)
		status = flow_admit(r->plan[schedule], type, r->blocks);
	if (status != -EINVAL && status != -ENOTSUP)
		return status;
	leave_out(r, c, schedule);
	overlap_plan_close(r->plan[schedule]);
	r->plan[schedule] = NULL;
	return 0;
}

static int open_plans(struct race *r, struct bench_case *c, const struct overlap_problem *problem, enum dev_type type)
{
	bool any = false;
	int status = overlap_plan_open(problem, OVERLAP_SERIAL, &r->serial);
	if (status == 0)
		status = flow_admit(r->serial, type, r->blocks);
	for (unsigned s = 0; status == 0 && s < OVERLAP_SCHEDULES; s++) {
		if (bench_variant_on(c, s))
			status = open_plan(r, c, problem, type, (enum overlap_schedule)s);
		any = any || r->plan[s];
	}
	if (status == -EINVAL || (status == 0 && !any))
		return err_note(-ENOTSUP, "%s", err_text());
	return status;
}

static int open_graph(struct race *r, struct bench_case *c, unsigned v)
{
	const struct overlap_plan *plan = v == RACE_GEMM || v == RACE_COMM ? r->serial : r->plan[race_schedule(v)];
	if (!plan) {
		bench_variant_off(c, v);
		return 0;
	}
	if (!bench_variant_on(c, v))
		return 0;
	int status = flow_open(&r->lanes, &r->operands, plan, race_part(v), r->blocks, &r->graph[v]);
	if (status != -ENOTSUP)
		return status;
	/* Too many operations for a queue: what the schedule is held against goes too. */
	leave_out(r, c, race_schedule(v));
	for (unsigned other = 0; other < RACE_VARIANTS; other++)
		if (race_schedule(other) == race_schedule(v))
			bench_variant_off(c, other);
	return 0;
}

int race_open(struct race *r, struct bench_case *c, const struct overlap_problem *problem, enum dev_type type, uint32_t blocks)
{
	*r = (struct race){.blocks = blocks, .arranged = OVERLAP_SCHEDULES};
	const struct dev_set *set = c->devices;
	int status = open_plans(r, c, problem, type);
	for (size_t i = 1; status == 0 && i < set->count; i++)
		for (size_t k = 0; status == 0 && k < i; k++)
			status = dev_peer_enable(set->dev[i], set->dev[k]);
	if (status == 0)
		status = operands_open(&r->operands, c, r->serial, type, r->plan[OVERLAP_UNIFORM_FUSED_2D] != NULL);
	if (status == 0)
		status = flow_lanes_open(&r->lanes, set, problem->devices, problem->op == OVERLAP_GEMM_RS);
	for (unsigned v = 0; status == 0 && v < RACE_VARIANTS; v++)
		status = open_graph(r, c, v);
	bool any = false;
	for (unsigned s = 0; s < OVERLAP_SCHEDULES; s++)
		any = any || r->graph[s];
	return status || any ? status : err_note(-ENOTSUP, "%s", err_text());
}

void race_close(struct race *r)
{
	for (unsigned v = 0; v < RACE_VARIANTS; v++)
		work_graph_close(r->graph[v]);
	flow_lanes_close(&r->lanes);
	for (unsigned s = 0; s < OVERLAP_SCHEDULES; s++)
		overlap_plan_close(r->plan[s]);
	overlap_plan_close(r->serial);
}

/* ------------------------------------------------------------------ running */

static int arrange(struct race *r, unsigned v)
{
	enum overlap_schedule schedule = race_schedule(v);
	if (race_part(v) != FLOW_WHOLE || r->arranged == schedule)
		return 0;
	int status = operands_arrange(&r->operands, r->plan[schedule]);
	r->arranged = status ? OVERLAP_SCHEDULES : schedule;
	return status;
}

int race_run(struct race *r, unsigned v, uint64_t iterations, double *seconds_p)
{
	double sum = 0.0, transfers = 0.0;
	int status = arrange(r, v);
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		double seconds = 0.0, others = 0.0;
		status = work_graph_hold(r->graph[v]);
		status = status ? status : work_graph_run(r->graph[v]);
		status = work_graph_release(r->graph[v], status, &seconds);
		if (status == 0 && race_part(v) == FLOW_BESIDE)
			status = flow_sides(&r->lanes, r->graph[v], &seconds, &others);
		sum += seconds;
		transfers += others;
	}
	if (iterations >= r->most_iterations[v]) {
		r->most_iterations[v] = iterations;
		r->transfer_s[v] = transfers / (double)iterations;
	}
	*seconds_p = sum;
	return status;
}

void race_model(const struct race *r, unsigned v, struct bench_model *m)
{
	const struct overlap_plan *p = v == RACE_GEMM || v == RACE_COMM ? r->serial : r->plan[race_schedule(v)];
	enum flow_part part = race_part(v);
	const struct operands *o = &r->operands;
	for (uint32_t d = 0; part != FLOW_TRANSFERS && d < o->devices; d++)
		m->flops += 2.0 * p->all_rows[d] * p->problem.n * p->problem.k;
	for (size_t i = 0; (part == FLOW_WHOLE || part == FLOW_TRANSFERS) && i < p->transfer_count; i++) {
		const struct overlap_transfer *t = &p->transfers[i];
		if (!o->member[t->from].dev && !o->member[t->to].dev)
			continue;
		m->bytes += (double)t->count * (double)(p->problem.op == OVERLAP_GEMM_RS ? o->result_bytes : o->element_bytes);
		m->messages += 1.0;
	}
}

int race_spoil(struct race *r)
{
	r->arranged = OVERLAP_SCHEDULES;
	return operands_spoil(&r->operands);
}

int race_check(const struct race *r, struct bench_case *c, unsigned v)
{
	return race_part(v) == FLOW_WHOLE ? operands_check(&r->operands, c, r->plan[race_schedule(v)]) : 0;
}
