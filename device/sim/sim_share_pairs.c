/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of resources, of which one has what the other leaves.
 */
#include "device/sim/sim_share.h"

#include <math.h>

static uint64_t sets;

void resource_divide(struct resource *ahead, struct resource *behind, double most, double least,
		     double wait_ns)
{
	ahead->behind = most > 0 || wait_ns > 0 ? behind : NULL;
	ahead->wait_ns = wait_ns;
	ahead->in_force = ahead->capacity;
	behind->ahead = ahead;
	behind->most = most;
	behind->least = least;
	behind->capacity = most > 0 ? fmax(most, least) * ahead->capacity : INFINITY;
}

/* The flows of a unit are a set, which the first resource of the unit that they need keeps. */
static struct resource *set_of(const struct flow *f)
{
	for (int i = 0; i < f->demands; i++)
		if (f->demand[i].of_unit)
			return f->demand[i].at;
	return NULL;
}

static double load_of(const struct flow_demand *d) { return d->volume * d->times * d->flow->alone; }

static void begin_set(struct resource *r)
{
	if (r->set == sets)
		return;
	r->set = sets;
	r->members = 0;
	r->members_load = r->largest_part = 0;
}

static void add_to_sets(const struct flow_demand *d)
{
	const struct flow *f = d->flow;
	for (int i = 0; i < f->demands; i++) {
		const struct flow_demand *of = &f->demand[i];
		const double part = d->volume * d->times / (of->volume * of->times);
		if (!of->of_unit)
			continue;
		begin_set(of->at);
		of->at->members++;
		of->at->members_load += load_of(d);
		of->at->largest_part = fmax(of->at->largest_part, part);
	}
}

/* What all of a set can take. A resource of the unit that some of it do not need limits nothing. */
static double take_set(const struct flow *f, struct resource *first)
{
	double most = first->members_load;
	for (int i = 0; i < f->demands; i++) {
		const struct resource *r = f->demand[i].at;
		if (f->demand[i].of_unit && r->members == first->members)
			most = fmin(most, r->capacity * r->largest_part);
	}
	first->members_load = 0;
	return most;
}

double resource_most_taken(const struct resource *r)
{
	double sum = 0;
	sets++;
	for (const struct flow_demand *d = r->users; d; d = d->next)
		add_to_sets(d);
	for (const struct flow_demand *d = r->users; d; d = d->next) {
		struct resource *first = set_of(d->flow);
		if (!first)
			sum += load_of(d);
		else if (first->members_load > 0)
			sum += take_set(d->flow, first);
	}
	return fmin(sum, r->capacity);
}
