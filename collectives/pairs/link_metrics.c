/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/pairs/link_metrics.h"
#include "lib/err.h"

#include <stdio.h>

#define BIT(v) (UINT64_C(1) << (v))

/* The quantity of one way, or of several of a kind. */
static struct link_quantity quantity_of(const struct link_metrics *m, uint64_t variants,
					int variant)
{
	const struct pair_way *way = &pair_ways[__builtin_ctzll(variants)];
	return (struct link_quantity){.log = m->log,
				      .variants = variants,
				      .work = 2.0 * way->trips + way->windows * m->window_bytes,
				      .is_latency = way->trips,
				      .variant = variant};
}

static int derive_links(struct bench_case *c, const struct link_metrics *m)
{
	const struct pairing *p = m->pairing;
	uint32_t next = 0;
	/* Links are numbered in the order of their first slots. */
	for (size_t i = 0; i < p->count; i++) {
		const struct pair_slot *slot = &p->slots[i];
		if (slot->link != next)
			continue;
		next++;
		for (unsigned v = 0; v < PAIR_VARIANTS; v++) {
			const struct link_quantity q = quantity_of(m, BIT(v), (int)v);
			char name[48];
			snprintf(name, sizeof(name), "link_%s %u-%u",
				 q.is_latency ? "latency" : "bandwidth", slot->first, slot->second);
			if (bench_variant_on(c, v))
				TRY(c->status,
				    link_derive_one(c, &q, slot->link, name,
						    q.is_latency ? "round trip of 8 bytes / 2"
								 : "bytes of the pair's window / "
								   "its own time"));
		}
	}
	return c->status;
}

/* The worst pair and the median over all. */
static void derive_all(struct bench_case *c, const struct link_metrics *m, uint64_t variants,
		       const char *const names[2], const char *const formulas[2])
{
	const struct link_quantity q = quantity_of(m, variants, -1);
	for (unsigned v = 0; v < PAIR_VARIANTS; v++)
		if (variants & BIT(v) && !bench_variant_on(c, v))
			return;
	TRY(c->status, link_derive_worst(c, &q, names[0], formulas[0]));
	TRY(c->status, link_derive_median(c, &q, names[1], formulas[1]));
}

int link_metrics_derive(struct bench_case *c, const struct link_metrics *m)
{
	for (unsigned v = 0; v < PAIR_VARIANTS; v++) {
		link_derive_take(c, m->log, v);
		TRY(c->status, bench_time_each(c, "round_time", v, m->pairing->rounds,
					       "time of a pass / its rounds; of a round: its "
					       "slowest pair, or the sum of pairs that run alone"));
	}
	derive_all(c, m, BIT(PAIR_FORWARD) | BIT(PAIR_BACKWARD),
		   (const char *const[]){"min_bandwidth", "median_bandwidth"},
		   (const char *const[]){"of the pair and direction with the lowest median",
					 "median over all pairs and both directions"});
	derive_all(c, m, BIT(PAIR_ROUND_TRIP),
		   (const char *const[]){"max_latency", "median_latency"},
		   (const char *const[]){"of the pair with the highest median",
					 "median over all pairs"});
	return derive_links(c, m);
}
