/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trackers of simulated devices: what they count, their entries, and when their copies start and
 * end.
 */
#include "lib/rng.h"
#include "tests/unit/device/sim/sim_tracked.h"

#define PICOSECOND 1e-3

/* Time of write_rows(): both ways through memory of 100 bytes/ns. */
static const double tile_copy_ns = 1000 + 2.0 * TILE_BYTES / 100, link_ns = TILE_BYTES / 20.0;

static double wait_ns(struct span *span, struct dev_tracker *t)
{
	ok(dev_tracker_wait(sim.d, scene.s, t));
	span_end(span, scene.s);
	return span_ns(span);
}

static void a_tile_is_copied_after_its_last_write(void)
{
	begin_scene(TRACKED, TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 2);
	struct span span = span_begin(scene.s);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, TILE);
	write_rows(scene.s, 0, TILE);
	expect_near(wait_ns(&span, t), 2 * tile_copy_ns + 100 + 50 + link_ns, PICOSECOND);
	for (uint32_t i = 0; i < TILE * TILE; i++)
		require(scene.to[i] == (float)(i % 1000) + (float)(i % 7));
	const struct dev_tracker_counts counts = tracker_counts(sim.d);
	expect(counts.tiles == 1 && counts.forwarded == 1 && counts.overflowed == 0);
	expect(counts.entries == 256 && counts.most_used == 1);
	sim_end();
}

static void a_tile_that_is_kept_ends_with_its_last_write(void)
{
	begin_scene(TRACKED, 2 * TILE, 2 * TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_KEPT, 1);
	struct span span = span_begin(scene.s);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	/* In bytes that end within an element: the rest of it is not counted twice. */
	ok(dev_copy(sim.d, scene.t, scene.at, scene.from, TILE_BYTES + 2));
	ok(dev_stream_sync(sim.d, scene.t));
	expect(tracker_counts(sim.d).tiles == 0);
	ok(dev_copy(sim.d, scene.t, scene.at + TILE_BYTES / 4, scene.from, 3 * TILE_BYTES));
	expect_near(wait_ns(&span, t), 2000 + 2 * (4 * TILE_BYTES + 2) / 100.0, PICOSECOND);
	expect(tracker_counts(sim.d).tiles == 4 && tracker_counts(sim.d).forwarded == 0);
	sim_end();
}

static void copies_share_engines_and_links(void)
{
	begin_scene(TRACKED, 2 * TILE, 2 * TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	struct span span = span_begin(scene.s);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 2 * TILE);
	/* Two engines, four copies, and a link that two of them share. */
	expect_near(wait_ns(&span, t), 1000 + 8 * TILE_BYTES / 100.0 + 100 + 2 * (50 + 2 * link_ns),
		    PICOSECOND);
	sim_end();
	begin_scene(TRACKED "copy_engines = 1\nengine_bandwidth = 10e9\njitter_sigma = 0\n",
		    2 * TILE, TILE);
	t = track_all(DEV_TRACKED_FORWARD, 1);
	span = span_begin(scene.s);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 2 * TILE);
	expect_near(wait_ns(&span, t),
		    1000 + 2 * TILE_BYTES / 10.0 + 100 + 2 * (50 + TILE_BYTES / 10.0), PICOSECOND);
	sim_end();
}

static struct dev_event *copy_tile(struct dev_stream *s, float *to)
{
	struct dev_event *copied = NULL;
	ok(dev_event_open(sim.d, &copied));
	ok(dev_copy(sim.d, s, to, scene.from, TILE_BYTES));
	ok(dev_event_record(sim.d, s, copied));
	return copied;
}

static void expect_ns_later(struct dev_event *from, struct dev_event *to, double wanted_ns)
{
	double ns = -1;
	ok(dev_event_sync(sim.d, to));
	ok(dev_event_elapsed_ns(sim.d, from, to, &ns));
	expect_near(ns, wanted_ns, PICOSECOND);
}

/* One engine. The first copy completes a tile while another one waits; a third one is ready with
 * the tile's. */
