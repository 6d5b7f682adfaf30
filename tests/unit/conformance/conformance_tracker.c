/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trackers and GEMMs that begin with another row: what device/dev_tracking.h and device/dev_gemm.h
 * say of them. The devices that have them are models of sim; where one lacks the capability, its
 * operations say so.
 */
#include "tests/unit/conformance/conformance.h"

#define ROWS 150u
#define COLUMNS 70u
#define ELEMENTS (ROWS * COLUMNS)
#define BYTES (ELEMENTS * sizeof(float))

static void need_tracker(void)
{
	if (!dev_can(on.d, DEV_CAP_TRACKER))
		skip("the device has no tracker");
}

/* ------------------------------------------------------------------ a matrix and where it goes */

static struct {
	struct dev_stream *s;
	float *raw, *at, *to, *from;
} m;

static struct dev *target_device(void) { return on.other ? on.other : on.d; }

static void fill_matrix(float *to, float first, uint32_t period)
{
	for (uint32_t i = 0; i < ELEMENTS; i++)
		m.raw[i] = first + (float)(i % period);
	ok(dev_upload(on.d, to, m.raw, BYTES));
}

/* The matrix is 5, what is copied there i % 100, and the target 1000 + i % 3. */
static void begin_matrix(void)
{
	void *to = NULL;
	if (on.other)
		ok(dev_peer_enable(on.d, on.other));
	m.s = open_stream();
	m.raw = malloc(BYTES);
	require(m.raw);
	m.at = alloc_memory(DEV_MEM_DEVICE, BYTES);
	m.from = alloc_memory(DEV_MEM_DEVICE, BYTES);
	ok(dev_alloc(target_device(), DEV_MEM_DEVICE, BYTES, &to));
	m.to = to;
	fill_matrix(m.at, 5, 1);
	fill_matrix(m.from, 0, 100);
	fill_matrix(m.to, 1000, 3);
}

static void end_matrix(void)
{
	free_memory(m.at);
	free_memory(m.from);
	ok(dev_free(target_device(), m.to));
	free(m.raw);
	dev_stream_close(on.d, m.s);
}

/* Rows of one after the other; those of AWAY have no updates. */
static struct dev_tracker *open_tracker(const struct dev_tracked_rows *ranges, size_t count)
{
	struct dev_tracker *t = NULL;
	const struct dev_tracker_map map = {.at = m.at,
					    .type = DEV_F32,
					    .rows = ROWS,
					    .columns = COLUMNS,
					    .tile_rows = 32,
					    .tile_columns = 64,
					    .ranges = ranges,
					    .count = count};
	ok(dev_tracker_open(on.d, &map, &t));
	return t;
}

static struct dev_tracker *open_forwarding(uint32_t updates)
{
	const struct dev_tracked_rows all = {
		.rows = ROWS, .what = DEV_TRACKED_FORWARD, .updates = updates, .to = m.to};
	return open_tracker(&all, 1);
}

static void copy_rows(uint32_t row, uint32_t rows)
{
	ok(dev_copy(on.d, m.s, m.at + row * COLUMNS, m.from + row * COLUMNS,
		    rows * COLUMNS * sizeof(float)));
}

/* Every element of the rows, and that of a target is what it was at first plus this. */
static void expect_rows(const float *at, uint32_t row, uint32_t rows,
			float (*wanted)(uint32_t element))
{
	ok(dev_download(on.d, m.raw, at, BYTES));
	for (uint32_t i = row * COLUMNS; i < (row + rows) * COLUMNS; i++)
		require(m.raw[i] == wanted(i));
}

static float target_at_first(uint32_t i) { return 1000 + (float)(i % 3); }
static float target_and_copy(uint32_t i) { return target_at_first(i) + (float)(i % 100); }
static float target_and_gemm(uint32_t i) { return target_at_first(i) + 8; }
static float zero_of(uint32_t i) { return 0 * (float)i; }
static float five_of(uint32_t i) { return 5 + 0 * (float)i; }
static float gemm_of(uint32_t i) { return 8 + 0 * (float)i; }

/* ------------------------------------------------------------------ rules */

static void what_is_lacking_is_refused(void)
{
	if (dev_can(on.d, DEV_CAP_TRACKER))
		skip("the device has a tracker");
	float *at = alloc_memory(DEV_MEM_DEVICE, BYTES);
	struct dev_stream *s = open_stream();
	const struct dev_tracked_rows all = {.rows = ROWS, .what = DEV_TRACKED_KEPT, .updates = 1};
	const struct dev_tracker_map map = {.at = at,
					    .type = DEV_F32,
					    .rows = ROWS,
					    .columns = COLUMNS,
					    .tile_rows = 32,
					    .tile_columns = 64,
					    .ranges = &all,
					    .count = 1};
	struct dev_tracker *t = NULL;
	struct dev_tracker_counts counts;
	expect_error(dev_tracker_open(on.d, &map, &t), -ENOTSUP);
	expect_error(dev_tracker_counts(on.d, &counts), -ENOTSUP);
	expect_error(dev_tracker_arm(on.d, s, NULL), -ENOTSUP);
	expect_error(dev_tracker_wait(on.d, s, NULL), -ENOTSUP);
	expect(t == NULL);
	free_memory(at);
	dev_stream_close(on.d, s);
}

