/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/transfer.h"
#include "bench/pattern.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIN_MULTIPLE 0.001
#define MAX_MULTIPLE 1000.0
/* Share of a queue for the messages of all passes of one sender. */
#define QUEUE_SHARE 16u
#define COMPARED_BYTES (UINT64_C(32) << 20)
/* Tolerance of sums of a few numbers below 1. */
#define SUM_TOLERANCE 1e-6f

const char *const transfer_kinds[] = {"up",         "down",           "local",      "peer",
				      "all-gather", "reduce-scatter", "all-to-all", NULL};

static bool is_collective(enum transfer_kind kind) { return kind >= TRANSFER_ALL_GATHER; }

int transfer_size_parse(const char *word, struct transfer_size *size_p)
{
	struct transfer_size a = {0};
	char number[24];
	size_t length = strlen(word);
	bool valid;
	if (length > 1 && length <= sizeof(number) && word[length - 1] == 'x') {
		snprintf(number, sizeof(number), "%.*s", (int)(length - 1), word);
		valid = units_parse_real(number, MIN_MULTIPLE, MAX_MULTIPLE, &a.multiple) == 0;
	} else {
		valid = units_parse_size(word, &a.bytes) == 0 && a.bytes &&
			a.bytes % TRANSFER_ALIGN == 0;
	}
	if (!valid)
		return err_note(-EINVAL,
				"invalid size '%s'; sizes: bytes in multiples of 4K, or Nx with N "
				"from %g to %g",
				word, MIN_MULTIPLE, MAX_MULTIPLE);
	*size_p = a;
	return 0;
}

int transfer_size_accept(const char *word)
{
	struct transfer_size unused;
	return transfer_size_parse(word, &unused);
}

int transfer_admit(const struct bench_case *c, enum transfer_kind kind,
		   const struct copy_method *method)
{
	if (kind >= TRANSFER_PEER && c->devices->count < 2)
		return err_note(-ENODEV, "%s needs two devices, for example --device host:0,1",
				transfer_kinds[kind]);
	size_t needed = kind < TRANSFER_PEER ? 1 : c->devices->count;
	for (size_t i = 0; i < needed; i++) {
		const struct dev *d = c->devices->dev[i];
		if (needed > 1 && !dev_can(d, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE))
			return err_note(-ENOTSUP,
					"device %zu of the list lacks peer access or stream waits "
					"for values",
					i);
		if (method->engine && !dev_can(d, DEV_CAP_COPY_ENGINE))
			return err_note(-ENOTSUP, "device %zu of the list has no copy engine", i);
	}
	return 0;
}

/* ------------------------------------------------------------------ setup */

static void open_sender(struct transfer *t, struct bench_case *c, size_t i,
			const struct copy_method *method)
{
	static const struct copy_method one_wave = {0};
	struct sender *s = &t->sender[i];
	s->dev = c->devices->dev[i];
	s->pattern = pattern_reals(c);
	for (size_t w = 0; s->pattern && w < PATTERN_WORDS; w++)
		t->sum[w] = (i ? t->sum[w] : 0.0f) + s->pattern[w];
	TRY(c->status, copy_method_blocks(method, s->dev, "copy_nt", &s->copy_blocks));
	TRY(c->status, copy_method_blocks(method->engine ? &one_wave : method, s->dev, "reduce_add",
					  &s->add_blocks));
}

/* Message k of device i goes to device i + k + 1. A piece from i to j repeats pattern i + j, so
 * that the check finds a piece at the wrong place; a shard from i, which all others get, repeats
 * pattern i. */
static void open_message(struct transfer *t, const struct bench_case *c, struct work_lanes *lanes,
			 size_t i, size_t k)
{
	size_t to = t->kind == TRANSFER_PEER ? c->devices->count - 1 : (i + 1 + k) % t->senders;
	size_t pattern = t->kind == TRANSFER_ALL_GATHER ? i : (i + to) % t->senders;
	uint32_t all_blocks = t->sender[i].copy_blocks, share = all_blocks / (uint32_t)t->fan_out;
	t->message[i * t->fan_out + k] =
		(struct message){.target = c->devices->dev[to],
				 .pattern = t->sender[pattern].pattern,
				 .blocks = share || all_blocks == 0 ? share : 1,
				 .lane = k ? work_lane_normal(lanes, (uint32_t)i) : 0};
}

