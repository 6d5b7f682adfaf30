/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_table.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -ENOENT with the grids that there are. */
static int no_grid(const struct advise_table *t, const char *op, const char *type, unsigned devices)
{
	char have[ERR_TEXT] = "";
	size_t used = 0;
	for (unsigned i = 0; i < t->grids && used < sizeof(have); i++)
		used += (size_t)snprintf(have + used, sizeof(have) - used, "%s%s %s %u",
					 i ? ", " : "", t->grid[i].op, t->grid[i].type,
					 t->grid[i].devices);
	return err_note(-ENOENT, "the table has no %s %s on %u devices; it has: %s", op, type,
			devices, have);
}

int advise_find(const struct advise_table *t, const char *op, const char *type, unsigned devices,
		const struct advise_grid **grid_p)
{
	for (unsigned i = 0; i < t->grids; i++) {
		const struct advise_grid *g = &t->grid[i];
		if (g->devices == devices && strcmp(g->op, op) == 0 && strcmp(g->type, type) == 0) {
			*grid_p = g;
			return 0;
		}
	}
	return no_grid(t, op, type, devices);
}

const struct advise_way *advise_ways(const struct advise_grid *g, unsigned *count_p)
{
	*count_p = g->ways;
	return g->way;
}

const struct advise_chunk *advise_chunk(const struct advise_table *t, const char *direction)
{
	for (unsigned i = 0; i < t->chunks; i++)
		if (strcmp(t->chunk[i].direction, direction) == 0)
			return &t->chunk[i];
	return NULL;
}

/* Points of the grid with their shares, which add up to 1. */
struct corners {
	unsigned count;
	size_t point[1 << ADVISE_ALL_SIDES];
	double share[1 << ADVISE_ALL_SIDES];
};

/* The last value that is not above the side, which is within the values. */
static unsigned value_below(const struct advise_side *s, double side)
{
	unsigned low = 0, high = s->count;
	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;
		if (s->value[middle] <= side)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int refuse_side(const struct advise_side *s, const char *name, double side)
{
	if (s->count == 1)
		return err_note(-ERANGE, "%s is %g; the table has %g alone", name, side,
				s->value[0]);
	return err_note(-ERANGE, "%s is %g; the table has %g to %g", name, side, s->value[0],
			s->value[s->count - 1]);
}

/* Multiply the corners by the values of a side around this one: by one alone at a value. */
static int add_side(struct corners *c, const struct advise_side *s, const char *name, double side)
{
	if (!(side >= s->value[0] && side <= s->value[s->count - 1]))
		return refuse_side(s, name, side);
	const unsigned below = value_below(s, side), before = c->count;
	const bool between = side > s->value[below];
	const double share =
		between ? (log(side) - s->log[below]) / (s->log[below + 1] - s->log[below]) : 0.0;
	for (unsigned i = 0; i < before; i++) {
		const double all = c->share[i];
		c->point[i] = c->point[i] * s->count + below;
		c->share[i] = all * (1 - share);
		if (!between)
			continue;
		c->point[c->count] = c->point[i] + 1;
		c->share[c->count++] = all * share;
	}
	return 0;
}

static int find_corners(const struct advise_grid *g, double m, double n, double k,
			struct corners *c)
{
	int status = 0;
	*c = (struct corners){.count = 1, .share = {1.0}};
	TRY(status, add_side(c, &g->side[ADVISE_M], "m", m));
	TRY(status, add_side(c, &g->side[ADVISE_N], "n", n));
	return TRY(status, add_side(c, &g->side[ADVISE_K], "k", k));
}

static void mix_corners(const struct advise_grid *g, const struct corners *c, double *seconds)
{
	for (unsigned way = 0; way < g->ways; way++) {
		double sum = 0.0;
		for (unsigned i = 0; i < c->count; i++)
			sum += c->share[i] * g->log_seconds[c->point[i] * g->ways + way];
		seconds[way] = exp(sum);
	}
}

int advise_seconds(const struct advise_grid *g, double m, double n, double k, double *seconds)
{
	struct corners c;
	int status = find_corners(g, m, n, k, &c);
	if (status == 0)
		mix_corners(g, &c, seconds);
	return status;
}

/* The fastest way of the schedules named so, or of all others; NULL: none is possible. NaN is not
 * below anything. */
static const double *fastest_way(const struct advise_grid *g, const double *times,
				 const char *schedule, bool named)
{
	const double *best = NULL;
	for (unsigned way = 0; way < g->ways; way++)
		if ((strcmp(g->way[way].schedule, schedule) == 0) == named &&
		    times[way] < (best ? *best : INFINITY))
			best = &times[way];
	return best;
}

/* Is every other schedule slower by more than the error, at each corner? What lies between points
 * is no plane: times step with whole tiles. An unknown error is NaN, which nothing is above. */
static bool corners_agree(const struct advise_grid *g, const struct corners *c,
			  const char *schedule)
{
	for (unsigned i = 0; i < c->count; i++) {
		const double *logs = &g->log_seconds[c->point[i] * g->ways];
		const double *own = fastest_way(g, logs, schedule, true);
		const double *other = fastest_way(g, logs, schedule, false);
		if (!own || !((other ? *other - *own : INFINITY) > log1p(g->error)))
			return false;
	}
	return true;
}

int advise(const struct advise_grid *g, double m, double n, double k,
	   struct advise_choice *choice_p)
{
	double seconds[ADVISE_WAYS];
	struct corners c;
	int status = find_corners(g, m, n, k, &c);
	if (status)
		return status;
	mix_corners(g, &c, seconds);
	const double *best = fastest_way(g, seconds, "", false);
	if (!best)
		return err_note(-ENODATA, "no way is possible for m %g, n %g, k %g", m, n, k);
	const struct advise_way *way = &g->way[best - seconds];
	const double *serial = fastest_way(g, seconds, "serial", true);
	const double *other = fastest_way(g, seconds, way->schedule, false);
	*choice_p = (struct advise_choice){.schedule = way->schedule,
					   .copy_method = way->copy_method,
					   .cut = way->cut,
					   .seconds = *best,
					   .serial_seconds = serial ? *serial : NAN,
					   .decided = (other ? *other : INFINITY) >
							      *best * (1 + g->error) &&
						      corners_agree(g, &c, way->schedule)};
	return 0;
}
