/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/bench_graph.h"
#include "lib/err.h"

#include <errno.h>

int bench_graph_prepare(struct bench_case *c, struct work_graph *g)
{
	int status = bench_status(c);
	if (status == 0)
		status = work_graph_prepare(g);
	return bench_status_add(c, status ? status : work_graph_complete(g));
}

int bench_graph_time(struct bench_case *c, struct work_graph *g, uint64_t iterations)
{
	double seconds = 0.0, sum_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++, sum_s += seconds)
		status = work_graph_time(g, &seconds);
	c->self_seconds = sum_s;
	return status;
}

int bench_enable_peers(struct bench_case *c)
{
	const struct dev_set *set = c->devices;
	for (size_t i = 1; bench_status(c) == 0 && i < set->count; i++)
		for (size_t k = 0; k < i; k++)
			bench_status_add(c, dev_peer_enable(set->dev[i], set->dev[k]));
	return bench_status(c);
}

int bench_verify_independent(struct bench_case *c, uint64_t uses, const char *name,
			     struct work_graph *held, struct work_graph *other)
{
	size_t devices = 0;
	double seconds;
	int status = work_graph_hold(held);
	if (status == 0)
		status = work_graph_run(held);
	if (status == 0)
		status = work_graph_complete(other);
	if (status == 0)
		status = work_graph_unfinished(held, &devices);
	status = work_graph_release(held, status, &seconds);
	/* The watchdog opened the gate: the other graph waited for it. */
	bool overdue = status == -ETIMEDOUT;
	bool observed = !overdue && devices == work_graph_devices(held);
	if (status && !overdue)
		return status;
	static const char detail[] = "the other work completed while %zu of %zu devices were held";
	if (uses == UINT64_MAX)
		bench_mechanism(c, name, observed, detail, devices, work_graph_devices(held));
	else
		bench_mechanism_of(c, uses, name, observed, detail, devices,
				   work_graph_devices(held));
	return 0;
}
