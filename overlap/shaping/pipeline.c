/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

/* Words between two stamps, and the index of each stamp. */
enum {
	STRIDE = DEV_KERNEL_ALIGN / 8,
	BEFORE_ORIGIN = 0,
	AFTER_ORIGIN = 1,
	OF_GEMM = 2,
	OF_COMM = OF_GEMM + SHAPING_ITERATIONS_MAX,
	STAMPS = OF_COMM + SHAPING_ITERATIONS_MAX
};

static uint64_t *stamp_at(const struct pipeline *p, unsigned i)
{
	return p->start_ns + (size_t)STRIDE * i;
}

static int enqueue_gemm(struct pipeline *p, unsigned i, bool claim)
{
	struct dev_gemm g = bench_gemm_whole(&p->gemm);
	g.c = p->buffer[i % 2];
	g.tiled = p->tiled;
	g.shared_bytes = claim ? p->claim_bytes : 0;
	return dev_gemm(p->dev, p->queue[PIPELINE_SAME], &g);
}

static int try_claim(struct pipeline *p)
{
	int status = enqueue_gemm(p, 0, true);
	if (status == -EINVAL && p->claim_bytes)
		return -ENOTSUP;
	int ran = dev_stream_sync(p->dev, p->queue[PIPELINE_SAME]);
	return status ? status : ran;
}

static void open_queues(struct pipeline *p, struct bench_case *c)
{
	const struct dev_props *props = dev_props(c->dev);
	p->stamp = bench_kernel(c, "stamp");
	p->queue[PIPELINE_SAME] = c->stream;
	p->queue[PIPELINE_NORMAL] = bench_stream(c, props->priority_normal);
	p->queue[PIPELINE_URGENT] = bench_stream(c, props->priority_high);
	p->origin = bench_event(c);
	for (unsigned i = 0; i < p->iterations; i++) {
		p->done[i] = bench_event(c);
		p->sent[i] = bench_event(c);
	}
	p->start_ns = bench_alloc(c, DEV_MEM_PINNED, STAMPS * DEV_KERNEL_ALIGN);
	p->gate = bench_gate(c, GATE_LIMIT_NS);
}

int pipeline_open(struct pipeline *p, struct bench_case *c, const struct pipeline_plan *plan)
{
	*p = (struct pipeline){.dev = c->dev,
			       .iterations = plan->iterations,
			       .claim_bytes = plan->claim_bytes,
			       .tiled = dev_can(c->dev, DEV_CAP_GEMM_TILED)};
	float *tile = pattern_reals(c);
	open_queues(p, c);
	p->buffer[0] = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, plan->message_bytes, tile);
	p->buffer[1] = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, plan->message_bytes, tile);
	if (bench_gemm_open(&p->gemm, c, c->dev, &plan->gemm, DEV_F32) == 0)
		comm_load_open(&p->comm, c, plan->kind, plan->message_bytes, plan->blocks, tile);
	if (bench_status(c))
		return bench_status(c);
	struct dev_gemm whole = bench_gemm_whole(&p->gemm);
	whole.tiled = p->tiled;
	int status = dev_gemm_prepare(c->dev, &whole);
	return bench_status_add(c, status ? status : try_claim(p));
}

static int enqueue_stamp(struct pipeline *p, struct dev_stream *stream, unsigned which)
{
	uint64_t *at = stamp_at(p, which);
	const void *const args[] = {&at};
	struct dev_launch launch = {.grid = 1, .args = args};
	return dev_launch(p->dev, stream, p->stamp, &launch);
}

static int enqueue_gemm_step(struct pipeline *p, const struct pipeline_round *r, unsigned i,
			     bool traced)
{
	struct dev_stream *own = p->queue[PIPELINE_SAME], *other = p->queue[r->queue];
	bool two_streams = r->comm && r->queue != PIPELINE_SAME;
	int status = two_streams && i >= 2 ? dev_stream_wait(p->dev, own, p->sent[i - 2]) : 0;
	if (status == 0 && traced)
		status = enqueue_stamp(p, own, OF_GEMM + i);
	if (status == 0)
		status = enqueue_gemm(p, i, r->claim);
	if (status == 0 && (two_streams || traced))
		status = dev_event_record(p->dev, own, p->done[i]);
	return status == 0 && two_streams ? dev_stream_wait(p->dev, other, p->done[i]) : status;
}

