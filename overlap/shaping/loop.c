/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/loop.h"
#include "device/kernels.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

/* Words between two stamps, and which stamp is whose. */
enum { STRIDE = DEV_KERNEL_ALIGN / 8, FIRST = 0, SECOND = 1, OF_GEMM = 2, OF_COMM = OF_GEMM + SHAPING_ITERATIONS_MOST,
       STAMPS = OF_COMM + SHAPING_ITERATIONS_MOST };

static uint64_t *stamp_at(const struct loop *l, unsigned i) { return l->start_ns + (size_t)STRIDE * i; }

static int gemm(struct loop *l, unsigned i, bool claim)
{
	struct dev_gemm g = product_whole(&l->product);
	g.c = l->message[i % 2];
	g.tiled = l->tiled;
	g.shared_bytes = claim ? l->claim_bytes : 0;
	return dev_gemm(l->dev, l->queue[LOOP_SAME], &g);
}

static int try_claim(struct loop *l)
{
	int status = gemm(l, 0, true);
	if (status == -EINVAL && l->claim_bytes)
		return -ENOTSUP;
	int ran = dev_stream_sync(l->dev, l->queue[LOOP_SAME]);
	return status ? status : ran;
}

static void open_queues(struct loop *l, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	l->stamp = own_kernel(c, "stamp");
	l->queue[LOOP_SAME] = c->stream;
	l->queue[LOOP_NORMAL] = own_stream(c, p->priority_normal);
	l->queue[LOOP_URGENT] = own_stream(c, p->priority_high);
	l->origin = own_event(c);
	for (unsigned i = 0; i < l->iterations; i++) {
		l->done[i] = own_event(c);
		l->sent[i] = own_event(c);
	}
	l->start_ns = own_memory(c, DEV_MEM_PINNED, STAMPS * DEV_KERNEL_ALIGN);
	l->gate = own_gate(c, GATE_LIMIT_NS);
}

int loop_open(struct loop *l, struct bench_case *c, const struct loop_plan *plan)
{
	*l = (struct loop){.dev = c->dev, .iterations = plan->iterations, .claim_bytes = plan->claim_bytes,
	                   .tiled = dev_can(c->dev, DEV_CAP_GEMM_TILED)};
	float *tile = tile_reals(c);
	open_queues(l, c);
	l->message[0] = tile_memory(c, c->dev, DEV_MEM_DEVICE, plan->message_bytes, tile);
	l->message[1] = tile_memory(c, c->dev, DEV_MEM_DEVICE, plan->message_bytes, tile);
	if (product_open(&l->product, c, &plan->gemm, DEV_F32) == 0)
		message_open(&l->comm, c, plan->kind, plan->message_bytes, plan->blocks, tile);
	if (own_status(c))
		return own_status(c);
	struct dev_gemm whole = product_whole(&l->product);
	whole.tiled = l->tiled;
	int status = dev_gemm_prepare(c->dev, &whole);
	return own_result(c, status ? status : try_claim(l));
}

static int stamp(struct loop *l, struct dev_stream *stream, unsigned which)
{
	uint64_t *at = stamp_at(l, which);
	const void *const args[] = {&at};
	struct dev_launch launch = {.grid = 1, .args = args};
	return dev_launch(l->dev, stream, l->stamp, &launch);
}

static int product_step(struct loop *l, const struct loop_round *r, unsigned i, bool watched)
{
	struct dev_stream *own = l->queue[LOOP_SAME], *other = l->queue[r->queue];
	bool apart = r->comm && r->queue != LOOP_SAME;
	int status = apart && i >= 2 ? dev_stream_wait(l->dev, own, l->sent[i - 2]) : 0;
	if (status == 0 && watched)
		status = stamp(l, own, OF_GEMM + i);
	if (status == 0)
		status = gemm(l, i, r->claim);
	if (status == 0 && (apart || watched))
		status = dev_event_record(l->dev, own, l->done[i]);
	return status == 0 && apart ? dev_stream_wait(l->dev, other, l->done[i]) : status;
}

