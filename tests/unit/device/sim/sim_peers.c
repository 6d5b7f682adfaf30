/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ordered pairs of simulated devices: the rates and latencies of device/sim/machine/links.c, to the
 * picosecond, by copy engines and by kernels.
 */
#include "tests/unit/device/sim/sim.h"

#define PICOSECOND 1e-3
#define DEVICES 4
#define BYTES (UINT64_C(1) << 20)
static const double bytes = (double)BYTES;

static struct {
	struct dev_stream *stream[DEVICES][DEVICES];
	char *memory[DEVICES];
} node;

/* Device i has a stream for every other one. */
static void begin_node(const char *model)
{
	if (sim.set.count)
		dev_close(&sim.set);
	ok(sim_try(model, ":0-3"));
	for (size_t i = 0; i < DEVICES; i++) {
		node.memory[i] = alloc_memory_on(sim.set.dev[i], DEV_MEM_DEVICE, 8 * BYTES);
		memset(node.memory[i], 0, 8 * BYTES);
		for (size_t k = 0; k < DEVICES; k++) {
			ok(dev_stream_open(sim.set.dev[i], 0, &node.stream[i][k]));
			ok(dev_peer_enable(sim.set.dev[i], sim.set.dev[k]));
		}
	}
}

/* By device `by`: from the memory of one device to another's. */
static void enqueue_copy(size_t by, struct dev_stream *s, size_t from, size_t to, uint32_t blocks)
{
	struct dev *d = sim.set.dev[by];
	char *dst = node.memory[to] + (1 + from) * BYTES, *src = node.memory[from];
	const uint64_t n = BYTES;
	const uint32_t reps = 1;
	const void *const args[] = {&dst, &src, &n, &reps};
	const struct dev_launch launch = {.grid = blocks, .args = args};
	struct dev_kernel *k = NULL;
	ok(dev_kernel_find(d, "copy", &k));
	if (blocks)
		ok(dev_launch(d, s, k, &launch));
	else
		ok(dev_copy(d, s, dst, src, BYTES));
}

static double alone_ns(size_t by, size_t from, size_t to, uint32_t blocks)
{
	struct dev *d = sim.set.dev[by];
	struct dev_stream *s = node.stream[by][by];
	struct dev_event *begun = NULL, *ended = NULL;
	double ns = -1;
	ok(dev_event_open(d, &begun));
	ok(dev_event_open(d, &ended));
	ok(dev_event_record(d, s, begun));
	enqueue_copy(by, s, from, to, blocks);
	ok(dev_event_record(d, s, ended));
	ok(dev_event_sync(d, ended));
	ok(dev_event_elapsed_ns(d, begun, ended, &ns));
	dev_event_close(d, begun);
	dev_event_close(d, ended);
	return ns;
}

static void a_pair_has_a_rate_and_a_latency(void)
{
	begin_node(PLAIN
		   "peer_latency_ns = 300\npeer_bandwidth 0>3 = 5e9\npeer_latency_ns 0>3 = 700\n"
		   "peer_bandwidth 2>1 = 10e9\n");
	/* 1000 is copy_ns, 20 bytes/ns peer_bandwidth. Pushed and pulled alike. */
	for (size_t by = 0; by < DEVICES; by += 3) {
		expect_near(alone_ns(by, 0, 3, 0), 1000 + 700 + bytes / 5, PICOSECOND);
		expect_near(alone_ns(by, 3, 0, 0), 1000 + 300 + bytes / 20, PICOSECOND);
	}
	expect_near(alone_ns(0, 0, 1, 0), 1000 + 300 + bytes / 20, PICOSECOND);
	expect_near(alone_ns(2, 2, 1, 0), 1000 + 300 + bytes / 10, PICOSECOND);
	expect_near(alone_ns(1, 1, 2, 0), 1000 + 300 + bytes / 20, PICOSECOND);
	/* A kernel's stores and its loads pass the same pair; its blocks start together. */
	for (size_t by = 0; by < DEVICES; by += 3) {
		expect_near(alone_ns(by, 0, 3, 8), 700 + bytes / 5, PICOSECOND);
		expect_near(alone_ns(by, 3, 0, 8), 300 + bytes / 20, PICOSECOND);
	}
	expect_near(alone_ns(2, 2, 1, 8), 300 + bytes / 10, PICOSECOND);
	/* A copy within a device passes none. */
	expect_near(alone_ns(0, 0, 0, 0), 1000 + 2 * bytes / 100, PICOSECOND);
	sim_end();
}

