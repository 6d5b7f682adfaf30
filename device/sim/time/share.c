/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Max-min fair rates. A change concerns only the flows that are connected with it by the resources
 * they share, so only those get new rates.
 *
 * SHARING is max-min fair on every resource. A resource that is full gives all of its flows the
 * same, but less to those that something else holds below that; the copy of an engine gets
 * engine_weight times as much as a block. So each flow is held by its own limit (block_share, the
 * engine) or by one full resource, of which no other flow has more. Rates change only when a flow
 * starts or ends.
 */
#include "device/sim/time/share.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Rates this close count as equal, so that rounding does not split them. */
#define SAME_RATE (1.0 + 1e-12)

static uint64_t rounds, searches;
/* Since the last search: resources that flows joined or left, and flows that joined. */
static struct resource *changed;
static struct flow *joined;
/* Pairs of resources whose capacities may have changed; the ones ahead. */
static struct resource *stale;

void resource_set(struct resource *r, double per_second)
{
	memset(r, 0, sizeof(*r));
	r->capacity = per_second * 1e-9;
}

void flow_begin(struct flow *f)
{
	f->demands = 0;
	f->min_ns = 0;
	f->weight = 1;
	f->rate = 0;
	f->blocks = f->per_unit = 1;
	f->is_open = false;
}

static void add_need(struct flow *f, struct resource *at, double volume, bool of_unit)
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
	f->demand[f->demands++] = (struct flow_demand){.at = at,
						       .volume = volume,
						       .times = of_unit ? f->per_unit : f->blocks,
						       .of_unit = of_unit,
						       .flow = f};
}

void flow_need(struct flow *f, struct resource *at, double volume)
{
	add_need(f, at, volume, false);
}

void flow_need_unit(struct flow *f, struct resource *at, double volume)
{
	add_need(f, at, volume, true);
}

void flow_wait(struct flow *f, struct resource *at, double volume)
{
	for (int i = 0; i < f->demands; i++)
		if (f->demand[i].at == at)
			f->demand[i].waits += volume;
}

/* ------------------------------------------------------------------ who shares what */

/* Capacity that its flows share at present. */
static double capacity_now(const struct resource *r)
{
	const struct resource *ahead = r->ahead, *behind = r->behind;
	if (ahead && r->most > 0)
		return fmax(r->most * ahead->capacity - ahead->taken, r->least * ahead->capacity);
	if (behind && behind->most > 0 && behind->users &&
	    r->taken > (behind->most - behind->least) * r->capacity)
		return (1 - behind->least) * r->capacity;
	return r->capacity;
}

/* True if it can limit a flow. */
static bool is_crowded(const struct resource *r) { return r->load > capacity_now(r) * SAME_RATE; }

static void add_to_changed(struct resource *r)
{
	if (r->changed)
		return;
	r->changed = true;
	r->changed_next = changed;
	changed = r;
}

static void mark_changed(struct resource *r)
{
	if (is_crowded(r))
		add_to_changed(r);
}

/* A flow has joined or left. Nothing of a pair changes while nothing is behind. */
static void mark_pair(struct resource *r)
{
	struct resource *ahead = r->ahead ? r->ahead : r;
	const struct resource *behind = ahead->behind;
	const bool concerns = r->ahead ? !r->users || !r->users->next
				       : behind && behind->users && behind->most > 0;
	if (!behind || !concerns || ahead->is_stale)
		return;
	ahead->is_stale = true;
	ahead->stale_next = stale;
	stale = ahead;
}

static void refresh_pairs(void)
{
	for (; stale; stale = stale->stale_next) {
		struct resource *behind = stale->behind;
		const bool waits = behind->users && stale->wait_ns > 0;
		stale->is_stale = false;
		stale->taken = behind->most > 0 ? resource_most_taken(stale) : 0;
		const double capacity = capacity_now(stale);
		if (capacity < stale->in_force || capacity > stale->in_force ||
		    waits != stale->waits_in_force)
			add_to_changed(stale);
		stale->in_force = capacity;
		stale->waits_in_force = waits;
		add_to_changed(behind);
	}
}

static double own_limit(const struct flow *f)
{
	double wait_ns = 0;
	for (int i = 0; i < f->demands; i++)
		if (f->demand[i].waits > 0 && f->demand[i].at->behind->users)
			wait_ns += f->demand[i].waits * f->demand[i].at->wait_ns;
	return wait_ns > 0 ? 1 / (1 / f->alone + wait_ns) : f->alone;
}

