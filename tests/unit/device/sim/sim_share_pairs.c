/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of resources: both together never give more than there is, what is behind has what is left
 * for it, and rates after any joining and leaving are those that all flows have when they are
 * computed at once.
 */
#include "device/sim/time/share.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#define OTHERS 4
#define PAIRS 2
#define FLOWS 16
#define CLOSE 1e-9

struct network {
	struct resource ahead[PAIRS], behind[PAIRS], other[OTHERS];
	double most[PAIRS], least[PAIRS]; /* most 0: the pair only waits */
	struct flow flow[FLOWS];
	bool there[FLOWS];
};

static void make_network(struct network *n, struct rng *r)
{
	memset(n, 0, sizeof(*n));
	for (int i = 0; i < OTHERS; i++)
		n->other[i].capacity = 1 + 99 * rng_unit(r);
	for (int i = 0; i < PAIRS; i++) {
		n->ahead[i].capacity = 10 + 90 * rng_unit(r);
		n->most[i] = rng_below(r, 4) ? 0.05 + 0.95 * rng_unit(r) : 0;
		n->least[i] = 0.01 + 0.4 * rng_unit(r);
		resource_divide(&n->ahead[i], &n->behind[i], n->most[i], n->least[i],
				rng_below(r, 2) ? rng_unit(r) / 50 : 0);
	}
}

/* As a flow of one class at each memory. */
static void make_flow(struct network *n, struct flow *f, struct rng *r)
{
	flow_begin(f);
	f->blocks = 1 + (double)rng_below(r, 3);
	f->weight = rng_below(r, 3) ? 1 : 8;
	f->min_ns = rng_below(r, 3) ? 0 : rng_unit(r);
	for (int i = 0; i < PAIRS; i++) {
		const double volume = rng_below(r, 3) ? 10 * rng_unit(r) + 0.1 : 0;
		const bool is_behind = rng_below(r, 2);
		if (!is_behind || !(n->most[i] > 0))
			flow_need(f, &n->ahead[i], volume);
		if (is_behind)
			flow_need(f, &n->behind[i], volume);
		else if (n->ahead[i].behind && rng_below(r, 2))
			flow_wait(f, &n->ahead[i], volume / 2);
	}
	for (int i = 0; i < OTHERS; i++)
		flow_need(f, &n->other[i], rng_below(r, 3) ? 0 : 10 * rng_unit(r) + 0.1);
	if (f->demands == 0)
		flow_need(f, &n->other[0], 1);
}

static double used_capacity(const struct network *n, const struct resource *r)
{
	double sum = 0;
	for (int i = 0; i < FLOWS; i++)
		for (int j = 0; n->there[i] && j < n->flow[i].demands; j++)
			if (n->flow[i].demand[j].at == r)
				sum += n->flow[i].demand[j].volume * n->flow[i].blocks *
				       n->flow[i].rate;
	return sum;
}

/* If each flow were alone; from its needs. */
static double rate_alone(const struct network *n, const struct flow *f)
{
	double rate = f->min_ns > 0 ? 1 / f->min_ns : INFINITY;
	for (int j = 0; j < f->demands; j++) {
		double capacity = f->demand[j].at->capacity;
		for (int i = 0; i < PAIRS; i++)
			if (f->demand[j].at == &n->behind[i])
				capacity = n->most[i] > 0 ? fmax(n->most[i], n->least[i]) *
								    n->ahead[i].capacity
							  : INFINITY;
		rate = fmin(rate, capacity / (f->demand[j].volume * f->blocks));
	}
	return rate;
}

static double load_alone(const struct network *n, const struct resource *r)
{
	double sum = 0;
	for (int i = 0; i < FLOWS; i++)
		for (int j = 0; n->there[i] && j < n->flow[i].demands; j++)
			if (n->flow[i].demand[j].at == r)
				sum += n->flow[i].demand[j].volume * n->flow[i].blocks *
				       rate_alone(n, &n->flow[i]);
	return sum;
}

static bool has_flows(const struct network *n, const struct resource *r)
{
	for (int i = 0; i < FLOWS; i++)
		for (int j = 0; n->there[i] && j < n->flow[i].demands; j++)
			if (n->flow[i].demand[j].at == r)
				return true;
	return false;
}

static void check_pair(const struct network *n, int i)
{
	const double all = n->ahead[i].capacity, ahead = used_capacity(n, &n->ahead[i]),
		     behind = used_capacity(n, &n->behind[i]),
		     left = n->most[i] * all - load_alone(n, &n->ahead[i]),
		     least = n->least[i] * all;
	require(ahead <= all * (1 + CLOSE));
	if (!(n->most[i] > 0))
		return;
	require(behind <= fmax(left, least) * (1 + CLOSE));
	require(ahead + behind <= all * (1 + CLOSE));
}

/* No flow waits that reads nothing, and no wait is more or less than it is. */
static void check_limit(const struct network *n, const struct flow *f)
{
	double ns = 1 / rate_alone(n, f);
	for (int j = 0; j < f->demands; j++)
		for (int i = 0; i < PAIRS; i++)
			if (f->demand[j].at == &n->ahead[i] && has_flows(n, &n->behind[i]))
				ns += f->demand[j].waits * n->ahead[i].wait_ns;
	require(f->rate > 0 && isfinite(f->rate));
	require(f->rate * ns <= 1 + CLOSE);
}

static size_t list_all(struct network *n, struct flow **list)
{
	size_t count = 0;
	for (int i = 0; i < FLOWS; i++)
		if (n->there[i])
			list[count++] = &n->flow[i];
	return count;
}

