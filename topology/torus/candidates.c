/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/candidates.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int candidates_make(const struct network *network, enum schedule_ports ports,
		    struct candidates *c_p)
{
	*c_p = (struct candidates){.network = *network, .ports = ports};
	for (unsigned k = 0; schedule_algorithm(k); k++) {
		assert(k < CANDIDATES_MAX);
		struct candidate *candidate = &c_p->list[k];
		candidate->name = schedule_algorithm(k)->name;
		candidate->status =
			cost_model_make(network, candidate->name, ports, &candidate->model);
		if (candidate->status == -ENOMEM) {
			candidates_free(c_p);
			return -ENOMEM;
		}
		if (candidate->status)
			snprintf(candidate->why, sizeof(candidate->why), "%.255s", err_text());
	}
	err_clear();
	return 0;
}

void candidates_free(struct candidates *c)
{
	for (unsigned k = 0; k < CANDIDATES_MAX; k++)
		cost_model_free(&c->list[k].model);
	*c = (struct candidates){.ports = SCHEDULE_ONE_PORT};
}

const struct candidate *candidates_find(const struct candidates *c, const char *name)
{
	for (const struct candidate *candidate = c->list; candidate->name; candidate++)
		if (strcmp(candidate->name, name) == 0)
			return candidate;
	return NULL;
}

const struct candidate *candidates_best(const struct candidates *c,
					const struct cost_model_costs *costs, double bytes)
{
	const struct candidate *best = NULL;
	for (const struct candidate *candidate = c->list; candidate->name; candidate++)
		if (candidate->status == 0 &&
		    (!best || cost_model_time(&candidate->model, costs, bytes) <
				      cost_model_time(&best->model, costs, bytes)))
			best = candidate;
	return best;
}

bool candidates_wins(const struct candidates *c, const struct candidate *mine,
		     const struct cost_model_costs *costs, double *from_p, double *to_p)
{
	double from = 0, to = mine->status ? 0 : INFINITY;
	for (const struct candidate *other = c->list; other->name && to > from; other++) {
		if (other->status || other == mine)
			continue;
		double ahead = cost_model_latency(&other->model, costs) -
			       cost_model_latency(&mine->model, costs);
		double steeper = cost_model_slope(&other->model, costs) -
				 cost_model_slope(&mine->model, costs);
		if (steeper > 0)
			from = fmax(from, -ahead / steeper);
		else if (steeper < 0)
			to = fmin(to, ahead / -steeper);
		else if (ahead < 0)
			to = 0;
	}
	*from_p = from;
	*to_p = to;
	return to > from;
}

char *candidates_show(const struct candidates *c, const struct cost_model_costs *costs, char *text,
		      size_t capacity)
{
	double from, to, reached = 0;
	size_t used = 0;
	text[0] = '\0';
	for (bool more = true; more;) {
		more = false;
		for (const struct candidate *candidate = c->list; candidate->name && !more;
		     candidate++) {
			if (candidate->status ||
			    !candidates_wins(c, candidate, costs, &from, &to) || from > reached ||
			    to <= reached)
				continue;
			char since[40] = "";
			if (reached > 0)
				snprintf(since, sizeof(since), ", from %.0f ", ceil(reached));
			int length = snprintf(text + used, capacity - used, "%s%s", since,
					      candidate->name);
			used += (size_t)length < capacity - used ? (size_t)length
								 : capacity - used - 1;
			reached = to;
			more = isfinite(to);
		}
	}
	return text;
}
