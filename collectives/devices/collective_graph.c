/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/collective_graph.h"
#include "collectives/devices/all_to_all_graph.h"

static const enum schedule_kind kinds[DEV_COLLECTIVES] = {[DEV_ALLREDUCE] = SCHEDULE_ALLREDUCE,
							  [DEV_ALLGATHER] = SCHEDULE_ALLGATHER,
							  [DEV_REDUCE_SCATTER] =
								  SCHEDULE_REDUCE_SCATTER};

int collective_graph_plan(enum dev_collective what, const char *algorithm, uint32_t devices,
			  uint64_t count, struct schedule_graph_plan *plan_p)
{
	return what == DEV_ALL_TO_ALL
		       ? all_to_all_plan(algorithm, devices, count / devices, plan_p)
		       : schedule_graph_plan(kinds[what], algorithm, devices, count, plan_p);
}

int collective_graph_add(struct work_graph *g, enum dev_collective what, const char *algorithm,
			 uint64_t count, const struct schedule_graph_places *places)
{
	return what == DEV_ALL_TO_ALL
		       ? all_to_all_add(g, algorithm, count / places->devices, places)
		       : schedule_graph_add(g, kinds[what], algorithm, count, places);
}

void collective_graph_add_library(struct work_graph *g, struct dev_comm *comm,
				  const struct vectors *v, bool of_originals)
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
