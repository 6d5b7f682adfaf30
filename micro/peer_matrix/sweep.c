/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/sweep.h"
#include "bench/links/link_derive.h"
#include "bench/pattern.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ pairs */

/* Contents of a source follow each other by far in the pattern. A later pair writes behind the
 * checked bytes of the one before. */
static void add_pair(struct sweep *s, uint32_t from, uint32_t to)
{
	struct transfers *t = s->pairs;
	struct bench_case *c = t->c;
	struct transfer pair = {.by = c->devices->dev[from],
				.source_of = c->devices->dev[from],
				.target_of = c->devices->dev[to],
				.bytes = t->bytes,
				.checked = t->bytes < SWEEP_CHECKED ? t->bytes : SWEEP_CHECKED};
	const size_t others = c->devices->count - 1, nth = from - (from > to);
	char *base = transfers_memory(t, t->target, to, t->bytes + (others - 1) * pair.checked);
	const bool first = !t->source[from];
	if (first) {
		s->lanes[from] = bench_lanes_on(c, &pair.by, 1);
		work_lane_normal(s->lanes[from], 0);
	}
	pair.source = transfers_memory(t, t->source, from, t->bytes);
	if (c->status)
		return;
	pair.target = base + nth * pair.checked;
	snprintf(pair.name, sizeof(pair.name), "%u>%u", from, to);
	transfers_add(t, s->lanes[from], 0, from, pair);
	if (first && c->status == 0)
		pattern_fill(c, pair.by, pair.source, t->bytes, t->transfer[t->count - 1].contents);
}

/* Every ordered pair that has access, by source. */
static void find_pairs(struct sweep *s)
{
	struct bench_case *c = s->pairs->c;
	const uint32_t n = (uint32_t)c->devices->count;
	char first[ERR_TEXT + 32] = "";
	size_t missing = 0;
	for (uint32_t i = 0; c->status == 0 && i < n * n; i++) {
		const uint32_t from = i / n, to = i % n;
		if (from == to)
			continue;
		const int status = dev_peer_enable(c->devices->dev[from], c->devices->dev[to]);
		if (status != -ENOTSUP && TRY(c->status, status) == 0)
			add_pair(s, from, to);
		else if (status == -ENOTSUP && missing++ == 0)
			snprintf(first, sizeof(first), "%u>%u: %s", from, to, err_text());
	}
	if (c->status == 0 && s->pairs->count == 0)
		c->status = err_note(-ENOTSUP, "%s", first);
	else if (missing)
		bench_fact_format(c, "pairs_not_measured", missing > 1 ? "%s, and %zu more" : "%s",
				  first, missing - 1);
}

int sweep_open(struct sweep *s, struct transfers *pairs, struct bench_case *c, uint64_t bytes)
{
	const size_t n = c->devices->count;
	*s = (struct sweep){.pairs = pairs};
	transfers_begin(pairs, c, bytes);
	find_pairs(s);
	pairs->forward = pairs->count;
	s->seconds = bench_alloc_host(c, (uint64_t)n * n * sizeof(*s->seconds));
	return TRY(c->status, link_log_open(&s->log, LINK_LOG_VARIANTS, pairs->count));
}

void sweep_close(struct sweep *s) { link_log_close(&s->log); }

void sweep_prepare(struct sweep *s, unsigned variant, bool by_kernel)
{
	const struct transfers *t = s->pairs;
	struct work_graph **graph = bench_alloc_host(t->c, t->count * sizeof(struct work_graph *));
	s->variant[by_kernel] = variant;
	s->graph[by_kernel] = graph;
	for (uint32_t from = 0, i = 0; t->c->status == 0 && i < t->count; i++) {
		while (t->transfer[i].by != t->c->devices->dev[from])
			from++;
		graph[i] = transfers_graph(t, s->lanes[from], i, 1, by_kernel);
	}
}

int sweep_time(struct sweep *s, bool by_kernel, uint64_t runs)
{
	struct bench_case *c = s->pairs->c;
	double sum_s = 0.0;
	for (size_t i = 0; c->status == 0 && i < s->pairs->count; i++) {
		transfers_time(s->pairs, s->graph[by_kernel][i], runs);
		s->seconds[i] = c->self_seconds / (double)runs;
		sum_s += c->self_seconds;
	}
	c->self_seconds = sum_s;
	if (c->status == 0)
		link_log_add(&s->log, s->variant[by_kernel], sum_s / (double)runs, s->seconds,
			     s->poisoned);
	s->poisoned = false;
	return c->status;
}

/* ------------------------------------------------------------------ results */

static void derive_variant(struct sweep *s, unsigned variant)
{
	const struct transfers *t = s->pairs;
	struct bench_case *c = t->c;
	const struct link_quantity q = {.log = &s->log,
					.variants = UINT64_C(1) << variant,
					.work = (double)t->bytes,
					.variant = (int)variant};
	link_derive_take(c, &s->log, variant);
	TRY(c->status, bench_time_each(c, "pair_time", variant, (double)t->count,
				       "time of a sweep / its pairs"));
	TRY(c->status,
	    link_derive_worst(c, &q, "min_bandwidth", "of the pair with the lowest median"));
	TRY(c->status, link_derive_median(c, &q, "median_bandwidth", "median over all pairs"));
	for (size_t i = 0; i < t->count; i++) {
		char name[48];
		snprintf(name, sizeof(name), "pair_bandwidth %s", t->transfer[i].name);
		TRY(c->status, link_derive_one(c, &q, i, name, "bytes of the copy / its own time"));
	}
}

static int report_way(struct bench_case *c, const struct transfer *at)
{
	struct dev_link_limit limit = {0};
	struct dev_path path;
	struct text l = {0};
	char name[32];
	int status = dev_path_read(at->source_of, at->target_of, &path);
	if (status)
		return status;
	status = dev_peer_limit_read(at->source_of, at->target_of, &limit);
	if (status == -ENODATA)
		err_clear();
	else if (status)
		return status;
	else
		text_add(&l, " bytes_per_s=%.4g", limit.out_bytes_per_s);
	if (path.hops)
		text_add(&l, " hops=%u", path.hops);
	if (path.meet[0])
		text_add(&l, " meet=%s", path.meet);
	if (path.kind[0] || limit.link[0])
		text_add(&l, " link=%s", limit.link[0] ? limit.link : path.kind);
	const char *words = text_whole(&l);
	snprintf(name, sizeof(name), "way_%s", at->name);
	*strchr(name, '>') = '_';
	if (l.length)
		bench_fact_text(c, name, words ? words + 1 : NULL);
	text_free(&l);
	return 0;
}

int sweep_derive(struct sweep *s)
{
	const struct transfers *t = s->pairs;
	for (size_t i = 0; i < t->count; i++)
		TRY(t->c->status, report_way(t->c, &t->transfer[i]));
	for (unsigned v = 0; v < bench_variants(t->c); v++)
		if (bench_variant_on(t->c, v))
			derive_variant(s, v);
	return t->c->status;
}
