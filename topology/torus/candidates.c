/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/candidates.h"
#include "lib/err.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
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
			text_fit(candidate->why, sizeof(candidate->why), "%s", err_text());
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

/* 0 where a and b are equal but for rounding. */
static double subtract_times(double a, double b)
{
	return fabs(a - b) <= CANDIDATES_TIE * fmax(fabs(a), fabs(b)) ? 0.0 : a - b;
}

bool candidates_wins(const struct candidates *c, const struct candidate *mine,
		     const struct cost_model_costs *costs, double *from_p, double *to_p)
{
	double from = 0, to = mine->status ? 0 : INFINITY;
	for (const struct candidate *other = c->list; other->name && to > from; other++) {
		if (other->status || other == mine)
			continue;
		double ahead = subtract_times(cost_model_latency(&other->model, costs),
					      cost_model_latency(&mine->model, costs));
		double steeper = subtract_times(cost_model_slope(&other->model, costs),
						cost_model_slope(&mine->model, costs));
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

/* The names of all that take as long as `mine`: at this size, or at every size where `bytes` is
 * NaN. */
static void append_equal(char *text, size_t capacity, const struct candidates *c,
			 const struct candidate *mine, const struct cost_model_costs *costs,
			 double bytes)
{
	const char *names[CANDIDATES_MAX];
	unsigned count = 0;
	for (const struct candidate *other = c->list; other->name; other++) {
		const struct cost_model *p = &other->model, *q = &mine->model;
		const double at_size = subtract_times(cost_model_time(p, costs, bytes),
						      cost_model_time(q, costs, bytes)),
			     latency = subtract_times(cost_model_latency(p, costs),
						      cost_model_latency(q, costs)),
			     slope = subtract_times(cost_model_slope(p, costs),
						    cost_model_slope(q, costs));
		if (other->status == 0 &&
		    (isnan(bytes) ? latency == 0 && slope == 0 : at_size == 0))
			names[count++] = other->name;
	}
	for (unsigned k = 0; k < count; k++)
		text_fit_more(text, capacity, "%s%s",
			      k           ? " and "
			      : count > 1 ? "tie of "
					  : "",
			      names[k]);
}

char *candidates_show_best(const struct candidates *c, const struct cost_model_costs *costs,
			   double bytes, char *text, size_t capacity)
{
	const struct candidate *best = candidates_best(c, costs, bytes);
	text[0] = '\0';
	if (best)
		append_equal(text, capacity, c, best, costs, bytes);
	return text;
}

char *candidates_show(const struct candidates *c, const struct cost_model_costs *costs, char *text,
		      size_t capacity)
{
	double from, to, reached = 0;
	text[0] = '\0';
	for (const struct candidate *next = c->list; next->name && isfinite(reached);) {
		const struct candidate *candidate = next++;
		if (candidate->status || !candidates_wins(c, candidate, costs, &from, &to) ||
		    from > reached || to <= reached)
			continue;
		if (reached > 0)
			text_fit_more(text, capacity, ", from %.0f ", ceil(reached));
		append_equal(text, capacity, c, candidate, costs, NAN);
		reached = to;
		next = c->list;
	}
	return text;
}
