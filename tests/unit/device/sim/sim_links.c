/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links between simulated devices: what a way over several of them costs, and what shares them, to
 * the picosecond.
 */
#include "tests/unit/device/sim/sim_node.h"

#include <math.h>

/* ------------------------------------------------------------------ switch and mesh */

static void only_a_switch_limits_injection_without_the_key(void)
{
	static const char *const out[] = {"0>1", "0>2", "0>3"};
	begin_node(ONLY_LINKS "links = switch\n", ":0-3");
	expect_each(out, 3, 3 * bytes / 20);
	sim_end();
	begin_node(ONLY_LINKS "links = mesh\n", ":0-3");
	expect_each(out, 3, bytes / 20);
	sim_end();
	begin_node(ONLY_LINKS "links = mesh\ninjection_bandwidth = 30e9\n", ":0-3");
	expect_each(out, 3, bytes / 10);
	sim_end();
	begin_node(ONLY_LINKS "links = mesh\npeer_bandwidth 0>2 = 40e9\n", ":0-3");
	expect_each(out + 1, 1, bytes / 40);
	sim_end();
}

/* Every device sends its shard to one other device at a time, or to all of them at once. */
static double all_gather_ns(bool at_once)
{
	const size_t count = sim.set.count;
	struct span span = span_begin(node.stream[0][0]);
	for (size_t step = 1; step < count; step++) {
		for (size_t i = 0; i < count; i++)
			enqueue_copy(i, (i + step) % count);
		if (!at_once)
			sync_streams();
	}
	sync_streams();
	span_end(&span, node.stream[0][0]);
	return span_ns(&span);
}

static void all_at_once_gains_on_a_mesh_alone(void)
{
	static const char *const lists[] = {":0-3", ":0-7"};
	for (size_t i = 0; i < 2; i++) {
		begin_node(ONLY_LINKS "links = mesh\n", lists[i]);
		const double others = (double)(sim.set.count - 1);
		expect_near(all_gather_ns(false), others * bytes / 20, PICOSECOND);
		expect_near(all_gather_ns(true), bytes / 20, PICOSECOND);
		sim_end();
		begin_node(ONLY_LINKS, lists[i]);
		expect_near(all_gather_ns(false), others * bytes / 20, PICOSECOND);
		expect_near(all_gather_ns(true), others * bytes / 20, PICOSECOND);
		sim_end();
	}
}

/* ------------------------------------------------------------------ rings */

#define RING4 ONLY_LINKS "devices = 4\nlinks = ring\n"

static void ways_of_a_ring_share_links(void)
{
	static const char *const shared[] = {"0>2", "1>2"}, *const apart[] = {"0>2", "2>0", "3>0"},
				 *const neighbours[] = {"0>1", "1>2", "2>3", "3>0", "1>0", "0>3"};
	begin_node(RING4, ":0-3");
	expect_each(shared, 2, 2 * bytes / 20);
	expect_each(apart, 3, bytes / 20);
	expect_each(neighbours, 6, bytes / 20);
	sim_end();
	/* The slowest link of a way decides. */
	begin_node(RING4 "peer_bandwidth 1>2 = 5e9\n", ":0-3");
	expect_each(shared, 1, bytes / 5);
	expect_each(apart + 1, 2, bytes / 20);
	sim_end();
}

static void links_of_devices_that_are_not_open_count(void)
{
	static const char *const through[] = {"0>1", "2>1"}; /* 0>2 and 1>2 of the machine */
	begin_node(RING4, ":0,2,1");
	expect_each(through, 2, 2 * bytes / 20);
	sim_end();
	/* 0>3 passes 1>2 and 2>3, with 2 closed; 1>3 passes them, too. */
	begin_node(ONLY_LINKS "devices = 6\nlinks = ring\npeer_bandwidth 2>3 = 5e9\n", ":0,1,3");
	static const char *const both[] = {"0>2", "1>2"};
	expect_each(both, 1, bytes / 5);
	expect_each(both, 2, 2 * bytes / 5);
	sim_end();
}

/* 0>2 passes device 1, first closed, then open with a slower model, then closed again. */
static void the_device_that_a_link_leaves_decides(void)
{
	static const char *const way[] = {"0>1"};
	ok(sim_try(RING4 "peer_bandwidth = 5e9\npeer_latency_ns = 7\n", ":1"));
	struct dev_set slow = sim.set;
	sim.set.count = 0;
	begin_node(RING4, ":0,2");
	expect_each(way, 1, 7 + bytes / 5);
	struct dev_path path;
	ok(dev_path_read(sim.d, sim.other, &path));
	expect_near(path.bytes_per_s, 5e9, 0);
	dev_close(&slow);
	expect_each(way, 1, bytes / 20);
	sim_end();
}

