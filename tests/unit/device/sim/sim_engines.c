/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Concurrent copies: the engines of the host's link, and which copy an engine takes.
 */
#include "tests/unit/device/sim/sim.h"

#define PICOSECOND 1e-3

/* Two up, one down, one to a peer and one inside, queued in this order, of a million bytes each. */
static void five_copies(double ns[5])
{
	const uint64_t n = 1000000;
	char *dev = alloc_memory(DEV_MEM_DEVICE, 6 * n),
	     *host = alloc_memory(DEV_MEM_PINNED, 3 * n),
	     *peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, n);
	char *to[] = {host, host + n, dev, peer, dev + n},
	     *from[] = {dev + 2 * n, dev + 3 * n, host + 2 * n, dev + 4 * n, dev + 5 * n};
	struct dev_stream *s[5];
	struct span span[5];
	for (int i = 0; i < 5; i++) {
		s[i] = open_stream();
		span[i] = span_begin(s[i]);
		ok(dev_copy(sim.d, s[i], to[i], from[i], n));
	}
	for (int i = 0; i < 5; i++)
		span_end(&span[i], s[i]);
	for (int i = 0; i < 5; i++)
		ns[i] = span_ns(&span[i]);
}

/* The second copy up waits for the first, and others pass it. With three engines the one inside
 * waits for the copy to the peer, the shortest of those that run. */
static void host_engines_limit_each_direction(void)
{
	const double up = 1000 + 1e6 / 5, down = 1000 + 1e6 / 10, peer = 1000 + 1e6 / 20,
		     inside = 1000 + 2e6 / 1e6;
	for (int engines = 3; engines <= 5; engines += 2) {
		char model[2048];
		double ns[5];
		snprintf(model, sizeof(model),
			 PLAIN "memory_bandwidth = 1e15\nhost_engines = 1\ncopy_engines = %d\n",
			 engines);
		sim_begin(model);
		ok(dev_peer_enable(sim.d, sim.other));
		five_copies(ns);
		expect_near(ns[0], up, PICOSECOND);
		expect_near(ns[1], 2 * up, PICOSECOND);
		expect_near(ns[2], down, PICOSECOND);
		expect_near(ns[3], peer, PICOSECOND);
		expect_near(ns[4], (engines == 3 ? peer : 0) + inside, PICOSECOND);
		sim_end();
	}
}

static void without_that_limit_two_share_the_link(void)
{
	double ns[5];
	sim_begin(PLAIN "memory_bandwidth = 1e15\ncopy_engines = 5\n");
	ok(dev_peer_enable(sim.d, sim.other));
	five_copies(ns);
	expect_near(ns[0], 1000 + 2 * 1e6 / 5, PICOSECOND);
	expect_near(ns[1], 1000 + 2 * 1e6 / 5, PICOSECOND);
	sim_end();
}

#define LONG 100000u /* bytes: 20 us to the host, in which tests post values */
#define ONE_ENGINE                                                                                 \
	PLAIN "host_call_ns = 100\nvalue_ns = 0\nmemory_bandwidth = 1e15\ncopy_engines = 1\n"

/* The order in which 1, 2 and 3 of four copies end: 0 and 1 back to back in one stream, 2 and 3 in
 * a stream each. They are enqueued in this order; 3 becomes ready before 2, and both while 0 is
 * copied. */
