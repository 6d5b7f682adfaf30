/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/transfer.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

#define COMPARED_BYTES (UINT64_C(32) << 20)
/* For sums of a few numbers below 1. */
#define SUM_TOLERANCE 1e-6f

const char *const transfer_kinds[] = {"up",         "down",           "local",      "peer",
				      "all-gather", "reduce-scatter", "all-to-all", NULL};

static bool is_collective(enum transfer_kind kind) { return kind >= TRANSFER_ALL_GATHER; }

struct bench_case transfer_case_on(const struct bench_case *c, struct dev *dev)
{
	struct bench_case there = *c;
	there.dev = dev;
	return there;
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

static int open_peers(const struct transfer *t, struct bench_case *c)
{
	const struct dev_set *set = c->devices;
	for (size_t i = 1; t->kind >= TRANSFER_PEER && i < set->count; i++)
		for (size_t k = 0; k < i; k++)
			bench_status_add(c, dev_peer_enable(set->dev[i], set->dev[k]));
	return bench_status(c);
}

static int open_sender(struct transfer *t, struct bench_case *c, size_t i)
{
	struct sender *s = &t->sender[i];
	struct bench_case there = transfer_case_on(c, c->devices->dev[i]);
	s->dev = there.dev;
	s->lane = bench_alloc_host(c, t->lanes * sizeof(struct dev_stream *));
	s->joined = bench_alloc_host(c, t->lanes * sizeof(struct dev_event *));
	for (size_t k = 1; bench_status(c) == 0 && k < t->lanes; k++) {
		s->lane[k] = bench_stream(&there, dev_props(s->dev)->priority_normal);
		s->joined[k] = bench_event(&there);
	}
	s->fork = bench_event(&there);
	s->sent = bench_event(&there);
	s->copy = t->method.engine ? NULL : bench_kernel(&there, "copy_nt");
	s->add = t->kind == TRANSFER_REDUCE_SCATTER ? bench_kernel(&there, "reduce_add") : NULL;
	if (bench_status(c))
		return bench_status(c);
	bench_status_add(c, copy_method_blocks(&t->method, s->dev, "copy_nt", &s->copy_blocks));
	if (s->add)
		bench_status_add(
			c, copy_method_blocks(&t->method, s->dev, "reduce_add", &s->add_blocks));
	return bench_status(c);
}

static int open_patterns(struct transfer *t, struct bench_case *c)
{
	t->pattern = bench_alloc_host(c, t->senders * sizeof(*t->pattern));
	t->sum = bench_alloc_host(c, PATTERN_BYTES);
	for (size_t i = 0; bench_status(c) == 0 && i < t->senders; i++) {
		t->pattern[i] = pattern_reals(c);
		for (size_t w = 0; t->pattern[i] && w < PATTERN_WORDS; w++)
			t->sum[w] = (i ? t->sum[w] : 0.0f) + t->pattern[i][w];
	}
	return bench_status(c);
}

int transfer_open(struct transfer *t, struct bench_case *c, enum transfer_kind kind,
		  const struct copy_method *method)
{
	size_t all = c->devices->count;
	*t = (struct transfer){.kind = kind,
			       .method = *method,
			       .senders = is_collective(kind) ? all : 1,
			       .lanes = is_collective(kind) ? all - 1 : 1};
	t->sender = bench_alloc_host(c, t->senders * sizeof(*t->sender));
	t->message = bench_alloc_host(c, t->senders * t->lanes * sizeof(*t->message));
	if (bench_status(c) || open_peers(t, c) || open_patterns(t, c))
		return bench_status(c);
	memset(t->sender, 0, t->senders * sizeof(*t->sender));
	for (size_t i = 0; bench_status(c) == 0 && i < t->senders; i++)
		open_sender(t, c, i);
	return bench_status(c);
}

/* ------------------------------------------------------------------ buffers */

static int open_single(struct transfer *t, struct bench_case *c, uint64_t bytes)
{
	enum dev_mem from = t->kind == TRANSFER_UP ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	enum dev_mem to = t->kind == TRANSFER_DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	struct dev *target =
		t->kind == TRANSFER_PEER ? c->devices->dev[c->devices->count - 1] : c->dev;
	t->message[0] = (struct message){.target = target, .pattern = t->pattern[0]};
	t->message[0].from = pattern_alloc(c, c->dev, from, bytes, t->pattern[0]);
	t->message[0].to = bench_alloc_on(c, target, to, bytes);
	return bench_status(c);
}

/* Lane k of device i sends to device i + k + 1, which receives into its slot k. A piece from i to j
 * repeats pattern i + j, so that the check finds a piece at the wrong place; a shard from i, which
 * all others get, repeats pattern i. */
static int open_collective(struct transfer *t, struct bench_case *c, uint64_t bytes)
{
	size_t all = t->senders;
	for (size_t i = 0; bench_status(c) == 0 && i < all; i++) {
		struct dev *here = c->devices->dev[i];
		char *arrivals = bench_alloc_on(c, here, DEV_MEM_DEVICE, t->lanes * bytes);
		char *shard = t->kind == TRANSFER_ALL_GATHER
				      ? pattern_alloc(c, here, DEV_MEM_DEVICE, bytes, t->pattern[i])
				      : NULL;
		for (size_t k = 0; bench_status(c) == 0 && k < t->lanes; k++) {
			size_t to = (i + 1 + k) % all, before = (i + all - 1 - k) % all;
			struct message *m = &t->message[i * t->lanes + k];
			m->target = c->devices->dev[to];
			m->pattern = shard ? t->pattern[i] : t->pattern[(i + to) % all];
			m->from = shard ? shard
					: pattern_alloc(c, here, DEV_MEM_DEVICE, bytes, m->pattern);
			t->message[before * t->lanes + k].to = arrivals + k * bytes;
		}
		if (t->kind == TRANSFER_REDUCE_SCATTER)
			t->sender[i].own = pattern_alloc(c, here, DEV_MEM_DEVICE, bytes,
							 t->pattern[2 * i % all]);
	}
	return bench_status(c);
}

uint64_t transfer_max_bytes(const struct transfer *t)
{
	uint64_t max = UINT64_MAX;
	for (size_t i = 0; i < t->senders; i++) {
		uint64_t capacity =
			dev_props(t->sender[i].dev)->memory_bytes / 4 / (2 * t->lanes + 1);
		max = capacity < max ? capacity : max;
	}
	return (max - max % TRANSFER_ALIGN) * t->lanes;
}

int transfer_resize(struct transfer *t, struct bench_case *c, uint64_t bytes)
{
	uint64_t piece = bytes / t->lanes - bytes / t->lanes % TRANSFER_ALIGN;
	piece = piece ? piece : TRANSFER_ALIGN;
	if (piece * t->lanes > transfer_max_bytes(t))
		return bench_status_add(c, err_note(-ENOMEM,
						    "buffers for %llu bytes exceed a quarter of "
						    "the device's free memory",
						    (unsigned long long)bytes));
	if (piece > t->capacity_bytes) {
		int status = is_collective(t->kind) ? open_collective(t, c, piece)
						    : open_single(t, c, piece);
		if (status)
			return status;
		t->capacity_bytes = piece;
	}
	t->piece_bytes = piece;
	return 0;
}

uint64_t transfer_bytes(const struct transfer *t) { return t->piece_bytes * t->lanes; }

/* ------------------------------------------------------------------ running */

static int enqueue_message(const struct transfer *t, const struct sender *s,
			   struct dev_stream *stream, const struct message *m)
{
	uint32_t reps = 1, blocks = s->copy_blocks / (uint32_t)t->lanes;
	const void *const args[] = {&m->to, &m->from, &t->piece_bytes, &reps};
	struct dev_launch launch = {.grid = blocks ? blocks : 1, .args = args};
	return t->method.engine ? dev_copy(s->dev, stream, m->to, m->from, t->piece_bytes)
				: dev_launch(s->dev, stream, s->copy, &launch);
}

static int enqueue_sender(const struct transfer *t, size_t i, struct dev_stream *stream)
{
	const struct sender *s = &t->sender[i];
	const struct message *m = &t->message[i * t->lanes];
	int status = t->lanes > 1 ? dev_event_record(s->dev, stream, s->fork) : 0;
	if (status == 0)
		status = enqueue_message(t, s, stream, &m[0]);
	for (size_t k = 1; status == 0 && k < t->lanes; k++) {
		status = dev_stream_wait(s->dev, s->lane[k], s->fork);
		if (status == 0)
			status = enqueue_message(t, s, s->lane[k], &m[k]);
		if (status == 0)
			status = dev_event_record(s->dev, s->lane[k], s->joined[k]);
		if (status == 0)
			status = dev_stream_wait(s->dev, stream, s->joined[k]);
	}
	return status;
}

static char *incoming_buffer(const struct transfer *t, size_t at, size_t lane)
{
	return t->message[(at + t->senders - 1 - lane) % t->senders * t->lanes + lane].to;
}

static int enqueue_add(const struct transfer *t, const struct sender *s, struct dev_stream *stream,
		       char *to, const char *from)
{
	uint32_t reps = 1;
	const void *const args[] = {&to, &from, &t->piece_bytes, &reps};
	struct dev_launch launch = {.grid = s->add_blocks ? s->add_blocks
							  : dev_wave_blocks(s->dev, s->add),
				    .args = args};
	return dev_launch(s->dev, stream, s->add, &launch);
}

/* Sums into the first buffer that arrived. Every transfer overwrites it, so the sum does not grow
 * from one transfer to the next. */
static int enqueue_reduction(const struct transfer *t, size_t i, struct dev_stream *stream)
{
	const struct sender *s = &t->sender[i];
	int status = 0;
	for (size_t k = 0; status == 0 && k < t->lanes; k++)
		status = dev_stream_wait(s->dev, stream,
					 t->sender[(i + t->senders - 1 - k) % t->senders].sent);
	if (status == 0)
		status = enqueue_add(t, s, stream, incoming_buffer(t, i, 0), s->own);
	for (size_t k = 1; status == 0 && k < t->lanes; k++)
		status = enqueue_add(t, s, stream, incoming_buffer(t, i, 0),
				     incoming_buffer(t, i, k));
	return status;
}

int transfer_enqueue(struct transfer *t, struct dev_stream *const *streams)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < t->senders; i++) {
		status = enqueue_sender(t, i, streams[i]);
		if (status == 0 && t->kind == TRANSFER_REDUCE_SCATTER)
			status = dev_event_record(t->sender[i].dev, streams[i], t->sender[i].sent);
	}
	for (size_t i = 0; status == 0 && t->kind == TRANSFER_REDUCE_SCATTER && i < t->senders; i++)
		status = enqueue_reduction(t, i, streams[i]);
	return status;
}

