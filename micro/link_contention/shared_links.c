/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/link_contention/shared_links.h"
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "lib/stats.h"
#include "lib/text.h"

#include <stdio.h>

/* ------------------------------------------------------------------ one pair */

enum pair_state pair_judge(double *kept, size_t n, size_t pairs)
{
	size_t rank;
	stats_sort(kept, n);
	if (n == 0 || stats_median_bound(n, SHARED_ERROR / (double)pairs, &rank) != 0)
		return PAIR_UNDECIDED;
	return kept[n - 1 - rank] < SHARED_BELOW ? PAIR_SHARED
	       : kept[rank] > SHARED_BELOW       ? PAIR_APART
						 : PAIR_UNDECIDED;
}

static size_t fewer_of(size_t a, size_t b) { return a < b ? a : b; }

/* Read what number `pair`, of these two devices, kept in each round; returns how many there are.
 * The last passes of both logs are those of the same rounds. */
static size_t read_kept(const struct shared_links *s, size_t pair, const size_t device[2],
			double *kept)
{
	const size_t alone = link_log_count(s->devices, s->alone),
		     together = link_log_count(s->pairs, s->together),
		     n = fewer_of(alone, together);
	for (size_t i = 0; i < n; i++) {
		const double *a = link_log_of_pass(s->devices, s->alone, alone - n + i),
			     *b = link_log_of_pass(s->pairs, s->together, together - n + i);
		kept[i] = (a[device[0]] / b[2 * pair] + a[device[1]] / b[2 * pair + 1]) / 2;
	}
	return n;
}

/* ------------------------------------------------------------------ all pairs */

/* Texts of facts. */
struct findings {
	struct text differ, unknown;
};

static const char *const measured_words[] = {
	[PAIR_UNDECIDED] = "undecided", [PAIR_SHARED] = "shared", [PAIR_APART] = "apart"};
static const char *const topology_words[] = {[DEV_UPSTREAM_UNKNOWN] = "unknown",
					     [DEV_UPSTREAM_SHARED] = "shared",
					     [DEV_UPSTREAM_APART] = "apart"};

static int report_pair(struct bench_case *c, const size_t device[2], enum pair_state measured,
		       struct findings *found)
{
	char name[64];
	struct dev_upstream upstream;
	const size_t i = device[0], j = device[1];
	int status = dev_upstream_read(c->devices->dev[i], c->devices->dev[j], &upstream);
	if (status)
		return status;
	const bool shared = upstream.state == DEV_UPSTREAM_SHARED,
		   known = upstream.state != DEV_UPSTREAM_UNKNOWN;
	snprintf(name, sizeof(name), "pair_%zu_%zu", i, j);
	bench_fact_format(c, name, "measured=%s topology=%s%s%s", measured_words[measured],
			  topology_words[upstream.state], upstream.port[0] ? " port=" : "",
			  upstream.port);
	if (!known && !found->unknown.length)
		text_add(&found->unknown, "%s", upstream.why);
	if (known && measured != PAIR_UNDECIDED && shared != (measured == PAIR_SHARED))
		text_add(&found->differ, "%s%zu+%zu: measured %s, by topology %s",
			 found->differ.length ? "; " : "", i, j, measured_words[measured],
			 topology_words[upstream.state]);
	return 0;
}

int shared_links_derive(struct bench_case *c, const struct shared_links *s)
{
	const size_t n = c->devices->count, pairs = n * (n - 1) / 2;
	const uint64_t uses = UINT64_C(1) << s->alone | UINT64_C(1) << s->together;
	double *kept = bench_alloc_host(c, (s->devices->capacity + 1) * sizeof(*kept));
	struct findings found = {0};
	size_t pair = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; c->status == 0 && j < n; j++, pair++) {
			const size_t device[2] = {i, j}, rounds = read_kept(s, pair, device, kept);
			char name[64];
			snprintf(name, sizeof(name), "rate_kept %zu+%zu", i, j);
			TRY(c->status,
			    bench_derive_samples(c, name, (int)s->together, "", uses, kept, rounds,
						 "mean of both devices' seconds alone / seconds"));
			TRY(c->status,
			    report_pair(c, device, pair_judge(kept, rounds, pairs), &found));
		}
	}
	if (found.differ.length)
		bench_fact_text(c, "pairs_that_differ", text_whole(&found.differ));
	if (found.unknown.length)
		bench_fact_text(c, "topology_not_known", text_whole(&found.unknown));
	text_free(&found.differ);
	text_free(&found.unknown);
	return c->status;
}
