/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Misuse that simulated trackers refuse, and the end of their memory, handles and devices.
 */
#include "tests/unit/device/sim/sim_tracked.h"

static void expect_failure(struct dev *d, struct dev_stream *s, int status, const char *text)
{
	expect_error(dev_stream_sync(d, s), status);
	expect_str(err_text(), text);
}

static void begin_matrix(void) { begin_scene(TRACKED, 2 * TILE, TILE); }

static void tiles_have_no_more_writes_than_expected(void)
{
	begin_matrix();
	struct dev_tracker *t = track_all(DEV_TRACKED_KEPT, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, TILE);
	ok(dev_stream_sync(sim.d, scene.s));
	write_rows(scene.s, 3, 1);
	expect_failure(sim.d, scene.s, -EINVAL,
		       "sim:0: the tile at row 0, column 0 of a tracked matrix is written more "
		       "than 1 times");
	/* A GEMM, whose second tile is right; and the text is of the first failure. */
	const struct dev_gemm g = gemm_into(scene.at, 2 * TILE, TILE);
	ok(dev_gemm(sim.d, scene.s, &g));
	expect_failure(sim.d, scene.s, -EINVAL,
		       "sim:0: the tile at row 0, column 0 of a tracked matrix is written more "
		       "than 1 times");
	expect(tracker_counts(sim.d).tiles == 2);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	sim_end();
}

/* If a tracker's copy writes too often, the wait for that tracker fails. */
static void a_forward_that_is_not_expected_fails_its_wait(void)
{
	begin_matrix();
	const struct dev_tracked_rows kept = {
		.rows = 2 * TILE, .what = DEV_TRACKED_KEPT, .updates = 1};
	struct dev_tracker_map map = {.at = scene.to,
				      .type = DEV_F32,
				      .rows = 2 * TILE,
				      .columns = TILE,
				      .tile_rows = TILE,
				      .tile_columns = TILE,
				      .ranges = &kept,
				      .count = 1};
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1), *there = NULL;
	ok(dev_tracker_open(sim.other, &map, &there));
	ok(dev_tracker_arm(sim.other, scene.there, there));
	ok(dev_stream_sync(sim.other, scene.there));
	for (int round = 0; round < 2; round++) {
		ok(dev_tracker_arm(sim.d, scene.s, t));
		write_rows(scene.s, 0, 2 * TILE);
		ok(dev_tracker_wait(sim.d, scene.s, t));
		if (round == 0)
			ok(dev_stream_sync(sim.d, scene.s));
		else
			expect_error(dev_stream_sync(sim.d, scene.s), -EINVAL);
	}
	expect(strstr(err_text(), "sim:1: the tile at row "));
	sim_end();
}

static void arming_and_waiting_take_turns(void)
{
	begin_matrix();
	struct dev_tracker *t = track_all(DEV_TRACKED_KEPT, 1);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	expect_failure(sim.d, scene.s, -EINVAL, "sim:0: wait for a tracker: it is not armed");
	ok(dev_tracker_arm(sim.d, scene.s, t));
	ok(dev_tracker_arm(sim.d, scene.s, t));
	expect_failure(sim.d, scene.s, -EBUSY, "sim:0: arm a tracker: it is already armed");
	sim_end();
}

static void a_matrix_is_in_one_armed_tracker(void)
{
	begin_matrix();
	struct dev_tracker *t = track_all(DEV_TRACKED_KEPT, 1), *other = NULL;
	const struct dev_tracked_rows one = {.rows = 1, .what = DEV_TRACKED_KEPT, .updates = 1};
	const struct dev_tracker_map map = {.at = scene.at + TILE * TILE,
					    .type = DEV_F32,
					    .rows = 1,
					    .columns = TILE,
					    .tile_rows = 1,
					    .tile_columns = 1,
					    .ranges = &one,
					    .count = 1};
	ok(dev_tracker_open(sim.d, &map, &other));
	ok(dev_tracker_arm(sim.d, scene.s, t));
	ok(dev_tracker_arm(sim.d, scene.s, other));
	expect_failure(sim.d, scene.s, -EBUSY,
		       "sim:0: arm a tracker: another armed one covers part of its matrix");
	write_rows(scene.s, 0, 2 * TILE);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_tracker_arm(sim.d, scene.s, other));
	ok(dev_stream_sync(sim.d, scene.s));
	sim_end();
}

