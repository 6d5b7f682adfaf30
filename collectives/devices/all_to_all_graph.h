/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-to-all among the devices of one process as a work graph (bench/graph/work_graph.h): part j of
 * device i's vector becomes part i of device j's staging memory. Every message, also that of a
 * device to itself, is a copy by the sender's copy engine or kernel.
 *
 *     pairwise    a step for every distance k: device d sends to d + k and receives from d - k; its
 *                 next step starts when both are done
 *     spread-out  every message in a lane of its own, all at once
 *
 * Nothing orders a run after the run before: see schedule_graph.h.
 */
#ifndef GPUSIG_ALL_TO_ALL_GRAPH_H
#define GPUSIG_ALL_TO_ALL_GRAPH_H

#include "collectives/devices/schedule_graph.h"

/* Plan a run on parts of `count` floats. -EINVAL: no such algorithm. */
int all_to_all_plan(const char *algorithm, uint32_t devices, uint64_t count,
		    struct schedule_graph_plan *plan_p);

/* Adds the nodes of one run. `places` has as many lanes of each device as there are devices, and
 * staging memory as large as the vectors. -EINVAL: no such algorithm. */
int all_to_all_add(struct work_graph *g, const char *algorithm, uint64_t count,
		   const struct schedule_graph_places *places);

#endif