static void expect_order(const char *model, int priority_of_2, const char *order)
{
	sim_begin(model);
	char *dev = alloc_memory(DEV_MEM_DEVICE, 4 * LONG),
	     *host = alloc_memory(DEV_MEM_PINNED, 4 * LONG);
	uint32_t *value = (uint32_t *)alloc_memory(DEV_MEM_PINNED, 2 * sizeof(*value));
	struct dev_stream *s[4] = {open_stream()};
	struct dev_event *end[4];
	double ns[3] = {0};
	value[0] = value[1] = 0;
	s[1] = s[0];
	ok(dev_stream_open(sim.d, priority_of_2, &s[2]));
	s[3] = open_stream();
	for (int i = 0; i < 4; i++) {
		ok(dev_event_open(sim.d, &end[i]));
		if (i >= 2)
			ok(dev_wait_value(sim.d, s[i], &value[i - 2], 1));
		ok(dev_copy(sim.d, s[i], host + LONG * (unsigned)i, dev + LONG * (unsigned)i,
			    LONG));
		if (i > 0) /* what stands between two copies lets others pass */
			ok(dev_event_record(sim.d, s[i], end[i]));
	}
	ok(dev_post_value(sim.d, &value[1], 1));
	ok(dev_post_value(sim.d, &value[0], 1));
	for (int i = 0; i < 4; i++)
		ok(dev_stream_sync(sim.d, s[i]));
	for (int i = 1; i < 3; i++) {
		ok(dev_event_elapsed_ns(sim.d, end[order[i - 1] - '0'], end[order[i] - '0'],
					&ns[i]));
		expect_near(ns[i], 1000 + LONG / 5.0, PICOSECOND);
	}
	dev_stream_close(sim.d, s[2]);
	for (int i = 0; i < 4; i++)
		dev_event_close(sim.d, end[i]);
	sim_end();
}

static void an_engine_takes_what_its_order_says(void)
{
	expect_order(ONE_ENGINE, 0, "321");
	expect_order(ONE_ENGINE "engine_order = ready_first\n", 0, "321");
	expect_order(ONE_ENGINE "engine_order = enqueued_first\n", 0, "123");
	expect_order(ONE_ENGINE "engine_order = stream_first\n", 0, "132");
	expect_order(ONE_ENGINE "engine_order = round_robin\n", 0, "231");
}

static void priority_counts_where_engines_look_at_it(void)
{
	expect_order(ONE_ENGINE "engine_order = stream_first\n", 1, "132");
	expect_order(ONE_ENGINE "engine_order = stream_first\nengine_priority = 1\n", 1, "231");
	expect_order(ONE_ENGINE "engine_priority = 1\n", -1, "312");
}

/* One copy in each of these two of four streams that have copied before, one after the other. */
static double both_ns(int a, int b, enum dev_mem target, const char *model)
{
	sim_begin(model);
	char *dev = alloc_memory(DEV_MEM_DEVICE, 2 * LONG), *to = alloc_memory(target, 2 * LONG);
	struct dev_stream *s[4];
	for (int i = 0; i < 4; i++) {
		s[i] = open_stream();
		ok(dev_copy(sim.d, s[i], to, dev, 1));
		ok(dev_stream_sync(sim.d, s[i]));
	}
	struct span of_a = span_begin(s[a]), of_b = span_begin(s[b]);
	ok(dev_copy(sim.d, s[a], to, dev, LONG));
	ok(dev_copy(sim.d, s[b], to + LONG, dev + LONG, LONG));
	span_end(&of_a, s[a]);
	span_end(&of_b, s[b]);
	const double ns_a = span_ns(&of_a), ns_b = span_ns(&of_b);
	sim_end();
	return ns_a > ns_b ? ns_a : ns_b;
}

static void streams_keep_their_engine_where_it_is_sticky(void)
{
	const double alone = 1000 + 2 * LONG / 1e6;
	const char *const model = PLAIN "memory_bandwidth = 1e15\n"
					"engine_bandwidth = 1e15\ncopy_engines = 3\n";
	char sticky[2048];
	snprintf(sticky, sizeof(sticky), "%sengine_sticky = 1\n", model);
	for (int b = 1; b < 4; b++) {
		expect_near(both_ns(0, b, DEV_MEM_DEVICE, model), alone, 1);
		expect_near(both_ns(0, b, DEV_MEM_DEVICE, sticky), b == 3 ? 2 * alone : alone, 1);
		expect_near(both_ns(b, 0, DEV_MEM_DEVICE, sticky), b == 3 ? 2 * alone : alone, 1);
	}
}

/* The fourth stream has the first one's of three engines, though five may copy to the host. */
static void no_stream_keeps_an_engine_that_is_not_there(void)
{
	const double alone = 1000 + LONG / 5.0;
	expect_near(both_ns(0, 3, DEV_MEM_PINNED,
			    PLAIN "memory_bandwidth = 1e15\ncopy_engines = 3\nhost_engines = 5\n"
				  "engine_sticky = 1\n"),
		    2 * alone, 1);
}