static void change_flows(struct network *n, struct rng *r)
{
	for (uint64_t changes = 1 + rng_below(r, 3); changes > 0; changes--) {
		const uint64_t i = rng_below(r, FLOWS);
		if (n->there[i])
			flow_leave(&n->flow[i]);
		else
			make_flow(n, &n->flow[i], r);
		n->there[i] = !n->there[i];
		if (n->there[i])
			flow_join(&n->flow[i]);
	}
}

static void rates_follow_what_joins_and_leaves(void)
{
	struct flow *list[FLOWS];
	struct rng r;
	unsigned at_least = 0, waiting = 0;
	rng_seed(&r, 7, 0);
	for (int round = 0; round < 300; round++) {
		static struct network n;
		make_network(&n, &r);
		for (int step = 0; step < 40; step++) {
			double rate[FLOWS];
			change_flows(&n, &r);
			flow_set_rates(list, flow_find_changed(list));
			for (int i = 0; i < FLOWS; i++)
				rate[i] = n.flow[i].rate;
			flow_set_rates(list, list_all(&n, list));
			for (int i = 0; i < FLOWS; i++)
				require(!n.there[i] ||
					fabs(rate[i] - n.flow[i].rate) <= CLOSE * rate[i]);
			for (int i = 0; i < PAIRS; i++)
				check_pair(&n, i);
			for (int i = 0; i < FLOWS; i++)
				if (n.there[i])
					check_limit(&n, &n.flow[i]);
			for (int i = 0; i < PAIRS; i++) {
				const bool flows = has_flows(&n, &n.behind[i]);
				at_least += flows && n.most[i] > 0 &&
					    load_alone(&n, &n.ahead[i]) >
						    (n.most[i] - n.least[i]) * n.ahead[i].capacity;
				waiting += flows && n.ahead[i].wait_ns > 0;
			}
		}
		for (int i = 0; i < FLOWS; i++)
			if (n.there[i])
				flow_leave(&n.flow[i]);
		require(flow_find_changed(list) == 0);
	}
	/* Both checked situations occurred. */
	expect(at_least > 1000 && waiting > 1000);
}

static void begin_flow(struct flow *f, struct resource *at, double min_ns)
{
	flow_begin(f);
	f->min_ns = min_ns;
	flow_need(f, at, 1);
}

static void what_is_behind_takes_all_that_is_left(void)
{
	static struct resource ahead = {.capacity = 100}, behind;
	struct flow *list[3];
	resource_divide(&ahead, &behind, 0.8, 0.1, 0);
	static struct flow first, second, third;
	begin_flow(&first, &ahead, 1 / 50.0);
	begin_flow(&second, &behind, 0);
	begin_flow(&third, &ahead, 1 / 40.0);
	flow_join(&first);
	flow_join(&second);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(first.rate, 50, CLOSE);
	expect_near(second.rate, 30, CLOSE);
	flow_join(&third); /* 90 and 10 */
	flow_set_rates(list, flow_find_changed(list));
	expect_near(first.rate, 50, CLOSE);
	expect_near(third.rate, 40, CLOSE);
	expect_near(second.rate, 10, CLOSE);
	flow_leave(&first);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(second.rate, 40, CLOSE);
	flow_leave(&third);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(second.rate, 80, CLOSE);
	flow_leave(&second);
	expect(flow_find_changed(list) == 0);
}

static void begin_block(struct flow *f, struct resource *at, double volume, struct resource *unit,
			double blocks)
{
	flow_begin(f);
	f->blocks = blocks;
	f->per_unit = blocks / 2;
	flow_need(f, at, volume);
	flow_need_unit(f, unit, 1);
}

/* Two units of 10, which are alike. */
static void flows_of_a_unit_take_no_more_than_it_has(void)
{
	static struct resource ahead = {.capacity = 100}, behind, unit = {.capacity = 10};
	static struct flow one, two, other, copy;
	struct flow *list[4];
	resource_divide(&ahead, &behind, 0.8, 0.1, 0);
	begin_flow(&copy, &behind, 0);
	begin_block(&one, &ahead, 1, &unit, 2);
	begin_block(&two, &ahead, 1, &unit, 4);
	flow_join(&copy);
	flow_join(&one);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(resource_most_taken(&ahead), 20, CLOSE);
	expect_near(copy.rate, 60, CLOSE);
	/* More blocks of a kind take no more. */
	flow_join(&two);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(resource_most_taken(&ahead), 20, CLOSE);
	expect_near(copy.rate, 60, CLOSE);
	expect_near(one.rate * 2 + two.rate * 4, 20, CLOSE);
	/* The unit could be all for the one that moves three times as much. */
	begin_block(&other, &ahead, 3, &unit, 2);
	flow_join(&other);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(resource_most_taken(&ahead), 60, CLOSE);
	expect_near(copy.rate, 20, CLOSE);
	flow_leave(&other);
	/* A flow that needs another resource of the unit is among them. */
	static struct resource compute = {.capacity = 5};
	begin_block(&other, &ahead, 2, &unit, 2);
	flow_need_unit(&other, &compute, 1);
	flow_join(&other);
	expect_near(resource_most_taken(&ahead), 40, CLOSE);
	flow_leave(&one);
	flow_leave(&two);
	expect_near(resource_most_taken(&ahead), 20, CLOSE);
	flow_set_rates(list, flow_find_changed(list));
	expect_near(copy.rate, 60, CLOSE);
	flow_leave(&other);
	flow_leave(&copy);
	flow_set_rates(list, flow_find_changed(list));
}

int main(void)
{
	test(flows_of_a_unit_take_no_more_than_it_has);
	test(rates_follow_what_joins_and_leaves);
	test(what_is_behind_takes_all_that_is_left);
	return test_done();
}
