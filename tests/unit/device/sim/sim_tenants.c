/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitions of one simulated device: what they share and what each has of its own, to the
 * picosecond.
 */
#include "tests/unit/device/sim/sim_node.h"

#include <stdio.h>

/* Copies start at once, and one within a device passes its memory twice. */
#define ONLY_MEMORY                                                                                \
	PLAIN "copy_ns = 0\ncopy_engines = 8\nmemory_bandwidth = 20e9\nengine_bandwidth = 1e15\n"
#define PAIRS "tenants = 2\n"

static const char *const first_pair[] = {"0>0", "1>1"}, *const mixed[] = {"0>0", "2>2"};

static void partitions_share_memory(void)
{
	begin_node(ONLY_MEMORY PAIRS, ":0-3");
	expect_each(first_pair, 1, 2 * bytes / 20);
	expect_each(first_pair, 2, 4 * bytes / 20);
	expect_each(mixed, 2, 2 * bytes / 20);
	sim_end();
	begin_node(ONLY_MEMORY, ":0-3");
	expect_each(first_pair, 2, 2 * bytes / 20);
	sim_end();
}

/* Not by which are open, nor in which order. */
static void partitions_are_by_index(void)
{
	begin_node(ONLY_MEMORY PAIRS, ":1,2,3");
	expect_each(first_pair, 2, 2 * bytes / 20); /* devices 1 and 2 */
	static const char *const second_pair[] = {"1>1", "2>2"};
	expect_each(second_pair, 2, 4 * bytes / 20); /* devices 2 and 3 */
	sim_end();
}

static void partitions_share_the_way_to_the_host(void)
{
	struct dev_event *begun[2], *ended[2];
	begin_node(ONLY_LINKS PAIRS "link_up_bandwidth = 20e9\nhost_bandwidth = 1e15\n", ":0,1");
	for (size_t i = 0; i < 2; i++) {
		struct dev *d = sim.set.dev[i];
		void *host = alloc_memory_on(d, DEV_MEM_PINNED, BYTES);
		ok(dev_event_open(d, &begun[i]));
		ok(dev_event_open(d, &ended[i]));
		ok(dev_event_record(d, node.stream[i][i], begun[i]));
		ok(dev_copy(d, node.stream[i][i], host, node.memory[i], BYTES));
		ok(dev_event_record(d, node.stream[i][i], ended[i]));
	}
	for (size_t i = 0; i < 2; i++) {
		double ns = 0;
		ok(dev_event_sync(sim.set.dev[i], ended[i]));
		ok(dev_event_elapsed_ns(sim.set.dev[i], begun[i], ended[i], &ns));
		expect_near(ns, 2 * bytes / 20, PICOSECOND);
	}
	sim_end();
}

/* Other models, and the same model again, are other machines' devices. */
static void a_partition_outlives_the_other(void)
{
	static const char *const alone[] = {"0>0"};
	struct dev_set first, second;
	begin_node(ONLY_MEMORY PAIRS, ":0");
	first = sim.set;
	sim.set = (struct dev_set){0};
	begin_node(ONLY_MEMORY PAIRS, ":1");
	second = sim.set;
	dev_close(&first);
	sim.set = second;
	expect_each(alone, 1, 2 * bytes / 20);
	sim_end();
}

static void a_memory_that_favours_classes_has_no_partitions(void)
{
	expect_error(sim_try("like = t3\n" PAIRS, ":0"), -EINVAL);
	expect(strstr(err_text(), "tenants needs memory_control = 0") != NULL);
}

int main(void)
{
	test(partitions_share_memory);
	test(partitions_are_by_index);
	test(partitions_share_the_way_to_the_host);
	test(a_partition_outlives_the_other);
	test(a_memory_that_favours_classes_has_no_partitions);
	return test_done();
}
