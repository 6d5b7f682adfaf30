/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/depth.h"
#include "bench/bench_alloc.h"

#include <errno.h>

/* Far longer than a call that does not block, and short for a setup. */
#define LIMIT_NS UINT64_C(250000000)
/* A call that takes this long blocks, or its thread lost its core; so it is tried twice. */
#define LONG_NS UINT64_C(50000000)
#define TRIES 2u

static int time_call(const struct queue_depth *d, struct bench_case *c, bool event,
		     uint64_t *longest_p)
{
	uint64_t start = dev_clock_ns(c->dev);
	int status = event ? dev_event_record(c->dev, c->stream, d->event) : d->enqueue(c);
	uint64_t took = dev_clock_ns(c->dev) - start;
	*longest_p = took > *longest_p ? took : *longest_p;
	return status;
}

static int fill_queue(const struct queue_depth *d, struct bench_case *c, uint64_t count,
		      bool *waited_p)
{
	uint64_t longest = 0;
	int status = gate_shut(d->probe, c->dev, c->stream);
	for (uint64_t i = 0; status == 0 && longest < LONG_NS && i < count + DEPTH_EVENTS; i++)
		status = time_call(d, c, i >= count, &longest);
	int released = gate_release(d->probe);
	int drained = dev_stream_sync(c->dev, c->stream);
	*waited_p = longest >= LONG_NS || released == -ETIMEDOUT;
	return status ? status : released && released != -ETIMEDOUT ? released : drained;
}

static int queue_waits(const struct queue_depth *d, struct bench_case *c, uint64_t count,
		       bool *waits_p)
{
	int status = 0;
	*waits_p = true;
	for (unsigned i = 0; status == 0 && *waits_p && i < TRIES; i++)
		status = fill_queue(d, c, count, waits_p);
	return status;
}

static int double_depth(struct queue_depth *d, struct bench_case *c, uint64_t max_count)
{
	/* A first launch may load code, which may wait for all streams. */
	int status = d->enqueue(c);
	int drained = dev_stream_sync(c->dev, c->stream);
	status = status ? status : drained;
	for (uint64_t count = 1; status == 0 && d->operations < max_count; count *= 2) {
		bool waited;
		count = count < max_count ? count : max_count;
		status = queue_waits(d, c, count, &waited);
		if (status || waited)
			break;
		d->operations = count;
	}
	return status;
}

int depth_find(struct queue_depth *d, struct bench_case *c, const char *fact,
	       int (*enqueue)(struct bench_case *c), uint64_t max_count)
{
	*d = (struct queue_depth){.enqueue = enqueue};
	d->gate = bench_gate(c, GATE_LIMIT_NS);
	d->probe = bench_gate(c, LIMIT_NS);
	d->event = bench_event(c);
	int status = bench_status(c);
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		d->operations = max_count;
	else if (status == 0)
		status = double_depth(d, c, max_count);
	if (status == 0)
		bench_fact_number(c, fact, (double)d->operations);
	return status;
}

int depth_calls(const struct queue_depth *d, struct bench_case *c, uint64_t iterations,
		double *seconds_p)
{
	uint64_t max_count = d->operations ? d->operations : 1,
		 timed = iterations < max_count ? iterations : max_count;
	int status = gate_shut(d->gate, c->dev, c->stream);
	uint64_t start = dev_clock_ns(c->dev);
	for (uint64_t i = 0; status == 0 && i < timed; i++)
		status = d->enqueue(c);
	uint64_t end = dev_clock_ns(c->dev);
	int released = gate_release(d->gate);
	int drained = dev_stream_sync(c->dev, c->stream);
	*seconds_p = 1e-9 * (double)(end - start) * (double)iterations / (double)timed;
	return status ? status : released ? released : drained;
}
