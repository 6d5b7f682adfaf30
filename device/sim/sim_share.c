/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/sim_engine.h"

#include <assert.h>

/* Levels this close count as equal, so that rounding does not split them. */
#define SAME_LEVEL (1.0 + 1e-12)

static uint64_t rounds;

void flow_begin(struct flow *f)
{
	f->demands = 0;
	f->min_ns = 0;
	f->weight = 1;
}

void flow_need(struct flow *f, struct resource *at, double volume)
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
	f->demand[f->demands].at = at;
	f->demand[f->demands++].volume = volume;
}

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
		for (int j = 0; flows[i]->rate < 0 && j < flows[i]->demands; j++) {
			struct resource *r = flows[i]->demand[j].at;
			if (r->round != rounds) {
				r->round = rounds;
				r->rise = 0;
			}
			r->rise += flows[i]->demand[j].volume * flows[i]->speed;
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
		double level = flows[i]->rate < 0 ? flow_limit_level(flows[i]) : -1;
		flows[i]->limit = level;
		if (level >= 0 && (lowest < 0 || level < lowest))
			lowest = level;
	}
	return lowest;
}

/* Progressive filling: raise the level of all flows until a resource is full, fix the rates of its
 * flows, and continue with the others. */
void flow_set_rates(struct flow *const *flows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		flows[i]->speed = flow_speed(flows[i]);
		flows[i]->rate = -1;
		for (int j = 0; j < flows[i]->demands; j++)
			flows[i]->demand[j].at->left = flows[i]->demand[j].at->capacity;
	}
	for (size_t open = count; open > 0;) {
		sum_rises(flows, count);
		double level = lowest_limit(flows, count);
		for (size_t i = 0; i < count; i++)
			flows[i]->stops =
				flows[i]->rate < 0 && flows[i]->limit <= level * SAME_LEVEL;
		for (size_t i = 0; i < count; i++) {
			if (!flows[i]->stops)
				continue;
			flows[i]->rate = level * flows[i]->speed;
			open--;
			for (int j = 0; j < flows[i]->demands; j++) {
				struct resource *r = flows[i]->demand[j].at;
				double left = r->left - flows[i]->demand[j].volume * flows[i]->rate;
				r->left = left > 0 ? left : 0;
			}
		}
	}
}