static void devices_between_spend_nothing(void)
{
	static const char *const ways[] = {"0>2", "1>0"};
	struct dev_event *from, *to;
	double ns = -1;
	begin_node(PLAIN "copy_ns = 0\ndevices = 4\nlinks = ring\ninjection_bandwidth = 20e9\n"
			 "llc_bytes = 0\n",
		   ":0-3");
	expect_each(ways, 2, bytes / 20);
	struct dev *between = sim.set.dev[1];
	ok(dev_event_open(between, &from));
	ok(dev_event_open(between, &to));
	enqueue_copy(0, 2);
	ok(dev_event_record(between, node.stream[1][1], from));
	ok(dev_fill(between, node.stream[1][1], node.memory[1], 0, BYTES));
	ok(dev_event_record(between, node.stream[1][1], to));
	ok(dev_event_sync(between, to));
	ok(dev_event_elapsed_ns(between, from, to, &ns));
	expect_near(ns, bytes / 100, PICOSECOND);
	sync_streams();
	sim_end();
}

/* ------------------------------------------------------------------ which way */

#define MODEL_BYTES 8000

/* Each link has a latency of its own, so that a sum tells which ones a way passes. */
static double latency_of(unsigned from, unsigned to) { return 1 + from * 64 + to; }

static void append_latency(char *model, unsigned from, unsigned to)
{
	const size_t used = strlen(model);
	const int length =
		snprintf(model + used, MODEL_BYTES - used, "peer_latency_ns %u>%u = %.0f\n", from,
			 to, latency_of(from, to));
	require(length > 0 && (size_t)length < MODEL_BYTES - used);
}

/* All links of a torus whose sides end with 0. */
static void append_latencies(char *model, const unsigned *sides, unsigned devices)
{
	for (unsigned at = 0; at < devices; at++) {
		for (unsigned i = 0, stride = 1; sides[i]; stride *= sides[i++]) {
			const unsigned x = at / stride % sides[i];
			append_latency(model, at, at + ((x + 1) % sides[i] - x) * stride);
			if (sides[i] > 2)
				append_latency(model, at,
					       at + ((x + sides[i] - 1) % sides[i] - x) * stride);
		}
	}
}

/* "0>1>5": a fill by the first device of memory of the last one takes this way. */
static void expect_way(const char *model, const char *way)
{
	struct dev_path path;
	char devices[32], *end;
	unsigned at = (unsigned)strtoul(way, &end, 10), hops = 0;
	const unsigned first = at;
	double sum_ns = 0;
	while (*end) {
		const unsigned next = (unsigned)strtoul(end + 1, &end, 10);
		sum_ns += latency_of(at, next);
		at = next;
		hops++;
	}
	snprintf(devices, sizeof(devices), ":%u,%u", first, at);
	begin_node(model, devices);
	struct dev_stream *s = node.stream[0][1];
	struct span span = span_begin(s);
	ok(dev_fill(sim.d, s, node.memory[1], 0, BYTES));
	span_end(&span, s);
	const double ns = span_ns(&span);
	if (fabs(ns - sum_ns - bytes / 20) > PICOSECOND)
		printf("# %s: %.3f ns\n", way, ns - bytes / 20);
	expect_near(ns, sum_ns + bytes / 20, PICOSECOND);
	ok(dev_path_read(sim.d, sim.other, &path));
	expect(path.hops == hops);
	sim_end();
}

static void a_ring_goes_the_shorter_way_and_half_of_it_up(void)
{
	static const char *const ways[] = {
		"0>1>2>3",   "0>1>2>3>4", "1>2>3>4>5", "3>4>5>6>7", "4>3>2>1>0",
		"5>6>7>0>1", "7>0>1>2>3", "0>7>6>5",   "5>4>3",     "6>7>0",
	};
	char model[MODEL_BYTES] = ONLY_LINKS "devices = 8\nlinks = ring\n";
	append_latencies(model, (const unsigned[]){8, 0}, 8);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		expect_way(model, ways[i]);
	char odd[MODEL_BYTES] = ONLY_LINKS "devices = 5\nlinks = ring\n";
	append_latencies(odd, (const unsigned[]){5, 0}, 5);
	expect_way(odd, "3>4>0");
	expect_way(odd, "2>1>0");
	expect_way(odd, "0>4>3");
	char two[MODEL_BYTES] = ONLY_LINKS "devices = 2\nlinks = ring\n";
	append_latencies(two, (const unsigned[]){2, 0}, 2);
	expect_way(two, "0>1");
	expect_way(two, "1>0");
}