static double rate_alone(const struct flow *f)
{
	double rate = f->min_ns > 0 ? 1 / f->min_ns : INFINITY;
	for (int i = 0; i < f->demands; i++)
		rate = fmin(rate,
			    f->demand[i].at->capacity / (f->demand[i].volume * f->demand[i].times));
	return rate;
}

void flow_join(struct flow *f)
{
	f->alone = rate_alone(f);
	f->has_joined = true;
	f->joined_previous = NULL;
	f->joined_next = joined;
	if (joined)
		joined->joined_previous = f;
	joined = f;
	for (int i = 0; i < f->demands; i++) {
		struct flow_demand *d = &f->demand[i];
		d->next = d->at->users;
		d->previous = NULL;
		if (d->next)
			d->next->previous = d;
		d->at->users = d;
		d->at->load += d->volume * d->times * f->alone;
		mark_changed(d->at);
		mark_pair(d->at);
	}
}

static void forget_joined(struct flow *f)
{
	if (f->joined_next)
		f->joined_next->joined_previous = f->joined_previous;
	if (f->joined_previous)
		f->joined_previous->joined_next = f->joined_next;
	else
		joined = f->joined_next;
	f->has_joined = false;
}

void flow_leave(struct flow *f)
{
	if (f->has_joined)
		forget_joined(f);
	for (int i = 0; i < f->demands; i++) {
		struct flow_demand *d = &f->demand[i];
		mark_changed(d->at);
		if (d->next)
			d->next->previous = d->previous;
		if (d->previous)
			d->previous->next = d->next;
		else
			d->at->users = d->next;
		/* So that rounding never adds up. */
		d->at->load = d->at->users ? d->at->load - d->volume * d->times * f->alone : 0;
		mark_pair(d->at);
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
	refresh_pairs();
	for (; joined; joined = joined->joined_next) {
		joined->has_joined = false;
		joined->search = searches;
		flows[count++] = joined;
	}
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
			if (r->search == searches || !is_crowded(r))
				continue;
			r->search = searches;
			count = add_users(r, flows, count);
		}
	}
	return count;
}

/* ------------------------------------------------------------------ rates */

static void begin_rates(struct flow *const *flows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		flows[i]->own_limit = own_limit(flows[i]);
		for (int j = 0; j < flows[i]->demands; j++) {
			struct flow_demand *d = &flows[i]->demand[j];
			d->holds = is_crowded(d->at);
			d->at->left = capacity_now(d->at);
			d->rate_of_share = flows[i]->weight / d->volume;
		}
	}
}

/* Rate that a resource gives a flow of weight 1, if all of its open flows take equal parts. */
static void find_shares(struct flow *const *flows, size_t count)
{
	rounds++;
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < flows[i]->demands; j++) {
			struct resource *r = flows[i]->demand[j].at;
			if (!flows[i]->demand[j].holds)
				continue;
			if (r->round != rounds) {
				r->round = rounds;
				r->weights = 0;
				r->is_passed = false;
			}
			r->weights += flows[i]->weight * flows[i]->demand[j].times;
		}
	}
	for (size_t i = 0; i < count; i++)
		for (int j = 0; j < flows[i]->demands; j++)
			if (flows[i]->demand[j].holds)
				flows[i]->demand[j].at->share = flows[i]->demand[j].at->left /
								flows[i]->demand[j].at->weights;
}

/* Resource that limits a flow; NULL: its own limit. Resources that would give it more are
 * passed. */
static void find_bottleneck(struct flow *f)
{
	f->limit = f->own_limit;
	f->bottleneck = NULL;
	for (int j = 0; j < f->demands; j++) {
		const double rate = f->demand[j].rate_of_share * f->demand[j].at->share;
		if (f->demand[j].holds && rate < f->limit) {
			f->limit = rate;
			f->bottleneck = f->demand[j].at;
		}
	}
	for (int j = 0; j < f->demands; j++)
		if (f->demand[j].holds &&
		    f->demand[j].rate_of_share * f->demand[j].at->share > f->limit * SAME_RATE)
			f->demand[j].at->is_passed = true;
}

static void fix_rate(struct flow *f)
{
	f->rate = f->limit;
	for (int j = 0; j < f->demands; j++) {
		struct resource *r = f->demand[j].at;
		double left = r->left - f->demand[j].volume * f->demand[j].times * f->rate;
		if (f->demand[j].holds)
			r->left = left > 0 ? left : 0;
	}
}

