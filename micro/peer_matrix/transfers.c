/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/transfers.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Queue entries that are left for the gate and events. */
#define QUEUE_RESERVE 16u
/* Distance in the pattern between the contents of consecutive transfers: no two are alike. */
#define CONTENTS_STEP 40961u

static struct dev *device_at(const struct transfers *t, uint32_t place)
{
	return t->c->devices->dev[place];
}

/* Lanes of the devices that copy. The first one has the gate, so it is one to which all others get
 * peer access. */
static void open_lanes(struct transfers *t)
{
	const struct route_end *from = &t->route.from, *to = &t->route.to;
	const bool pair = from->kind == END_DEVICE && to->kind == END_DEVICE;
	const uint32_t first = from->kind == END_DEVICE ? from->number : to->number;
	struct dev *devices[DEV_MAX] = {device_at(t, first)};
	size_t count = 1;
	for (uint32_t i = 0; i < t->c->devices->count; i++)
		if (i != first && (from->kind == END_ALL || (pair && i == to->number))) {
			t->place_of[i] = (uint32_t)count;
			devices[count++] = device_at(t, i);
		}
	t->lanes = bench_lanes_on(t->c, devices, count);
}

/* ------------------------------------------------------------------ transfers */

void transfers_begin(struct transfers *t, struct bench_case *c, uint64_t bytes)
{
	const size_t n = c->devices->count;
	*t = (struct transfers){.c = c, .bytes = bytes, .queue = UINT32_MAX};
	t->transfer = bench_alloc_host(c, (n * n + 2) * sizeof(*t->transfer));
	t->pattern = bench_alloc_host(c, 2 * (uint64_t)PATTERN_BYTES);
	if (c->status)
		return;
	rng_fill_u32(&c->rng, t->pattern, PATTERN_WORDS);
	memcpy(t->pattern + PATTERN_WORDS, t->pattern, PATTERN_BYTES);
}

char *transfers_memory(struct transfers *t, char **memory, uint32_t place, uint64_t bytes)
{
	if (!memory[place])
		memory[place] = bench_alloc_on(t->c, device_at(t, place), DEV_MEM_DEVICE, bytes);
	return memory[place];
}

void transfers_add(struct transfers *t, struct work_lanes *lanes, uint32_t lane, size_t contents,
		   struct transfer transfer)
{
	if (TRY(t->c->status, dev_kernel_find(transfer.by, "copy_nt", &transfer.kernel)))
		return;
	const uint32_t queue = dev_props(transfer.by)->max_queued;
	transfer.lane = lane;
	transfer.stream = work_lane_stream(lanes, lane);
	transfer.contents = t->pattern + contents * CONTENTS_STEP % PATTERN_WORDS;
	t->queue = queue < t->queue ? queue : t->queue;
	t->transfer[t->count++] = transfer;
}

/* By device `by`, with contents of its own. */
static void add_transfer(struct transfers *t, uint32_t by, struct transfer transfer)
{
	transfer.by = device_at(t, by);
	transfer.checked = transfer.bytes;
	transfers_add(t, t->lanes, work_lane_normal(t->lanes, t->place_of[by]), t->count, transfer);
	if (t->c->status == 0)
		pattern_fill(t->c, transfer.source_of, transfer.source, transfer.bytes,
			     t->transfer[t->count - 1].contents);
}

/* From part `k` of the source's memory to part `m` of the target's, of `parts` each. */
static void add_peer(struct transfers *t, uint32_t from, uint32_t to, uint32_t k, uint32_t m,
		     uint32_t parts)
{
	const uint64_t each = t->bytes / parts / LATENCY_BYTES * LATENCY_BYTES;
	struct transfer transfer = {
		.source_of = device_at(t, from), .target_of = device_at(t, to), .bytes = each};
	char *source = transfers_memory(t, t->source, from, t->bytes),
	     *target = transfers_memory(t, t->target, to, t->bytes);
	if (TRY(t->c->status, dev_peer_enable(transfer.source_of, transfer.target_of)))
		return;
	transfer.source = source + k * each;
	transfer.target = target + m * each;
	snprintf(transfer.name, sizeof(transfer.name), "%u>%u", from, to);
	add_transfer(t, from, transfer);
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
	const struct route_end *from = &t->route.from, *to = &t->route.to;
	const uint32_t n = (uint32_t)t->c->devices->count;
	for (uint32_t i = 0; to->kind == END_ALL && i < n; i++)
		if (from->kind == END_ALL || from->number == i)
			add_all(t, i);
	for (uint32_t k = 1; to->kind == END_DEVICE && k < n; k++)
		add_peer(t, (to->number + k) % n, to->number, 0, k - 1, n - 1);
}

static void add_host(struct transfers *t, uint32_t place, uint32_t node, bool up)
{
	struct dev *d = device_at(t, place);
	char *host = bench_alloc_on_node(t->c, d, node, t->bytes),
	     *own = transfers_memory(t, up ? t->target : t->source, place, t->bytes);
	struct transfer transfer = {.source_of = d,
				    .target_of = d,
				    .source = up ? host : own,
				    .target = up ? own : host,
				    .bytes = t->bytes};
	if (up)
		snprintf(transfer.name, sizeof(transfer.name), "numa%u>%u", node, place);
	else
		snprintf(transfer.name, sizeof(transfer.name), "%u>numa%u", place, node);
	add_transfer(t, place, transfer);
}

