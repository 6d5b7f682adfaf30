/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/grouped/experts.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/router.h"

#include <errno.h>
#include <stdio.h>

enum { EVEN, UNEVEN };
const char *const experts_routings[] = {[EVEN] = "even", [UNEVEN] = "uneven", NULL};
_Static_assert(DEV_GEMM_GROUPS <= ROUTER_EXPERTS, "a group is an expert");

int experts_shape(const struct bench_case *c, uint32_t experts, struct shape *shape_p)
{
	return bench_gemm_weights(axis_str(c, "weights"), experts * (uint32_t)axis_u64(c, "rows"),
				  shape_p);
}

/* Rows are routed in the multiples that the type needs. */
static void route_rows(struct bench_case *c, uint32_t multiple, uint32_t *rows)
{
	const uint32_t experts = (uint32_t)axis_u64(c, "experts"),
		       each = (uint32_t)axis_u64(c, "rows");
	double popular[ROUTER_EXPERTS];
	router_draw(&c->rng, experts, popular);
	router_divide(&c->rng, popular, experts, experts * each / multiple, rows);
	for (uint32_t i = 0; i < experts; i++)
		rows[i] = axis_index(c, "routing") == EVEN ? each : rows[i] * multiple;
}

/* ------------------------------------------------------------------ graphs */

static void add_serial(struct bench_case *c, struct work_graph *g)
{
	const struct experts *s = c->state;
	for (uint32_t i = 0; i < s->gemm.groups; i++) {
		const struct bench_gemm own = bench_gemm_group(&s->gemm, i);
		const struct dev_gemm gemm = bench_gemm_whole(&own);
		if (own.shape.m)
			work_graph_gemm(g, s->lane[0], &gemm);
	}
}

/* Experts take turns in the streams. */
static void add_streams(struct bench_case *c, struct work_graph *g)
{
	const struct experts *s = c->state;
	work_graph_fork(g, s->lane[0]);
	for (uint32_t i = 0, at = 0; i < s->gemm.groups; i++) {
		const struct bench_gemm own = bench_gemm_group(&s->gemm, i);
		const struct dev_gemm gemm = bench_gemm_whole(&own);
		if (own.shape.m)
			work_graph_gemm(g, s->lane[at++ % EXPERTS_LANES], &gemm);
	}
	work_graph_join(g);
}

static void add_grouped(struct bench_case *c, struct work_graph *g)
{
	const struct experts *s = c->state;
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	work_graph_gemm(g, s->lane[0], &gemm);
}

static void add_whole(struct bench_case *c, struct work_graph *g)
{
	const struct experts *s = c->state;
	const struct bench_gemm all = bench_gemm_ungrouped(&s->gemm);
	const struct dev_gemm gemm = bench_gemm_whole(&all);
	work_graph_gemm(g, s->lane[0], &gemm);
}

/* The weights lie one after the other, so those of as many experts as have rows are one range. */
static void add_read(struct bench_case *c, struct work_graph *g)
{
	struct experts *s = c->state;
	const struct bench_gemm first = bench_gemm_group(&s->gemm, 0);
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	const uint64_t bytes =
		dev_gemm_groups(&gemm) * first.b_bytes / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	const uint32_t reps = 1;
	uint32_t *sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	const void *const args[] = {&s->gemm.b, &bytes, &reps, &sink};
	s->read_bytes = (double)bytes;
	work_graph_kernel(g, s->lane[0], "read", 0, args);
}

static void (*const builders[EXPERTS_RUNS])(struct bench_case *,
					    struct work_graph *) = {[EXPERTS_SERIAL] = add_serial,
								    [EXPERTS_STREAMS] = add_streams,
								    [EXPERTS_GROUPED] = add_grouped,
								    [EXPERTS_WHOLE] = add_whole,
								    [EXPERTS_READ] = add_read};

static void build_graph(struct bench_case *c, struct work_lanes *lanes, unsigned run)
{
	struct experts *s = c->state;
	struct work_graph *g = s->graph[run] = bench_graph(c, lanes);
	if (c->status)
		return;
	builders[run](c, g);
	if (bench_graph_prepare(c, g) == 0)
		bench_queue_entries(c, run, work_graph_max_queued(g));
}

/* ------------------------------------------------------------------ opening */

/* A grouped GEMM that the device's library lacks leaves the others. */
static void check_grouped(struct bench_case *c)
{
	char why[ERR_TEXT];
	const struct dev_gemm gemm = bench_gemm_whole(&((const struct experts *)c->state)->gemm);
	const int status =
		bench_variant_on(c, EXPERTS_GROUPED) ? dev_gemm_prepare(c->dev, &gemm) : 0;
	snprintf(why, sizeof(why), "%s", status ? err_text() : "");
	TRY(c->status,
	    status == -ENOTSUP ? bench_variants_skip(c, 1u << EXPERTS_GROUPED, why) : status);
}

/* The first grouped GEMM of some matrices may wait, which a gate does not allow. */
static void run_every_set(struct bench_case *c)
{
	const struct experts *s = c->state;
	struct work_graph *g = s->graph[EXPERTS_GROUPED];
	for (uint32_t i = 0; g && c->status == 0 && i < rotation_sets(s->cold); i++)
		TRY(c->status, work_graph_complete(g));
}

int experts_open(struct bench_case *c)
{
	struct experts *s = c->state;
	const enum dev_type type = (enum dev_type)axis_index(c, "type");
	const uint32_t experts = (uint32_t)axis_u64(c, "experts");
	uint32_t rows[DEV_GEMM_GROUPS];
	struct shape shape;
	struct work_lanes *lanes = bench_lanes(c);
	if (TRY(c->status, experts_shape(c, experts, &shape)))
		return c->status;
	route_rows(c, dev_types[type].multiple, rows);
	for (unsigned i = 0; i < EXPERTS_LANES; i++)
		s->lane[i] = i ? work_lane_normal(lanes, 0) : work_lane_of(lanes, 0, c->stream);
	bench_gemm_open_groups(&s->gemm, c, c->dev, &shape, type, rows, experts);
	if (c->status == 0)
		check_grouped(c);
	for (unsigned run = 0; c->status == 0 && run < EXPERTS_RUNS; run++)
		if (bench_variant_on(c, run))
			build_graph(c, lanes, run);
	if (c->status == 0)
		TRY(c->status, bench_rotate(c, s->graph, EXPERTS_WHOLE, &s->cold));
	run_every_set(c);
	return c->status;
}
