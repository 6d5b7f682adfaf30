/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/sweep.h"
#include "bench/links/link_derive.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"
#include "micro/peer_matrix/transfers.h"

#include <errno.h>
#include <stdio.h>

static struct dev *device_at(const struct sweep *s, uint32_t place)
{
	return s->c->devices->dev[place];
}

/* Those of a source follow each other by far in the pattern. */
static const uint32_t *contents_of(const struct sweep *s, uint32_t from)
{
	return s->pattern + transfers_contents(from);
}

/* ------------------------------------------------------------------ pairs */

static void name_missing(struct bench_case *c, size_t missing, const char *first)
{
	char text[ERR_TEXT + 64];
	snprintf(text, sizeof(text), missing > 1 ? "%s, and %zu more" : "%s", first, missing - 1);
	bench_fact_text(c, "pairs_not_measured", text);
}

/* Every ordered pair that has access, by source. */
static void find_pairs(struct sweep *s)
{
	const uint32_t n = (uint32_t)s->c->devices->count;
	char first[ERR_TEXT + 32] = "";
	size_t missing = 0;
	s->pair = bench_alloc_host(s->c, (uint64_t)n * n * sizeof(*s->pair));
	s->seconds = bench_alloc_host(s->c, (uint64_t)n * n * sizeof(*s->seconds));
	for (uint32_t from = 0; bench_status(s->c) == 0 && from < n; from++)
		for (uint32_t to = 0; bench_status(s->c) == 0 && to < n; to++) {
			if (to == from)
				continue;
			int status = dev_peer_enable(device_at(s, from), device_at(s, to));
			if (status == 0)
				s->pair[s->count++] = (struct sweep_pair){.from = from, .to = to};
			else if (status != -ENOTSUP)
				bench_status_add(s->c, status);
			else if (missing++ == 0)
				snprintf(first, sizeof(first), "%u>%u: %s", from, to, err_text());
		}
	if (bench_status(s->c) == 0 && s->count == 0)
		bench_status_add(s->c, err_note(-ENOTSUP, "%s", first));
	else if (missing)
		name_missing(s->c, missing, first);
}

static void open_source(struct sweep *s, uint32_t from)
{
	struct dev *d = device_at(s, from);
	if (s->source[from])
		return;
	s->lanes[from] = bench_lanes_on(s->c, &d, 1);
	work_lane_normal(s->lanes[from], 0);
	s->source[from] = pattern_alloc(s->c, d, DEV_MEM_DEVICE, s->bytes, contents_of(s, from));
}

/* A later pair writes behind the checked bytes of the one before. */
static void open_target(struct sweep *s, struct sweep_pair *pair, char **base)
{
	const size_t others = s->c->devices->count - 1;
	const uint32_t nth = pair->from - (pair->from > pair->to);
	if (!base[pair->to])
		base[pair->to] = bench_alloc_on(s->c, device_at(s, pair->to), DEV_MEM_DEVICE,
						s->bytes + (others - 1) * s->checked);
	pair->target = base[pair->to] + nth * s->checked;
}

int sweep_open(struct sweep *s, struct bench_case *c, uint64_t bytes)
{
	char *base[DEV_MAX] = {NULL};
	*s = (struct sweep){.c = c,
			    .bytes = bytes,
			    .checked = bytes < SWEEP_CHECKED ? bytes : SWEEP_CHECKED,
			    .pattern = transfers_pattern(c)};
	if (bench_status(c) == 0)
		find_pairs(s);
	for (size_t i = 0; bench_status(c) == 0 && i < s->count; i++) {
		open_source(s, s->pair[i].from);
		open_target(s, &s->pair[i], base);
	}
	return bench_status_add(
		c, bench_status(c) ? 0 : link_log_open(&s->log, LINK_LOG_VARIANTS, s->count));
}

void sweep_close(struct sweep *s) { link_log_close(&s->log); }

/* ------------------------------------------------------------------ copies */

static uint32_t count_blocks(struct sweep *s, struct dev *d)
{
	struct dev_kernel *kernel = NULL;
	if (bench_status_add(s->c, dev_kernel_find(d, "copy_nt", &kernel)))
		return 0;
	uint32_t wave = dev_wave_blocks(d, kernel);
	if (wave == 0)
		bench_status_add(s->c, -EIO);
	return wave;
}

