/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory controller: what device/dev_tracking.h says of it. The device that has it is a model
 * of sim; where one lacks it, its operations say so.
 */
#include "tests/unit/conformance.h"

#define N 65536u

/* ------------------------------------------------------------------ what is lacking */

static void operations_without_their_capability_say_so(void)
{
	struct dev_stream *s = open_stream();
	struct dev_memory_control control = {DEV_MEMORY_FAIR, 1, 0.5};
	struct dev_memory_bytes bytes = {{-1, -1}, {-1, -1}};
	if (!dev_can(on.d, DEV_CAP_MEMORY_CONTROL)) {
		expect_error(dev_stream_class(on.d, s, DEV_COMMUNICATION), -ENOTSUP);
		expect_error(dev_memory_control(on.d, &control), -ENOTSUP);
		expect_error(dev_memory_control_read(on.d, &control), -ENOTSUP);
		expect_error(dev_memory_bytes(on.d, &bytes), -ENOTSUP);
		expect(bytes.read[0] < 0 && bytes.written[1] < 0);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ the memory controller */

static void the_memory_controller_is_what_was_set(void)
{
	static const struct dev_memory_control wanted[] = {{DEV_MEMORY_COMPUTE_FIRST, 0.5, 0.25},
							   {DEV_MEMORY_FAIR, 1, 0.1}},
					       bad[] = {{DEV_MEMORY_COMPUTE_FIRST, 0, 0.1},
							{DEV_MEMORY_COMPUTE_FIRST, 1.5, 0.1},
							{DEV_MEMORY_COMPUTE_FIRST, 1, 0},
							{DEV_MEMORY_COMPUTE_FIRST, 1, 1},
							{(enum dev_memory_policy)7, 1, 0.1}};
	struct dev_memory_control first, got;
	need(DEV_CAP_MEMORY_CONTROL);
	ok(dev_memory_control_read(on.d, &first));
	for (int i = 0; i < 2; i++) {
		ok(dev_memory_control(on.d, &wanted[i]));
		for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++)
			expect_error(dev_memory_control(on.d, &bad[j]), -EINVAL);
		ok(dev_memory_control_read(on.d, &got));
		expect(got.policy == wanted[i].policy);
		expect_near(got.threshold, wanted[i].threshold, 0);
		expect_near(got.starvation, wanted[i].starvation, 0);
	}
	ok(dev_memory_control(on.d, &first));
}

static void what_is_not_idle_is_not_changed(void)
{
	struct dev_memory_control control;
	need(DEV_CAP_MEMORY_CONTROL);
	struct dev_stream *s = open_stream(), *idle = open_stream();
	ok(dev_memory_control_read(on.d, &control));
	struct blocking g = blocking_hold(s);
	expect_error(dev_memory_control(on.d, &control), -EBUSY);
	expect_error(dev_stream_class(on.d, s, DEV_COMMUNICATION), -EBUSY);
	ok(dev_stream_class(on.d, idle, DEV_COMMUNICATION));
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	ok(dev_memory_control(on.d, &control));
	ok(dev_stream_class(on.d, s, DEV_COMMUNICATION));
	ok(dev_stream_class(on.d, s, DEV_COMPUTING));
	expect_error(dev_stream_class(on.d, s, (enum dev_traffic_class)7), -EINVAL);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, idle);
}

static double all_of(const double *classes)
{
	return classes[DEV_COMPUTING] + classes[DEV_COMMUNICATION];
}

static void bytes_have_the_class_of_what_moves_them(void)
{
	struct dev_memory_bytes before, after;
	need(DEV_CAP_MEMORY_CONTROL);
	struct dev_stream *s = open_stream();
	char *at = alloc_memory(DEV_MEM_DEVICE, 2 * N), *host = alloc_memory(DEV_MEM_PINNED, N);
	ok(dev_stream_class(on.d, s, DEV_COMMUNICATION));
	ok(dev_memory_bytes(on.d, &before));
	ok(dev_copy(on.d, s, at, host, N));
	ok(dev_copy(on.d, s, at + N, at, N));
	ok(dev_fill(on.d, s, at, 1, N));
	ok(dev_stream_sync(on.d, s));
	ok(dev_memory_bytes(on.d, &after));
	/* Caches may keep some of it, and add nothing. */
	expect_near(after.read[DEV_COMPUTING], before.read[DEV_COMPUTING], 0);
	expect_near(after.written[DEV_COMPUTING], before.written[DEV_COMPUTING], 0);
	expect(all_of(after.read) - all_of(before.read) <= N);
	expect(all_of(after.written) - all_of(before.written) <= 3 * N);
	ok(dev_stream_class(on.d, s, DEV_COMPUTING));
	ok(dev_fill(on.d, s, at, 2, N));
	ok(dev_stream_sync(on.d, s));
	ok(dev_memory_bytes(on.d, &before));
	expect_near(before.written[DEV_COMMUNICATION], after.written[DEV_COMMUNICATION], 0);
	expect(before.written[DEV_COMPUTING] >= after.written[DEV_COMPUTING]);
	free_memory(at);
	free_memory(host);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static char *all[] = {"",
			      "host",
			      "sim",
			      "sim:quiet?memory_control=1",
			      "sim:default?memory_control=1,llc_tracked=1:0,1",
			      "unchecked",
			      "host"};
	static const struct rule rules[] = {
		RULE(operations_without_their_capability_say_so),
		RULE(the_memory_controller_is_what_was_set),
		RULE(what_is_not_idle_is_not_changed),
		RULE(bytes_have_the_class_of_what_moves_them),
	};
	if (argc < 2) {
		argc = sizeof(all) / sizeof(all[0]);
		argv = all;
	}
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
