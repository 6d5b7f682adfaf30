/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks max-min fairness by its certificate: no resource is over its capacity, and each flow is
 * stopped by its own limit or by a full resource on which no other flow has a higher level.
 */
#include "device/sim/time/share.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#define RESOURCES 6
#define FLOWS 12
#define CLOSE 1e-9

struct network {
	struct resource resource[RESOURCES];
	struct flow flow[FLOWS];
	struct flow *list[FLOWS];
	size_t count;
};

static void make_network(struct network *n, struct rng *r)
{
	memset(n, 0, sizeof(*n));
	n->count = 1 + rng_below(r, FLOWS);
	for (int i = 0; i < RESOURCES; i++) {
		n->resource[i].capacity = 1 + 99 * rng_unit(r);
	}
	for (size_t i = 0; i < n->count; i++) {
		struct flow *f = &n->flow[i];
		flow_begin(f);
		flow_need(f, &n->resource[rng_below(r, RESOURCES)], 1 + rng_unit(r));
		for (int j = 0; j < RESOURCES; j++)
			flow_need(f, &n->resource[j], rng_below(r, 3) ? 0 : 10 * rng_unit(r) + 0.1);
		f->weight = rng_below(r, 2) ? 1 : 8;
		f->min_ns = rng_below(r, 3) ? 0 : rng_unit(r);
		n->list[i] = f;
		flow_join(f);
	}
}

static double used_capacity(const struct network *n, const struct resource *r)
{
	double sum = 0;
	for (size_t i = 0; i < n->count; i++)
		for (int j = 0; j < n->flow[i].demands; j++)
			sum += n->flow[i].demand[j].at == r
				       ? n->flow[i].demand[j].volume * n->flow[i].demand[j].times *
						 n->flow[i].rate
				       : 0;
	return sum;
}

/* By weight; 0: the flow does not pass the resource. */
static double share_of(const struct flow *f, const struct resource *r)
{
	for (int j = 0; j < f->demands; j++)
		if (f->demand[j].at == r)
			return f->demand[j].volume * f->rate / f->weight;
	return 0;
}

static bool highest_on(const struct network *n, const struct flow *f, const struct resource *r)
{
	for (size_t i = 0; i < n->count; i++)
		if (share_of(&n->flow[i], r) > share_of(f, r) * (1 + CLOSE))
			return false;
	return true;
}

static bool is_stopped(const struct network *n, const struct flow *f)
{
	if (f->min_ns > 0 && f->rate * f->min_ns >= 1 - CLOSE)
		return true;
	for (int j = 0; j < f->demands; j++)
		if (used_capacity(n, f->demand[j].at) >= f->demand[j].at->capacity * (1 - CLOSE) &&
		    highest_on(n, f, f->demand[j].at))
			return true;
	return false;
}

static void random_networks_are_shared_max_min(void)
{
	struct rng r;
	rng_seed(&r, 1, 0);
	for (int round = 0; round < 5000; round++) {
		struct network n;
		make_network(&n, &r);
		flow_set_rates(n.list, n.count);
		for (int i = 0; i < RESOURCES; i++)
			require(used_capacity(&n, &n.resource[i]) <=
				n.resource[i].capacity * (1 + CLOSE));
		for (size_t i = 0; i < n.count; i++) {
			require(n.flow[i].rate > 0 && isfinite(n.flow[i].rate));
			require(n.flow[i].rate * n.flow[i].min_ns <= 1 + CLOSE);
			require(is_stopped(&n, &n.flow[i]));
		}
	}
}

int main(void)
{
	test(random_networks_are_shared_max_min);
	return test_done();
}
