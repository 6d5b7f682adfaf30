/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: what device/dev.h says of time stamps and of waits across streams and devices.
 */
#include "tests/unit/conformance/conformance.h"

#define N 65536u

static void an_event_never_recorded_counts_as_complete(void)
{
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event(), *done = open_event();
	double ns;
	expect_error(dev_event_query(on.d, e), -EINVAL);
	expect_error(dev_event_sync(on.d, e), -EINVAL);
	ok(dev_event_record(on.d, s, done));
	ok(dev_stream_wait(on.d, s, e)); /* counts as complete */
	ok(dev_stream_sync(on.d, s));
	expect_error(dev_event_elapsed_ns(on.d, e, done, &ns), -EINVAL);
	expect_error(dev_event_elapsed_ns(on.d, done, e, &ns), -EINVAL);
	dev_event_close(on.d, e);
	dev_event_close(on.d, done);
	dev_stream_close(on.d, s);
}

static void events_measure_time(void)
{
	struct dev_stream *s = open_stream();
	struct dev_event *from = open_event(), *to = open_event();
	char *a = alloc_memory(DEV_MEM_PINNED, 1 << 20);
	double ns = -1, back = -1;
	uint64_t before = dev_clock_ns(on.d);
	ok(dev_event_record(on.d, s, from));
	ok(dev_fill(on.d, s, a, 1, 1 << 20));
	ok(dev_event_record(on.d, s, to));
	ok(dev_event_sync(on.d, to));
	uint64_t after = dev_clock_ns(on.d);
	expect(a[0] == 1);
	expect_status(dev_event_query(on.d, from), 0);
	expect_status(dev_event_query(on.d, to), 0);
	ok(dev_event_elapsed_ns(on.d, from, to, &ns));
	ok(dev_event_elapsed_ns(on.d, to, from, &back));
	expect(ns > 0);
	expect_near(back, -ns, 1);
	expect(ns <= (double)(after - before) * 1.001 + 5000);
	free_memory(a);
	dev_event_close(on.d, from);
	dev_event_close(on.d, to);
	dev_stream_close(on.d, s);
}

static void a_pending_event_is_eagain(void)
{
	struct dev_stream *s = open_stream();
	struct dev_event *from = open_event(), *to = open_event();
	double ns = -1;
	ok(dev_event_record(on.d, s, from));
	struct blocking g = blocking_hold(s);
	ok(dev_event_record(on.d, s, to));
	expect_status(dev_event_query(on.d, from), 0);
	expect_status(dev_event_query(on.d, to), -EAGAIN);
	expect_status(dev_event_elapsed_ns(on.d, from, to, &ns), -EAGAIN);
	expect(ns < 0);
	blocking_release(&g);
	ok(dev_event_sync(on.d, to));
	ok(dev_event_elapsed_ns(on.d, from, to, &ns));
	expect(ns > 0);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	dev_event_close(on.d, from);
	dev_event_close(on.d, to);
	dev_stream_close(on.d, s);
}

static void recording_again_replaces(void)
{
	struct dev_stream *s = open_stream();
	struct dev_event *zero = open_event(), *e = open_event();
	double first = 0, second = 0;
	ok(dev_event_record(on.d, s, zero));
	ok(dev_event_record(on.d, s, e));
	ok(dev_stream_sync(on.d, s));
	ok(dev_event_elapsed_ns(on.d, zero, e, &first));
	struct blocking g = blocking_hold(s);
	ok(dev_event_record(on.d, s, e));
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	blocking_release(&g);
	ok(dev_event_sync(on.d, e));
	ok(dev_event_elapsed_ns(on.d, zero, e, &second));
	expect(second > first);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	dev_event_close(on.d, zero);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void a_stream_waits_for_an_event(void)
{
	struct dev_stream *s = open_stream(), *waits = open_stream();
	struct dev_event *e = open_event(), *after = open_event();
	char *a = alloc_memory(DEV_MEM_DEVICE, N), *b = alloc_memory(DEV_MEM_PINNED, N);
	memset(b, 0, N);
	struct blocking g = blocking_hold(s);
	ok(dev_fill(on.d, s, a, 6, N));
	ok(dev_event_record(on.d, s, e));
	ok(dev_stream_wait(on.d, waits, e));
	ok(dev_copy(on.d, waits, b, a, N));
	ok(dev_event_record(on.d, waits, after));
	spend_ns(MS);
	expect_status(dev_event_query(on.d, after), -EAGAIN);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, waits));
	for (uint32_t i = 0; i < N; i++)
		require(b[i] == 6);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	free_memory(a);
	free_memory(b);
	dev_event_close(on.d, e);
	dev_event_close(on.d, after);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, waits);
}

static void a_wait_is_for_the_record_as_of_the_call(void)
{
	struct dev_stream *s = open_stream(), *waits = open_stream();
	struct dev_event *e = open_event(), *gone = open_event();
	ok(dev_event_record(on.d, s, e));
	struct blocking g = blocking_hold(s);
	ok(dev_stream_wait(on.d, waits, e));
	ok(dev_event_record(on.d, s, e)); /* recorded after the wait: does not affect it */
	ok(dev_stream_sync(on.d, waits));
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	/* An event may be closed while its records and waits are queued. */
	ok(dev_event_record(on.d, s, gone));
	ok(dev_stream_wait(on.d, waits, gone));
	dev_event_close(on.d, gone);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, waits));
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, waits);
}

static void a_stream_waits_for_another_device(void)
{
	if (!on.other)
		skip("one device");
	struct dev_stream *s = open_stream(), *waits = NULL;
	struct dev_event *e = open_event(), *after = NULL;
	ok(dev_stream_open(on.other, dev_props(on.other)->priority_normal, &waits));
	ok(dev_event_open(on.other, &after));
	struct blocking g = blocking_hold(s);
	ok(dev_event_record(on.d, s, e));
	ok(dev_stream_wait(on.other, waits, e));
	ok(dev_event_record(on.other, waits, after));
	spend_ns(MS);
	expect_status(dev_event_query(on.other, after), -EAGAIN);
	blocking_release(&g);
	ok(dev_stream_sync(on.other, waits));
	expect_status(dev_event_query(on.d, e), 0);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	dev_event_close(on.other, after);
	dev_stream_close(on.other, waits);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(an_event_never_recorded_counts_as_complete),
		RULE(events_measure_time),
		RULE(a_pending_event_is_eagain),
		RULE(recording_again_replaces),
		RULE(a_stream_waits_for_an_event),
		RULE(a_wait_is_for_the_record_as_of_the_call),
		RULE(a_stream_waits_for_another_device),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
