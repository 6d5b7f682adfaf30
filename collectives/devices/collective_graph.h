/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective among the devices of one process as a work graph, by its kind: of a schedule
 * (schedule_graph.h), of all-to-all's own (all_to_all_graph.h), or the vendor's.
 */
#ifndef GPUSIG_COLLECTIVE_GRAPH_H
#define GPUSIG_COLLECTIVE_GRAPH_H

#include "collectives/devices/vectors.h"

/* The same as schedule_graph_plan() and schedule_graph_add(); `count` floats of the whole vector,
 * of all-to-all in equal parts. */
int collective_graph_plan(enum dev_collective what, const char *algorithm, uint32_t devices,
			  uint64_t count, struct schedule_graph_plan *plan_p);
int collective_graph_add(struct work_graph *g, enum dev_collective what, const char *algorithm,
			 uint64_t count, const struct schedule_graph_places *places);

/* The vendor's, in the first lane of each device: of the vectors in place where the vendor can be,
 * all but all-to-all, or of the originals out of place. */
void collective_graph_add_library(struct work_graph *g, struct dev_comm *comm,
				  const struct vectors *v, bool of_originals);

#endif
