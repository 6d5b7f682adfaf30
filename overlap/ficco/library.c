/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/library.h"
#include "lib/err.h"

#include <errno.h>

/* The first of the lanes for links. */
enum { LANE_COLLECTIVE = LANE_LINK };

static uint64_t part_bytes(const struct ficco_plan *p, enum dev_type type)
{
	const bool sums = p->problem.op == FICCO_GEMM_RS;
	return (uint64_t)p->rows[0][0] * (sums ? p->problem.n : p->problem.k) *
	       (sums ? dev_type_result_bytes(type) : dev_type_bytes(type));
}

int library_open(struct ficco_library *l, struct bench_case *c, const struct ficco_problem *problem,
		 enum dev_type type)
{
	int status = ficco_collective_plan_open(problem, &l->plan);
	if (status == 0 && part_bytes(l->plan, type) % sizeof(float))
		status = err_note(-ENOTSUP, "a group of %llu bytes is not a whole number of floats",
				  (unsigned long long)part_bytes(l->plan, type));
	return status ? status : dev_comm_find(c->devices, &l->comm);
}

void library_close(struct ficco_library *l) { ficco_plan_close(l->plan); }

/* Returns the first node. */
static uint32_t add_collective(const struct ficco_library *l, const struct operands *o,
			       struct work_graph *g, bool with_gemm)
{
	static const enum dev_collective collectives[FICCO_OPS] = {
		[FICCO_AG_GEMM] = DEV_ALLGATHER,
		[FICCO_A2A_GEMM] = DEV_ALL_TO_ALL,
		[FICCO_GEMM_RS] = DEV_REDUCE_SCATTER};
	const enum dev_collective what = collectives[l->plan->problem.op];
	const uint64_t part = part_bytes(l->plan, o->type);
	uint32_t lanes[DEV_MAX];
	float *from[DEV_MAX], *to[DEV_MAX];
	for (uint32_t d = 0; d < o->devices; d++) {
		const struct ficco_rank *m = &o->rank[d];
		char *whole = !with_gemm ? m->scratch : o->sums ? m->c : m->arrivals;
		char *own = whole + d * part;
		from[d] = (float *)(void *)(what == DEV_ALLGATHER    ? own
					    : what == DEV_ALL_TO_ALL ? m->source[0]
								     : whole);
		to[d] = (float *)(void *)(what == DEV_REDUCE_SCATTER ? own : whole);
		lanes[d] = m->lane[LANE_COLLECTIVE];
	}
	return work_graph_collective(g, l->comm, what, lanes, from, to, part / sizeof(float));
}

/* Returns the first node; the others follow it by one. */
static uint32_t add_gemms(const struct ficco_library *l, const struct operands *o,
			  struct work_graph *g)
{
	uint32_t first = 0;
	for (uint32_t d = 0; d < o->devices; d++) {
		const struct dev_gemm gemm = operands_gemm(o, &l->plan->pieces[d]);
		uint32_t node = work_graph_gemm(g, o->rank[d].lane[LANE_COMPUTE], &gemm);
		first = d ? first : node;
	}
	return first;
}

int library_graph(const struct ficco_library *l, const struct operands *o, struct bench_case *c,
		  bool with_gemm, struct work_graph **g_p)
{
	struct work_graph *g = bench_graph(c, o->lanes);
	uint32_t gemm = 0;
	/* Time begins where that of the schedules does. */
	for (uint32_t d = 0; d < o->devices; d++)
		work_graph_mark(g, o->rank[d].lane[LANE_COMPUTE]);
	if (with_gemm && o->sums)
		gemm = add_gemms(l, o, g);
	for (uint32_t d = 0; with_gemm && o->sums && d < o->devices; d++)
		work_graph_edge(g, gemm + d, work_graph_mark(g, o->rank[d].lane[LANE_COLLECTIVE]));
	uint32_t collective = add_collective(l, o, g, with_gemm);
	for (uint32_t d = 0; with_gemm && !o->sums && d < o->devices; d++)
		work_graph_edge(g, collective + d,
				work_graph_mark(g, o->rank[d].lane[LANE_COMPUTE]));
	if (with_gemm && !o->sums)
		add_gemms(l, o, g);
	*g_p = g;
	int status = bench_status(c);
	status = status ? status : work_graph_prepare(g);
	return status ? status : work_graph_complete(g);
}