static void maps_that_contradict_themselves_are_refused(void)
{
	need_tracker();
	begin_matrix();
	const struct dev_tracked_rows good = {
		.rows = ROWS, .what = DEV_TRACKED_FORWARD, .updates = 1, .to = m.to};
	struct dev_tracked_rows bad[6] = {good, good, good, good, good, good};
	bad[0].rows--;
	bad[1].first_row = 1;
	bad[2].updates = 0;
	bad[3].to = NULL;
	bad[4].what = DEV_TRACKED_KEPT;
	bad[5].rows++;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dev_tracker *t = NULL;
		const struct dev_tracker_map map = {.at = m.at,
						    .type = DEV_F32,
						    .rows = ROWS,
						    .columns = COLUMNS,
						    .tile_rows = 32,
						    .tile_columns = 64,
						    .ranges = &bad[i],
						    .count = 1};
		expect_error(dev_tracker_open(on.d, &map, &t), -EINVAL);
		expect(t == NULL);
	}
	end_matrix();
}

/* With two updates: what arrives, and when. */
static void track_copies(struct dev_tracker *t)
{
	fill_matrix(m.to, 1000, 3);
	ok(dev_tracker_arm(on.d, m.s, t));
	ok(dev_stream_sync(on.d, m.s));
	expect_rows(m.at, 0, ROWS, zero_of);
	copy_rows(0, 100);
	copy_rows(100, ROWS - 100);
	ok(dev_stream_sync(on.d, m.s));
	expect_rows(m.to, 0, ROWS, target_at_first);
	copy_rows(0, ROWS);
	ok(dev_tracker_wait(on.d, m.s, t));
	ok(dev_stream_sync(on.d, m.s));
	expect_rows(m.to, 0, ROWS, target_and_copy);
}

static void complete_tiles_are_added_where_they_go(void)
{
	struct dev_tracker_counts before, after;
	need_tracker();
	begin_matrix();
	struct dev_tracker *t = open_forwarding(2);
	ok(dev_tracker_counts(on.d, &before));
	track_copies(t);
	track_copies(t);
	ok(dev_tracker_counts(on.d, &after));
	expect(after.tiles - before.tiles == 2 * 5 * 2);
	expect(after.forwarded - before.forwarded == 2 * 5 * 2);
	expect(after.entries >= 1 && after.most_used <= after.entries);
	dev_tracker_close(on.d, t);
	end_matrix();
}

/* All kinds of rows, from a row within the last of them on; A is 1, and so is B of 8 rows. */
static void a_gemm_writes_where_the_map_says(void)
{
	need_tracker();
	begin_matrix();
	const struct dev_tracked_rows ranges[] = {
		{.rows = 40, .what = DEV_TRACKED_FORWARD, .updates = 1, .to = m.to},
		{.first_row = 40, .rows = 50, .what = DEV_TRACKED_AWAY, .to = m.to},
		{.first_row = 90, .rows = 60, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = open_tracker(ranges, 3);
	const struct dev_gemm g =
		PACKED_GEMM(ROWS, COLUMNS, 8, .type = DEV_F32, .a = m.from, .b = m.from, .c = m.at,
			    .tiled = true, .adds = true, .first_row = 120);
	fill_matrix(m.from, 1, 1);
	ok(dev_tracker_arm(on.d, m.s, t));
	ok(dev_gemm(on.d, m.s, &g));
	ok(dev_tracker_wait(on.d, m.s, t));
	ok(dev_stream_sync(on.d, m.s));
	expect_rows(m.to, 0, 90, target_and_gemm);
	expect_rows(m.to, 90, 60, target_at_first);
	expect_rows(m.at, 0, 40, gemm_of);
	expect_rows(m.at, 40, 50, five_of);
	expect_rows(m.at, 90, 60, gemm_of);
	dev_tracker_close(on.d, t);
	end_matrix();
}

static void expect_failure(int status) { expect_error(dev_stream_sync(on.d, m.s), status); }

static void arming_and_waiting_take_turns(void)
{
	need_tracker();
	begin_matrix();
	struct dev_tracker *t = open_forwarding(1);
	ok(dev_tracker_wait(on.d, m.s, t));
	expect_failure(-EINVAL);
	ok(dev_tracker_arm(on.d, m.s, t));
	ok(dev_tracker_arm(on.d, m.s, t));
	expect_failure(-EBUSY);
	copy_rows(0, ROWS);
	ok(dev_tracker_wait(on.d, m.s, t));
	ok(dev_stream_sync(on.d, m.s));
	ok(dev_tracker_wait(on.d, m.s, t));
	expect_failure(-EINVAL);
	dev_tracker_close(on.d, t);
	dev_tracker_close(on.d, NULL);
	end_matrix();
}

static void memory_and_handles_are_checked(void)
{
	need_tracker();
	if (!on.checked)
		skip("misuse is not checked");
	begin_matrix();
	struct dev_tracker *t = open_forwarding(1);
	expect_error(dev_free(on.d, m.at), -EBUSY);
	expect_error(dev_free(target_device(), m.to), -EBUSY);
	dev_tracker_close(on.d, t);
	expect_error(dev_tracker_arm(on.d, m.s, t), -EINVAL);
	expect_error(dev_tracker_wait(on.d, m.s, t), -EINVAL);
	end_matrix();
}

int main(int argc, char **argv)
{
	static char *all[] = {"",
			      "host",
			      "sim",
			      "sim:quiet?memory_adds=1,tracker_entries=256",
			      "sim:quiet?memory_adds=1,tracker_entries=256:0,1",
			      "sim:default?memory_adds=1,tracker_entries=3,tracker_ns=200:0,1"};
	static const struct rule rules[] = {
		RULE(what_is_lacking_is_refused),
		RULE(maps_that_contradict_themselves_are_refused),
		RULE(complete_tiles_are_added_where_they_go),
		RULE(a_gemm_writes_where_the_map_says),
		RULE(arming_and_waiting_take_turns),
		RULE(memory_and_handles_are_checked),
	};
	if (argc < 2) {
		argc = sizeof(all) / sizeof(all[0]);
		argv = all;
	}
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