/* True if the flow's rate is final: its own limit, or its share of a resource that limits all of
 * its flows, because shares only grow while others are fixed. */
static bool is_final(const struct flow *f) { return !f->bottleneck || !f->bottleneck->is_passed; }

/* ------------------------------------------------------------------ circles
 *
 * Of some sets of resources each holds a flow that another one gives less, so that none is final.
 * Their shares are found by iteration. */

#define SWEEPS 100u
#define CONVERGED 1e-13

/* Limit of a flow by anything but this resource. */
static double limit_elsewhere(const struct flow *f, const struct resource *but)
{
	double limit = f->own_limit;
	for (int j = 0; j < f->demands; j++)
		if (f->demand[j].holds && f->demand[j].at != but)
			limit = fmin(limit, f->demand[j].rate_of_share * f->demand[j].at->share);
	return limit;
}

/* The share at which a resource is full; flows that are held below it leave their part to others.
 */
static double full_share(struct resource *r)
{
	double share = r->left / r->weights, last;
	do {
		double left = r->left, weights = 0;
		last = share;
		for (const struct flow_demand *d = r->users; d; d = d->next) {
			if (!d->flow->is_open)
				continue;
			const double limit = limit_elsewhere(d->flow, r);
			if (limit < d->rate_of_share * share)
				left -= d->volume * d->times * limit;
			else
				weights += d->flow->weight * d->times;
		}
		if (!(weights > 0))
			return INFINITY;
		share = left / weights;
	} while (share > last * SAME_RATE);
	return share;
}

/* Resources of the flows in a row. */
static struct resource *list_resources(struct flow *const *flows, size_t count)
{
	struct resource *first = NULL;
	rounds++;
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < flows[i]->demands; j++) {
			struct resource *r = flows[i]->demand[j].at;
			if (!flows[i]->demand[j].holds || r->round == rounds)
				continue;
			r->round = rounds;
			r->listed_next = first;
			first = r;
		}
	}
	return first;
}

/* An iteration that was ended early may give more than there is. */
static void keep_within(struct flow *const *flows, size_t count, struct resource *all)
{
	for (struct resource *r = all; r; r = r->listed_next) {
		double used = 0;
		for (const struct flow_demand *d = r->users; d; d = d->next)
			used += d->flow->is_open ? d->volume * d->times * d->flow->limit : 0;
		r->share = used > r->left ? r->left / used : 1;
	}
	for (size_t i = 0; i < count; i++) {
		double part = 1;
		for (int j = 0; j < flows[i]->demands; j++)
			if (flows[i]->demand[j].holds)
				part = fmin(part, flows[i]->demand[j].at->share);
		flows[i]->limit *= part;
	}
}

static void fix_circle(struct flow *const *flows, size_t count)
{
	struct resource *all = list_resources(flows, count);
	double change = 1;
	for (size_t i = 0; i < count; i++)
		flows[i]->is_open = true;
	for (unsigned sweep = 0; sweep < SWEEPS && change > CONVERGED; sweep++) {
		change = 0;
		for (struct resource *r = all; r; r = r->listed_next) {
			const double share = full_share(r);
			if (share < r->share || share > r->share)
				change = fmax(change, isinf(share) || isinf(r->share)
							      ? 1
							      : fabs(share / r->share - 1));
			r->share = share;
		}
	}
	for (size_t i = 0; i < count; i++)
		find_bottleneck(flows[i]);
	keep_within(flows, count, all);
	for (size_t i = 0; i < count; i++) {
		fix_rate(flows[i]);
		flows[i]->is_open = false;
	}
}

void flow_set_rates(struct flow **flows, size_t count)
{
	begin_rates(flows, count);
	for (size_t open = count; open > 0;) {
		size_t keep = 0;
		find_shares(flows, open);
		for (size_t i = 0; i < open; i++)
			find_bottleneck(flows[i]);
		for (size_t i = 0; i < open; i++) {
			struct flow *f = flows[i];
			if (is_final(f)) {
				fix_rate(f);
			} else {
				flows[i] = flows[keep];
				flows[keep++] = f;
			}
		}
		if (keep == open) {
			fix_circle(flows, open);
			return;
		}
		open = keep;
	}
}

/* ------------------------------------------------------------------ pairs
 * Of resources, of which one has what the other leaves. */

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

/* Most that a set can take. A resource of the unit that part of the set does not need limits
 * nothing. */
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
