/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/contention/concurrent.h"
#include "bench/blocking_kernel.h"

#include <errno.h>

enum { NONE = -1, VARIANTS = SECOND_WITH_THIRD + 1 };

/* For every variant: the workload it times, the one that runs at the same time, and the variant of
 * the timed one alone. */
static const struct {
	int timed, partner;
	enum concurrent_variant alone;
} roles[VARIANTS] = {
	[FIRST_ALONE] = {0, NONE, FIRST_ALONE},    [SECOND_ALONE] = {1, NONE, SECOND_ALONE},
	[FIRST_WITH_SECOND] = {0, 1, FIRST_ALONE}, [SECOND_WITH_FIRST] = {1, 0, SECOND_ALONE},
	[THIRD_ALONE] = {2, NONE, THIRD_ALONE},    [THIRD_WITH_SECOND] = {2, 1, THIRD_ALONE},
	[SECOND_WITH_THIRD] = {1, 2, SECOND_ALONE}};

static unsigned variant_count(const struct concurrent *p)
{
	return p->workloads == 2 ? THIRD_ALONE : VARIANTS;
}

int concurrent_admit(const struct bench_case *c, const struct workload_spec *spec,
		     unsigned workloads)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < workloads; i++)
		status = workload_admit(c, &spec[i]);
	return status;
}

int concurrent_open(struct bench_case *c, const struct workload_spec *spec, unsigned workloads)
{
	struct concurrent *p = c->state;
	struct work_lanes *lanes = bench_lanes(c);
	int status = bench_status(c);
	p->workloads = workloads;
	for (unsigned i = 0; status == 0 && i < workloads; i++)
		status = workload_open(&p->workload[i], c, lanes, &spec[i]);
	return status;
}

/* ------------------------------------------------------------------ running */

static int enqueue_recorded_piece(struct bench_case *c, struct workload *a, unsigned which)
{
	int status = work_graph_run(a->piece);
	return status ? status : dev_event_record(c->dev, a->stream, a->step[which]);
}

static int start_partner(struct bench_case *c, struct workload *x, struct workload *y)
{
	int status = dev_event_record(c->dev, y->stream, y->begin);
	if (status == 0)
		status = enqueue_recorded_piece(c, y, 0);
	if (status == 0)
		status = enqueue_recorded_piece(c, y, 1);
	return status ? status : dev_stream_wait(c->dev, x->stream, y->begin);
}

/* Keeps two pieces of y queued: when one ends, another one is added, until x has ended. */
static int feed_partner(struct bench_case *c, struct workload *x, struct workload *y)
{
	for (unsigned i = 0;; i ^= 1) {
		int status = dev_event_query(c->dev, x->end);
		if (status != -EAGAIN)
			return status;
		status = dev_event_sync(c->dev, y->step[i]);
		if (status == 0)
			status = enqueue_recorded_piece(c, y, i);
		if (status)
			return status;
	}
}

static int time_workload(struct bench_case *c, struct workload *x, struct workload *y,
			 bool concurrent, uint64_t iterations)
{
	double ns = 0.0;
	int status = concurrent ? start_partner(c, x, y) : 0;
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->begin);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = work_graph_run(x->piece);
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->end);
	if (status == 0 && concurrent)
		status = feed_partner(c, x, y);
	int drained = dev_stream_sync(c->dev, x->stream);
	int partner = concurrent ? dev_stream_sync(c->dev, y->stream) : 0;
	status = status ? status : drained ? drained : partner;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, x->begin, x->end, &ns);
	c->self_seconds = 1e-9 * ns;
	return status;
}

int concurrent_body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct concurrent *p = c->state;
	int partner = roles[variant].partner;
	bool concurrent = partner != NONE;
	return time_workload(c, &p->workload[roles[variant].timed],
			     &p->workload[concurrent ? partner : 0], concurrent, iterations);
}

void concurrent_model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct concurrent *p = c->state;
	workload_model(&p->workload[roles[variant].timed], c, m);
}

/* ------------------------------------------------------------------ checking */

int concurrent_poison(struct bench_case *c, unsigned variant)
{
	const struct concurrent *p = c->state;
	(void)variant;
	int status = 0;
	for (unsigned i = 0; status == 0 && i < p->workloads; i++)
		status = workload_poison(&p->workload[i], c);
	return status;
}

int concurrent_check(struct bench_case *c, unsigned variant)
{
	const struct concurrent *p = c->state;
	int partner = roles[variant].partner,
	    status = workload_check(&p->workload[roles[variant].timed], c);
	return status == 0 && partner != NONE ? workload_check(&p->workload[partner], c) : status;
}

/* The variants in which an engine copies. */
static uint64_t engine_variants(const struct concurrent *p, const struct workload **engine_p)
{
	uint64_t uses = 0;
	for (unsigned v = 0; v < variant_count(p); v++)
		for (int i = 0; i < (int)p->workloads; i++)
			if ((i == roles[v].timed || i == roles[v].partner) &&
			    p->workload[i].spec.kind == WORKLOAD_ENGINE) {
				uses |= UINT64_C(1) << v;
				*engine_p = &p->workload[i];
			}
	return uses;
}

int concurrent_verify(struct bench_case *c)
{
	const struct concurrent *p = c->state;
	const struct workload *engine = NULL;
	uint64_t uses = engine_variants(p, &engine);
	int status = bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
					      p->workload[0].piece, p->workload[1].piece);
	if (status || !engine)
		return status;
	return blocking_kernel_verify_engine(c, uses, engine->array[0], engine->array[1],
					     engine->bytes);
}

int concurrent_derive(struct bench_case *c)
{
	const struct concurrent *p = c->state;
	int status = 0;
	for (unsigned v = 0; status == 0 && v < variant_count(p); v++)
		if (roles[v].partner != NONE)
			status = bench_ratio(c, "CIL", v, roles[v].alone,
					     "time with the other one running / time alone, round "
					     "by round");
	return status;
}
