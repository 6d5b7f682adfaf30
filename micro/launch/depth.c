/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/depth.h"
#include "lib/err.h"

#include <errno.h>

/* Far longer than a call that does not block, and short for a setup. */
#define LIMIT_NS UINT64_C(250000000)
/* A call that takes this long blocks, or its thread lost its core; so it is tried twice. */
#define LONG_NS UINT64_C(50000000)
#define TRIES 2u

/* Fills the stream with `count` operations and a sample's events. Returns whether a call waited. */
static bool queue_waits(struct bench_case *c, struct gate *gate, struct dev_event *event,
			depth_operation enqueue, uint64_t count)
{
	uint64_t longest = 0;
	TRY(c->status, gate_shut(gate, c->dev, c->stream));
	for (uint64_t i = 0; c->status == 0 && longest < LONG_NS && i < count + DEPTH_EVENTS; i++) {
		const uint64_t start = dev_clock_ns(c->dev);
		TRY(c->status,
		    i < count ? enqueue(c, 0) : dev_event_record(c->dev, c->stream, event));
		const uint64_t took = dev_clock_ns(c->dev) - start;
		longest = took > longest ? took : longest;
	}
	const int released = gate_release(gate), drained = dev_stream_sync(c->dev, c->stream);
	TRY(c->status, released == -ETIMEDOUT ? 0 : released);
	TRY(c->status, drained);
	return longest >= LONG_NS || released == -ETIMEDOUT;
}

int depth_find(struct bench_case *c, const char *fact, depth_operation enqueue, uint64_t max_count,
	       uint64_t *operations_p)
{
	struct gate *gate = bench_gate(c, LIMIT_NS);
	struct dev_event *event = bench_event(c);
	const bool virtual_time = dev_can(c->dev, DEV_CAP_VIRTUAL_TIME);
	bool waited = false;
	*operations_p = virtual_time ? max_count : 0;
	/* A first launch may load code, which may wait for all streams. */
	TRY(c->status, virtual_time ? 0 : enqueue(c, 0));
	TRY(c->status, virtual_time ? 0 : dev_stream_sync(c->dev, c->stream));
	for (uint64_t count = 1; c->status == 0 && !waited && *operations_p < max_count;
	     count *= 2) {
		count = count < max_count ? count : max_count;
		waited = true;
		for (unsigned i = 0; c->status == 0 && waited && i < TRIES; i++)
			waited = queue_waits(c, gate, event, enqueue, count);
		*operations_p = waited ? *operations_p : count;
	}
	if (c->status == 0)
		bench_fact_number(c, fact, (double)*operations_p);
	return c->status;
}

int depth_calls(struct bench_case *c, struct gate *gate, depth_operation enqueue,
		uint64_t operations, uint64_t iterations)
{
	const uint64_t most = operations ? operations : 1,
		       timed = iterations < most ? iterations : most;
	TRY(c->status, gate_shut(gate, c->dev, c->stream));
	const uint64_t start = dev_clock_ns(c->dev);
	for (uint64_t i = 0; c->status == 0 && i < timed; i++)
		TRY(c->status, enqueue(c, 0));
	const uint64_t end = dev_clock_ns(c->dev);
	const int released = gate_release(gate), drained = dev_stream_sync(c->dev, c->stream);
	c->self_seconds = 1e-9 * (double)(end - start) * (double)iterations / (double)timed;
	TRY(c->status, released);
	return TRY(c->status, drained);
}
