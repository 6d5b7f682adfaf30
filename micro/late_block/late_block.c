/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/late_block/late_block.h"
#include "bench/bench_alloc.h"

/* A host thread that loses its core for the whole time of the work does so seldom. */
#define TRIES 8u

int late_block_open(struct late_block *b, struct bench_case *c, int priority)
{
	*b = (struct late_block){.stream = bench_stream(c, priority)};
	b->empty = bench_kernel(c, "empty");
	b->work_begun = bench_event(c);
	b->work_done = bench_event(c);
	b->released = bench_event(c);
	b->done = bench_event(c);
	if (dev_can(c->dev, DEV_CAP_WAIT_VALUE | DEV_CAP_VALUE_IN_QUEUE))
		b->gate = bench_gate(c, GATE_LIMIT_NS);
	return bench_status(c);
}

static int enqueue_block(struct late_block *b, struct bench_case *c)
{
	struct dev_launch launch = {.grid = 1};
	int status = dev_event_record(c->dev, b->stream, b->released);
	if (status == 0)
		status = dev_launch(c->dev, b->stream, b->empty, &launch);
	return status ? status : dev_event_record(c->dev, b->stream, b->done);
}

/* When the empty kernel before the work has ended, the work gets its slots. */
static int enqueue_work(struct late_block *b, struct bench_case *c, late_block_work work)
{
	struct dev_launch launch = {.grid = 1};
	int status = dev_launch(c->dev, c->stream, b->empty, &launch);
	if (status == 0)
		status = dev_event_record(c->dev, c->stream, b->work_begun);
	if (status == 0 && work)
		status = work(c);
	return status ? status : dev_event_record(c->dev, c->stream, b->work_done);
}

static int release_block(struct late_block *b, struct bench_case *c, int status)
{
	if (status == 0)
		status = dev_event_sync(c->dev, b->work_begun);
	if (b->gate) {
		int released = gate_release(b->gate);
		return status ? status : released;
	}
	return status ? status : enqueue_block(b, c);
}

/* *left_ns_p: for how long the work went on after the release. */
static int try_once(struct late_block *b, struct bench_case *c, late_block_work work,
		    double *wait_ns_p, double *left_ns_p)
{
	int status = b->gate ? gate_shut(b->gate, c->dev, b->stream) : 0;
	if (status == 0 && b->gate)
		status = enqueue_block(b, c);
	if (status == 0)
		status = enqueue_work(b, c, work);
	status = release_block(b, c, status);
	int waited = dev_stream_sync(c->dev, b->stream);
	int drained = dev_stream_sync(c->dev, c->stream);
	status = status ? status : waited ? waited : drained;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, b->released, b->done, wait_ns_p);
	return status ? status : dev_event_elapsed_ns(c->dev, b->released, b->work_done, left_ns_p);
}

int late_block_wait(struct late_block *b, struct bench_case *c, late_block_work work,
		    double *wait_ns_p)
{
	double left_ns = 0;
	int status = 0;
	for (unsigned i = 0; status == 0 && i < TRIES; i++) {
		status = try_once(b, c, work, wait_ns_p, &left_ns);
		if (!work || left_ns > 0)
			break;
		b->repeated++;
	}
	b->waits += work != NULL;
	b->missed += work && left_ns <= 0;
	return status;
}

void late_block_verify(const struct late_block *blocks, unsigned count, struct bench_case *c,
		       uint64_t uses)
{
	unsigned waits = 0, repeated = 0, missed = 0;
	for (unsigned i = 0; i < count; i++) {
		waits += blocks[i].waits;
		repeated += blocks[i].repeated;
		missed += blocks[i].missed;
	}
	bench_mechanism_of(c, uses, "work_ran_when_the_block_came", missed == 0,
			   "%u waits, %u repeated because the block was late, %u given up", waits,
			   repeated, missed);
	bench_fact_text(c, "wait_begins",
			blocks->gate ? "when a gate releases the block's stream"
				     : "when the host begins to enqueue the block");
}
