/* SPDX-License-Identifier: BSD-3-Clause
 *
 * signal and await: order between streams that no event makes, and what becomes visible with it.
 */
#include "tests/unit/conformance.h"

#define N 65536u

struct flag {
	uint32_t *at, *timed_out;
	uint64_t timeout_ns;
};

static struct flag flag_in(enum dev_mem kind)
{
	struct dev_stream *s = stream();
	struct flag f = { .at = get(kind, 256), .timed_out = get(DEV_MEM_PINNED, 4), .timeout_ns = GATE_NS };
	*f.timed_out = 0;
	ok(dev_fill(on.d, s, f.at, 0, 256));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
	return f;
}

static void drop_flag(struct flag *f)
{
	expect(look(f->timed_out) == 0);
	put(f->at);
	put(f->timed_out);
}

static void await(struct dev_stream *s, struct flag *f, uint32_t grid, uint32_t value)
{
	const void *args[] = { &f->at, &value, &f->timed_out, &f->timeout_ns };
	ok(launch(s, "await", grid, args));
}

static void signal_value(struct dev_stream *s, struct flag *f, uint32_t grid, uint32_t value)
{
	const void *args[] = { &f->at, &value };
	ok(launch(s, "signal", grid, args));
}

/* Blocks of await that the device holds at once. */
static uint32_t most_awaits(void)
{
	uint32_t blocks = 0;
	ok(dev_occupancy(on.d, kernel("await"), 0, 0, &blocks));
	return blocks * dev_props(on.d)->units;
}

static void needs_two_blocks(void)
{
	if (most_awaits() < 2)
		skip("the device holds one block");
}

/* ------------------------------------------------------------------ waiting */

static void await_until(enum dev_mem kind, uint32_t grid)
{
	struct dev_stream *waits = stream(), *gives = stream();
	struct dev_event *e = event();
	struct flag f = flag_in(kind);
	await(waits, &f, grid, 0x80000001u);
	ok(dev_event_record(on.d, waits, e));
	pass(MS);
	expect_rc(dev_event_query(on.d, e), -EAGAIN);
	signal_value(gives, &f, 1, 0x7fffffffu); /* unsigned: not yet */
	ok(dev_stream_sync(on.d, gives));
	pass(MS);
	expect_rc(dev_event_query(on.d, e), -EAGAIN);
	signal_value(gives, &f, 3, 0xfffffff0u); /* more is enough */
	ok(dev_stream_sync(on.d, waits));
	expect_rc(dev_event_query(on.d, e), 0);
	await(waits, &f, grid, 5); /* already there */
	await(waits, &f, grid, 0);
	ok(dev_stream_sync(on.d, waits));
	ok(dev_stream_sync(on.d, gives));
	drop_flag(&f);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, gives);
}

static void await_ends_with_a_signal(void)
{
	needs_two_blocks();
	await_until(DEV_MEM_PINNED, 1);
	await_until(DEV_MEM_DEVICE, 1);
	await_until(DEV_MEM_DEVICE, most_awaits() - 1);
}

static void await_ends_with_a_value(void)
{
	needs_two_blocks();
	struct dev_stream *waits = stream(), *gives = stream();
	struct flag f = flag_in(DEV_MEM_PINNED);
	await(waits, &f, 1, 1);
	ok(dev_post_value(on.d, f.at, 1));
	ok(dev_stream_sync(on.d, waits));
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		await(waits, &f, 1, 2);
		ok(dev_write_value(on.d, gives, f.at, 2));
		ok(dev_stream_sync(on.d, waits));
		ok(dev_stream_sync(on.d, gives));
	}
	drop_flag(&f);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, gives);
}

static void await_counts_its_time_outs(void)
{
	struct dev_stream *s = stream();
	struct flag f = flag_in(DEV_MEM_PINNED);
	const uint32_t grid = most_awaits() + 1;
	const uint64_t before = dev_clock_ns(on.d);
	f.timeout_ns = 2 * MS;
	*f.timed_out = 100; /* added to what is there */
	await(s, &f, grid, 1);
	ok(dev_stream_sync(on.d, s));
	expect(dev_clock_ns(on.d) - before >= 2 * MS);
	expect(look(f.timed_out) == 100 + grid);
	*f.timed_out = 0;
	drop_flag(&f);
	dev_stream_close(on.d, s);
}

static void a_signal_releases_a_waiting_stream(void)
{
	need(DEV_CAP_WAIT_VALUE);
	for (int kind = DEV_MEM_DEVICE; kind <= DEV_MEM_PINNED; kind++) {
		struct dev_stream *waits = stream(), *gives = stream();
		struct dev_event *e = event();
		struct flag f = flag_in((enum dev_mem)kind);
		ok(dev_wait_value(on.d, waits, f.at, 9));
		ok(dev_event_record(on.d, waits, e));
		signal_value(gives, &f, 1, 8);
		ok(dev_stream_sync(on.d, gives));
		pass(MS);
		expect_rc(dev_event_query(on.d, e), -EAGAIN);
		signal_value(gives, &f, 1, 9);
		ok(dev_stream_sync(on.d, waits));
		ok(dev_stream_sync(on.d, gives));
		drop_flag(&f);
		dev_event_close(on.d, e);
		dev_stream_close(on.d, waits);
		dev_stream_close(on.d, gives);
	}
}