int transfer_open(struct transfer *t, struct bench_case *c, struct work_lanes *lanes,
		  enum transfer_kind kind, const struct copy_method *method)
{
	size_t all = c->devices->count;
	*t = (struct transfer){.kind = kind,
			       .senders = is_collective(kind) ? all : 1,
			       .fan_out = is_collective(kind) ? all - 1 : 1};
	t->message = bench_alloc_host(c, t->senders * t->fan_out * sizeof(*t->message));
	t->sum = bench_alloc_host(c, PATTERN_BYTES);
	if (kind >= TRANSFER_PEER)
		bench_enable_peers(c);
	for (size_t i = 0; c->status == 0 && i < t->senders; i++)
		open_sender(t, c, i, method);
	for (size_t i = 0; c->status == 0 && i < t->senders * t->fan_out; i++)
		open_message(t, c, lanes, i / t->fan_out, i % t->fan_out);
	return c->status;
}

static int open_buffers(struct transfer *t, struct bench_case *c)
{
	enum dev_mem from = t->kind == TRANSFER_UP ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	enum dev_mem to = t->kind == TRANSFER_DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	for (size_t i = 0; i < t->senders * t->fan_out; i++) {
		struct message *m = &t->message[i];
		bool same_shard = t->kind == TRANSFER_ALL_GATHER && i % t->fan_out;
		m->from = same_shard ? m[-1].from
				     : pattern_alloc(c, t->sender[i / t->fan_out].dev, from,
						     t->capacity_bytes, m->pattern);
		m->to = bench_alloc_on(c, m->target, to, t->capacity_bytes);
	}
	for (size_t i = 0; t->kind == TRANSFER_REDUCE_SCATTER && i < t->senders; i++)
		t->sender[i].own = pattern_alloc(c, t->sender[i].dev, from, t->capacity_bytes,
						 t->sender[2 * i % t->senders].pattern);
	return c->status;
}

uint64_t transfer_max_bytes(const struct transfer *t, uint32_t max_passes)
{
	uint64_t max = UINT64_MAX;
	for (size_t i = 0; i < t->senders; i++) {
		uint64_t capacity =
			dev_props(t->sender[i].dev)->memory_bytes / 4 / (2 * t->fan_out + 1);
		max = capacity < max ? capacity : max;
	}
	return (max - max % TRANSFER_ALIGN) * t->fan_out * max_passes;
}

uint32_t transfer_max_passes(const struct transfer *t)
{
	uint32_t max = UINT32_MAX;
	for (size_t i = 0; i < t->senders; i++) {
		uint32_t holds = dev_props(t->sender[i].dev)->max_queued / QUEUE_SHARE /
				 (uint32_t)(t->senders * t->fan_out);
		max = holds < max ? holds : max;
	}
	return max ? max : 1;
}

int transfer_resize(struct transfer *t, struct bench_case *c, uint64_t bytes, uint32_t max_passes)
{
	uint64_t one = transfer_max_bytes(t, 1),
		 passes = one ? (bytes + one - 1) / one : UINT64_MAX;
	uint64_t piece = bytes / t->fan_out / (passes ? passes : 1);
	piece = piece < TRANSFER_ALIGN ? TRANSFER_ALIGN : piece - piece % TRANSFER_ALIGN;
	if (passes > max_passes)
		return TRY(c->status, err_note(-ENOMEM,
					       "buffers for %llu bytes exceed a quarter of "
					       "the device's free memory",
					       (unsigned long long)bytes));
	t->piece_bytes = piece;
	t->passes = (uint32_t)passes;
	if (piece <= t->capacity_bytes)
		return 0;
	/* Twice as large at least, since what was too small stays until the case ends. */
	t->capacity_bytes = 2 * t->capacity_bytes < piece ? piece : 2 * t->capacity_bytes;
	if (t->capacity_bytes > one / t->fan_out)
		t->capacity_bytes = one / t->fan_out;
	return open_buffers(t, c);
}

