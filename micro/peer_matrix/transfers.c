/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/transfers.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

/* Queue entries that are left for the gate and events. */
#define QUEUE_RESERVE 16u
/* Distance in the pattern between the contents of consecutive transfers: no two are alike. */
#define CONTENTS_STEP 40961u

/* ------------------------------------------------------------------ memory */

uint32_t *transfers_pattern(struct bench_case *c)
{
	uint32_t *pattern = bench_alloc_host(c, 2 * (uint64_t)PATTERN_BYTES);
	if (!pattern)
		return NULL;
	rng_fill_u32(&c->rng, pattern, PATTERN_WORDS);
	memcpy(pattern + PATTERN_WORDS, pattern, PATTERN_BYTES);
	return pattern;
}

size_t transfers_contents(size_t nth) { return nth * CONTENTS_STEP % PATTERN_WORDS; }

static struct dev *device_at(const struct transfers *t, uint32_t place)
{
	return t->c->devices->dev[place];
}

static void open_source(struct transfers *t, uint32_t place)
{
	if (!t->source[place])
		t->source[place] =
			bench_alloc_on(t->c, device_at(t, place), DEV_MEM_DEVICE, t->bytes);
}

static void open_target(struct transfers *t, uint32_t place)
{
	if (!t->target[place])
		t->target[place] =
			bench_alloc_on(t->c, device_at(t, place), DEV_MEM_DEVICE, t->bytes);
}

/* ------------------------------------------------------------------ lanes */

/* Lanes of the devices that copy. The first one has the gate, so it is one to which all others get
 * peer access. */
static void open_lanes(struct transfers *t)
{
	const struct route_end *from = &t->route.from, *to = &t->route.to;
	const struct dev_set *set = t->c->devices;
	struct dev *devices[DEV_MAX];
	size_t count = 0;
	uint32_t first = from->kind == END_DEVICE ? from->number : to->number;
	if (from->kind == END_ALL && to->kind == END_ALL)
		first = 0;
	bool all = from->kind == END_ALL;
	t->place_of[first] = 0;
	devices[count++] = set->dev[first];
	for (uint32_t i = 0; i < set->count; i++) {
		bool other_end =
			from->kind == END_DEVICE && to->kind == END_DEVICE && i == to->number;
		if (i == first || !(all || other_end))
			continue;
		t->place_of[i] = (uint32_t)count;
		devices[count++] = set->dev[i];
	}
	t->lanes = bench_lanes_on(t->c, devices, count);
}

/* ------------------------------------------------------------------ transfers */

/* The lane is of device `by`. After an error of the case nothing is added. */
static void add_transfer(struct transfers *t, uint32_t by, struct transfer transfer)
{
	if (bench_status(t->c))
		return;
	transfer.by = device_at(t, by);
	transfer.lane = work_lane_normal(t->lanes, t->place_of[by]);
	transfer.contents = t->pattern + transfers_contents(t->count);
	pattern_fill(t->c, transfer.source_of, transfer.source, transfer.bytes, transfer.contents);
	t->transfer[t->count++] = transfer;
}

/* From part `k` of the source's memory to part `m` of the target's, of `parts` each. */
static void add_peer(struct transfers *t, uint32_t from, uint32_t to, uint32_t k, uint32_t m,
		     uint32_t parts)
{
	const uint64_t each = t->bytes / parts / LATENCY_BYTES * LATENCY_BYTES;
	struct dev *source = device_at(t, from), *target = device_at(t, to);
	open_source(t, from);
	open_target(t, to);
	bench_status_add(t->c, bench_status(t->c) ? 0 : dev_peer_enable(source, target));
	if (bench_status(t->c) == 0)
		add_transfer(t, from,
			     (struct transfer){.source_of = source,
					       .target_of = target,
					       .source = t->source[from] + k * each,
					       .target = t->target[to] + m * each,
					       .bytes = each});
}

