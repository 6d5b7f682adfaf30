/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of simulated devices whose C a tracker counts or has written elsewhere, and GEMMs that
 * begin with another row.
 */
#include "tests/unit/device/sim/sim_tracked.h"

#define PICOSECOND 1e-3

static const double link_ns = TILE_BYTES / 20.0;

static struct dev_tracker *track_rows(const struct dev_tracked_rows *ranges, size_t count)
{
	struct dev_tracker *t = NULL;
	ok(try_tracker(ranges, count, &t));
	return t;
}

/* Time of the GEMM alone, with the tracker armed. */
static double gemm_ns(struct dev_tracker *t, const struct dev_gemm *g)
{
	if (t)
		ok(dev_tracker_arm(sim.d, scene.s, t));
	struct span span = span_begin(scene.s);
	ok(dev_gemm(sim.d, scene.s, g));
	span_end(&span, scene.s);
	return span_ns(&span);
}

/* A and B of 1 and 1/k: every element of C is 1. */
static void fill_operands(const struct dev_gemm *g)
{
	float *a = (float *)(uintptr_t)g->a, *b = (float *)(uintptr_t)g->b;
	for (uint32_t i = 0; i < g->m * g->k; i++)
		a[i] = 1;
	for (uint32_t i = 0; i < g->k * g->n; i++)
		b[i] = 1.0f / (float)g->k;
}

static void rows_go_away(void)
{
	begin_scene(TRACKED, 2 * TILE, TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = TILE, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = TILE, .rows = TILE, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = track_rows(ranges, 2);
	const struct dev_gemm g = gemm_into(scene.at, 2 * TILE, TILE);
	fill_operands(&g);
	for (uint32_t i = 0; i < 2 * TILE * TILE; i++)
		scene.at[i] = 9;
	/* One of the two blocks passes the link; the other one is faster. */
	expect_near(gemm_ns(t, &g), 50 + link_ns, PICOSECOND);
	for (uint32_t i = 0; i < TILE * TILE; i++) {
		require(scene.at[i] == 9 && scene.at[i + TILE * TILE] == 1);
		require(scene.to[i] == 1 &&
			scene.to[i + TILE * TILE] == (float)((i + TILE * TILE) % 7));
	}
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	expect(tracker_counts(sim.d).tiles == 1);
	/* A tracker that is no longer armed changes nothing: both blocks use the cache. */
	expect_near(gemm_ns(NULL, &g), 2 * 3 * TILE_BYTES / 400.0, PICOSECOND);
	sim_end();
}

/* A quarter of the tile's rows passes the link. */
static void a_tile_is_divided_by_rows(void)
{
	begin_scene(TRACKED, TILE, TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = 24, .what = DEV_TRACKED_KEPT, .updates = 1},
		{.first_row = 24, .rows = 16, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = 40,
		 .rows = 24,
		 .what = DEV_TRACKED_FORWARD,
		 .updates = 1,
		 .to = scene.to}};
	struct dev_tracker *t = track_rows(ranges, 3);
	const struct dev_gemm g = gemm_into(scene.at, TILE, TILE);
	fill_operands(&g);
	expect_near(gemm_ns(t, &g), 50 + link_ns / 4, PICOSECOND);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	for (uint32_t i = 0; i < TILE * TILE; i++) {
		const uint32_t row = i / TILE;
		require(scene.at[i] == (row < 24 || row >= 40 ? 1 : scene.at[24 * TILE]));
		require(scene.to[i] == (row < 24   ? (float)(i % 7)
					: row < 40 ? 1
						   : 1 + (float)(i % 7)));
	}
	expect(tracker_counts(sim.d).tiles == 2);
	sim_end();
}

