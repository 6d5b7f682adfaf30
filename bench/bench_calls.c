/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_run.h"

/* A callback's error: what it returned, or kept. */
static int take_status(struct bench_run *r, int returned)
{
	const int status = returned ? returned : r->c.status;
	r->c.status = 0;
	return status;
}

static int repeat_once(struct bench_case *c, int (*once)(struct bench_case *c, long arg), long arg,
		       uint64_t iterations)
{
	c->self_seconds = 0.0;
	for (uint64_t i = 0; c->status == 0 && i < iterations; i++)
		TRY(c->status, once(c, arg));
	return c->status;
}

int bench_call_body(struct bench_run *r, unsigned variant, uint64_t iterations)
{
	const struct bench *b = r->b;
	const struct bench_variant *v = &b->variants[variant];
	if (v->once)
		return take_status(r, repeat_once(&r->c, v->once, v->arg, iterations));
	if (b->indexed.body && !v->body)
		return take_status(r, b->indexed.body(&r->c, variant, iterations));
	if (v->body || b->body)
		return take_status(r, (v->body ? v->body : b->body)(&r->c, v->arg, iterations));
	return take_status(r, repeat_once(&r->c, b->once, v->arg, iterations));
}

static int wait_for_stream(struct bench_run *r, int status)
{
	status = take_status(r, status);
	return status ? status : dev_stream_sync(r->c.dev, r->c.stream);
}

int bench_call_restore(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	if (r->b->indexed.restore && !v->restore)
		return wait_for_stream(r, r->b->indexed.restore(&r->c, variant));
	int (*restore)(struct bench_case * c, long arg) = v->restore ? v->restore : r->b->restore;
	return restore ? wait_for_stream(r, restore(&r->c, v->arg)) : 0;
}

int bench_call_poison(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	if (r->b->indexed.poison && !v->poison)
		return wait_for_stream(r, r->b->indexed.poison(&r->c, variant));
	int (*poison)(struct bench_case * c, long arg) = v->poison ? v->poison : r->b->poison;
	return poison                      ? wait_for_stream(r, poison(&r->c, v->arg))
	       : r->current.expected_count ? wait_for_stream(r, bench_expected_poison(r, variant))
					   : 0;
}

int bench_call_check(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	if (!bench_has_check(r, variant))
		return 0;
	if (r->b->indexed.check && !v->check)
		return take_status(r, r->b->indexed.check(&r->c, variant));
	if (v->check || r->b->check)
		return take_status(r, (v->check ? v->check : r->b->check)(&r->c, v->arg));
	return take_status(r, bench_expected_check(r, variant));
}

struct bench_model bench_work(const struct bench_case *c, unsigned variant)
{
	const struct bench *b = c->run->b;
	const struct bench_variant *v = &b->variants[variant];
	struct bench_model m = {0};
	if (b->indexed.model && !v->model)
		b->indexed.model(c, variant, &m);
	else if (v->model || b->model)
		(v->model ? v->model : b->model)(c, v->arg, &m);
	return m;
}

bool bench_has_check(const struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	return !v->reference &&
	       (v->check || r->b->check || r->b->indexed.check || bench_expects(r, variant));
}

bool bench_has_checks(const struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++)
		if (bench_has_check(r, v))
			return true;
	return false;
}