static void copies_wait_for_an_engine_in_the_order_in_which_they_are_ready(void)
{
	begin_scene(TRACKED "copy_engines = 1\ntracker_ns = 0\n", TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	struct dev_stream *waits = open_stream();
	float *other = alloc_memory(DEV_MEM_DEVICE, 2 * TILE_BYTES);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	struct span span = span_begin(scene.s);
	struct dev_event *written = copy_tile(scene.s, scene.at),
			 *second = copy_tile(scene.t, other);
	ok(dev_stream_wait(sim.d, waits, written));
	struct dev_event *third = copy_tile(waits, other + TILE * TILE);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	span_end(&span, scene.s);
	expect_ns_later(span.from, second, 2 * tile_copy_ns);
	expect_ns_later(span.from, span.to, 2 * tile_copy_ns + 50 + link_ns);
	expect_ns_later(span.from, third, 3 * tile_copy_ns + 50 + link_ns);
	sim_end();
}

/* Writes rows of tiles again, and expects when the copies of those that are complete end. */
static void expect_copies_after(uint32_t tile, uint32_t tiles, double wanted_ns)
{
	struct span span = span_begin(scene.s);
	write_rows(scene.s, tile * TILE, tiles * TILE);
	span_end(&span, scene.s);
	const double written_ns = span_ns(&span);
	const uint64_t from_ns = dev_clock_ns(sim.d), all = scene.rows / TILE;
	uint64_t now_ns = from_ns;
	while (scene.to[(tile + tiles) * TILE * TILE - 1] <= 7 && now_ns < from_ns + 100000)
		now_ns = dev_clock_ns(sim.d);
	expect(tile + tiles <= all && written_ns > 0);
	expect_near((double)(now_ns - from_ns), wanted_ns, 2);
}

/* Entries for one of three tiles; a copy takes 819.2 ns. */
static void tiles_without_an_entry_are_counted_in_memory(void)
{
	begin_scene(TRACKED "tracker_entries = 1\ntracker_ns = 0\npeer_latency_ns = 0\n"
			    "copy_engines = 8\nmemory_latency_ns = 300\nhost_clock_ns = 1\n",
		    4 * TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 2);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 4 * TILE);
	ok(dev_tracker_wait(sim.d, scene.t, t));
	expect_error(dev_stream_sync(sim.d, scene.t), -EDEADLK);
	expect_str(err_text(), "sim:0: synchronise a stream: deadlock: sim:0 stream 1 waits for a "
			       "tracker: 4 of 4 tiles are incomplete, 0 forwards in progress");
	expect(tracker_counts(sim.d).overflowed == 3);
	expect_copies_after(3, 1, 300 + link_ns);
	expect_copies_after(0, 1, link_ns);
	expect_copies_after(1, 1, link_ns); /* has the entry of the first one */
	expect_copies_after(2, 1, link_ns);
	ok(dev_stream_sync(sim.d, scene.t));
	const struct dev_tracker_counts counts = tracker_counts(sim.d);
	expect(counts.tiles == 4 && counts.forwarded == 4 && counts.overflowed == 3);
	expect(counts.entries == 1 && counts.most_used == 1);
	for (uint32_t i = 0; i < 4 * TILE * TILE; i++)
		require(scene.to[i] == (float)(i % 1000) + (float)(i % 7));
	sim_end();
}

/* Rows of random order and number from three streams, each row `updates` times. */
static void any_order_of_writes_ends(void)
{
	struct rng r;
	rng_seed(&r, 1, 0);
	for (int round = 0; round < 60; round++) {
		char model[1024];
		const uint32_t entries = 1 + (uint32_t)rng_below(&r, 5),
			       updates = 1 + (uint32_t)rng_below(&r, 3);
		snprintf(model, sizeof(model),
			 TRACKED "tracker_entries = %u\njitter_sigma = 0.1\nseed = %d\n", entries,
			 round);
		begin_scene(model, 5 * TILE - 7, 2 * TILE + 5);
		struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, updates);
		struct dev_stream *three[3] = {scene.s, scene.t, open_stream()};
		ok(dev_tracker_arm(sim.d, scene.s, t));
		ok(dev_stream_sync(sim.d, scene.s));
		for (uint32_t update = 0; update < updates; update++) {
			for (uint32_t row = 0, rows; row < scene.rows; row += rows) {
				rows = 1 + (uint32_t)rng_below(&r, scene.rows - row);
				write_rows(three[rng_below(&r, 3)], row, rows);
			}
		}
		ok(dev_tracker_wait(sim.d, scene.s, t));
		for (int i = 0; i < 3; i++)
			ok(dev_stream_sync(sim.d, three[i]));
		const struct dev_tracker_counts counts = tracker_counts(sim.d);
		expect(counts.tiles == 15 && counts.forwarded == 15);
		expect(counts.most_used <= entries && counts.overflowed <= 15);
		for (uint32_t i = 0; i < scene.rows * scene.columns; i++)
			require(scene.to[i] == (float)(i % 1000) + (float)(i % 7));
		sim_end();
	}
}

/* A tile begins at the first row of its range. */
static void tiles_follow_the_ranges(void)
{
	begin_scene(TRACKED, 2 * TILE, TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = 30, .what = DEV_TRACKED_KEPT, .updates = 1},
		{.first_row = 30, .rows = 10, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = 40,
		 .rows = 88,
		 .what = DEV_TRACKED_FORWARD,
		 .updates = 1,
		 .to = scene.to}};
	struct dev_tracker *t = NULL;
	ok(try_tracker(ranges, 3, &t));
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 103);
	ok(dev_stream_sync(sim.d, scene.s));
	expect(tracker_counts(sim.d).tiles == 1);
	write_rows(scene.s, 103, 1);
	ok(dev_stream_sync(sim.d, scene.s));
	expect(tracker_counts(sim.d).tiles == 2);
	write_rows(scene.s, 104, 24);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	expect(tracker_counts(sim.d).tiles == 3 && tracker_counts(sim.d).forwarded == 2);
	/* A copy writes where it is told to, also rows of AWAY. */
	for (uint32_t i = 0; i < scene.rows * TILE; i++)
		require(scene.to[i] == (float)(i % 7) + (i < 40 * TILE ? 0 : (float)(i % 1000)));
	sim_end();
}