static void a_fill_and_a_chase_pass_the_pair(void)
{
	begin_node(PLAIN "peer_latency_ns 0>1 = 700\npeer_latency_ns 1>0 = 50\n"
			 "link_latency_ns = 900\n");
	struct dev_stream *s = node.stream[0][0];
	struct span span = span_begin(s);
	ok(dev_fill(sim.d, s, node.memory[1], 0, BYTES));
	span_end(&span, s);
	expect_near(span_ns(&span), 700 + bytes / 20, PICOSECOND);
	/* Data of loads comes from the other device. */
	uint64_t ring = BYTES, steps = 10;
	char *at = node.memory[1], *out = node.memory[0];
	*(uint64_t *)(void *)at = (uintptr_t)at;
	const void *args[] = {&at, &ring, &steps, &out};
	span = span_begin(s);
	ok(launch_kernel(s, "chase", 1, 0, args));
	span_end(&span, s);
	expect_near(span_ns(&span), 10 * (900 + 50), PICOSECOND);
	sim_end();
}

/* Time of the copies of `routes` ("0>1") when all start at once, without copy_ns. */
static void all_at_once(const char *const *routes, size_t count, uint32_t blocks, double *ns)
{
	struct dev_event *begun[16], *ended[16];
	for (size_t i = 0; i < count; i++) {
		size_t from = (size_t)(routes[i][0] - '0'), to = (size_t)(routes[i][2] - '0');
		struct dev_stream *s = node.stream[from][to];
		ok(dev_event_open(sim.set.dev[from], &begun[i]));
		ok(dev_event_open(sim.set.dev[from], &ended[i]));
		ok(dev_event_record(sim.set.dev[from], s, begun[i]));
		enqueue_copy(from, s, from, to, blocks);
		ok(dev_event_record(sim.set.dev[from], s, ended[i]));
	}
	for (size_t i = 0; i < count; i++) {
		struct dev *d = sim.set.dev[routes[i][0] - '0'];
		ok(dev_event_sync(d, ended[i]));
		ok(dev_event_elapsed_ns(d, begun[i], ended[i], &ns[i]));
		ns[i] -= blocks ? 0 : 1000;
		dev_event_close(d, begun[i]);
		dev_event_close(d, ended[i]);
	}
}

static void injection_limits_what_leaves_and_what_comes(void)
{
	static const char *const out[] = {"0>1", "0>2", "0>3"}, *const in[] = {"1>0", "2>0", "3>0"},
				 *const apart[] = {"0>1", "1>0", "2>3"};
	double ns[3];
	for (uint32_t blocks = 0; blocks <= 2; blocks += 2) {
		begin_node(PLAIN "copy_engines = 4\ninjection_bandwidth = 30e9\n");
		all_at_once(out, 3, blocks, ns);
		for (size_t i = 0; i < 3; i++)
			expect_near(ns[i], bytes / 10, PICOSECOND);
		all_at_once(in, 3, blocks, ns);
		for (size_t i = 0; i < 3; i++)
			expect_near(ns[i], bytes / 10, PICOSECOND);
		all_at_once(apart, 3, blocks, ns);
		for (size_t i = 0; i < 3; i++)
			expect_near(ns[i], bytes / 20, PICOSECOND);
		sim_end();
	}
	/* Without the key it is the rate of a pair. */
	begin_node(PLAIN "copy_engines = 4\n");
	all_at_once(out, 3, 0, ns);
	expect_near(ns[0], 3 * bytes / 20, PICOSECOND);
	sim_end();
	/* A pair is no faster than what a device injects. */
	begin_node(PLAIN "peer_bandwidth 0>1 = 40e9\n");
	expect_near(alone_ns(0, 0, 1, 0), 1000 + bytes / 20, PICOSECOND);
	sim_end();
}

static void a_slow_pair_leaves_the_rest_to_others(void)
{
	static const char *const out[] = {"0>1", "0>3"};
	double ns[2];
	begin_node(PLAIN "peer_bandwidth 0>3 = 5e9\n");
	all_at_once(out, 2, 0, ns);
	expect_near(ns[0], bytes / 15, PICOSECOND);
	expect_near(ns[1], bytes / 5, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(a_pair_has_a_rate_and_a_latency);
	test(a_fill_and_a_chase_pass_the_pair);
	test(injection_limits_what_leaves_and_what_comes);
	test(a_slow_pair_leaves_the_rest_to_others);
	return test_done();
}