static void a_torus_passes_its_dimensions_in_order(void)
{
	char model[MODEL_BYTES] = ONLY_LINKS "devices = 8\nlinks = torus:4x2\n";
	append_latencies(model, (const unsigned[]){4, 2, 0}, 8);
	expect_way(model, "0>1>5");
	expect_way(model, "5>4>0");
	expect_way(model, "0>1>2>6");
	expect_way(model, "6>5>4>0");
	expect_way(model, "0>3>7");
	expect_way(model, "3>7");
	expect_way(model, "7>4>5>1");
	snprintf(model, sizeof(model), ONLY_LINKS "devices = 32\nlinks = torus:4x4x2\n");
	append_latencies(model, (const unsigned[]){4, 4, 2, 0}, 32);
	expect_way(model, "0>1>5>21");
	expect_way(model, "21>20>16>0");
	expect_way(model, "0>12>28");
}

/* Opposite corners of 4x2 meet on the links between 1 and 2. */
static void ways_of_a_torus_share_links(void)
{
	static const char *const shared[] = {"0>2", "1>2"}, *const apart[] = {"0>2", "3>2"};
	begin_node(ONLY_LINKS "devices = 8\nlinks = torus:4x2\n", ":0,1,6,7");
	/* 0>1>2>6 and 1>2>6; 0>1>2>6 and 7>6. */
	expect_each(shared, 2, 2 * bytes / 20);
	expect_each(apart, 2, bytes / 20);
	sim_end();
}

/* ------------------------------------------------------------------ latency */

static void latencies_of_a_way_add_up(void)
{
	begin_node(PLAIN "devices = 6\nlinks = ring\npeer_latency_ns = 100\nlink_latency_ns = 900\n"
			 "peer_latency_ns 1>2 = 30\npeer_latency_ns 3>2 = 7\n",
		   ":0,3");
	struct dev_stream *s = node.stream[0][0];
	char *mine = node.memory[0], *theirs = node.memory[1];
	const uint64_t n = BYTES;
	const uint32_t reps = 1;
	/* 0>1>2>3 and, from half of the ring, 3>2>1>0. */
	struct span span = span_begin(s);
	ok(dev_copy(sim.d, s, theirs, mine, BYTES));
	span_end(&span, s);
	expect_near(span_ns(&span), 1000 + 230 + bytes / 20, PICOSECOND);
	const void *const load[] = {&mine, &theirs, &n, &reps};
	span = span_begin(s);
	ok(launch_kernel(s, "copy", 8, 0, load));
	span_end(&span, s);
	expect_near(span_ns(&span), 207 + bytes / 20, PICOSECOND);
	uint64_t ring = BYTES, steps = 10;
	*(uint64_t *)(void *)theirs = (uintptr_t)theirs;
	const void *const chase[] = {&theirs, &ring, &steps, &mine};
	span = span_begin(s);
	ok(launch_kernel(s, "chase", 1, 0, chase));
	span_end(&span, s);
	expect_near(span_ns(&span), 10 * (900 + 207), PICOSECOND);
	sim_end();
}

/* ------------------------------------------------------------------ long ways */

static void a_way_may_be_long(void)
{
	static const char *const way[] = {"0>1"};
	begin_node(ONLY_LINKS "links = ring\npeer_latency_ns = 3\n", ":0,32,16");
	expect_each(way, 1, 32 * 3 + bytes / 20);
	/* By the third device: 16 links there, and 16 to it. */
	struct dev *by = sim.set.dev[2];
	struct dev_event *from, *to;
	double ns = -1;
	ok(dev_event_open(by, &from));
	ok(dev_event_open(by, &to));
	ok(dev_event_record(by, node.stream[2][2], from));
	ok(dev_copy(by, node.stream[2][2], node.memory[1], node.memory[0], BYTES));
	ok(dev_event_record(by, node.stream[2][2], to));
	ok(dev_event_sync(by, to));
	ok(dev_event_elapsed_ns(by, from, to, &ns));
	expect_near(ns, 16 * 3 + bytes / 20, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(only_a_switch_limits_injection_without_the_key);
	test(all_at_once_gains_on_a_mesh_alone);
	test(ways_of_a_ring_share_links);
	test(links_of_devices_that_are_not_open_count);
	test(the_device_that_a_link_leaves_decides);
	test(devices_between_spend_nothing);
	test(a_ring_goes_the_shorter_way_and_half_of_it_up);
	test(a_torus_passes_its_dimensions_in_order);
	test(ways_of_a_torus_share_links);
	test(latencies_of_a_way_add_up);
	test(a_way_may_be_long);
	return test_done();
}