static void maps_are_checked(void)
{
	struct dev_tracker *t = NULL;
	begin_matrix();
	struct dev_tracked_rows all = {
		.rows = 2 * TILE, .what = DEV_TRACKED_FORWARD, .updates = 1, .to = scene.to + 1};
	expect_error(try_tracker(&all, 1, &t), -EFAULT); /* passes the end */
	all.to = scene.at;
	expect_error(try_tracker(&all, 1, &t), -EINVAL);
	all.to = alloc_memory(DEV_MEM_PINNED, matrix_bytes());
	expect_error(try_tracker(&all, 1, &t), -EFAULT);
	all.to = (char *)alloc_memory(DEV_MEM_DEVICE, matrix_bytes() + 4) + 2;
	expect_error(try_tracker(&all, 1, &t), -EINVAL);
	float *own = scene.at;
	scene.at = scene.to;
	all.to = own;
	expect_error(try_tracker(&all, 1, &t), -EFAULT); /* of the other device */
	scene.at = own;
	all.to = scene.to;
	all.updates = 0;
	expect_error(try_tracker(&all, 1, &t), -EINVAL);
	expect(t == NULL);
	sim_end();
}

static void without_engines_nothing_is_forwarded(void)
{
	struct dev_tracker *t = NULL;
	begin_scene(TRACKED "copy_engines = 0\n", TILE, TILE);
	const struct dev_tracked_rows all = {
		.rows = TILE, .what = DEV_TRACKED_FORWARD, .updates = 1, .to = scene.to};
	expect_error(try_tracker(&all, 1, &t), -ENOTSUP);
	/* There a copy is a launch, and counts, too. */
	t = track_all(DEV_TRACKED_KEPT, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, TILE);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
	sim_end();
}

static void gemms_fit_the_matrix(void)
{
	begin_scene(TRACKED, 2 * TILE, 2 * TILE);
	const struct dev_tracked_rows ranges[] = {
		{.rows = TILE, .what = DEV_TRACKED_AWAY, .to = scene.to},
		{.first_row = TILE, .rows = TILE, .what = DEV_TRACKED_KEPT, .updates = 1}};
	struct dev_tracker *t = NULL;
	ok(try_tracker(ranges, 2, &t));
	ok(dev_tracker_arm(sim.d, scene.s, t));
	struct dev_gemm g = gemm_into(scene.at, TILE, TILE);
	g.beta = 1;
	ok(dev_gemm(sim.d, scene.s, &g));
	expect_failure(sim.d, scene.s, -EINVAL,
		       "sim:0: gemm: beta 1, but a tracker redirects writes of C");
	g.beta = 0;
	g.ldc = TILE;
	ok(dev_gemm(sim.d, scene.s, &g));
	expect_failure(sim.d, scene.s, -EINVAL, "sim:0: gemm: C is not part of a tracked matrix");
	g.ldc = 2 * TILE;
	g.c = scene.at + TILE + 1;
	ok(dev_gemm(sim.d, scene.s, &g));
	expect_failure(sim.d, scene.s, -EINVAL, "sim:0: gemm: C is not part of a tracked matrix");
	g.type = DEV_F64;
	g.c = scene.at;
	g.ldc = TILE;
	ok(dev_gemm(sim.d, scene.s, &g));
	expect_failure(sim.d, scene.s, -EINVAL, "sim:0: gemm: C is not part of a tracked matrix");
	sim_end();
}

static void memory_of_an_open_tracker_is_in_use(void)
{
	begin_matrix();
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	expect_error(dev_free(sim.d, scene.at), -EBUSY);
	expect_str(err_text(), "sim:0: free 32768 bytes: 1 open trackers use them");
	expect_error(dev_free(sim.other, scene.to), -EBUSY);
	dev_tracker_close(sim.d, t);
	ok(dev_free(sim.d, scene.at));
	ok(dev_free(sim.other, scene.to));
	sim_end();
}

static void closed_trackers_are_einval(void)
{
	struct dev_event *e = NULL;
	begin_matrix();
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	expect_error(dev_tracker_arm(sim.other, scene.there, t), -EINVAL);
	dev_tracker_close(sim.d, t);
	expect_error(dev_tracker_arm(sim.d, scene.s, t), -EINVAL);
	expect_error(dev_tracker_wait(sim.d, scene.s, t), -EINVAL);
	dev_tracker_close(sim.d, t);
	expect_error(dev_event_open(sim.d, &e), -EINVAL);
	ok(dev_stream_sync(sim.d, scene.s));
	sim_end();
}

/* Entries and engines are free for another tracker. */
static void write_all_tiles(void)
{
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 8 * TILE);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	ok(dev_stream_sync(sim.d, scene.s));
}

