/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flows and what they share: max-min fair rates.
 */
#ifndef GPUSIG_SIM_SHARE_H
#define GPUSIG_SIM_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

/* Demand of a flow on a resource: `volume` of every block, of which `times` pass it. */
struct flow_demand {
	struct resource *at;
	double volume, times;
	double waits; /* of the volume; for what passes the resource behind */
	bool of_unit;
	double rate_of_share; /* scratch of flow_set_rates(), like `holds` */
	bool holds;
	struct flow *flow;
	struct flow_demand *next, *previous; /* among the resource's users */
};

/* Something that flows pass: capacity in bytes, or in ns of a unit, per ns. */
struct resource {
	double capacity;
	/* Demand of its flows if each were limited only by itself. A resource with that much
	 * capacity limits no flow, and connects none. */
	double load;
	/* NULL, or the other resource of a pair; see resource_divide(). */
	struct resource *ahead, *behind;
	double most, least; /* of the one behind */
	/* State of the one ahead; `taken` is resource_most_taken() while flows are behind. */
	double wait_ns, taken, in_force;
	bool waits_in_force, is_stale;
	struct resource *stale_next;
	bool changed; /* flows that it holds joined or left since rates were set */
	struct flow_demand *users;
	struct resource *changed_next;
	/* scratch of flow_set_rates() and flow_find_changed() */
	double left, weights, share;
	bool is_passed;
	struct resource *listed_next;
	uint64_t round, search;
	/* scratch of resource_most_taken() */
	uint64_t set;
	unsigned members;
	double members_load, largest_part;
};

/* A block has at most FLOW_OWN demands for its unit and its device, and FLOW_PEER for every array
 * in another device's memory. The rest is for links; peers.c refuses operations that pass
 * more. */
#define FLOW_DEMANDS 104
#define FLOW_OWN 18
#define FLOW_PEER 7

/* One copy, or blocks that move and compute the same at the same time. */
struct flow {
	struct flow_demand demand[FLOW_DEMANDS];
	int demands;
	double min_ns; /* it takes at least so long, whatever else is free */
	double weight;
	double blocks, per_unit; /* that pass shared resources, and those of one unit */
	double alone; /* rate of each of its blocks if no other flow were there; by flow_join() */
	double rate;  /* of each block, in 1/ns; set by flow_set_rates(), in force until a flow that
			 is connected with it starts or ends */
	/* scratch of flow_set_rates() and flow_find_changed() */
	double own_limit; /* `alone`, less for what waits */
	double limit;
	bool is_open;
	struct resource *bottleneck;
	uint64_t search;
	struct flow *joined_next,
		*joined_previous; /* among those that joined since rates were set */
	bool has_joined;
};

/* A resource without flows. */
void resource_set(struct resource *r, double per_second);

/* An empty flow of one block; `blocks` and `per_unit` are set before the first need. */
void flow_begin(struct flow *f);
void flow_need(struct flow *f, struct resource *at, double volume);
void flow_need_unit(struct flow *f, struct resource *at, double volume);
/* So much of what it needs there waits. */
void flow_wait(struct flow *f, struct resource *at, double volume);

/* Two resources become a pair, which share the capacity of the one ahead. Neither has flows.
 *
 *   behind   has what resource_most_taken() ahead leaves of `most` of the capacity, but always
 *            `least` of it, which is less than all. With `most` 0 it limits nothing, and if wait_ns
 *            is 0, too, they are not a pair
 *   ahead    has all, but where only `least` is left behind, and flows are there, the rest. As long
 *            as flows are behind, a flow takes longer by wait_ns for every unit that waits here,
 *            whatever else holds it */
void resource_divide(struct resource *ahead, struct resource *behind, double most, double least,
		     double wait_ns);

/* The most that the flows of a resource can take of it, whatever else passes: each no more than
 * alone, and those of one unit together no more than if the unit had only what moves the most here
 * for its time. */
double resource_most_taken(const struct resource *r);

/* A flow starts or ends to pass its resources. */
void flow_join(struct flow *f);
void flow_leave(struct flow *f);

/* The flows whose rates may have changed by what joined or left since the last call: those that are
 * connected with it by shared resources. */
size_t flow_find_changed(struct flow **flows);
/* Set the rates of all flows that share resources, which have joined. Reorders the list. */
void flow_set_rates(struct flow **flows, size_t count);

#endif