static void the_rest_of_c_passes_its_cache(void)
{
	begin_scene(TRACKED "peer_bandwidth = 1e15\npeer_latency_ns = 0\n", TILE, TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = 48, .what = DEV_TRACKED_KEPT, .updates = 1},
		{.first_row = 48, .rows = 16, .what = DEV_TRACKED_AWAY, .to = scene.to}};
	struct dev_tracker *t = track_rows(ranges, 2);
	const struct dev_gemm g = gemm_into(scene.at, TILE, TILE);
	expect_near(gemm_ns(t, &g), 2.75 * TILE_BYTES / 400, PICOSECOND);
	sim_end();
}

/* Both what a block adds and what a tracker does cost the target's memory four times their bytes.
 */
static void additions_cost_memory(void)
{
	begin_scene(TRACKED "peer_bandwidth = 1e15\npeer_latency_ns = 0\nadd_cost = 4\n"
			    "tracker_ns = 0\nllc_bandwidth = 1e15\n",
		    2 * TILE, TILE);
	const double added_ns = 4 * TILE_BYTES / 100.0;
	const struct dev_tracked_rows ranges[] = {
		{.rows = TILE, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = TILE,
		 .rows = TILE,
		 .what = DEV_TRACKED_FORWARD,
		 .updates = 1,
		 .to = scene.to}};
	struct dev_tracker *t = track_rows(ranges, 2);
	struct dev_gemm g = gemm_into(scene.at, 2 * TILE, TILE);
	g.adds = true;
	fill_operands(&g);
	/* Each block in other memory, at once. Then the copy: the target's memory is the slower. */
	expect_near(gemm_ns(t, &g), added_ns, PICOSECOND);
	struct span span = span_begin(scene.s);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	span_end(&span, scene.s);
	expect_near(span_ns(&span), added_ns, PICOSECOND);
	for (uint32_t i = 0; i < 2 * TILE * TILE; i++)
		require(scene.to[i] == (float)(i % 7) + 1);
	sim_end();
}

