/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/collective/methods.h"
#include "bench/blocking_kernel.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define UNITS_SHARE 8
#define STAMPS_BEHIND 3

#define BIT(variant) (UINT64_C(1) << (variant))

uint64_t method_variants(const struct method *m)
{
	return BIT(m->both) | BIT(m->serial) | BIT(m->alone) | BIT(m->gemm_in) | BIT(m->side_in);
}

uint64_t methods_bytes(const struct bench_case *c)
{
	const uint64_t size = axis_u64(c, "size");
	return size - size % (c->devices->count * DEV_KERNEL_ALIGN);
}

/* ------------------------------------------------------------------ the methods */

static const char *find_algorithm(enum dev_collective what)
{
	return what == DEV_ALL_TO_ALL ? "spread-out" : "direct";
}

static int add_messages(const struct methods *s, struct work_graph *g,
			const struct schedule_graph_places *places)
{
	return collective_graph_add(g, s->what, find_algorithm(s->what), s->bytes / sizeof(float),
				    places);
}

static int add_copies(const struct methods *s, struct work_graph *g)
{
	return add_messages(s, g, &s->vectors.places);
}

static int add_kernels(const struct methods *s, struct work_graph *g)
{
	struct schedule_graph_places places = s->vectors.places;
	places.copy_blocks = s->message_blocks;
	places.add_blocks = s->copy_blocks;
	return add_messages(s, g, &places);
}

static int add_library(const struct methods *s, struct work_graph *g)
{
	collective_graph_add_library(g, s->comm, &s->vectors, false);
	return 0;
}

