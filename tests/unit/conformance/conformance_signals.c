/* SPDX-License-Identifier: BSD-3-Clause
 *
 * signal and await: order between streams without events, and visibility of earlier work.
 */
#include "tests/unit/conformance/conformance.h"

#define N 65536u

struct flag {
	uint32_t *at, *timed_out;
	uint64_t timeout_ns;
};

static struct flag alloc_flag(enum dev_mem kind)
{
	struct dev_stream *s = open_stream();
	struct flag f = {.at = alloc_memory(kind, 256),
			 .timed_out = alloc_memory(DEV_MEM_PINNED, 4),
			 .timeout_ns = GATE_NS};
	*f.timed_out = 0;
	ok(dev_fill(on.d, s, f.at, 0, 256));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
	return f;
}

static void free_flag(struct flag *f)
{
	expect(load_acquire(f->timed_out) == 0);
	free_memory(f->at);
	free_memory(f->timed_out);
}

static void launch_await(struct dev_stream *s, struct flag *f, uint32_t grid, uint32_t value)
{
	const void *args[] = {&f->at, &value, &f->timed_out, &f->timeout_ns};
	ok(launch_kernel(s, "await", grid, args));
}

static void launch_signal(struct dev_stream *s, struct flag *f, uint32_t grid, uint32_t value)
{
	const void *args[] = {&f->at, &value};
	ok(launch_kernel(s, "signal", grid, args));
}

/* Blocks of await that are resident at once. */
static uint32_t max_awaits(void)
{
	uint32_t blocks = 0;
	ok(dev_occupancy(on.d, find_kernel("await"), 0, 0, &blocks));
	return blocks * dev_props(on.d)->units;
}

static void need_two_blocks(void)
{
	if (max_awaits() < 2)
		skip("the device holds one block");
}

/* ------------------------------------------------------------------ waiting */

static void check_await(enum dev_mem kind, uint32_t grid)
{
	struct dev_stream *waits = open_stream(), *gives = open_stream();
	struct dev_event *e = open_event();
	struct flag f = alloc_flag(kind);
	launch_await(waits, &f, grid, 0x80000001u);
	ok(dev_event_record(on.d, waits, e));
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	launch_signal(gives, &f, 1, 0x7fffffffu); /* unsigned: too small */
	ok(dev_stream_sync(on.d, gives));
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	launch_signal(gives, &f, 3, 0xfffffff0u); /* larger is enough */
	ok(dev_stream_sync(on.d, waits));
	expect_status(dev_event_query(on.d, e), 0);
	launch_await(waits, &f, grid, 5); /* already reached */
	launch_await(waits, &f, grid, 0);
	ok(dev_stream_sync(on.d, waits));
	ok(dev_stream_sync(on.d, gives));
	free_flag(&f);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, gives);
}

static void await_ends_with_a_signal(void)
{
	need_two_blocks();
	check_await(DEV_MEM_PINNED, 1);
	check_await(DEV_MEM_DEVICE, 1);
	check_await(DEV_MEM_DEVICE, max_awaits() - 1);
}

static void await_ends_with_a_value(void)
{
	need_two_blocks();
	struct dev_stream *waits = open_stream(), *gives = open_stream();
	struct flag f = alloc_flag(DEV_MEM_PINNED);
	launch_await(waits, &f, 1, 1);
	ok(dev_post_value(on.d, f.at, 1));
	ok(dev_stream_sync(on.d, waits));
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		launch_await(waits, &f, 1, 2);
		ok(dev_write_value(on.d, gives, f.at, 2));
		ok(dev_stream_sync(on.d, waits));
		ok(dev_stream_sync(on.d, gives));
	}
	free_flag(&f);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, gives);
}

static void await_counts_its_time_outs(void)
{
	struct dev_stream *s = open_stream();
	struct flag f = alloc_flag(DEV_MEM_PINNED);
	const uint32_t grid = max_awaits() + 1;
	const uint64_t before = dev_clock_ns(on.d);
	f.timeout_ns = 2 * MS;
	*f.timed_out = 100; /* time-outs are added to it */
	launch_await(s, &f, grid, 1);
	ok(dev_stream_sync(on.d, s));
	expect(dev_clock_ns(on.d) - before >= 2 * MS);
	expect(load_acquire(f.timed_out) == 100 + grid);
	*f.timed_out = 0;
	free_flag(&f);
	dev_stream_close(on.d, s);
}

static void a_signal_releases_a_waiting_stream(void)
{
	need(DEV_CAP_WAIT_VALUE);
	for (int kind = DEV_MEM_DEVICE; kind <= DEV_MEM_PINNED; kind++) {
		struct dev_stream *waits = open_stream(), *gives = open_stream();
		struct dev_event *e = open_event();
		struct flag f = alloc_flag((enum dev_mem)kind);
		ok(dev_wait_value(on.d, waits, f.at, 9));
		ok(dev_event_record(on.d, waits, e));
		launch_signal(gives, &f, 1, 8);
		ok(dev_stream_sync(on.d, gives));
		spend_ns(MS);
		expect_status(dev_event_query(on.d, e), -EAGAIN);
		launch_signal(gives, &f, 1, 9);
		ok(dev_stream_sync(on.d, waits));
		ok(dev_stream_sync(on.d, gives));
		free_flag(&f);
		dev_event_close(on.d, e);
		dev_stream_close(on.d, waits);
		dev_stream_close(on.d, gives);
	}
}