int sweep_prepare(struct sweep *s, bool engine)
{
	for (size_t i = 0; bench_status(s->c) == 0 && i < s->count; i++) {
		struct sweep_pair *pair = &s->pair[i];
		struct work_graph *g = bench_graph(s->c, s->lanes[pair->from]);
		work_graph_copy(g, 0, pair->target, s->source[pair->from], s->bytes,
				engine ? 0 : count_blocks(s, device_at(s, pair->from)));
		*(engine ? &pair->by_engine : &pair->by_kernel) = g;
		bench_graph_prepare(s->c, g);
	}
	return bench_status(s->c);
}

int sweep_time(struct sweep *s, unsigned variant, bool engine, uint64_t runs)
{
	double sum_s = 0.0;
	int status = 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		const struct sweep_pair *pair = &s->pair[i];
		const uint32_t queue = dev_props(device_at(s, pair->from))->max_queued;
		status = transfers_time_runs(s->c, queue,
					     engine ? pair->by_engine : pair->by_kernel, runs);
		s->seconds[i] = s->c->self_seconds / (double)runs;
		sum_s += s->c->self_seconds;
	}
	s->c->self_seconds = sum_s;
	if (status == 0)
		link_log_add(&s->log, variant, sum_s / (double)runs, s->seconds, s->poisoned);
	s->poisoned = false;
	return status;
}

/* ------------------------------------------------------------------ results */

int sweep_poison(struct sweep *s)
{
	int status = 0;
	s->poisoned = true;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		struct dev *d = device_at(s, s->pair[i].from);
		struct dev_stream *stream = work_lane_stream(s->lanes[s->pair[i].from], 0);
		status = dev_fill(d, stream, s->pair[i].target, 0xa5, s->checked);
		if (status == 0)
			status = dev_stream_sync(d, stream);
	}
	return status;
}

int sweep_check(const struct sweep *s)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		const struct sweep_pair *pair = &s->pair[i];
		status = pattern_check(s->c, device_at(s, pair->to), pair->target, s->checked,
				       contents_of(s, pair->from), 0.0f);
		if (status)
			status = err_note(status, "copy %u>%u: %s", pair->from, pair->to,
					  err_text());
	}
	return status;
}

int sweep_derive(struct sweep *s, unsigned variant)
{
	const struct link_quantity q = {.log = &s->log,
					.variants = UINT64_C(1) << variant,
					.work = (double)s->bytes,
					.variant = (int)variant};
	char name[48];
	int status = link_derive_pass_time(s->c, &q, (double)s->count, "pair_time",
					   "time of a sweep / its pairs");
	if (status == 0)
		status = link_derive_worst(s->c, &q, "min_bandwidth",
					   "of the pair with the lowest median");
	if (status == 0)
		status = link_derive_median(s->c, &q, "median_bandwidth", "median over all pairs");
	for (size_t i = 0; status == 0 && i < s->count; i++) {
		snprintf(name, sizeof(name), "pair_bandwidth %u>%u", s->pair[i].from,
			 s->pair[i].to);
		status = link_derive_one(s->c, &q, i, name, "bytes of the copy / its own time");
	}
	return status;
}

static int report_way(const struct sweep *s, const struct sweep_pair *pair)
{
	struct dev *from = device_at(s, pair->from), *to = device_at(s, pair->to);
	struct dev_link_limit limit = {0};
	struct dev_path path;
	struct text l = {0};
	char name[32];
	int status = dev_path_read(from, to, &path);
	if (status)
		return status;
	status = dev_peer_limit_read(from, to, &limit);
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
	snprintf(name, sizeof(name), "way_%u_%u", pair->from, pair->to);
	if (l.length)
		bench_fact_text(s->c, name, words ? words + 1 : NULL);
	text_free(&l);
	return 0;
}

int sweep_report_ways(const struct sweep *s)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < s->count; i++)
		status = report_way(s, &s->pair[i]);
	return status;
}