/* ------------------------------------------------------------------ checking */

int transfer_poison(const struct transfer *t, struct dev_stream *const *streams)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < t->senders * t->lanes; i++)
		status = dev_fill(t->sender[i / t->lanes].dev, streams[i / t->lanes],
				  t->message[i].to, 0xa5, t->piece_bytes);
	return status;
}

static int check_message(const struct transfer *t, const struct message *m, bool sum)
{
	const float *pattern = sum ? t->sum : m->pattern;
	float tolerance = sum ? SUM_TOLERANCE * (float)t->senders : 0.0f;
	uint64_t head = t->piece_bytes <= 2 * COMPARED_BYTES ? t->piece_bytes : COMPARED_BYTES;
	int status = pattern_check(m->target, m->to, head, pattern, tolerance);
	if (status || head == t->piece_bytes)
		return status;
	/* Start at a multiple of the pattern, or the comparison would be shifted. */
	uint64_t from = (t->piece_bytes - COMPARED_BYTES) / PATTERN_BYTES * PATTERN_BYTES;
	return pattern_check(m->target, m->to + from, t->piece_bytes - from, pattern, tolerance);
}

int transfer_check(const struct transfer *t)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < t->senders * t->lanes; i++)
		status = check_message(t, &t->message[i],
				       t->kind == TRANSFER_REDUCE_SCATTER && i % t->lanes == 0);
	return status;
}
