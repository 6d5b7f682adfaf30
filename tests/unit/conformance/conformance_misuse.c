/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles and arguments that device/dev.h calls misuse. Memory that operations may not use is in
 * the tests of those operations.
 */
#include "tests/unit/conformance/conformance.h"

#define N 4096u

static struct dev_stream *closed_stream(void)
{
	struct dev_stream *s = open_stream();
	dev_stream_close(on.d, s);
	return s;
}

static struct dev_event *closed_event(void)
{
	struct dev_event *e = open_event();
	dev_event_close(on.d, e);
	return e;
}

static void closed_handles_are_refused(void)
{
	need_checks();
	double ns = 0;
	struct dev_stream *s = open_stream(), *gone = closed_stream();
	struct dev_event *e = open_event(), *gone_event = closed_event();
	char *a = alloc_memory(DEV_MEM_DEVICE, N);
	expect_error(dev_fill(on.d, gone, a, 0, N), -EINVAL);
	expect_error(launch_kernel(gone, "empty", 1, NULL), -EINVAL);
	expect_error(dev_event_record(on.d, gone, e), -EINVAL);
	expect_error(dev_event_record(on.d, s, gone_event), -EINVAL);
	expect_error(dev_stream_wait(on.d, gone, e), -EINVAL);
	expect_error(dev_stream_wait(on.d, s, gone_event), -EINVAL);
	expect_error(dev_stream_sync(on.d, gone), -EINVAL);
	expect_error(dev_event_query(on.d, gone_event), -EINVAL);
	expect_error(dev_event_sync(on.d, gone_event), -EINVAL);
	expect_error(dev_event_elapsed_ns(on.d, gone_event, e, &ns), -EINVAL);
	expect_error(dev_event_elapsed_ns(on.d, e, gone_event, &ns), -EINVAL);
	ok(dev_fill(on.d, s, a, 0, N));
	ok(dev_stream_sync(on.d, s));
	free_memory(a);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void closing_twice_fails_the_next_operation(void)
{
	need_checks();
	struct dev_stream *s = open_stream(), *gone = closed_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, N);
	dev_stream_close(on.d, gone);
	expect_error(dev_fill(on.d, s, a, 0, N), -EINVAL);
	ok(dev_fill(on.d, s, a, 0, N)); /* it is reported once */
	ok(dev_stream_sync(on.d, s));
	free_memory(a);
	dev_stream_close(on.d, s);
}

static void handles_of_another_device_are_refused(void)
{
	need_checks();
	if (!on.other)
		skip("one device");
	struct dev_stream *s = open_stream(), *theirs = NULL;
	struct dev_event *e = open_event(), *their_event = NULL;
	char *a = alloc_memory(DEV_MEM_DEVICE, N);
	ok(dev_stream_open(on.other, dev_props(on.other)->priority_normal, &theirs));
	ok(dev_event_open(on.other, &their_event));
	expect_error(dev_fill(on.d, theirs, a, 0, N), -EINVAL);
	expect_error(dev_stream_sync(on.d, theirs), -EINVAL);
	expect_error(dev_event_record(on.d, theirs, e), -EINVAL);
	expect_error(dev_event_record(on.d, s, their_event), -EINVAL);
	ok(dev_event_record(on.other, theirs, their_event)); /* but a wait is for any event */
	ok(dev_stream_wait(on.d, s, their_event));
	ok(dev_stream_sync(on.d, s));
	ok(dev_event_query(on.d, their_event));
	free_memory(a);
	dev_event_close(on.other, their_event);
	dev_stream_close(on.other, theirs);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void unknown_kernels_are_refused(void)
{
	need_checks();
	struct dev_stream *s = open_stream();
	struct dev_kernel *none = (struct dev_kernel *)(void *)&on;
	const struct dev_launch l = {.grid = 1};
	uint32_t blocks = 77;
	expect_error(dev_launch(on.d, s, none, &l), -EINVAL);
	expect_error(dev_occupancy(on.d, none, 0, 0, &blocks), -EINVAL);
	expect(blocks == 77);
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

static void arguments_are_checked(void)
{
	need_checks();
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_PINNED, N), *at = a;
	uint64_t bytes = 1024;
	const uint32_t reps = 1, word = 1;
	const void *args[] = {&at, &bytes, &reps, &word}, *few[] = {&at, &bytes, &reps, NULL};
	expect_error(launch_kernel(s, "write", 1, NULL), -EINVAL);
	expect_error(launch_kernel(s, "write", 1, few), -EINVAL);
	at = a + 4;
	expect_error(launch_kernel(s, "write", 1, args), -EINVAL);
	at = a;
	bytes = 1000;
	expect_error(launch_kernel(s, "write", 1, args), -EINVAL);
	bytes = 1024;
	ok(launch_kernel(s, "write", 1, args));
	expect_error(dev_copy(on.d, s, a, a + 100, 101), -EINVAL);
	expect_error(dev_copy(on.d, s, a + 100, a, 101), -EINVAL);
	ok(dev_copy(on.d, s, a + 100, a, 100));
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		uint32_t *skewed = (uint32_t *)(uintptr_t)(a + 2);
		expect_error(dev_wait_value(on.d, s, skewed, 0), -EINVAL);
		expect_error(dev_write_value(on.d, s, skewed, 0), -EINVAL);
		expect_error(dev_post_value(on.d, skewed, 0), -EINVAL);
	}
	ok(dev_stream_sync(on.d, s));
	free_memory(a);
	dev_stream_close(on.d, s);
}

/* Work that an event or another stream shows to be done holds no memory. */
static void memory_of_finished_work_is_free(void)
{
	need_checks();
	struct dev_stream *s = open_stream(), *waits = open_stream();
	struct dev_event *e = open_event();
	char *early = alloc_memory(DEV_MEM_DEVICE, N), *late = alloc_memory(DEV_MEM_DEVICE, N);
	ok(dev_fill(on.d, s, early, 1, N));
	ok(dev_event_record(on.d, s, e));
	ok(dev_stream_wait(on.d, waits, e));
	ok(dev_stream_sync(on.d, waits));
	free_memory(early); /* nothing is left in the stream, though nobody waited for it */
	struct blocking g = blocking_hold(waits);
	ok(dev_fill(on.d, waits, late, 1, N));
	expect_error(dev_free(on.d, late), -EBUSY);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, waits));
	free_memory(late);
	blocking_free(&g);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, waits);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(closed_handles_are_refused),
		RULE(closing_twice_fails_the_next_operation),
		RULE(handles_of_another_device_are_refused),
		RULE(unknown_kernels_are_refused),
		RULE(arguments_are_checked),
		RULE(memory_of_finished_work_is_free),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
