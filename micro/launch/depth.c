/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/launch/depth.h"
#include "lib/bench_own.h"

#include <errno.h>

/* Far more than a call that does not wait takes, and little for a set-up. */
#define LIMIT_NS UINT64_C(250000000)
/* So does a call whose thread lost its core; it waits if it takes as long in a second try. */
#define LONG_NS UINT64_C(50000000)
#define TRIES 2u

static int timed(const struct depth *d, struct bench_case *c, bool event, uint64_t *longest_p)
{
	uint64_t start = dev_clock_ns(c->dev);
	int status = event ? dev_event_record(c->dev, c->stream, d->event) : d->enqueue(c);
	uint64_t took = dev_clock_ns(c->dev) - start;
	*longest_p = took > *longest_p ? took : *longest_p;
	return status;
}

static int fill(const struct depth *d, struct bench_case *c, uint64_t count, bool *waited_p)
{
	uint64_t longest = 0;
	int status = gate_shut(d->probe, c->dev, c->stream);
	for (uint64_t i = 0; status == 0 && longest < LONG_NS && i < count + DEPTH_EVENTS; i++)
		status = timed(d, c, i >= count, &longest);
	int released = gate_release(d->probe);
	int drained = dev_stream_sync(c->dev, c->stream);
	*waited_p = longest >= LONG_NS || released == -ETIMEDOUT;
	return status ? status : released && released != -ETIMEDOUT ? released : drained;
}

static int waits(const struct depth *d, struct bench_case *c, uint64_t count, bool *waits_p)
{
	int status = 0;
	*waits_p = true;
	for (unsigned i = 0; status == 0 && *waits_p && i < TRIES; i++)
		status = fill(d, c, count, waits_p);
	return status;
}

static int try_all(struct depth *d, struct bench_case *c, uint64_t most)
{
	/* What is loaded at its first use may wait for everything. */
	int status = d->enqueue(c);
	int drained = dev_stream_sync(c->dev, c->stream);
	status = status ? status : drained;
	for (uint64_t count = 1; status == 0 && d->found < most; count *= 2) {
		bool waited;
		count = count < most ? count : most;
		status = waits(d, c, count, &waited);
		if (status || waited)
			break;
		d->found = count;
	}
	return status;
}

int depth_find(struct depth *d, struct bench_case *c, const char *fact, int (*enqueue)(struct bench_case *c), uint64_t most)
{
	*d = (struct depth){.enqueue = enqueue};
	d->gate = own_gate(c, GATE_LIMIT_NS);
	d->probe = own_gate(c, LIMIT_NS);
	d->event = own_event(c);
	int status = own_status(c);
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		d->found = most;
	else if (status == 0)
		status = try_all(d, c, most);
	if (status == 0)
		bench_fact_number(c, fact, (double)d->found);
	return status;
}

int depth_calls(const struct depth *d, struct bench_case *c, uint64_t iterations, double *seconds_p)
{
	uint64_t most = d->found ? d->found : 1, seen = iterations < most ? iterations : most;
	int status = gate_shut(d->gate, c->dev, c->stream);
	uint64_t start = dev_clock_ns(c->dev);
	for (uint64_t i = 0; status == 0 && i < seen; i++)
		status = d->enqueue(c);
	uint64_t end = dev_clock_ns(c->dev);
	int released = gate_release(d->gate);
	int drained = dev_stream_sync(c->dev, c->stream);
	*seconds_p = 1e-9 * (double)(end - start) * (double)iterations / (double)seen;
	return status ? status : released ? released : drained;
}
