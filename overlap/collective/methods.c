/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/collective/methods.h"
#include "device/kernels.h"
#include "lib/text.h"

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

static int add_copies(const struct methods *s, const struct method *m, struct work_graph *g)
{
	return add_messages(s, g, &s->vectors[0].places);
}

static int add_kernels(const struct methods *s, const struct method *m, struct work_graph *g)
{
	struct schedule_graph_places places = s->vectors[0].places;
	places.copy_blocks = s->message_blocks;
	places.add_blocks = s->copy_blocks;
	return add_messages(s, g, &places);
}

static int add_library(const struct methods *s, const struct method *m, struct work_graph *g)
{
	collective_graph_add_library(g, s->comm[m->policy], &s->vectors[m->policy], false);
	return 0;
}

#define VARIANTS_OF(id) id##_BOTH, id##_SERIAL, id##_ALONE, GEMM_IN_##id, SIDE_IN_##id
const struct method methods[METHODS] = {
	[METHOD_ENGINE] = {"engine", VARIANTS_OF(ENGINE), add_copies},
	[METHOD_KERNEL] = {"kernel", VARIANTS_OF(KERNEL), add_kernels},
	[METHOD_LIBRARY] = {"library", VARIANTS_OF(LIBRARY), add_library, true, DEV_COMM_DEFAULT},
	[METHOD_LIBRARY_EFFICIENCY] = {"library-efficiency", VARIANTS_OF(LIBRARY_EFFICIENCY),
				       add_library, true, DEV_COMM_EFFICIENCY},
	[METHOD_LIBRARY_ZERO_CTA] = {"library-zero-cta", VARIANTS_OF(LIBRARY_ZERO_CTA), add_library,
				     true, DEV_COMM_ZERO_CTA}};

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

static int find_library(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	const char *takes_units = ((const struct methods_known *)c->arg)->takes_units[s->what];
	if (m->policy == DEV_COMM_ZERO_CTA && takes_units[0])
		return err_note(-ENOTSUP, "%s, as an earlier case found", takes_units);
	return dev_comm_find(c->devices, m->policy, &s->comm[m->policy]);
}

static void find_libraries(struct bench_case *c)
{
	for (unsigned m = 0; m < METHODS && c->status == 0; m++)
		if (methods[m].by_library && method_is_on(c, &methods[m]))
			skip_methods(c, method_variants(&methods[m]), find_library(c, &methods[m]));
}

/* The most that any of our own methods needs; what all-to-all receives. */
static uint64_t find_staging(struct bench_case *c)
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
		work_graph_edge(g, node, work_graph_mark(g, s->vectors[0].places.lane[0][d]));
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

/* Memory that is registered with the communicator, where its policy needs that. */
static int open_vectors(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	if (m->policy == DEV_COMM_DEFAULT)
		return c->status;
	int status = vectors_open_registered(&s->vectors[m->policy], &s->vectors[0], c,
					     s->comm[m->policy], s->staging_bytes);
	return status == -ENOMEM ? err_note(-ENOTSUP, "%s", err_text()) : status;
}

static int need_no_units(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	struct methods_known *known = c->arg;
	int status = bench_need_no_units(c, s->graph[m->alone], s->bytes);
	if (status == -ENOTSUP)
		text_fit(known->takes_units[s->what], ERR_TEXT, "%s", err_text());
	return status;
}

static int open_method(struct bench_case *c, const struct method *m)
{
	struct methods *s = c->state;
	int status = open_vectors(c, m);
	struct work_graph *const graphs[] = {bench_graph(c, s->vectors[0].lanes),
					     bench_graph(c, s->vectors[0].lanes),
					     bench_graph(c, s->vectors[0].lanes)};
	TRY(status, c->status);
	s->graph[m->alone] = graphs[0];
	s->graph[m->serial] = graphs[1];
	s->graph[m->both] = s->graph[m->gemm_in] = s->graph[m->side_in] = graphs[2];
	for (unsigned v = 0; v < METHOD_VARIANTS_ALL; v++)
		if (method_variants(m) >> v & 1)
			s->of[v] = &s->vectors[m->policy];
	add_gemms_before(c, s->graph[m->serial]);
	for (int i = 0; i < 3; i++)
		TRY(status, m->add(s, m, graphs[i]));
	add_gemms_behind(c, m);
	for (int i = 0; i < 3; i++) {
		TRY(status, work_graph_prepare(graphs[i]));
		TRY(status, work_graph_complete(graphs[i]));
	}
	return m->policy == DEV_COMM_ZERO_CTA ? TRY(status, need_no_units(c, m)) : status;
}

static void open_gemms(struct bench_case *c)
{
	struct methods *s = c->state;
	for (uint32_t d = 0; c->status == 0 && d < c->devices->count; d++) {
		s->compute[d] = work_lane_normal(s->vectors[0].lanes, d);
		bench_gemm_open_axes(&s->gemm[d], c, c->devices->dev[d]);
	}
	s->graph[GEMM_ALONE] = bench_graph(c, s->vectors[0].lanes);
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
	find_libraries(c);
	s->staging_bytes = find_staging(c);
	TRY(c->status,
	    vectors_open(&s->vectors[0], c, s->what, s->bytes / sizeof(float), s->staging_bytes));
	s->of[GEMM_ALONE] = &s->vectors[0];
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
	TRY(c->status, work_graph_complete(s->of[variant]->restore));
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
		const uint32_t lane = s->vectors[0].places.lane[i % devices][i / devices];
		const int status = work_graph_lane_seconds(s->graph[variant], lane, &seconds);
		if (status == 0)
			longest_s = fmax(longest_s, seconds);
		else if (status != -ENOENT)
			c->status = status;
	}
	c->self_seconds += longest_s;
	return c->status;
}
