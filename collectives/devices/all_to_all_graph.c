/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/all_to_all_graph.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum algorithm { PAIRWISE, SPREAD_OUT };

/* A value of enum algorithm, or -EINVAL. */
static int find_algorithm(const char *name)
{
	if (strcmp(name, "pairwise") == 0)
		return PAIRWISE;
	return strcmp(name, "spread-out") == 0
		       ? SPREAD_OUT
		       : err_note(-EINVAL,
				  "unknown algorithm '%s'; algorithms: pairwise, spread-out", name);
}

int all_to_all_plan(const char *algorithm, uint32_t devices, uint64_t count,
		    struct schedule_graph_plan *plan_p)
{
	const uint64_t part = count * sizeof(float), messages = (uint64_t)devices * devices;
	int found = find_algorithm(algorithm);
	if (found < 0)
		return found;
	*plan_p = (struct schedule_graph_plan){
		.copies = messages, .bytes = messages * part, .staging_bytes = devices * part};
	return 0;
}

/* All messages of one distance. `after`: by device, the mark that its message waits for. */
static void add_step(struct work_graph *g, bool in_steps, uint64_t part, uint32_t distance,
		     const struct schedule_graph_places *p, uint32_t *after)
{
	const uint32_t port = in_steps ? 0 : distance;
	uint32_t sent[DEV_MAX];
	for (uint32_t d = 0; d < p->devices; d++) {
		uint32_t peer = (d + distance) % p->devices;
		sent[d] = work_graph_copy(g, p->lane[port][d], (char *)p->staging[peer] + d * part,
					  (char *)p->vector[d] + peer * part, part, p->copy_blocks);
		work_graph_edge(g, after[d], sent[d]);
	}
	for (uint32_t d = 0; in_steps && d < p->devices; d++) {
		after[d] = work_graph_mark(g, p->lane[0][d]);
		work_graph_edge(g, sent[(d + p->devices - distance) % p->devices], after[d]);
	}
}

int all_to_all_add(struct work_graph *g, const char *algorithm, uint64_t count,
		   const struct schedule_graph_places *places)
{
	uint32_t after[DEV_MAX];
	int found = find_algorithm(algorithm);
	if (found < 0)
		return found;
	for (uint32_t d = 0; d < places->devices; d++)
		after[d] = work_graph_mark(g, places->lane[0][d]);
	for (uint32_t distance = 0; distance < places->devices; distance++)
		add_step(g, found == PAIRWISE, count * sizeof(float), distance, places, after);
	return 0;
}
