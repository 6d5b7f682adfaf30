/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the tests of links: simulated devices that are peers, and copies between them.
 */
#ifndef GPUSIG_TESTS_SIM_NODE_H
#define GPUSIG_TESTS_SIM_NODE_H

#include "tests/unit/device/sim/sim.h"

#define PICOSECOND 1e-3
#define BYTES (UINT64_C(1) << 20)
#define DEVICES 8
static const double bytes = (double)BYTES;

/* Copies start at once and nothing but the 20 bytes/ns of a link limits one. */
#define ONLY_LINKS PLAIN "copy_ns = 0\ncopy_engines = 8\nmemory_bandwidth = 1e15\n"

/* Streams and memory, by place in the list of devices. */
static struct {
	struct dev_stream *stream[DEVICES][DEVICES];
	char *memory[DEVICES];
} node;

static inline void begin_node(const char *model, const char *devices)
{
	if (sim.set.count)
		dev_close(&sim.set);
	ok(sim_try(model, devices));
	for (size_t i = 0; i < sim.set.count; i++) {
		node.memory[i] = alloc_memory_on(sim.set.dev[i], DEV_MEM_DEVICE, 9 * BYTES);
		memset(node.memory[i], 0, 9 * BYTES);
		for (size_t k = 0; k < sim.set.count; k++) {
			ok(dev_stream_open(sim.set.dev[i], 0, &node.stream[i][k]));
			ok(dev_peer_enable(sim.set.dev[i], sim.set.dev[k]));
		}
	}
}

static inline void enqueue_copy(size_t from, size_t to)
{
	ok(dev_copy(sim.set.dev[from], node.stream[from][to], node.memory[to] + (1 + from) * BYTES,
		    node.memory[from], BYTES));
}

static inline void sync_streams(void)
{
	for (size_t i = 0; i < sim.set.count; i++)
		for (size_t k = 0; k < sim.set.count; k++)
			ok(dev_stream_sync(sim.set.dev[i], node.stream[i][k]));
}

/* Time of the copies of `ways` ("0>1", by places) when all start at once. */
static inline void all_at_once(const char *const *ways, size_t count, double *ns)
{
	struct dev_event *begun[DEVICES], *ended[DEVICES];
	for (size_t i = 0; i < count; i++) {
		const size_t from = (size_t)(ways[i][0] - '0'), to = (size_t)(ways[i][2] - '0');
		struct dev *d = sim.set.dev[from];
		ok(dev_event_open(d, &begun[i]));
		ok(dev_event_open(d, &ended[i]));
		ok(dev_event_record(d, node.stream[from][to], begun[i]));
		enqueue_copy(from, to);
		ok(dev_event_record(d, node.stream[from][to], ended[i]));
	}
	for (size_t i = 0; i < count; i++) {
		struct dev *d = sim.set.dev[ways[i][0] - '0'];
		ok(dev_event_sync(d, ended[i]));
		ok(dev_event_elapsed_ns(d, begun[i], ended[i], &ns[i]));
		dev_event_close(d, begun[i]);
		dev_event_close(d, ended[i]);
	}
}

static inline void expect_each(const char *const *ways, size_t count, double wanted_ns)
{
	double ns[DEVICES];
	all_at_once(ways, count, ns);
	for (size_t i = 0; i < count; i++)
		expect_near(ns[i], wanted_ns, PICOSECOND);
}

#endif