static void an_engine_that_changes_streams_pays_for_it(void)
{
	sim_begin(PLAIN "memory_bandwidth = 1e15\ncopy_engines = 1\nengine_switch_ns = 300\n");
	char *dev = alloc_memory(DEV_MEM_DEVICE, 3 * LONG),
	     *host = alloc_memory(DEV_MEM_PINNED, 3 * LONG);
	struct dev_stream *s[] = {open_stream(), NULL, open_stream()};
	struct span span[3];
	s[1] = s[0];
	for (int i = 0; i < 3; i++) {
		span[i] = span_begin(s[i]);
		ok(dev_copy(sim.d, s[i], host + LONG * (unsigned)i, dev + LONG * (unsigned)i,
			    LONG));
		span_end(&span[i], s[i]);
		ok(dev_stream_sync(sim.d, s[i]));
		expect_near(span_ns(&span[i]), (i == 2 ? 1300 : 1000) + LONG / 5.0, PICOSECOND);
	}
	sim_end();
}

/* One stream, and one event in front of and one behind them. */
static double batch_ns(size_t count, uint64_t bytes, bool at_once)
{
	char *dev = alloc_memory(DEV_MEM_DEVICE, count * bytes),
	     *host = alloc_memory(DEV_MEM_PINNED, count * bytes);
	struct dev_stream *s = open_stream();
	void *dsts[8];
	const void *srcs[8];
	uint64_t sizes[8];
	for (size_t i = 0; i < count; i++) {
		dsts[i] = host + i * bytes;
		srcs[i] = dev + i * bytes;
		sizes[i] = bytes;
	}
	struct span span = span_begin(s);
	for (size_t i = 0; i < count && !at_once; i++)
		ok(dev_copy(sim.d, s, dsts[i], srcs[i], bytes));
	if (at_once)
		ok(dev_copy_batch(sim.d, s, count, dsts, srcs, sizes));
	span_end(&span, s);
	return span_ns(&span);
}

/* copy_ns once, batch_copy_ns for every further copy, and the bytes. */
static void a_batch_pays_for_one_command(void)
{
	static const double each_ns[] = {0, 250, 1000, 3000};
	for (size_t i = 0; i < sizeof(each_ns) / sizeof(each_ns[0]); i++) {
		char model[2048];
		snprintf(model, sizeof(model), PLAIN "batch_copy_ns = %g\n", each_ns[i]);
		sim_begin(model);
		for (size_t count = 1; count <= 8; count *= 2) {
			const double flow = (double)count * 5000 / 5;
			expect_near(batch_ns(count, 5000, true),
				    1000 + (double)(count - 1) * each_ns[i] + flow, PICOSECOND);
			expect_near(batch_ns(count, 5000, false), (double)count * 1000 + flow,
				    PICOSECOND);
		}
		sim_end();
	}
}

static void without_engines_there_are_no_batches(void)
{
	sim_begin(PLAIN);
	expect(dev_can(sim.d, DEV_CAP_COPY_BATCH));
	sim_end();
	sim_begin(PLAIN "lacks = copy_engine\n");
	expect(!dev_can(sim.d, DEV_CAP_COPY_BATCH));
	sim_end();
	sim_begin(PLAIN "lacks = copy_batch\n");
	expect(!dev_can(sim.d, DEV_CAP_COPY_BATCH) && dev_can(sim.d, DEV_CAP_COPY_ENGINE));
	sim_end();
}

int main(void)
{
	test(host_engines_limit_each_direction);
	test(without_that_limit_two_share_the_link);
	test(an_engine_takes_what_its_order_says);
	test(priority_counts_where_engines_look_at_it);
	test(streams_keep_their_engine_where_it_is_sticky);
	test(no_stream_keeps_an_engine_that_is_not_there);
	test(an_engine_that_changes_streams_pays_for_it);
	test(a_batch_pays_for_one_command);
	test(without_engines_there_are_no_batches);
	return test_done();
}