/* ------------------------------------------------------------------ earlier work is visible */

enum watcher { A_STREAM, A_KERNEL, THE_HOST };

/* `makes` changes memory and signals; who sees the signal must see the change. */
static void watch(enum watcher watcher, enum dev_mem kind, uint32_t rounds)
{
	struct dev_stream *makes = stream(), *takes = stream();
	struct flag f = flag_in(kind);
	unsigned char *from = get(watcher == THE_HOST ? DEV_MEM_PINNED : DEV_MEM_DEVICE, N), *to = get(DEV_MEM_PINNED, N);
	const uint64_t bytes = N;
	const uint32_t reps = 1;
	const void *copies[] = { &to, &from, &bytes, &reps };
	for (uint32_t i = 1; i <= rounds; i++) {
		const uint32_t word = i * 0x01010101u;
		const void *writes[] = { &from, &bytes, &reps, &word };
		if (watcher == A_STREAM) {
			ok(dev_wait_value(on.d, takes, f.at, i));
			ok(dev_copy(on.d, takes, to, from, N));
		} else if (watcher == A_KERNEL) {
			await(takes, &f, 1, i);
			ok(launch(takes, "copy", 2, copies));
		}
		ok(launch(makes, "write", 2, writes));
		signal_value(makes, &f, 2, i);
		if (watcher == THE_HOST) {
			require(comes_to(f.at, i));
			memcpy(to, from, N);
		}
		ok(dev_stream_sync(on.d, takes));
		for (uint32_t j = 0; j < N; j++)
			require(to[j] == i);
		ok(dev_stream_sync(on.d, makes));
	}
	put(from);
	put(to);
	drop_flag(&f);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void a_signal_comes_after_earlier_work(void)
{
	watch(THE_HOST, DEV_MEM_PINNED, 20);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		watch(A_STREAM, DEV_MEM_PINNED, 20);
		watch(A_STREAM, DEV_MEM_DEVICE, 20);
	}
	if (most_awaits() > 1) {
		watch(A_KERNEL, DEV_MEM_PINNED, 20);
		watch(A_KERNEL, DEV_MEM_DEVICE, 20);
	}
}

static void another_device_may_wait(void)
{
	if (!on.other)
		skip("one device");
	struct dev_set twin;
	struct dev *first = on.d;
	ok(dev_open(on.spec, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE, &twin));
	on.d = twin.dev[0];
	struct dev *other = twin.dev[1];
	if (!dev_can(on.d, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE) || dev_peer_enable(on.d, other)) {
		on.d = first;
		dev_close(&twin);
		skip("no peer that could wait for a value");
	}
	struct dev_stream *makes = stream(), *takes = NULL;
	struct flag f = flag_in(DEV_MEM_PINNED);
	unsigned char *from = get(DEV_MEM_DEVICE, N), *to = get(DEV_MEM_PINNED, N);
	ok(dev_stream_open(other, dev_props(other)->priority_normal, &takes));
	ok(dev_wait_value(other, takes, f.at, 3));
	ok(dev_copy(other, takes, to, from, N));
	ok(dev_fill(on.d, makes, from, 42, N));
	signal_value(makes, &f, 1, 3);
	ok(dev_stream_sync(other, takes));
	expect(to[0] == 42 && to[N - 1] == 42);
	ok(dev_stream_sync(on.d, makes));
	dev_close(&twin);
	on.d = first;
}

static void foreign_flags_are_efault(void)
{
	static uint32_t pageable[64];
	struct dev_stream *s = stream();
	uint32_t *flag = get(DEV_MEM_PINNED, 256), *wrong = pageable, value = 0;
	uint64_t timeout_ns = 0;
	const void *signals[] = { &wrong, &value }, *on_flag[] = { &wrong, &value, &flag, &timeout_ns };
	const void *on_count[] = { &flag, &value, &wrong, &timeout_ns };
	expect_error(launch(s, "signal", 1, signals), -EFAULT);
	expect_error(launch(s, "await", 1, on_flag), -EFAULT);
	expect_error(launch(s, "await", 1, on_count), -EFAULT);
	ok(dev_stream_sync(on.d, s));
	put(flag);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(await_ends_with_a_signal),
		RULE(await_ends_with_a_value),
		RULE(await_counts_its_time_outs),
		RULE(a_signal_releases_a_waiting_stream),
		RULE(a_signal_comes_after_earlier_work),
		RULE(another_device_may_wait),
		RULE(foreign_flags_are_efault),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
