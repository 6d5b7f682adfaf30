/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/late_block/late_block.h"
#include "lib/err.h"

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
	return c->status;
}

static int enqueue_block(struct late_block *b, struct bench_case *c)
{
	const struct dev_launch launch = {.grid = 1};
	TRY(c->status, dev_event_record(c->dev, b->stream, b->released));
	TRY(c->status, dev_launch(c->dev, b->stream, b->empty, &launch));
	return TRY(c->status, dev_event_record(c->dev, b->stream, b->done));
}

/* When the empty kernel before the work has ended, the work gets its slots. */
static int enqueue_work(struct late_block *b, struct bench_case *c, late_block_work work)
{
	const struct dev_launch launch = {.grid = 1};
	TRY(c->status, dev_launch(c->dev, c->stream, b->empty, &launch));
	TRY(c->status, dev_event_record(c->dev, c->stream, b->work_begun));
	TRY(c->status, work ? work(c, 0) : 0);
	return TRY(c->status, dev_event_record(c->dev, c->stream, b->work_done));
}

/* *left_ns_p: for how long the work went on after the release. */
static int try_once(struct late_block *b, struct bench_case *c, late_block_work work,
		    double *wait_ns_p, double *left_ns_p)
{
	if (b->gate) {
		TRY(c->status, gate_shut(b->gate, c->dev, b->stream));
		enqueue_block(b, c);
	}
	enqueue_work(b, c, work);
	TRY(c->status, dev_event_sync(c->dev, b->work_begun));
	const int released = b->gate ? gate_release(b->gate) : enqueue_block(b, c);
	const int waited = dev_stream_sync(c->dev, b->stream);
	const int drained = dev_stream_sync(c->dev, c->stream);
	TRY(c->status, released);
	TRY(c->status, waited);
	TRY(c->status, drained);
	TRY(c->status, dev_event_elapsed_ns(c->dev, b->released, b->done, wait_ns_p));
	return TRY(c->status, dev_event_elapsed_ns(c->dev, b->released, b->work_done, left_ns_p));
}

int late_block_waits(struct late_block *b, struct bench_case *c, late_block_work work,
		     uint64_t iterations)
{
	double sum_ns = 0.0, wait_ns = 0.0;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++) {
		double left_ns = 0.0;
		for (unsigned try = 0; c->status == 0 && try < TRIES; try++) {
			try_once(b, c, work, &wait_ns, &left_ns);
			if (!work || left_ns > 0.0)
				break;
			b->repeated++;
		}
		b->waits += work != NULL;
		b->missed += work && left_ns <= 0.0;
		sum_ns += wait_ns;
	}
	c->self_seconds = 1e-9 * sum_ns;
	return c->status;
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
