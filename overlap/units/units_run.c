/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/units/units_run.h"
#include "bench/blocking_kernel.h"
#include "bench/pattern.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

#define COPY_KERNEL "copy_nt"
#define STAMPS_BEHIND 2
#define RESIDENT_NS UINT64_C(300000000)

/* Two of any units, for a GEMM and for a copy, and two of units of their own. */
enum { ANY, ANY_TOO, REST, GIVEN, LANES, NONE };

/* The lanes of both sides of a run; with one lane the copy follows the GEMM. */
static const struct {
	uint32_t gemm, copy;
	bool all_blocks; /* of a copy: as for all units */
} runs[UNITS_RUNS] = {[GEMM] = {ANY, NONE, false},      [ON_REST] = {REST, NONE, false},
		      [COPY] = {NONE, ANY, true},       [ON_GIVEN] = {NONE, GIVEN, false},
		      [SERIAL] = {ANY, ANY, true},      [CONCURRENT] = {ANY, ANY_TOO, false},
		      [RESERVED] = {REST, GIVEN, false}};

static void open_gemm(struct bench_case *c)
{
	struct units_state *s = c->state;
	const char *word = axis_str(c, "gemm");
	const enum dev_type type = (enum dev_type)axis_index(c, "type");
	struct shape shape = {0};
	if (strcmp(word, "compute") == 0)
		shape = bench_gemm_arithmetic_bound(dev_props(c->dev));
	else if (strcmp(word, "memory") == 0)
		shape = bench_gemm_memory_bound(dev_props(c->dev), type);
	else
		TRY(c->status, shape_parse(word, 0, &shape));
	TRY(c->status, bench_gemm_open(&s->gemm, c, c->dev, &shape, type));
}

/* Blocks of a copy on all units, and on those given, each of which has one at least. */
static void choose_blocks(struct bench_case *c)
{
	struct units_state *s = c->state;
	struct dev_kernel *copy = bench_kernel(c, COPY_KERNEL);
	if (c->status)
		return;
	s->wave = dev_wave_blocks(c->dev, copy);
	TRY(c->status, s->wave ? 0 : -EIO);
	const uint64_t share = (uint64_t)s->wave * s->given / s->units;
	s->blocks = share > s->given ? (uint32_t)share : s->given;
}

static void divide_units(struct bench_case *c)
{
	const struct units_state *s = c->state;
	struct dev_stream *given = work_lane_stream(s->lanes, GIVEN),
			  *rest = work_lane_stream(s->lanes, REST);
	TRY(c->status, dev_stream_units(c->dev, given, 0, s->given));
	TRY(c->status, dev_stream_units(c->dev, rest, s->given, s->units - s->given));
}

static void build_run(struct bench_case *c, unsigned run)
{
	struct units_state *s = c->state;
	struct work_graph *g = s->graph[run] = bench_graph(c, s->lanes);
	const struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	const uint32_t blocks = runs[run].all_blocks ? s->wave : s->blocks;
	const bool both = runs[run].gemm != NONE && runs[run].copy != NONE,
		   at_once = both && runs[run].gemm != runs[run].copy;
	s->gemm_start[run] = WORK_GRAPH_BEGIN;
	if (at_once || runs[run].gemm == NONE)
		work_graph_pass(g, runs[run].copy, COPY_KERNEL, s->to, s->from, s->bytes, blocks);
	for (int i = 0; at_once && i < STAMPS_BEHIND; i++) {
		s->gemm_start[run] = work_graph_mark(g, runs[run].gemm);
		work_graph_stamp_end(g, s->gemm_start[run]);
	}
	if (runs[run].gemm != NONE)
		work_graph_gemm(g, runs[run].gemm, &gemm);
	if (both && !at_once)
		work_graph_pass(g, runs[run].copy, COPY_KERNEL, s->to, s->from, s->bytes, blocks);
	bench_graph_prepare(c, g);
}