/* As sub-matrices of C: their rows are those of the matrix. */
static void c_is_part_of_the_matrix(void)
{
	begin_scene(TRACKED, 3 * TILE, 2 * TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = 2 * TILE, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = 2 * TILE, .rows = TILE, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = track_rows(ranges, 2);
	const uint64_t at = (uint64_t)TILE * scene.columns + TILE;
	const struct dev_gemm g = gemm_into(scene.at + at, 2 * TILE, TILE);
	fill_operands(&g);
	expect_near(gemm_ns(t, &g), 50 + link_ns, PICOSECOND);
	for (uint32_t i = 0; i < 3 * TILE * 2 * TILE; i++) {
		const uint32_t row = i / scene.columns, column = i % scene.columns;
		const bool away = row >= TILE && row < 2 * TILE && column >= TILE;
		require(scene.to[i] == (away ? 1 : (float)(i % 7)));
		require(row < 2 * TILE || scene.at[i] == (column >= TILE ? 1 : 0));
	}
	expect(tracker_counts(sim.d).tiles == 1);
	sim_end();
}

/* Time of a GEMM whose rows do everything, until its copies have arrived. */
static double tracked_ns(const char *model, uint32_t first_row)
{
	begin_scene(model, 7 * TILE, 3 * TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = 100, .what = DEV_TRACKED_FORWARD, .updates = 1, .to = scene.to},
		{.first_row = 100, .rows = 150, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = 250, .rows = 198, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = track_rows(ranges, 3);
	struct dev_gemm g = gemm_into(scene.at, 7 * TILE, 3 * TILE);
	g.first_row = first_row;
	struct span span = span_begin(scene.s);
	const double ns = gemm_ns(t, &g);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	span_end(&span, scene.s);
	return ns + span_ns(&span);
}

/* Jitter without effect has every block simulated by itself. */
static void blocks_together_take_the_time_of_single_ones(void)
{
	for (uint32_t row = 0; row < 7 * TILE; row += 3 * TILE) {
		const double ns = tracked_ns(TRACKED "block_ns = 70\n", row);
		sim_end();
		expect_near(tracked_ns(TRACKED "block_ns = 70\nblock_jitter_sigma = 1e-15\n", row),
			    ns, 1e-9 * ns);
		sim_end();
		expect(ns > 7 * TILE_BYTES / 20.0);
	}
}

/* ------------------------------------------------------------------ the order of tiles */

/* One unit computes four rows of tiles, two tiles each, one after the other. */
static const uint32_t tile_rows = 4;

static void begin_counting(struct dev_gemm *g, uint32_t first_row)
{
	begin_scene(TRACKED "units = 1\nslots_per_unit = 1\nblock_ns = 1000\n"
			    "llc_bandwidth = 1e15\nmemory_bandwidth = 1e15\n",
		    tile_rows * TILE, 2 * TILE);
	*g = gemm_into(scene.at, tile_rows * TILE, 2 * TILE);
	g->done = alloc_memory(DEV_MEM_PINNED, tile_rows * sizeof(*g->done));
	memset(g->done, 0, tile_rows * sizeof(*g->done));
	g->done_rows = TILE;
	g->first_row = first_row;
	fill_operands(g);
}

/* When a row of tiles is finished. */
static struct dev_event *record_row(const struct dev_gemm *g, uint32_t row)
{
	struct dev_event *seen = NULL;
	struct dev_stream *waits = open_stream();
	ok(dev_event_open(sim.d, &seen));
	ok(dev_wait_value(sim.d, waits, g->done + row, 2 * TILE * TILE));
	ok(dev_event_record(sim.d, waits, seen));
	return seen;
}

static void expect_order(uint32_t first_row, const uint32_t *place)
{
	/* Two blocks of 2 * 64^3 flops. */
	const double row_ns = 2 * (1000 + 2.0 * TILE * TILE * TILE / 1e6);
	struct dev_gemm g;
	struct dev_event *seen[4];
	begin_counting(&g, first_row);
	struct span span = span_begin(scene.s);
	ok(dev_gemm(sim.d, scene.s, &g));
	span_end(&span, scene.s);
	for (uint32_t row = 0; row < tile_rows; row++)
		seen[row] = record_row(&g, row);
	for (uint32_t row = 0; row < tile_rows; row++) {
		double ns = -1;
		ok(dev_event_sync(sim.d, seen[row]));
		ok(dev_event_elapsed_ns(sim.d, span.from, seen[row], &ns));
		expect_near(ns, row_ns * (1 + place[row]), PICOSECOND);
	}
	expect_near(span_ns(&span), 4 * row_ns, PICOSECOND);
	for (uint32_t at = 0; at < g.m * g.n; at++)
		require(scene.at[at] == 1);
	sim_end();
}

static void tiles_begin_with_the_row(void)
{
	expect_order(63, (const uint32_t[]){0, 1, 2, 3});
	expect_order(130, (const uint32_t[]){2, 3, 0, 1});
	expect_order(255, (const uint32_t[]){1, 2, 3, 0});
}

static void a_device_without_a_tracker_begins_with_the_first_row(void)
{
	begin_scene(TRACKED, 2 * TILE, TILE);
	struct dev_gemm g = gemm_into(scene.at, 2 * TILE, TILE);
	g.first_row = 2 * TILE;
	expect_error(dev_gemm(sim.d, scene.s, &g), -EINVAL);
	sim_end();
	begin_scene(TRACKED "lacks = tracker\n", 2 * TILE, TILE);
	expect(!dev_can(sim.d, DEV_CAP_TRACKER));
	g = gemm_into(scene.at, 2 * TILE, TILE);
	g.first_row = TILE;
	expect_error(dev_gemm(sim.d, scene.s, &g), -ENOTSUP);
	sim_end();
}

int main(void)
{
	alarm(TEST_HANGS_S);
	test(rows_go_away);
	test(a_tile_is_divided_by_rows);
	test(the_rest_of_c_passes_its_cache);
	test(additions_cost_memory);
	test(c_is_part_of_the_matrix);
	test(blocks_together_take_the_time_of_single_ones);
	test(tiles_begin_with_the_row);
	test(a_device_without_a_tracker_begins_with_the_first_row);
	return test_done();
}