static void rows_are_0_when_they_are_armed(void)
{
	begin_scene(TRACKED, 2 * TILE, TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = TILE, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = TILE, .rows = TILE, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = NULL;
	for (uint32_t i = 0; i < 2 * TILE * TILE; i++)
		scene.at[i] = 3;
	ok(try_tracker(ranges, 2, &t));
	struct span span = span_begin(scene.s);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	span_end(&span, scene.s);
	expect_near(span_ns(&span), 0, PICOSECOND);
	for (uint32_t i = 0; i < 2 * TILE * TILE; i++)
		require(scene.at[i] == (i < TILE * TILE ? 3 : 0));
	sim_end();
}

static struct dev_tracker *track_target(uint32_t tile_columns)
{
	const struct dev_tracked_rows kept = {
		.rows = scene.rows, .what = DEV_TRACKED_KEPT, .updates = 2};
	const struct dev_tracker_map map = {.at = scene.to,
					    .type = DEV_F32,
					    .rows = scene.rows,
					    .columns = scene.columns,
					    .tile_rows = scene.rows,
					    .tile_columns = tile_columns,
					    .ranges = &kept,
					    .count = 1};
	struct dev_tracker *t = NULL;
	ok(dev_tracker_open(sim.other, &map, &t));
	return t;
}

static void forward_all(struct dev_tracker *t)
{
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, scene.rows);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
}

/* The second device counts what the first one's tracker forwards; its stream waits. */
static void forwards_are_counted_where_they_arrive(void)
{
	begin_scene(TRACKED, 2 * TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1), *there = track_target(10);
	for (int round = 0; round < 2; round++) {
		ok(dev_tracker_arm(sim.other, scene.there, there));
		ok(dev_stream_sync(sim.other, scene.there));
		forward_all(t);
		ok(dev_tracker_wait(sim.other, scene.there, there));
		expect_error(dev_stream_sync(sim.other, scene.there), -EDEADLK);
		expect(strstr(err_text(), "7 of 7 tiles are incomplete, 0 forwards in progress"));
		forward_all(t);
		ok(dev_stream_sync(sim.other, scene.there));
		expect(tracker_counts(sim.other).tiles == 7 * (uint64_t)(round + 1));
		for (uint32_t i = 0; i < 2 * TILE * TILE; i++)
			require(scene.to[i] == 2 * (float)(i % 1000));
	}
	sim_end();
}

static void several_streams_wait_for_one_tracker(void)
{
	begin_scene(TRACKED, TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_KEPT, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_tracker_wait(sim.d, scene.t, t));
	struct dev_stream *writes = open_stream();
	write_rows(writes, 0, TILE);
	ok(dev_stream_sync(sim.d, scene.s));
	ok(dev_stream_sync(sim.d, scene.t));
	ok(dev_tracker_wait(sim.d, scene.t, t));
	expect_error(dev_stream_sync(sim.d, scene.t), -EINVAL);
	sim_end();
}

static void time_is_the_same_without_data(void)
{
	double ns[2];
	for (int without = 0; without < 2; without++) {
		sim_begin(without ? TRACKED "data = none\njitter_sigma = 0.1\n"
				  : TRACKED "jitter_sigma = 0.1\n");
		set_scene(8 * TILE, 8 * TILE);
		struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
		struct span span = span_begin(scene.s);
		ok(dev_tracker_arm(sim.d, scene.s, t));
		write_rows(scene.s, 0, 8 * TILE);
		ns[without] = wait_ns(&span, t);
		expect(tracker_counts(sim.d).forwarded == 64);
		sim_end();
	}
	expect_near(ns[1], ns[0], PICOSECOND);
	/* 64 tiles through a link of 20 bytes/ns, give or take jitter. */
	expect(ns[0] > 64 * link_ns && ns[0] < 1.5 * 64 * link_ns + 30000);
}

int main(void)
{
	alarm(TEST_HANGS_S);
	test(a_tile_is_copied_after_its_last_write);
	test(a_tile_that_is_kept_ends_with_its_last_write);
	test(copies_share_engines_and_links);
	test(copies_wait_for_an_engine_in_the_order_in_which_they_are_ready);
	test(tiles_without_an_entry_are_counted_in_memory);
	test(any_order_of_writes_ends);
	test(tiles_follow_the_ranges);
	test(rows_are_0_when_they_are_armed);
	test(forwards_are_counted_where_they_arrive);
	test(several_streams_wait_for_one_tracker);
	test(time_is_the_same_without_data);
	return test_done();
}
