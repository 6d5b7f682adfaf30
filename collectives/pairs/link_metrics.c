/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/pairs/link_metrics.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(v) (UINT64_C(1) << (v))
#define ONE_WAY (BIT(PAIR_FORWARD) | BIT(PAIR_BACKWARD))

/* A pair in one variant, and memory for its values and for sorting them. */
struct link_values {
	double *values, *sorted;
	size_t count;
};

static double compute_round_time(const struct bench_round *r)
{
	const struct link_metrics *m = r->arg;
	link_log_take(m->log, (unsigned)r->variant, r->seconds[r->variant]);
	return r->seconds[r->variant] / m->pairing->rounds;
}

/* Bandwidth or latency of a link that took so long. */
static double value_of(const struct link_metrics *m, unsigned variant, double seconds)
{
	if (variant == PAIR_ROUND_TRIP)
		return seconds / (2.0 * PAIR_ROUND_TRIPS);
	return (variant == PAIR_BOTH_WAYS ? 2.0 : 1.0) * m->window_bytes / seconds;
}

static void read_link(const struct link_metrics *m, unsigned variant, size_t link,
		      struct link_values *l)
{
	l->count = link_log_count(m->log, variant);
	link_log_of_link(m->log, variant, link, l->values);
	for (size_t i = 0; i < l->count; i++)
		l->values[i] = value_of(m, variant, l->values[i]);
}

static double median_of(struct link_values *l, size_t count)
{
	memcpy(l->sorted, l->values, count * sizeof(double));
	stats_sort(l->sorted, count);
	return stats_median(l->sorted, count);
}

/* ------------------------------------------------------------------ of every pair */

static int derive_link(struct bench_case *c, const struct link_metrics *m, unsigned variant,
		       const struct pair_slot *slot, struct link_values *l)
{
	bool latency = variant == PAIR_ROUND_TRIP;
	char name[48];
	snprintf(name, sizeof(name), "link_%s %u-%u", latency ? "latency" : "bandwidth",
		 slot->first, slot->second);
	read_link(m, variant, slot->link, l);
	return bench_derive_samples(c, name, (int)variant, latency ? "s" : "byte/s", BIT(variant),
				    l->values, l->count,
				    latency ? "round trip of 8 bytes / 2"
					    : "bytes of the pair's window / its own time");
}

static int derive_links(struct bench_case *c, const struct link_metrics *m, struct link_values *l)
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
				status = derive_link(c, m, v, &p->slots[i], l);
	}
	return status;
}

/* ------------------------------------------------------------------ of all pairs */

/* The values of the worst link in these variants: with the lowest median bandwidth, or the highest
 * median latency. */
static int derive_worst(struct bench_case *c, const struct link_metrics *m, uint64_t variants,
			const char *name, struct link_values *l)
{
	bool latency = variants == BIT(PAIR_ROUND_TRIP);
	unsigned worst_variant = 0;
	size_t worst_link = 0;
	double worst = -1.0;
	for (unsigned v = 0; v < PAIR_VARIANTS; v++) {
		for (size_t k = 0; variants & BIT(v) && k < m->pairing->links; k++) {
			read_link(m, v, k, l);
			double median = l->count ? median_of(l, l->count) : -1.0;
			if (l->count == 0 ||
			    (worst >= 0.0 && (latency ? median <= worst : median >= worst)))
				continue;
			worst = median;
			worst_variant = v;
			worst_link = k;
		}
	}
	read_link(m, worst_variant, worst_link, l);
	return bench_derive_samples(c, name, -1, latency ? "s" : "byte/s", variants, l->values,
				    l->count,
				    latency ? "of the pair with the highest median"
					    : "of the pair and direction with the lowest median");
}

/* The median over the links of these variants, pass by pass. */
static int derive_median(struct bench_case *c, const struct link_metrics *m, uint64_t variants,
			 const char *name, struct link_values *l)
{
	bool latency = variants == BIT(PAIR_ROUND_TRIP);
	size_t passes = SIZE_MAX, links = m->pairing->links;
	for (unsigned v = 0; v < PAIR_VARIANTS; v++) {
		size_t count = link_log_count(m->log, v);
		if (variants & BIT(v) && count < passes)
			passes = count;
	}
	double *medians = calloc(passes + 1, sizeof(*medians));
	if (!medians)
		return err_note(-ENOMEM, "derive %s: out of memory", name);
	for (size_t i = 0; i < passes; i++) {
		size_t count = 0;
		for (unsigned v = 0; v < PAIR_VARIANTS; v++) {
			const double *pass =
				variants & BIT(v) ? link_log_of_pass(m->log, v, i) : NULL;
			for (size_t k = 0; pass && k < links; k++)
				l->values[count++] = value_of(m, v, pass[k]);
		}
		medians[i] = median_of(l, count);
	}
	int status = bench_derive_samples(
		c, name, -1, latency ? "s" : "byte/s", variants, medians, passes,
		latency ? "median over all pairs" : "median over all pairs and both directions");
	free(medians);
	return status;
}

static bool all_on(const struct bench_case *c, uint64_t variants)
{
	for (unsigned v = 0; v < PAIR_VARIANTS; v++)
		if (variants & BIT(v) && !bench_variant_on(c, v))
			return false;
	return true;
}

static int derive_all(struct bench_case *c, const struct link_metrics *m, struct link_values *l)
{
	const uint64_t trip = BIT(PAIR_ROUND_TRIP);
	int status = 0;
	if (all_on(c, ONE_WAY)) {
		status = derive_worst(c, m, ONE_WAY, "min_bandwidth", l);
		status = status ? status : derive_median(c, m, ONE_WAY, "median_bandwidth", l);
	}
	if (status == 0 && all_on(c, trip)) {
		status = derive_worst(c, m, trip, "max_latency", l);
		status = status ? status : derive_median(c, m, trip, "median_latency", l);
	}
	return status;
}

int link_metrics_derive(struct bench_case *c, const struct link_metrics *m)
{
	const size_t links = 2 * m->pairing->links,
		     capacity = links > LINK_LOG_PASSES ? links : LINK_LOG_PASSES;
	struct link_values l = {.values = calloc(capacity, sizeof(double)),
				.sorted = calloc(capacity, sizeof(double))};
	int status = l.values && l.sorted
			     ? 0
			     : err_note(-ENOMEM, "%zu pairs: out of memory", m->pairing->links);
	for (unsigned v = 0; status == 0 && v < PAIR_VARIANTS; v++) {
		const struct bench_quantity round_time = {BENCH_FORMULA,
							  {BENCH_OF(v)},
							  .unit = "s",
							  .f = compute_round_time,
							  .arg = m};
		status = bench_derive(c, "round_time", (int)v, &round_time,
				      "time of a pass / its rounds; of a round: its slowest pair, "
				      "or the sum of pairs that run alone");
	}
	status = status ? status : derive_all(c, m, &l);
	status = status ? status : derive_links(c, m, &l);
	free(l.values);
	free(l.sorted);
	return status;
}