/* With copies under way and others that wait for an engine. */
static void an_armed_tracker_that_is_closed_ends(void)
{
	struct dev_event *e = NULL;
	begin_scene(TRACKED "tracker_entries = 1\ncopy_engines = 1\n", 8 * TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 3 * TILE + 1);
	ok(dev_stream_sync(sim.d, scene.s));
	write_rows(scene.t, 4 * TILE, TILE + 1);
	ok(dev_stream_sync(sim.d, scene.t));
	expect(tracker_counts(sim.d).tiles == 4 && tracker_counts(sim.d).overflowed == 2);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	dev_tracker_close(sim.d, t);
	expect_error(dev_event_open(sim.d, &e), -EBUSY);
	expect_str(err_text(), "sim:0: close a tracker: it is armed");
	expect_error(dev_stream_sync(sim.d, scene.s), -EFAULT);
	write_all_tiles();
	expect(tracker_counts(sim.d).tiles == 12);
	expect(tracker_counts(sim.d).most_used == 1);
	sim_end();
}

static struct dev_set open_alone(const char *index)
{
	char spec[64];
	struct dev_set set = {.count = 0};
	snprintf(spec, sizeof(spec), "sim:quiet?memory_adds=1,tracker_entries=8:%s", index);
	ok(dev_open(spec, DEV_CAP_ALL, &set));
	return set;
}

/* The first device's tracker leads to the second one, which goes while copies are under way. */
static void a_device_that_is_closed_fails_who_forwards_to_it(void)
{
	struct dev_set here = open_alone("0"), there = open_alone("1");
	sim.d = here.dev[0];
	sim.other = there.dev[0];
	set_scene(8 * TILE, TILE);
	struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1),
			   *unused = track_all(DEV_TRACKED_FORWARD, 1);
	ok(dev_tracker_arm(sim.d, scene.s, t));
	write_rows(scene.s, 0, 8 * TILE);
	ok(dev_stream_sync(sim.d, scene.s));
	expect(tracker_counts(sim.d).tiles == 8 && tracker_counts(sim.d).forwarded < 8);
	ok(dev_tracker_wait(sim.d, scene.s, t));
	dev_close(&there);
	expect_failure(sim.d, scene.s, -EFAULT,
		       "sim:0: queued work used memory of sim:1, which was closed");
	for (int i = 0; i < 2; i++) {
		ok(dev_tracker_arm(sim.d, scene.s, i ? unused : t));
		expect_failure(sim.d, scene.s, -EFAULT,
			       "sim:0: arm a tracker: it, or memory that it uses, was closed");
	}
	ok(dev_tracker_wait(sim.d, scene.s, t));
	expect_error(dev_stream_sync(sim.d, scene.s), -EFAULT);
	dev_tracker_close(sim.d, t);
	ok(dev_free(sim.d, scene.from));
	dev_close(&here);
}

/* A device goes with its tracker armed, while another one's copies arrive there. */
static void a_device_is_closed_with_its_trackers(void)
{
	for (int first = 0; first < 2; first++) {
		struct dev_set set[2] = {open_alone("0"), open_alone("1")};
		sim.d = set[0].dev[0];
		sim.other = set[1].dev[0];
		set_scene(8 * TILE, TILE);
		struct dev_tracker *t = track_all(DEV_TRACKED_FORWARD, 1);
		ok(dev_tracker_arm(sim.d, scene.s, t));
		const struct dev_gemm g = gemm_into(scene.at, 8 * TILE, TILE);
		ok(dev_gemm(sim.d, scene.s, &g));
		ok(dev_tracker_wait(sim.d, scene.s, t));
		while (tracker_counts(sim.d).forwarded == 0)
			continue;
		dev_close(&set[first]);
		if (first == 1)
			expect_error(dev_stream_sync(sim.d, scene.s), -EFAULT);
		dev_close(&set[1 - first]);
	}
}

int main(void)
{
	alarm(TEST_HANGS_S);
	test(tiles_have_no_more_writes_than_expected);
	test(a_forward_that_is_not_expected_fails_its_wait);
	test(arming_and_waiting_take_turns);
	test(a_matrix_is_in_one_armed_tracker);
	test(maps_are_checked);
	test(without_engines_nothing_is_forwarded);
	test(gemms_fit_the_matrix);
	test(memory_of_an_open_tracker_is_in_use);
	test(closed_trackers_are_einval);
	test(an_armed_tracker_that_is_closed_ends);
	test(a_device_that_is_closed_fails_who_forwards_to_it);
	test(a_device_is_closed_with_its_trackers);
	return test_done();
}