uint64_t transfer_bytes(const struct transfer *t)
{
	return t->piece_bytes * t->fan_out * t->passes;
}

/* ------------------------------------------------------------------ the graph */

/* Further messages start with the first one; the sender has sent when all have ended. */
static uint32_t add_messages(const struct transfer *t, struct work_graph *g, uint32_t lane,
			     const struct message *m)
{
	uint32_t fork = work_graph_mark(g, lane);
	uint32_t sent = work_graph_copy(g, lane, m->to, m->from, t->piece_bytes, m->blocks);
	for (size_t k = 1; k < t->fan_out; k++) {
		uint32_t further = work_graph_copy(g, m[k].lane, m[k].to, m[k].from, t->piece_bytes,
						   m[k].blocks);
		work_graph_edge(g, fork, further);
		sent = work_graph_mark(g, lane);
		work_graph_edge(g, further, sent);
	}
	return sent;
}

static char *incoming_buffer(const struct transfer *t, size_t at, size_t k)
{
	return t->message[(at + t->senders - 1 - k) % t->senders * t->fan_out + k].to;
}

static void wait_for_all(const struct transfer *t, struct work_graph *g, uint32_t lane,
			 const uint32_t *nodes)
{
	uint32_t all = work_graph_mark(g, lane);
	for (size_t i = 0; i < t->senders; i++)
		work_graph_edge(g, nodes[i], all);
}

/* Sums into the first buffer that arrived. Every pass overwrites it, so the sum does not grow from
 * one to the next. */
static uint32_t add_reduction(const struct transfer *t, struct work_graph *g, uint32_t lane,
			      size_t at, const uint32_t *sent)
{
	uint32_t added = 0;
	wait_for_all(t, g, lane, sent);
	for (size_t k = 0; k < t->fan_out; k++)
		added = work_graph_pass(g, lane, "reduce_add", incoming_buffer(t, at, 0),
					k ? incoming_buffer(t, at, k) : t->sender[at].own,
					t->piece_bytes, t->sender[at].add_blocks);
	return added;
}

void transfer_add(const struct transfer *t, struct work_graph *g, const uint32_t *lane)
{
	const bool adds = t->kind == TRANSFER_REDUCE_SCATTER;
	uint32_t sent[DEV_MAX], added[DEV_MAX];
	for (uint32_t pass = 0; pass < t->passes; pass++) {
		for (size_t i = 0; adds && pass && i < t->senders; i++)
			wait_for_all(t, g, lane[i], added);
		for (size_t i = 0; i < t->senders; i++)
			sent[i] = add_messages(t, g, lane[i], &t->message[i * t->fan_out]);
		for (size_t i = 0; adds && i < t->senders; i++)
			added[i] = add_reduction(t, g, lane[i], i, sent);
	}
}

/* ------------------------------------------------------------------ checking */

int transfer_poison(const struct transfer *t, struct bench_case *c)
{
	for (size_t i = 0; i < t->senders * t->fan_out; i++)
		TRY(c->status, dev_fill(c->dev, c->stream, t->message[i].to, 0xa5, t->piece_bytes));
	return c->status;
}

int transfer_check(const struct transfer *t, struct bench_case *c)
{
	const uint64_t all = t->piece_bytes,
		       head = all <= 2 * COMPARED_BYTES ? all : COMPARED_BYTES;
	/* Start at a multiple of the pattern, or the comparison would be shifted. */
	const uint64_t tail =
		head == all ? all : (all - COMPARED_BYTES) / PATTERN_BYTES * PATTERN_BYTES;
	for (size_t i = 0; i < t->senders * t->fan_out; i++) {
		const struct message *m = &t->message[i];
		const bool sum = t->kind == TRANSFER_REDUCE_SCATTER && i % t->fan_out == 0;
		const float *pattern = sum ? t->sum : m->pattern;
		const float tolerance = sum ? SUM_TOLERANCE * (float)t->senders : 0.0f;
		TRY(c->status, pattern_check(c, m->target, m->to, head, pattern, tolerance));
		if (tail < all)
			TRY(c->status, pattern_check(c, m->target, m->to + tail, all - tail,
						     pattern, tolerance));
	}
	return c->status;
}