/* ------------------------------------------------------------------ earlier work is visible */

enum watcher { BY_STREAM, BY_KERNEL, BY_HOST };

/* Stream `makes` changes memory and signals. Whoever sees the signal must see the change. */
static void check_visibility(enum watcher watcher, enum dev_mem kind, uint32_t rounds)
{
	struct dev_stream *makes = open_stream(), *takes = open_stream();
	struct flag f = alloc_flag(kind);
	unsigned char *from = alloc_memory(watcher == BY_HOST ? DEV_MEM_PINNED : DEV_MEM_DEVICE, N),
		      *to = alloc_memory(DEV_MEM_PINNED, N);
	const uint64_t bytes = N;
	const uint32_t reps = 1;
	const void *copies[] = {&to, &from, &bytes, &reps};
	for (uint32_t i = 1; i <= rounds; i++) {
		const uint32_t word = i * 0x01010101u;
		const void *writes[] = {&from, &bytes, &reps, &word};
		if (watcher == BY_STREAM) {
			ok(dev_wait_value(on.d, takes, f.at, i));
			ok(dev_copy(on.d, takes, to, from, N));
		} else if (watcher == BY_KERNEL) {
			launch_await(takes, &f, 1, i);
			ok(launch_kernel(takes, "copy", 2, copies));
		}
		ok(launch_kernel(makes, "write", 2, writes));
		launch_signal(makes, &f, 2, i);
		if (watcher == BY_HOST) {
			require(reaches_value(f.at, i));
			memcpy(to, from, N);
		}
		ok(dev_stream_sync(on.d, takes));
		for (uint32_t j = 0; j < N; j++)
			require(to[j] == i);
		ok(dev_stream_sync(on.d, makes));
	}
	free_memory(from);
	free_memory(to);
	free_flag(&f);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void a_signal_comes_after_earlier_work(void)
{
	check_visibility(BY_HOST, DEV_MEM_PINNED, 20);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		check_visibility(BY_STREAM, DEV_MEM_PINNED, 20);
		check_visibility(BY_STREAM, DEV_MEM_DEVICE, 20);
	}
	if (max_awaits() > 1) {
		check_visibility(BY_KERNEL, DEV_MEM_PINNED, 20);
		check_visibility(BY_KERNEL, DEV_MEM_DEVICE, 20);
	}
}

static void another_device_may_wait(void)
{
	if (!on.other)
		skip("one device");
	struct dev_set twin;
	struct dev *first = on.d;
	open_twin(&twin);
	on.d = twin.dev[0];
	struct dev *other = twin.dev[1];
	if (!dev_can(on.d, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE) || dev_peer_enable(on.d, other)) {
		on.d = first;
		dev_close(&twin);
		skip("no peer that could wait for a value");
	}
	struct dev_stream *makes = open_stream(), *takes = NULL;
	struct flag f = alloc_flag(DEV_MEM_PINNED);
	unsigned char *from = alloc_memory(DEV_MEM_DEVICE, N),
		      *to = alloc_memory(DEV_MEM_PINNED, N);
	ok(dev_stream_open(other, dev_props(other)->priority_normal, &takes));
	ok(dev_wait_value(other, takes, f.at, 3));
	ok(dev_copy(other, takes, to, from, N));
	ok(dev_fill(on.d, makes, from, 42, N));
	launch_signal(makes, &f, 1, 3);
	ok(dev_stream_sync(other, takes));
	expect(to[0] == 42 && to[N - 1] == 42);
	ok(dev_stream_sync(on.d, makes));
	dev_close(&twin);
	on.d = first;
}

static void foreign_flags_are_efault(void)
{
	need_checks();
	static uint32_t pageable[64];
	struct dev_stream *s = open_stream();
	uint32_t *flag = alloc_memory(DEV_MEM_PINNED, 256), *wrong = pageable, value = 0;
	uint64_t timeout_ns = 0;
	const void *signals[] = {&wrong, &value}, *on_flag[] = {&wrong, &value, &flag, &timeout_ns};
	const void *on_count[] = {&flag, &value, &wrong, &timeout_ns};
	expect_error(launch_kernel(s, "signal", 1, signals), -EFAULT);
	expect_error(launch_kernel(s, "await", 1, on_flag), -EFAULT);
	expect_error(launch_kernel(s, "await", 1, on_count), -EFAULT);
	ok(dev_stream_sync(on.d, s));
	free_memory(flag);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(await_ends_with_a_signal),          RULE(await_ends_with_a_value),
		RULE(await_counts_its_time_outs),        RULE(a_signal_releases_a_waiting_stream),
		RULE(a_signal_comes_after_earlier_work), RULE(another_device_may_wait),
		RULE(foreign_flags_are_efault),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
