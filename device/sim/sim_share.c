/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Max-min fair rates. A change concerns only the flows that are connected with it by the resources
 * they share, so only those get new rates.
 */
#include "device/sim/sim_share.h"

#include <assert.h>

/* Levels this close count as equal, so that rounding does not split them. */
#define SAME_LEVEL (1.0 + 1e-12)

static uint64_t rounds, searches;
static struct resource *changed; /* resources that flows joined or left since the last search */

void flow_begin(struct flow *f)
{
	f->demands = 0;
	f->min_ns = 0;
	f->weight = 1;
	f->rate = 0;
	f->blocks = f->per_unit = 1;
}

static void add_need(struct flow *f, struct resource *at, double volume, double times)
{
	if (volume <= 0)
		return;
	for (int i = 0; i < f->demands; i++) {
		if (f->demand[i].at == at) {
			f->demand[i].volume += volume;
			return;
		}
	}
	assert(f->demands < FLOW_DEMANDS);
	f->demand[f->demands++] =
		(struct flow_demand){.at = at, .volume = volume, .times = times, .flow = f};
}

void flow_need(struct flow *f, struct resource *at, double volume)
{
	add_need(f, at, volume, f->blocks);
}

void flow_need_unit(struct flow *f, struct resource *at, double volume)
{
	add_need(f, at, volume, f->per_unit);
}

/* ------------------------------------------------------------------ who shares what */

static void mark_changed(struct resource *r)
{
	if (r->changed)
		return;
	r->changed = true;
	r->changed_next = changed;
	changed = r;
}

void flow_join(struct flow *f)
{
	for (int i = 0; i < f->demands; i++) {
		struct flow_demand *d = &f->demand[i];
		d->next = d->at->users;
		d->previous = NULL;
		if (d->next)
			d->next->previous = d;
		d->at->users = d;
		mark_changed(d->at);
	}
}

void flow_leave(struct flow *f)
{
	for (int i = 0; i < f->demands; i++) {
		struct flow_demand *d = &f->demand[i];
		if (d->next)
			d->next->previous = d->previous;
		if (d->previous)
			d->previous->next = d->next;
		else
			d->at->users = d->next;
		mark_changed(d->at);
	}
}

static size_t add_users(const struct resource *r, struct flow **flows, size_t count)
{
	for (const struct flow_demand *d = r->users; d; d = d->next) {
		if (d->flow->search == searches)
			continue;
		d->flow->search = searches;
		flows[count++] = d->flow;
	}
	return count;
}

size_t flow_find_changed(struct flow **flows)
{
	size_t count = 0;
	searches++;
	while (changed) {
		struct resource *r = changed;
		changed = r->changed_next;
		r->changed = false;
		r->search = searches;
		count = add_users(r, flows, count);
	}
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < flows[i]->demands; j++) {
			struct resource *r = flows[i]->demand[j].at;
			if (r->search == searches)
				continue;
			r->search = searches;
			count = add_users(r, flows, count);
		}
	}
	return count;
}

/* ------------------------------------------------------------------ rates */

/* The rate of a flow at level 1. */
static double flow_speed(const struct flow *f)
{
	double level = 0, any = f->min_ns;
	for (int i = 0; i < f->demands; i++) {
		double alone_ns = f->demand[i].volume / f->demand[i].at->capacity;
		if (f->demand[i].at->measures && alone_ns > level)
			level = alone_ns;
		if (alone_ns > any)
			any = alone_ns;
	}
	return f->weight / (level > 0 ? level : any);
}

static void sum_rises(struct flow *const *flows, size_t count)
{
	rounds++;
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < flows[i]->demands; j++) {
			const struct flow_demand *d = &flows[i]->demand[j];
			if (d->at->round != rounds) {
				d->at->round = rounds;
				d->at->rise = 0;
			}
			d->at->rise += d->volume * d->times * flows[i]->speed;
		}
	}
}

/* The level at which the first resource of the flow is full. */
static double flow_limit_level(const struct flow *f)
{
	double lowest = f->min_ns > 0 ? 1 / (f->min_ns * f->speed) : -1;
	for (int j = 0; j < f->demands; j++) {
		double level = f->demand[j].at->left / f->demand[j].at->rise;
		if (lowest < 0 || level < lowest)
			lowest = level;
	}
	return lowest;
}

static double lowest_limit(struct flow *const *flows, size_t count)
{
	double lowest = -1;
	for (size_t i = 0; i < count; i++) {
		flows[i]->limit = flow_limit_level(flows[i]);
		if (lowest < 0 || flows[i]->limit < lowest)
			lowest = flows[i]->limit;
	}
	return lowest;
}

static void fix_rate(struct flow *f, double level)
{
	f->rate = level * f->speed;
	for (int j = 0; j < f->demands; j++) {
		struct resource *r = f->demand[j].at;
		double left = r->left - f->demand[j].volume * f->demand[j].times * f->rate;
		r->left = left > 0 ? left : 0;
	}
}

/* Progressive filling: raise the level of all flows until a resource is full, fix the rates of its
 * flows, and continue with the others. */
void flow_set_rates(struct flow **flows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		flows[i]->speed = flow_speed(flows[i]);
		for (int j = 0; j < flows[i]->demands; j++)
			flows[i]->demand[j].at->left = flows[i]->demand[j].at->capacity;
	}
	for (size_t open = count; open > 0;) {
		sum_rises(flows, open);
		const double level = lowest_limit(flows, open);
		/* Which flows stop is decided before any of them takes its share. */
		size_t keep = 0;
		for (size_t i = 0; i < open; i++) {
			struct flow *f = flows[i];
			if (f->limit <= level * SAME_LEVEL) {
				fix_rate(f, level);
			} else {
				flows[i] = flows[keep];
				flows[keep++] = f;
			}
		}
		open = keep;
	}
}
