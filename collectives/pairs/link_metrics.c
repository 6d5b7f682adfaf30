/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/pairs/link_metrics.h"

#include <stdio.h>

#define BIT(v) (UINT64_C(1) << (v))
#define ONE_WAY (BIT(PAIR_FORWARD) | BIT(PAIR_BACKWARD))

static struct link_quantity quantity_of(const struct link_metrics *m, uint64_t variants,
					int variant)
{
	const bool latency = variants == BIT(PAIR_ROUND_TRIP);
	const double directions = variants == BIT(PAIR_BOTH_WAYS) ? 2.0 : 1.0;
	return (struct link_quantity){.log = m->log,
				      .variants = variants,
				      .work = latency ? 2.0 * PAIR_ROUND_TRIPS
						      : directions * m->window_bytes,
				      .is_latency = latency,
				      .variant = variant};
}

/* ------------------------------------------------------------------ of every pair */

static int derive_link(struct bench_case *c, const struct link_metrics *m, unsigned variant,
		       const struct pair_slot *slot)
{
	const struct link_quantity q = quantity_of(m, BIT(variant), (int)variant);
	char name[48];
	snprintf(name, sizeof(name), "link_%s %u-%u", q.is_latency ? "latency" : "bandwidth",
		 slot->first, slot->second);
	return link_derive_one(c, &q, slot->link, name,
			       q.is_latency ? "round trip of 8 bytes / 2"
					    : "bytes of the pair's window / its own time");
}

static int derive_links(struct bench_case *c, const struct link_metrics *m)
{
	const struct pairing *p = m->pairing;
	uint32_t next = 0;
	int status = 0;
	/* Links are numbered in the order of their first slots. */
	for (size_t i = 0; status == 0 && i < p->count; i++) {
		if (p->slots[i].link != next)
			continue;
		next++;
		for (unsigned v = 0; status == 0 && v < PAIR_VARIANTS; v++)
			if (bench_variant_on(c, v))
				status = derive_link(c, m, v, &p->slots[i]);
	}
	return status;
}

/* ------------------------------------------------------------------ of all pairs */

static bool all_on(const struct bench_case *c, uint64_t variants)
{
	for (unsigned v = 0; v < PAIR_VARIANTS; v++)
		if (variants & BIT(v) && !bench_variant_on(c, v))
			return false;
	return true;
}

static int derive_all(struct bench_case *c, const struct link_metrics *m)
{
	const struct link_quantity rate = quantity_of(m, ONE_WAY, -1),
				   latency = quantity_of(m, BIT(PAIR_ROUND_TRIP), -1);
	int status = 0;
	if (all_on(c, rate.variants)) {
		status = link_derive_worst(c, &rate, "min_bandwidth",
					   "of the pair and direction with the lowest median");
		if (status == 0)
			status = link_derive_median(c, &rate, "median_bandwidth",
						    "median over all pairs and both directions");
	}
	if (status == 0 && all_on(c, latency.variants)) {
		status = link_derive_worst(c, &latency, "max_latency",
					   "of the pair with the highest median");
		if (status == 0)
			status = link_derive_median(c, &latency, "median_latency",
						    "median over all pairs");
	}
	return status;
}

int link_metrics_derive(struct bench_case *c, const struct link_metrics *m)
{
	int status = 0;
	for (unsigned v = 0; status == 0 && v < PAIR_VARIANTS; v++) {
		const struct link_quantity q = quantity_of(m, BIT(v), (int)v);
		status = link_derive_pass_time(c, &q, m->pairing->rounds, "round_time",
					       "time of a pass / its rounds; of a round: its "
					       "slowest pair, or the sum of pairs that run alone");
	}
	status = status ? status : derive_all(c, m);
	return status ? status : derive_links(c, m);
}