#define METHOD_ROW(id, label, how)                                                                 \
	[METHOD_##id] = {(label),    (how),        id##_BOTH,   id##_SERIAL,                       \
			 id##_ALONE, GEMM_IN_##id, SIDE_IN_##id},
const struct method methods[METHODS] = {METHOD_TABLE(METHOD_ROW)};

/* ------------------------------------------------------------------ what is possible */

bool method_is_on(const struct bench_case *c, const struct method *m)
{
	return bench_variant_on(c, m->both);
}

static void turn_off_unasked(struct bench_case *c)
{
	for (unsigned m = 0; m < METHODS; m++)
		for (unsigned v = 0; v < METHOD_VARIANTS_ALL; v++)
			if (!method_is_on(c, &methods[m]) && method_variants(&methods[m]) >> v & 1)
				bench_variant_off(c, v);
}

/* Not supported: the methods are off; any other error fails the case. */
static void skip_methods(struct bench_case *c, uint64_t variants, int status)
{
	char why[ERR_TEXT];
	if (status != -ENOTSUP) {
		TRY(c->status, status);
		return;
	}
	snprintf(why, sizeof(why), "%s", err_text());
	TRY(c->status, bench_variants_skip(c, variants, why));
}

static void find_peers(struct bench_case *c)
{
	const uint64_t own =
		method_variants(&methods[METHOD_ENGINE]) | method_variants(&methods[METHOD_KERNEL]);
	const struct dev_set *set = c->devices;
	int status = 0;
	for (size_t i = 1; i < set->count; i++)
		for (size_t k = 0; k < i; k++)
			TRY(status, dev_peer_enable(set->dev[i], set->dev[k]));
	skip_methods(c, own, status);
}

static void find_library(struct bench_case *c)
{
	struct methods *s = c->state;
	if (c->status == 0 && method_is_on(c, &methods[METHOD_LIBRARY]))
		skip_methods(c, method_variants(&methods[METHOD_LIBRARY]),
			     dev_comm_find(c->devices, DEV_COMM_DEFAULT, &s->comm));
}

/* The most that any of our own methods needs; what all-to-all receives. */
static uint64_t staging_bytes(struct bench_case *c)
{
	const struct methods *s = c->state;
	struct schedule_graph_plan plan = {0};
	TRY(c->status,
	    collective_graph_plan(s->what, find_algorithm(s->what), (uint32_t)c->devices->count,
				  s->bytes / sizeof(float), &plan));
	return plan.staging_bytes > DEV_KERNEL_ALIGN ? plan.staging_bytes : DEV_KERNEL_ALIGN;
}

/* ------------------------------------------------------------------ graphs */

static void add_gemms(struct bench_case *c, struct work_graph *g)
{
	const struct methods *s = c->state;
	for (size_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		const struct dev_gemm gemm = bench_gemm_whole(&s->gemm[d]);
		work_graph_gemm(g, s->compute[d], &gemm);
	}
}

/* The collective's first lane waits for the device's GEMM. */
static void add_gemms_before(struct bench_case *c, struct work_graph *g)
{
	const struct methods *s = c->state;
	for (size_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		const struct dev_gemm gemm = bench_gemm_whole(&s->gemm[d]);
		const uint32_t node = work_graph_gemm(g, s->compute[d], &gemm);
		work_graph_edge(g, node, work_graph_mark(g, s->vectors.places.lane[0][d]));
	}
}

static void add_gemms_behind(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	struct work_graph *g = s->graph[m->both];
	for (size_t d = 0; d < c->devices->count; d++)
		for (int i = 0; i < STAMPS_BEHIND; i++) {
			s->gemm_start[m->gemm_in][d] = work_graph_mark(g, s->compute[d]);
			work_graph_stamp_end(g, s->gemm_start[m->gemm_in][d]);
		}
	add_gemms(c, g);
}

static int open_method(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	struct work_graph *const graphs[] = {bench_graph(c, s->vectors.lanes),
					     bench_graph(c, s->vectors.lanes),
					     bench_graph(c, s->vectors.lanes)};
	int status = c->status;
	s->graph[m->alone] = graphs[0];
	s->graph[m->serial] = graphs[1];
	s->graph[m->both] = s->graph[m->gemm_in] = s->graph[m->side_in] = graphs[2];
	add_gemms_before(c, s->graph[m->serial]);
	for (int i = 0; i < 3; i++)
		TRY(status, m->add(s, graphs[i]));
	add_gemms_behind(c, m);
	for (int i = 0; i < 3; i++) {
		TRY(status, work_graph_prepare(graphs[i]));
		TRY(status, work_graph_complete(graphs[i]));
	}
	return status;
}

static void open_gemms(struct bench_case *c)
{
	struct methods *s = c->state;
	for (uint32_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		s->compute[d] = work_lane_normal(s->vectors.lanes, d);
		bench_gemm_open_axes(&s->gemm[d], c, c->devices->dev[d]);
	}
	s->graph[GEMM_ALONE] = bench_graph(c, s->vectors.lanes);
	add_gemms(c, s->graph[GEMM_ALONE]);
	bench_graph_prepare(c, s->graph[GEMM_ALONE]);
}

/* The messages of a device share the blocks; those of all-to-all include one to itself. */
static void share_blocks(struct bench_case *c)
{
	struct methods *s = c->state;
	const uint32_t asked = (uint32_t)axis_u64(c, "blocks"),
		       blocks = asked ? asked : dev_props(c->dev)->units / UNITS_SHARE,
		       messages = (uint32_t)c->devices->count - (s->what != DEV_ALL_TO_ALL);
	s->message_blocks = blocks > messages ? blocks / messages : 1;
	s->copy_blocks = s->message_blocks * messages;
}

int methods_open(struct bench_case *c)
{
	struct methods *s = c->state;
	s->what = (enum dev_collective)axis_index(c, "collective");
	s->bytes = methods_bytes(c);
	share_blocks(c);
	turn_off_unasked(c);
	find_peers(c);
	TRY(c->status, blocking_kernel_need_engine(c, method_variants(&methods[METHOD_ENGINE])));
	find_library(c);
	const uint64_t staging = staging_bytes(c);
	TRY(c->status, vectors_open(&s->vectors, c, s->what, s->bytes / sizeof(float), staging));
	open_gemms(c);
	for (unsigned m = 0; c->status == 0 && m < METHODS; m++)
		if (method_is_on(c, &methods[m]))
			skip_methods(c, method_variants(&methods[m]), open_method(c, &methods[m]));
	return c->status;
}

/* ------------------------------------------------------------------ running */

static int time_graph(struct bench_case *c, long variant, double *seconds_p)
{
	const struct methods *s = c->state;
	TRY(c->status, work_graph_complete(s->vectors.restore));
	return TRY(c->status, work_graph_time(s->graph[variant], seconds_p));
}

int methods_time(struct bench_case *c, long variant)
{
	double seconds = 0.0;
	time_graph(c, variant, &seconds);
	c->self_seconds += seconds;
	return c->status;
}

int methods_time_gemm(struct bench_case *c, long variant)
{
	const struct methods *s = c->state;
	const struct work_graph *g = s->graph[variant];
	double longest_s = 0.0, start_s = 0.0, end_s = 0.0;
	time_graph(c, variant, &end_s);
	for (size_t d = 0; d < c->devices->count; d++) {
		TRY(c->status,
		    work_graph_seconds(g, WORK_GRAPH_BEGIN, s->gemm_start[variant][d], &start_s));
		TRY(c->status, work_graph_lane_seconds(g, s->compute[d], &end_s));
		longest_s = fmax(longest_s, end_s - start_s);
	}
	c->self_seconds += longest_s;
	return c->status;
}

int methods_time_collective(struct bench_case *c, long variant)
{
	const struct methods *s = c->state;
	const size_t devices = c->devices->count;
	double seconds = 0.0, longest_s = 0.0;
	time_graph(c, variant, &seconds);
	for (size_t i = 0; c->status == 0 && i < devices * devices; i++) {
		const uint32_t lane = s->vectors.places.lane[i % devices][i / devices];
		const int status = work_graph_lane_seconds(s->graph[variant], lane, &seconds);
		if (status == 0)
			longest_s = fmax(longest_s, seconds);
		else if (status != -ENOENT)
			c->status = status;
	}
	c->self_seconds += longest_s;
	return c->status;
}
