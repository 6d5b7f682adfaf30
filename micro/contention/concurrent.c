/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/contention/concurrent.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"

#include <errno.h>

/* The timed workload of a variant, and its partner: the same one if there is none. */
static const struct workload *timed_of(const struct bench_case *c, long pair)
{
	return &((const struct concurrent *)c->state)->workload[pair / MAX_WORKLOADS];
}

static struct workload *partner_of(const struct bench_case *c, long pair)
{
	return &((struct concurrent *)c->state)->workload[pair % MAX_WORKLOADS];
}

int concurrent_admit(const struct bench_case *c, const struct workload_spec *spec,
		     unsigned workloads)
{
	int status = 0;
	for (unsigned i = 0; i < workloads; i++)
		TRY(status, workload_admit(c, &spec[i]));
	return status;
}

int concurrent_open(struct bench_case *c, const struct workload_spec *spec, unsigned workloads)
{
	struct concurrent *p = c->state;
	struct work_lanes *lanes = bench_lanes(c);
	p->workloads = workloads;
	for (unsigned i = 0; i < workloads; i++)
		TRY(c->status, workload_open(&p->workload[i], c, lanes, &spec[i]));
	return c->status;
}

/* ------------------------------------------------------------------ running */

/* Keeps y running until x has ended. */
static void feed_partner(struct bench_case *c, const struct workload *x, struct workload *y)
{
	while (c->status == 0) {
		const int ended = dev_event_query(c->dev, x->end);
		if (ended != -EAGAIN) {
			c->status = ended;
			return;
		}
		workload_follow(y, c);
	}
}

int concurrent_body(struct bench_case *c, long pair, uint64_t iterations)
{
	const struct workload *x = timed_of(c, pair);
	struct workload *y = partner_of(c, pair);
	double ns = 0.0;
	if (x != y) {
		workload_start(y, c);
		TRY(c->status, dev_stream_wait(c->dev, x->stream, y->begin));
	}
	TRY(c->status, dev_event_record(c->dev, x->stream, x->begin));
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++)
		TRY(c->status, work_graph_run(x->piece));
	TRY(c->status, dev_event_record(c->dev, x->stream, x->end));
	if (x != y)
		feed_partner(c, x, y);
	const int drained = dev_stream_sync(c->dev, x->stream);
	const int partner = x != y ? dev_stream_sync(c->dev, y->stream) : 0;
	TRY(c->status, drained);
	TRY(c->status, partner);
	TRY(c->status, dev_event_elapsed_ns(c->dev, x->begin, x->end, &ns));
	c->self_seconds = 1e-9 * ns;
	return c->status;
}

void concurrent_model(const struct bench_case *c, long pair, struct bench_model *m)
{
	workload_model(timed_of(c, pair), c, m);
}

/* ------------------------------------------------------------------ checking */

int concurrent_poison(struct bench_case *c, long pair)
{
	const struct concurrent *p = c->state;
	for (unsigned i = 0; i < p->workloads; i++)
		TRY(c->status, workload_poison(&p->workload[i], c));
	return c->status;
}

int concurrent_check(struct bench_case *c, long pair)
{
	const struct workload *x = timed_of(c, pair), *y = partner_of(c, pair);
	TRY(c->status, workload_check(x, c));
	return TRY(c->status, x != y ? workload_check(y, c) : 0);
}

int concurrent_verify(struct bench_case *c)
{
	const struct concurrent *p = c->state;
	const struct workload *engine = NULL;
	uint64_t uses = 0;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		const long pair = bench_row(c, v)->arg;
		const struct workload *x = timed_of(c, pair), *y = partner_of(c, pair);
		if (x->spec.kind == WORKLOAD_ENGINE || y->spec.kind == WORKLOAD_ENGINE) {
			engine = x->spec.kind == WORKLOAD_ENGINE ? x : y;
			uses |= UINT64_C(1) << v;
		}
	}
	TRY(c->status, bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
						p->workload[0].piece, p->workload[1].piece));
	if (engine)
		TRY(c->status, blocking_kernel_verify_engine(c, uses, engine->array[0],
							     engine->array[1], engine->bytes));
	return c->status;
}
