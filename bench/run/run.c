/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/run.h"

volatile sig_atomic_t bench_interrupted;

double bench_time(struct bench_run *r) { return 1e-9 * (double)dev_clock_ns(r->c.dev); }

bool bench_virtual(const struct bench_run *r)
{
	return dev_can(r->c.dev, DEV_CAP_VIRTUAL_TIME) || (r->b->job && r->b->job->virtual_time);
}

bool bench_stopped(const struct bench_case *c) { return bench_interrupted != 0; }

bool bench_has_results(const struct bench_case *c)
{
	bool results = true;
	for (size_t i = 0; i < c->devices->count; i++)
		results = results && !dev_can(c->devices->dev[i], DEV_CAP_TIME_ONLY);
	return results;
}

bool bench_checked(const struct bench_case *c) { return c->run->o.check != BENCH_CHECK_OFF; }
