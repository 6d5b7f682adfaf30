/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/link_contention/passes.h"
#include "bench/links/link_derive.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>

/* The partner takes at least so many times as long as what is timed; it is given more. */
#define LONGER 2.0
#define AIM 3.0
#define MAX_REPEATS 256u

/* ------------------------------------------------------------------ running */

static double longest_of(const double *seconds, size_t count)
{
	double longest = 0.0;
	for (size_t i = 0; i < count; i++)
		longest = fmax(longest, seconds[i]);
	return longest;
}

static double shortest_of(const double *seconds, size_t count)
{
	double shortest = INFINITY;
	for (size_t i = 0; i < count; i++)
		shortest = fmin(shortest, seconds[i]);
	return shortest;
}

static int end_pass(struct bench_case *c, struct link_log *log, unsigned variant, double sum_s,
		    uint64_t runs)
{
	const struct passes *p = c->state;
	c->self_seconds = sum_s;
	for (size_t i = 0; i < log->links; i++)
		p->seconds[i] /= (double)runs;
	if (c->status == 0)
		link_log_add(log, variant, sum_s / (double)runs, p->seconds, bench_single_pass(c));
	return c->status;
}

static void begin_pass(const struct passes *p, const struct link_log *log)
{
	for (size_t i = 0; i < log->links; i++)
		p->seconds[i] = 0.0;
}

/* Each device, one after the other. */
int passes_time_alone(struct bench_case *c, long pass, uint64_t runs)
{
	struct passes *p = c->state;
	const struct traffic *t = &p->traffic;
	begin_pass(p, &p->devices);
	for (size_t i = 0; i < t->devices; i++)
		traffic_time(t, p->alone[i], runs, t->host, 0, p->seconds);
	return end_pass(c, &p->devices, (unsigned)pass, longest_of(p->seconds, t->devices), runs);
}

int passes_time_all(struct bench_case *c, long pass, uint64_t runs)
{
	struct passes *p = c->state;
	const struct mix *m = &p->mix[pass];
	begin_pass(p, &p->devices);
	traffic_time(&p->traffic, m->graph, runs, m->timed, m->partner, p->seconds);
	return end_pass(c, &p->devices, (unsigned)pass, longest_of(p->seconds, p->traffic.devices),
			runs);
}

/* Each pair, one after the other. */
int passes_time_pairs(struct bench_case *c, long pass, uint64_t runs)
{
	struct passes *p = c->state;
	const struct traffic *t = &p->traffic;
	double of_device[2 * DEV_MAX] = {0.0}, sum_s = 0.0;
	size_t pair = 0;
	for (size_t i = 0; i < t->devices; i++)
		for (size_t j = i + 1; j < t->devices; j++, pair++) {
			of_device[i] = of_device[j] = 0.0;
			traffic_time(t, p->pair[pair], runs, t->host, 0, of_device);
			p->seconds[2 * pair] = of_device[i];
			p->seconds[2 * pair + 1] = of_device[j];
			sum_s += fmax(of_device[i], of_device[j]);
		}
	return end_pass(c, &p->pairs, (unsigned)pass, sum_s, runs);
}

void passes_model(const struct bench_case *c, long pass, struct bench_model *m)
{
	const struct passes *p = c->state;
	const unsigned timed = p->mix[pass].timed;
	const double kinds = __builtin_popcount(timed);
	m->bytes = kinds * p->traffic.devices * (double)p->traffic.bytes;
}

/* ------------------------------------------------------------------ setup */

static void open_mix(struct bench_case *c, unsigned timed, unsigned partner, uint32_t repeats,
		     struct mix *m)
{
	const struct traffic *t = &((struct passes *)c->state)->traffic;
	*m = (struct mix){bench_graph(c, t->lanes), timed, partner, repeats};
	traffic_add_all(t, m->graph, timed, 1);
	traffic_add_all(t, m->graph, partner, repeats);
	bench_graph_prepare(c, m->graph);
}

/* Repeats the partner until it lasts long enough. */
static void open_lasting_mix(struct bench_case *c, unsigned timed, unsigned partner, struct mix *m)
{
	const struct traffic *t = &((struct passes *)c->state)->traffic;
	double longer = 0.0;
	for (uint32_t repeats = 1; c->status == 0 && longer < LONGER;) {
		double seconds[2 * DEV_MAX] = {0.0};
		open_mix(c, timed, partner, repeats, m);
		traffic_time(t, m->graph, 1, timed, partner, seconds);
		longer = shortest_of(seconds + t->devices, t->devices) /
			 longest_of(seconds, t->devices);
		if (repeats == MAX_REPEATS)
			break;
		const double wanted = ceil(repeats * AIM / longer);
		repeats = wanted < MAX_REPEATS ? (uint32_t)wanted : MAX_REPEATS;
	}
}

static void open_mixes(struct bench_case *c)
{
	struct passes *p = c->state;
	const unsigned host = p->traffic.host, ring = TRAFFIC_BIT(TRAFFIC_RING);
	open_mix(c, host, 0, 0, &p->mix[PASS_ALL]);
	open_mix(c, ring, 0, 0, &p->mix[PASS_RING]);
	open_lasting_mix(c, host, ring, &p->mix[PASS_WITH_RING]);
	open_lasting_mix(c, ring, host, &p->mix[PASS_RING_WITH]);
}

