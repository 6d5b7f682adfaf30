/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/sustained/load.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

#define ALGORITHM "direct"

static void add_gemms(const struct load *l, struct bench_case *c, struct work_graph *g)
{
	for (size_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		const struct dev_gemm gemm = bench_gemm_whole(&l->gemm[d]);
		work_graph_gemm(g, l->compute[d], &gemm);
	}
}

/* Every lane of a device waits for its copy. What others write to its vector follows from what it
 * sent after that. */
static void add_restores(const struct load *l, struct work_graph *g)
{
	const struct vectors *v = &l->vectors;
	for (uint32_t d = 0; d < v->places.devices; d++) {
		const uint32_t copy = work_graph_copy(g, v->places.lane[0][d], v->places.vector[d],
						      v->original[d], v->bytes, 0);
		for (uint32_t k = 1; k < v->places.devices; k++)
			work_graph_edge(g, copy, work_graph_mark(g, v->places.lane[k][d]));
	}
}

static int add_messages(const struct load *l, struct work_graph *g)
{
	add_restores(l, g);
	return collective_graph_add(g, DEV_ALLREDUCE, ALGORITHM, l->vectors.count,
				    &l->vectors.places);
}

static int add_library(const struct load *l, struct work_graph *g)
{
	add_restores(l, g);
	collective_graph_add_library(g, l->comm, &l->vectors, false);
	return 0;
}

enum { ENGINE, LIBRARY };
const char *const load_methods[] = {[ENGINE] = "engine", [LIBRARY] = "library", NULL};
static int (*const adds[])(const struct load *l, struct work_graph *g) = {
	[ENGINE] = add_messages, [LIBRARY] = add_library};

static void open_graph(struct load *l, struct bench_case *c, unsigned which)
{
	struct work_graph *g = bench_graph(c, l->vectors.lanes);
	if (c->status)
		return;
	work_graph_fork(g, l->case_lane);
	if (which == LOAD_BOTH)
		TRY(c->status, adds[axis_index(c, "method")](l, g));
	add_gemms(l, c, g);
	work_graph_join(g);
	l->graph[which] = g;
	TRY(c->status, work_graph_prepare(g));
	TRY(c->status, work_graph_complete(g));
	bench_queue_entries(c, which, work_graph_max_queued(g));
}

static uint64_t plan_staging(struct bench_case *c, uint64_t count)
{
	struct schedule_graph_plan plan = {0};
	TRY(c->status, collective_graph_plan(DEV_ALLREDUCE, ALGORITHM, (uint32_t)c->devices->count,
					     count, &plan));
	return plan.staging_bytes > DEV_KERNEL_ALIGN ? plan.staging_bytes : DEV_KERNEL_ALIGN;
}

int load_admit(const struct bench_case *c)
{
	const uint32_t needs[] = {
		[ENGINE] = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER, [LIBRARY] = DEV_CAP_COLLECTIVES};
	const uint32_t wanted = needs[axis_index(c, "method")];
	if ((dev_props(c->dev)->caps & wanted) != wanted)
		return err_note(-ENOTSUP, "the device does not support the method %s",
				axis_str(c, "method"));
	if (axis_u64(c, "size") > dev_props(c->dev)->memory_bytes / 8)
		return err_note(
			-ENOMEM,
			"vector, original and staging memory exceed the device's free memory");
	return 0;
}

int load_open(struct load *l, struct bench_case *c)
{
	const uint64_t count = axis_u64(c, "size") / sizeof(float);
	if (axis_index(c, "method") == LIBRARY)
		TRY(c->status, dev_comm_find(c->devices, DEV_COMM_DEFAULT, &l->comm));
	else
		bench_enable_peers(c);
	TRY(c->status, vectors_open(&l->vectors, c, DEV_ALLREDUCE, count, plan_staging(c, count)));
	l->case_lane = work_lane_of(l->vectors.lanes, 0, c->stream);
	for (uint32_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		l->compute[d] = work_lane_normal(l->vectors.lanes, d);
		bench_gemm_open_axes(&l->gemm[d], c, c->devices->dev[d]);
	}
	for (unsigned which = 0; which < LOADS; which++)
		open_graph(l, c, which);
	return c->status;
}

int load_poison(const struct load *l, struct bench_case *c)
{
	TRY(c->status, work_graph_complete(l->vectors.poison));
	for (size_t d = 0; d < c->devices->count; d++)
		TRY(c->status, bench_gemm_poison(&l->gemm[d], c));
	return c->status;
}

int load_check(struct load *l, struct bench_case *c, unsigned which)
{
	if (which == LOAD_BOTH)
		TRY(c->status, vectors_check(&l->vectors, c, true));
	for (size_t d = 0; d < c->devices->count; d++)
		TRY(c->status, bench_gemm_check(&l->gemm[d], c, 1));
	return c->status;
}