/* The other devices in turn, beginning behind `from`, so that no device is everybody's first. */
static void add_all(struct transfers *t, uint32_t from)
{
	const uint32_t n = (uint32_t)t->c->devices->count;
	for (uint32_t k = 1; k < n; k++)
		add_peer(t, from, (from + k) % n, k - 1, n - 1 - k, n - 1);
}

static void add_spread(struct transfers *t)
{
	const struct peer_route *r = &t->route;
	const uint32_t n = (uint32_t)t->c->devices->count;
	if (r->from.kind == END_DEVICE) {
		add_all(t, r->from.number);
		return;
	}
	for (uint32_t i = 0; r->to.kind == END_ALL && i < n; i++)
		add_all(t, i);
	for (uint32_t k = 1; r->to.kind == END_DEVICE && k < n; k++)
		add_peer(t, (r->to.number + k) % n, r->to.number, 0, k - 1, n - 1);
}

static void add_host(struct transfers *t, uint32_t place, uint32_t node, bool up)
{
	struct dev *d = device_at(t, place);
	char **host = up ? &t->host_source : &t->host_target;
	*host = bench_alloc_on_node(t->c, d, node, t->bytes);
	if (up)
		open_target(t, place);
	else
		open_source(t, place);
	add_transfer(t, place,
		     (struct transfer){.source_of = d,
				       .target_of = d,
				       .source = up ? *host : t->source[place],
				       .target = up ? t->target[place] : *host,
				       .bytes = t->bytes});
}

static void add_transfers(struct transfers *t)
{
	const struct route_end *from = &t->route.from, *to = &t->route.to;
	if (from->kind == END_NODE || to->kind == END_NODE) {
		bool up = from->kind == END_NODE;
		uint32_t place = up ? to->number : from->number,
			 node = up ? from->number : to->number;
		add_host(t, place, node, up);
		t->forward = t->count;
		add_host(t, place, node, !up);
	} else if (from->kind == END_DEVICE && to->kind == END_DEVICE) {
		add_peer(t, from->number, to->number, 0, 0, 1);
		t->forward = t->count;
		add_peer(t, to->number, from->number, 0, 0, 1);
	} else {
		add_spread(t);
		t->forward = t->count;
	}
}

int transfers_open(struct transfers *t, struct bench_case *c, const struct peer_route *route,
		   uint64_t bytes)
{
	const size_t n = c->devices->count;
	*t = (struct transfers){.c = c, .route = *route, .bytes = bytes};
	open_lanes(t);
	t->pattern = transfers_pattern(c);
	t->transfer = bench_alloc_host(c, (n * n + 2) * sizeof(*t->transfer));
	add_transfers(t);
	return bench_status(c);
}

bool transfers_both(const struct transfers *t) { return t->count > t->forward; }

static size_t count_of(const struct transfers *t, bool both)
{
	return both ? t->count : t->forward;
}

uint64_t transfers_bytes(const struct transfers *t, bool both)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < count_of(t, both); i++)
		bytes += t->transfer[i].bytes;
	return bytes;
}

/* ------------------------------------------------------------------ graphs */

/* Blocks of one of the `count` transfers: an even part of its device's wave. */
static uint32_t kernel_blocks(const struct transfers *t, size_t count, const struct transfer *of)
{
	struct dev_kernel *kernel = NULL;
	uint32_t shared_by = 0;
	for (size_t i = 0; i < count; i++)
		shared_by += t->transfer[i].by == of->by;
	if (bench_status_add(t->c, dev_kernel_find(of->by, "copy_nt", &kernel)))
		return 0;
	uint32_t wave = dev_wave_blocks(of->by, kernel);
	if (wave == 0)
		bench_status_add(t->c, -EIO);
	return wave / shared_by ? wave / shared_by : 1;
}