static int comm_step(struct loop *l, const struct loop_round *r, unsigned i, bool watched)
{
	struct dev_stream *stream = l->queue[r->queue];
	int status = message_send(&l->comm, stream, l->message[i % 2], l->stamp, watched ? stamp_at(l, OF_COMM + i) : NULL);
	if (status == 0 && (watched || r->queue != LOOP_SAME))
		status = dev_event_record(l->dev, stream, l->sent[i]);
	return status;
}

static int enqueue(struct loop *l, const struct loop_round *r, bool watched)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < l->iterations; i++) {
		if (r->gemm)
			status = product_step(l, r, i, watched);
		if (status == 0 && r->comm)
			status = comm_step(l, r, i, watched);
	}
	/* Communications are in one stream, so the last one to end is the last one. */
	if (status == 0 && r->comm && r->queue != LOOP_SAME)
		status = dev_stream_wait(l->dev, l->queue[LOOP_SAME], l->sent[l->iterations - 1]);
	return status;
}

int loop_enqueue(struct loop *l, const struct loop_round *r) { return enqueue(l, r, false); }

/* ---------------------------------------------------------------- watched */

static double stamped(const struct loop *l, unsigned which)
{
	uint64_t began = __atomic_load_n(stamp_at(l, which), __ATOMIC_ACQUIRE);
	uint64_t origin = __atomic_load_n(stamp_at(l, FIRST), __ATOMIC_ACQUIRE);
	return began > origin ? (double)(began - origin) : -(double)(origin - began);
}

/* The event `origin` lies between two stamps. Taken for the first of them, ends seem early and never late, so that what is in
 * order is never seen out of order. */
static int read_spans(struct loop *l, struct loop_trace *t)
{
	int status = 0;
	t->resolution_ns = stamped(l, SECOND);
	for (unsigned i = 0; status == 0 && i < l->iterations; i++) {
		t->gemm[i].begin = stamped(l, OF_GEMM + i);
		t->comm[i].begin = stamped(l, OF_COMM + i);
		status = dev_event_elapsed_ns(l->dev, l->origin, l->done[i], &t->gemm[i].end);
		if (status == 0)
			status = dev_event_elapsed_ns(l->dev, l->origin, l->sent[i], &t->comm[i].end);
	}
	return status;
}

int loop_watch(struct loop *l, const struct loop_round *r, struct loop_trace *t_p)
{
	struct dev_stream *own = l->queue[LOOP_SAME];
	struct loop_trace t = {0};
	int status = gate_shut(l->gate, l->dev, own);
	if (status == 0)
		status = stamp(l, own, FIRST);
	if (status == 0)
		status = dev_event_record(l->dev, own, l->origin);
	if (status == 0)
		status = stamp(l, own, SECOND);
	if (status == 0)
		status = enqueue(l, r, true);
	/* Opened even after a failure: what was enqueued must drain. */
	int opened = gate_release(l->gate);
	int others = dev_stream_sync(l->dev, l->queue[r->queue]);
	int ours = dev_stream_sync(l->dev, own);
	status = status ? status : opened ? opened : others ? others : ours;
	if (status == 0)
		status = read_spans(l, &t);
	if (status == 0)
		*t_p = t;
	return status;
}

/* ---------------------------------------------------------------- checked */

static uint64_t result_bytes(const struct loop *l)
{
	return (uint64_t)l->product.shape.m * l->product.shape.n * l->product.result_bytes;
}

int loop_spoil(struct loop *l, struct bench_case *c, const struct loop_round *r)
{
	int status = 0;
	for (unsigned i = 0; r->gemm && status == 0 && i < 2; i++)
		status = dev_fill(c->dev, c->stream, l->message[i], 0x7f, result_bytes(l));
	return status == 0 && r->comm ? message_spoil(&l->comm, c) : status;
}

int loop_check(struct loop *l, struct bench_case *c, const struct loop_round *r)
{
	int status = 0;
	for (unsigned i = 0; r->gemm && status == 0 && i < 2; i++) {
		struct product other = l->product;
		other.c = l->message[i];
		status = product_check(&other, c, 1);
	}
	return status == 0 && r->comm ? message_check(&l->comm, c, l->message[(l->iterations - 1) % 2]) : status;
}