int transfers_open(struct transfers *t, struct bench_case *c, const struct peer_route *route,
		   uint64_t bytes)
{
	const struct route_end *from = &route->from, *to = &route->to;
	transfers_begin(t, c, bytes);
	t->route = *route;
	open_lanes(t);
	if (from->kind == END_NODE || to->kind == END_NODE) {
		const bool up = from->kind == END_NODE;
		const struct route_end *device = up ? to : from, *node = up ? from : to;
		add_host(t, device->number, node->number, up);
		t->forward = t->count;
		add_host(t, device->number, node->number, !up);
	} else if (from->kind == END_DEVICE && to->kind == END_DEVICE) {
		add_peer(t, from->number, to->number, 0, 0, 1);
		t->forward = t->count;
		add_peer(t, to->number, from->number, 0, 0, 1);
	} else {
		add_spread(t);
		t->forward = t->count;
	}
	return c->status;
}

bool transfers_both(const struct transfers *t) { return t->count > t->forward; }

size_t transfers_count(const struct transfers *t, bool both)
{
	return both ? t->count : t->forward;
}

uint64_t transfers_bytes(const struct transfers *t, bool both)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < transfers_count(t, both); i++)
		bytes += t->transfer[i].bytes;
	return bytes;
}

/* ------------------------------------------------------------------ running */

/* Blocks of one of the `count` transfers: an even part of its device's wave. */
static uint32_t kernel_blocks(const struct transfers *t, const struct transfer *first, size_t count,
			      const struct transfer *of)
{
	uint32_t shared_by = 0;
	for (size_t i = 0; i < count; i++)
		shared_by += first[i].by == of->by;
	const uint32_t wave = dev_wave_blocks(of->by, of->kernel);
	TRY(t->c->status, wave ? 0 : -EIO);
	return wave / shared_by ? wave / shared_by : 1;
}

struct work_graph *transfers_graph(const struct transfers *t, struct work_lanes *lanes,
				   size_t first, size_t count, bool by_kernel)
{
	const struct transfer *at = t->transfer + first;
	struct work_graph *g = bench_graph(t->c, lanes);
	for (size_t i = 0; t->c->status == 0 && i < count; i++)
		work_graph_copy(g, at[i].lane, at[i].target, at[i].source, at[i].bytes,
				by_kernel ? kernel_blocks(t, at, count, &at[i]) : 0);
	bench_graph_prepare(t->c, g);
	return g;
}

/* Runs whose operations fit into the queues, beside work_graph_begin(). */
static uint64_t max_runs(const struct transfers *t, const struct work_graph *g)
{
	const uint32_t reserve = QUEUE_RESERVE + work_graph_lanes(g),
		       each = work_graph_max_queued(g);
	return t->queue > reserve + each ? (t->queue - reserve) / each : 1;
}

int transfers_time(const struct transfers *t, struct work_graph *g, uint64_t runs)
{
	struct bench_case *c = t->c;
	const uint64_t fit = max_runs(t, g);
	const bool warm = bench_runs_warm(c) && fit > 1;
	const uint64_t most = warm ? fit - 1 : fit;
	double sum_s = 0.0, seconds = 0.0;
	while (c->status == 0 && runs > 0) {
		const uint64_t now = runs < most ? runs : most;
		TRY(c->status, work_graph_hold(g));
		TRY(c->status, warm ? work_graph_run(g) : 0);
		TRY(c->status, warm ? work_graph_begin(g) : 0);
		for (uint64_t i = 0; c->status == 0 && i < now; i++)
			TRY(c->status, work_graph_run(g));
		c->status = work_graph_release(g, c->status, &seconds);
		sum_s += seconds;
		runs -= now;
	}
	c->self_seconds = sum_s;
	return c->status;
}

int transfers_round_trip(const struct transfers *t, bool by_kernel)
{
	const struct transfer *first = &t->transfer[0];
	const uint64_t bytes = LATENCY_BYTES;
	const uint32_t reps = 1;
	const void *const args[] = {&first->target, &first->source, &bytes, &reps};
	const struct dev_launch launch = {.grid = 1, .args = args};
	int status = 0;
	TRY(status,
	    by_kernel ? dev_launch(first->by, first->stream, first->kernel, &launch)
		      : dev_copy(first->by, first->stream, first->target, first->source, bytes));
	return TRY(status, dev_stream_sync(first->by, first->stream));
}

/* ------------------------------------------------------------------ results */

static uint64_t checked_part(const struct transfer *t, uint64_t bytes)
{
	return bytes < t->checked ? bytes : t->checked;
}

int transfers_poison(const struct transfers *t, bool both, uint64_t bytes)
{
	int status = 0;
	for (size_t i = 0; i < transfers_count(t, both); i++) {
		const struct transfer *at = &t->transfer[i];
		TRY(status,
		    dev_fill(at->by, at->stream, at->target, 0xa5, checked_part(at, bytes)));
		TRY(status, dev_stream_sync(at->by, at->stream));
	}
	return status;
}

int transfers_check(const struct transfers *t, bool both, uint64_t bytes)
{
	for (size_t i = 0; i < transfers_count(t, both); i++) {
		const struct transfer *at = &t->transfer[i];
		const int status = pattern_check(t->c, at->target_of, at->target,
						 checked_part(at, bytes), at->contents, 0.0f);
		if (status)
			return err_note(status, "copy %s: %s", at->name, err_text());
	}
	return 0;
}