int units_open(struct bench_case *c)
{
	struct units_state *s = c->state;
	s->units = dev_props(c->dev)->units;
	s->given = (uint32_t)axis_u64(c, "units");
	s->bytes = axis_u64(c, "size");
	s->lanes = bench_lanes(c);
	for (int lane = 0; lane < LANES; lane++)
		work_lane_normal(s->lanes, 0);
	choose_blocks(c);
	if (c->status == 0)
		divide_units(c);
	s->pattern = pattern_reals(c);
	s->to = bench_alloc(c, DEV_MEM_DEVICE, s->bytes);
	s->from = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, s->bytes, s->pattern);
	open_gemm(c);
	for (unsigned run = 0; c->status == 0 && run < UNITS_RUNS; run++)
		build_run(c, run);
	return c->status;
}

/* ------------------------------------------------------------------ running */

bool units_run_has_gemm(long run) { return runs[run].gemm != NONE; }
bool units_run_has_copy(long run) { return runs[run].copy != NONE; }

int units_time(struct bench_case *c, long run)
{
	double seconds = 0.0;
	TRY(c->status, work_graph_time(((struct units_state *)c->state)->graph[run], &seconds));
	c->self_seconds += seconds;
	return c->status;
}

int units_time_gemm(struct bench_case *c, long run)
{
	const struct units_state *s = c->state;
	const struct work_graph *g = s->graph[run];
	double start_s = 0.0, end_s = 0.0;
	TRY(c->status, work_graph_time(s->graph[run], &end_s));
	TRY(c->status, work_graph_lane_seconds(g, runs[run].gemm, &end_s));
	TRY(c->status, work_graph_seconds(g, WORK_GRAPH_BEGIN, s->gemm_start[run], &start_s));
	c->self_seconds += end_s - start_s;
	return c->status;
}

int units_time_copy(struct bench_case *c, long run)
{
	const struct units_state *s = c->state;
	double seconds = 0.0;
	TRY(c->status, work_graph_time(s->graph[run], &seconds));
	TRY(c->status, work_graph_lane_seconds(s->graph[run], runs[run].copy, &seconds));
	c->self_seconds += seconds;
	return c->status;
}

/* ------------------------------------------------------------------ where blocks are resident */

/* Blocks of a launch that fills the device, in two streams at once: each stream has those of its
 * units resident, and no others. */
int units_verify(struct bench_case *c, uint64_t uses)
{
	const struct units_state *s = c->state;
	static const uint32_t lanes[] = {REST, GIVEN};
	const uint32_t units[] = {s->units - s->given, s->given};
	uint32_t slots = 0, resident[2] = {0}, timed_out = 0;
	struct blocking_kernel b[2];
	for (int i = 0; i < 2; i++) {
		blocking_kernel_open(&b[i], c,
				     dev_props(c->dev)->units * dev_props(c->dev)->slots_per_unit);
		b[i].stream = work_lane_stream(s->lanes, lanes[i]);
	}
	TRY(c->status, dev_occupancy(c->dev, b[0].kernel, 0, 0, &slots));
	for (int i = 0; i < 2; i++)
		TRY(c->status, blocking_kernel_start(&b[i], s->units * slots, 0, 4 * RESIDENT_NS));
	for (int i = 0; i < 2; i++)
		TRY(c->status,
		    blocking_kernel_settle(&b[i], units[i] * slots, RESIDENT_NS, &resident[i]));
	for (int i = 0; i < 2; i++)
		TRY(c->status, blocking_kernel_release(&b[i], &timed_out));
	if (c->status == 0)
		bench_mechanism_of(
			c, uses, "streams_keep_to_their_units",
			resident[0] == units[0] * slots && resident[1] == units[1] * slots,
			"%u of %u blocks resident on %u units, %u on %u; %u slots a unit",
			resident[0], s->units * slots, units[0], resident[1], units[1], slots);
	return c->status;
}