struct work_graph *transfers_graph(struct transfers *t, bool both, bool engine)
{
	struct work_graph *g = bench_graph(t->c, t->lanes);
	for (size_t i = 0; bench_status(t->c) == 0 && i < count_of(t, both); i++) {
		const struct transfer *at = &t->transfer[i];
		work_graph_copy(g, at->lane, at->target, at->source, at->bytes,
				engine ? 0 : kernel_blocks(t, count_of(t, both), at));
	}
	return bench_graph_prepare(t->c, g) ? NULL : g;
}

/* Runs whose operations fit into queues of so many entries, beside work_graph_begin(). */
static uint64_t max_runs(uint32_t queue, const struct work_graph *g)
{
	const uint32_t reserve = QUEUE_RESERVE + work_graph_lanes(g),
		       each = work_graph_max_queued(g);
	return queue > reserve + each ? (queue - reserve) / each : 1;
}

int transfers_time_runs(struct bench_case *c, uint32_t queue, struct work_graph *g, uint64_t runs)
{
	const uint64_t fit = max_runs(queue, g);
	const bool warm = bench_runs_warm(c) && fit > 1;
	const uint64_t most = warm ? fit - 1 : fit;
	double sum_s = 0.0, seconds = 0.0;
	int status = 0;
	while (status == 0 && runs > 0) {
		uint64_t now = runs < most ? runs : most;
		status = work_graph_hold(g);
		if (status == 0 && warm)
			status = work_graph_run(g);
		if (status == 0 && warm)
			status = work_graph_begin(g);
		for (uint64_t i = 0; status == 0 && i < now; i++)
			status = work_graph_run(g);
		status = work_graph_release(g, status, &seconds);
		sum_s += seconds;
		runs -= now;
	}
	c->self_seconds = sum_s;
	return status;
}

int transfers_time(const struct transfers *t, struct work_graph *g, uint64_t runs)
{
	uint32_t queue = UINT32_MAX;
	for (size_t i = 0; i < t->count; i++) {
		uint32_t entries = dev_props(t->transfer[i].by)->max_queued;
		queue = entries < queue ? entries : queue;
	}
	return transfers_time_runs(t->c, queue, g, runs);
}

int transfers_round_trip(const struct transfers *t, bool engine, uint64_t times)
{
	const struct transfer *first = &t->transfer[0];
	struct dev_stream *stream = work_lane_stream(t->lanes, first->lane);
	const uint64_t bytes = LATENCY_BYTES;
	const uint32_t reps = 1;
	const void *const args[] = {&first->target, &first->source, &bytes, &reps};
	const struct dev_launch launch = {.grid = 1, .args = args};
	struct dev_kernel *kernel = NULL;
	int status = engine ? 0 : dev_kernel_find(first->by, "copy_nt", &kernel);
	for (uint64_t i = 0; status == 0 && i < times; i++) {
		status = engine ? dev_copy(first->by, stream, first->target, first->source, bytes)
				: dev_launch(first->by, stream, kernel, &launch);
		if (status == 0)
			status = dev_stream_sync(first->by, stream);
	}
	return status;
}

/* ------------------------------------------------------------------ results */

static uint64_t part_of(const struct transfer *t, uint64_t bytes)
{
	return bytes < t->bytes ? bytes : t->bytes;
}

int transfers_poison(const struct transfers *t, bool both, uint64_t bytes)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < count_of(t, both); i++) {
		const struct transfer *at = &t->transfer[i];
		struct dev_stream *stream = work_lane_stream(t->lanes, at->lane);
		status = dev_fill(at->by, stream, at->target, 0xa5, part_of(at, bytes));
		if (status == 0)
			status = dev_stream_sync(at->by, stream);
	}
	return status;
}

int transfers_check(const struct transfers *t, bool both, uint64_t bytes)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < count_of(t, both); i++) {
		const struct transfer *at = &t->transfer[i];
		status = pattern_check(t->c, at->target_of, at->target, part_of(at, bytes),
				       at->contents, 0.0f);
		if (status)
			status = err_note(status, "copy %zu of %zu: %s", i + 1, count_of(t, both),
					  err_text());
	}
	return status;
}