static void open_each(struct bench_case *c)
{
	struct passes *p = c->state;
	const struct traffic *t = &p->traffic;
	const uint32_t n = t->devices;
	size_t pair = 0;
	p->pair = bench_alloc_host(c, (uint64_t)n * n * sizeof(struct work_graph *));
	for (uint32_t i = 0; c->status == 0 && i < n; i++) {
		p->alone[i] = bench_graph(c, t->lanes);
		traffic_add(t, p->alone[i], i, t->host, 1);
		bench_graph_prepare(c, p->alone[i]);
		for (uint32_t j = i + 1; c->status == 0 && j < n; j++) {
			struct work_graph *g = p->pair[pair++] = bench_graph(c, t->lanes);
			traffic_add(t, g, i, t->host, 1);
			traffic_add(t, g, j, t->host, 1);
			bench_graph_prepare(c, g);
		}
	}
}

int passes_open(struct passes *p, struct bench_case *c, unsigned host, uint64_t bytes)
{
	static const uint64_t leave[TRAFFIC_KINDS] = {[TRAFFIC_UP] = PASSES_OF_HOST,
						      [TRAFFIC_DOWN] = PASSES_OF_HOST,
						      [TRAFFIC_RING] = PASSES_OF_RING};
	const size_t n = c->devices->count, pairs = n * (n - 1) / 2;
	traffic_open(&p->traffic, c, host, bytes, leave);
	p->seconds = bench_alloc_host(c, (uint64_t)(2 * n + 2 * pairs) * sizeof(*p->seconds));
	TRY(c->status, link_log_open(&p->devices, PASSES, 2 * n));
	TRY(c->status, link_log_open(&p->pairs, PASSES, 2 * pairs));
	if (c->status == 0)
		open_mixes(c);
	open_each(c);
	return c->status;
}

void passes_close(struct passes *p)
{
	link_log_close(&p->devices);
	link_log_close(&p->pairs);
}

/* ------------------------------------------------------------------ results */

/* The partner lasts longer on every device than what is timed on any, in nine of ten samples: what
 * the others keep is too much, but their median hardly moves. */
static void verify_lasting(struct bench_case *c, unsigned variant)
{
	const struct passes *p = c->state;
	const size_t n = p->traffic.devices, samples = link_log_count(&p->devices, variant);
	size_t early = 0;
	for (size_t i = 0; i < samples; i++) {
		const double *pass = link_log_of_pass(&p->devices, variant, i);
		early += shortest_of(pass + n, n) < longest_of(pass, n);
	}
	if (bench_variant_on(c, variant))
		bench_mechanism_of(c, PASS_BIT(variant), "partner_lasts_longer",
				   early * 10 <= samples,
				   "the partner ended first in %zu of %zu samples", early, samples);
}

int passes_verify(struct bench_case *c)
{
	struct passes *p = c->state;
	struct work_graph *graphs[PASSES] = {[PASS_ALONE] = p->alone[0], [PASS_PAIRS] = p->pair[0]};
	for (unsigned v = 0; v < bench_variants(c); v++) {
		graphs[v] = p->mix[v].graph ? p->mix[v].graph : graphs[v];
		link_derive_take(c, &p->devices, v);
		link_derive_take(c, &p->pairs, v);
	}
	verify_lasting(c, PASS_WITH_RING);
	verify_lasting(c, PASS_RING_WITH);
	TRY(c->status,
	    bench_verify_engine(c, PASSES_OF_HOST - PASS_BIT(PASS_RING_WITH), graphs, PASSES));
	return TRY(c->status, bench_verify_engine(c, PASS_BIT(PASS_RING) | PASS_BIT(PASS_RING_WITH),
						  graphs, PASSES));
}

/* Rate of each device in a pass / that in another one, round by round. */
static void derive_devices(struct bench_case *c, unsigned pass, unsigned over)
{
	const struct passes *p = c->state;
	const size_t n = p->traffic.devices, with = link_log_count(&p->devices, pass),
		     without = link_log_count(&p->devices, over),
		     rounds = with < without ? with : without;
	double *kept = bench_alloc_host(c, (rounds + 1) * sizeof(*kept));
	for (size_t device = 0; c->status == 0 && device < n; device++) {
		char name[32];
		snprintf(name, sizeof(name), "rate_kept %zu", device);
		for (size_t i = 0; i < rounds; i++)
			kept[i] =
				link_log_of_pass(&p->devices, over, without - rounds + i)[device] /
				link_log_of_pass(&p->devices, pass, with - rounds + i)[device];
		TRY(c->status,
		    bench_derive_samples(c, name, (int)pass, "", PASS_BIT(pass) | PASS_BIT(over),
					 kept, rounds, "of one device"));
	}
}

int passes_derive(struct bench_case *c)
{
	const struct passes *p = c->state;
	derive_devices(c, PASS_ALL, PASS_ALONE);
	derive_devices(c, PASS_WITH_RING, PASS_ALL);
	derive_devices(c, PASS_RING_WITH, PASS_RING);
	bench_fact_number(c, "ring_repeats", p->mix[PASS_WITH_RING].repeats);
	bench_fact_number(c, "copy_repeats", p->mix[PASS_RING_WITH].repeats);
	return c->status;
}