static int enqueue_comm_step(struct pipeline *p, const struct pipeline_round *r, unsigned i,
			     bool traced)
{
	struct dev_stream *stream = p->queue[r->queue];
	int status = comm_load_send(&p->comm, stream, p->buffer[i % 2], p->stamp,
				    traced ? stamp_at(p, OF_COMM + i) : NULL);
	if (status == 0 && (traced || r->queue != PIPELINE_SAME))
		status = dev_event_record(p->dev, stream, p->sent[i]);
	return status;
}

static int enqueue_iterations(struct pipeline *p, const struct pipeline_round *r, bool traced)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < p->iterations; i++) {
		if (r->gemm)
			status = enqueue_gemm_step(p, r, i, traced);
		if (status == 0 && r->comm)
			status = enqueue_comm_step(p, r, i, traced);
	}
	/* All communications are in one stream, so the last one ends last. */
	if (status == 0 && r->comm && r->queue != PIPELINE_SAME)
		status = dev_stream_wait(p->dev, p->queue[PIPELINE_SAME],
					 p->sent[p->iterations - 1]);
	return status;
}

int pipeline_enqueue(struct pipeline *p, const struct pipeline_round *r)
{
	return enqueue_iterations(p, r, false);
}

/* ---------------------------------------------------------------- traced rounds */

static double stamp_ns(const struct pipeline *p, unsigned which)
{
	/* Relaxed: the streams have been waited for. */
	uint64_t began = __atomic_load_n(stamp_at(p, which), __ATOMIC_RELAXED);
	uint64_t origin = __atomic_load_n(stamp_at(p, BEFORE_ORIGIN), __ATOMIC_RELAXED);
	return began > origin ? (double)(began - origin) : -(double)(origin - began);
}

/* The event `origin` lies between two stamps. Using the first of them as its time makes ends appear
 * early and never late, so a correct order is never reported as wrong. */
static int read_spans(struct pipeline *p, struct pipeline_trace *t)
{
	int status = 0;
	t->resolution_ns = stamp_ns(p, AFTER_ORIGIN);
	for (unsigned i = 0; status == 0 && i < p->iterations; i++) {
		t->gemm[i].begin = stamp_ns(p, OF_GEMM + i);
		t->comm[i].begin = stamp_ns(p, OF_COMM + i);
		status = dev_event_elapsed_ns(p->dev, p->origin, p->done[i], &t->gemm[i].end);
		if (status == 0)
			status = dev_event_elapsed_ns(p->dev, p->origin, p->sent[i],
						      &t->comm[i].end);
	}
	return status;
}

int pipeline_run_traced(struct pipeline *p, const struct pipeline_round *r,
			struct pipeline_trace *t_p)
{
	struct dev_stream *own = p->queue[PIPELINE_SAME];
	struct pipeline_trace t = {0};
	int status = gate_shut(p->gate, p->dev, own);
	if (status == 0)
		status = enqueue_stamp(p, own, BEFORE_ORIGIN);
	if (status == 0)
		status = dev_event_record(p->dev, own, p->origin);
	if (status == 0)
		status = enqueue_stamp(p, own, AFTER_ORIGIN);
	if (status == 0)
		status = enqueue_iterations(p, r, true);
	/* Open the gate even after an error: what was enqueued must finish. */
	int released = gate_release(p->gate);
	int others = dev_stream_sync(p->dev, p->queue[r->queue]);
	int ours = dev_stream_sync(p->dev, own);
	status = status ? status : released ? released : others ? others : ours;
	if (status == 0)
		status = read_spans(p, &t);
	if (status == 0)
		*t_p = t;
	return status;
}

/* ---------------------------------------------------------------- checks */

static uint64_t result_bytes(const struct pipeline *p)
{
	return (uint64_t)p->gemm.shape.m * p->gemm.shape.n * p->gemm.result_bytes;
}

int pipeline_poison(struct pipeline *p, struct bench_case *c, const struct pipeline_round *r)
{
	int status = 0;
	for (unsigned i = 0; r->gemm && status == 0 && i < 2; i++)
		status = dev_fill(c->dev, c->stream, p->buffer[i], 0x7f, result_bytes(p));
	return status == 0 && r->comm ? comm_load_poison(&p->comm, c) : status;
}

int pipeline_check(struct pipeline *p, struct bench_case *c, const struct pipeline_round *r)
{
	int status = 0;
	for (unsigned i = 0; r->gemm && status == 0 && i < 2; i++) {
		struct bench_gemm other = p->gemm;
		other.c = p->buffer[i];
		status = bench_gemm_check(&other, c, 1);
	}
	return status == 0 && r->comm
		       ? comm_load_check(&p->comm, c, p->buffer[(p->iterations - 1) % 2])
		       : status;
}
