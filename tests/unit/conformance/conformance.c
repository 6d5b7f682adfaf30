/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices, errors and streams: what device/dev.h says of queues.
 */
#include "tests/unit/conformance/conformance.h"

#define N 65536u

/* ------------------------------------------------------------------ devices */

static void properties_are_sane(void)
{
	for (size_t i = 0; i < on.set.count; i++) {
		const struct dev_props *p = dev_props(on.set.dev[i]);
		expect(on.set.dev[i]->index == i);
		expect(memchr(p->name, '\0', sizeof(p->name)) && p->name[0]);
		expect(p->units > 0 && p->slots_per_unit > 0 && p->block_threads > 0 &&
		       p->busy_blocks > 0);
		expect(p->max_queued >= 16);
		expect(p->memory_bytes > 0);
		expect(p->shared_granularity_bytes >= 1);
		expect(p->shared_per_block_bytes + p->shared_reserved_bytes <=
		       p->shared_per_unit_bytes);
		expect(p->priority_low <= p->priority_normal &&
		       p->priority_normal <= p->priority_high);
		expect(!(p->caps & DEV_CAP_PRIORITY) == (p->priority_low == p->priority_high));
		expect(!(p->caps & DEV_CAP_COPY_ENGINE) || p->copy_engines > 0);
		expect(!(p->caps & DEV_CAP_OCCUPANCY) || p->shared_per_block_bytes > 0);
		expect(!(p->caps & DEV_CAP_CARVEOUT) || p->l1_bytes >= p->shared_per_unit_bytes);
		expect(!(p->caps & DEV_CAP_GEMM) == (p->gemm_types == 0));
		expect(p->nominal.memory_bandwidth > 0 || p->nominal.unknown[0]);
		expect(!(p->caps & DEV_CAP_GEMM_TILED) == (p->gemm_tiled_types == 0));
		expect((p->gemm_types | p->gemm_tiled_types) >> DEV_TYPES == 0);
		expect((p->gemm_adding_types & ~p->gemm_tiled_types) == 0);
		expect((p->fma_peak_types & ~p->gemm_types) == 0);
		expect((p->fma_peak_types & ~(1u << DEV_F32 | 1u << DEV_F64)) == 0);
		expect((p->gemm_fast_types & ~p->gemm_types) == 0);
		expect((p->gemm_grouped_types & ~p->gemm_types) == 0);
		expect(!(p->caps & DEV_CAP_GEMM_GROUPED) == (p->gemm_grouped_types == 0));
		expect((p->gemm_adding_types & ~p->gemm_tiled_types) == 0);
		expect(!p->gemm_tiled_types || p->gemm_tile_rows > 0);
	}
}

static void clock_is_monotonic(void)
{
	uint64_t last = dev_clock_ns(on.d), first = last;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = dev_clock_ns(on.d);
		expect(now >= last);
		last = now;
	}
	struct dev_stream *s = open_stream();
	ok(launch_kernel(s, "empty", 1, NULL));
	ok(dev_stream_sync(on.d, s));
	expect(dev_clock_ns(on.d) > first);
	dev_stream_close(on.d, s);
}

static void clock_rate_is_a_rate(void)
{
	double hz = -1;
	if (!dev_can(on.d, DEV_CAP_CLOCK_RATE)) {
		int status = dev_clock_rate(on.d, &hz);
		expect(status == -ENOTSUP || status == 0);
		expect(status == 0 || hz < 0);
		return;
	}
	ok(dev_clock_rate(on.d, &hz));
	expect(hz > 1e7 && hz < 1e11);
}

static void opening_twice_gives_two_devices(void)
{
	struct dev_set twin;
	uint32_t *a = alloc_memory(DEV_MEM_PINNED, 4);
	void *b = NULL;
	*a = 1;
	open_twin(&twin);
	expect(twin.count == on.set.count && twin.dev[0] != on.d);
	ok(dev_alloc(twin.dev[0], DEV_MEM_PINNED, 4, &b));
	*(uint32_t *)b = 2;
	dev_close(&twin);
	expect(twin.count == 0);
	expect(*a == 1);
	free_memory(a);
}

static void closing_a_busy_device_does_not_hang(void)
{
	struct dev_set twin;
	struct dev *first = on.d;
	open_twin(&twin);
	on.d = twin.dev[0];
	struct dev_stream *s = open_stream(), *waits = open_stream();
	struct dev_event *e = open_event();
	char *memory = alloc_memory(DEV_MEM_DEVICE, N);
	struct blocking g = blocking_launch(s, 1, 0, 100 * MS);
	(void)g;
	ok(dev_fill(on.d, s, memory, 1, N));
	ok(dev_event_record(on.d, s, e));
	ok(dev_stream_wait(on.d, waits, e));
	ok(dev_fill(on.d, waits, memory, 2, N));
	dev_close(&twin); /* with work queued: must not hang, leak or touch freed memory */
	on.d = first;
}

static void closing_a_busy_stream_does_not_hang(void)
{
	/* On a device of its own, since a backend may count it as misuse and report that later. */
	struct dev_set twin;
	struct dev *first = on.d;
	open_twin(&twin);
	on.d = twin.dev[0];
	struct dev_stream *s = open_stream();
	blocking_launch(s, 1, 0, 100 * MS);
	dev_stream_close(on.d, s);
	dev_close(&twin);
	on.d = first;
}

/* ------------------------------------------------------------------ errors */

static void outputs_are_set_on_success_only(void)
{
	void *memory = &on;
	struct dev_stream *s = (struct dev_stream *)(void *)&on;
	struct dev_kernel *k = (struct dev_kernel *)(void *)&on;
	struct dev_set set = {.count = 77};
	uint32_t blocks = 77;
	double ns = -1;
	expect_error(dev_alloc(on.d, DEV_MEM_DEVICE, 0, &memory), -EINVAL);
	expect(memory == &on);
	expect_error(dev_stream_open(on.d, dev_props(on.d)->priority_high + 1, &s), -EINVAL);
	expect((void *)s == &on);
	expect_error(dev_kernel_find(on.d, "no such kernel", &k), -ENOENT);
	expect((void *)k == &on);
	expect_error(dev_occupancy(on.d, find_kernel("blocking_kernel"), 0,
				   dev_props(on.d)->shared_per_block_bytes + 1, &blocks),
		     -EINVAL);
	expect(blocks == 77);
	expect_error(dev_open("no such backend", 0, &set), -EINVAL);
	expect(set.count == 77);
	struct dev_event *e = open_event();
	expect_error(dev_event_elapsed_ns(on.d, e, e, &ns), -EINVAL);
	expect(ns < 0);
	dev_event_close(on.d, e);
}

static void optional_operations_say_so(void)
{
	struct dev_stream *s = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 256);
	*at = 5;
	if (!dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		expect_error(dev_wait_value(on.d, s, at, 1), -ENOTSUP);
		expect_error(dev_write_value(on.d, s, at, 1), -ENOTSUP);
	}
	if (!dev_can(on.d, DEV_CAP_GEMM)) {
		struct dev_gemm g =
			PACKED_GEMM(1, 1, 1, .type = DEV_F32, .a = at, .b = at, .c = at);
		expect_error(dev_gemm(on.d, s, &g), -ENOTSUP);
	}
	if (on.other && !dev_can(on.d, DEV_CAP_PEER))
		expect_error(dev_peer_enable(on.d, on.other), -ENOTSUP);
	ok(dev_stream_sync(on.d, s));
	free_memory(at);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ streams */

static void priorities_have_a_range(void)
{
	const struct dev_props *p = dev_props(on.d);
	struct dev_stream *s;
	for (int priority = p->priority_low; priority <= p->priority_high; priority++) {
		ok(dev_stream_open(on.d, priority, &s));
		dev_stream_close(on.d, s);
	}
	expect_error(dev_stream_open(on.d, p->priority_low - 1, &s), -EINVAL);
	expect_error(dev_stream_open(on.d, p->priority_high + 1, &s), -EINVAL);
	dev_stream_close(on.d, NULL);
	dev_event_close(on.d, NULL);
}

static void one_stream_runs_in_order(void)
{
	const uint32_t rounds = 40, reps = 1;
	const uint64_t bytes = 4096;
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, bytes),
	     *log = alloc_memory(DEV_MEM_PINNED, bytes * rounds);
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t word = i * 0x01010101u;
		const void *args[] = {&a, &bytes, &reps, &word};
		if (i % 2)
			ok(launch_kernel(s, "write", 3, args));
		else
			ok(dev_fill(on.d, s, a, (uint8_t)i, bytes));
		ok(dev_copy(on.d, s, log + i * bytes, a, bytes));
	}
	ok(dev_stream_sync(on.d, s));
	for (uint32_t i = 0; i < rounds; i++)
		for (uint64_t j = 0; j < bytes; j++)
			require(log[i * bytes + j] == (char)i);
	free_memory(a);
	free_memory(log);
	dev_stream_close(on.d, s);
}

static void streams_are_independent(void)
{
	if (max_resident_blocks(0) < 2)
		skip("the device holds one block");
	struct dev_stream *shut = open_stream(), *free_one = open_stream();
	struct dev_event *e = open_event();
	char *a = alloc_memory(DEV_MEM_PINNED, N);
	struct blocking g = blocking_hold(shut);
	ok(dev_event_record(on.d, shut, e));
	ok(dev_fill(on.d, free_one, a, 9, N));
	ok(launch_kernel(free_one, "empty", 1, NULL));
	ok(dev_stream_sync(on.d, free_one));
	expect(a[0] == 9 && a[N - 1] == 9);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, shut));
	blocking_free(&g);
	expect_status(dev_event_query(on.d, e), 0);
	free_memory(a);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, shut);
	dev_stream_close(on.d, free_one);
}

static void queueing_does_not_wait(void)
{
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event();
	char *dev = alloc_memory(DEV_MEM_DEVICE, N), *in = alloc_memory(DEV_MEM_PINNED, N),
	     *out = alloc_memory(DEV_MEM_PINNED, N);
	uint64_t bytes = N;
	uint32_t reps = 1;
	memset(in, 3, N);
	memset(out, 4, N);
	struct blocking g = blocking_hold(s);
	ok(dev_copy(on.d, s, dev, in, N));
	ok(dev_copy(on.d, s, out, dev, N / 2));
	ok(dev_fill(on.d, s, dev, 5, N / 2));
	const void *args[] = {&out, &dev, &bytes, &reps};
	ok(dev_event_record(on.d, s, e));
	ok(launch_kernel(s, "copy", 2, args));
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	spend_ns(MS);
	for (uint32_t i = 0; i < N; i++)
		require(out[i] == 4); /* nothing ran before the gate opened */
	blocking_release(&g);
	ok(dev_event_sync(on.d, e));
	ok(dev_stream_sync(on.d, s));
	for (uint32_t i = 0; i < N; i++)
		require(out[i] == (i < N / 2 ? 5 : 3));
	blocking_free(&g);
	free_memory(dev);
	free_memory(in);
	free_memory(out);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void a_queue_takes_max_queued(void)
{
	uint32_t capacity = dev_props(on.d)->max_queued;
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event();
	uint32_t *a = alloc_memory(DEV_MEM_PINNED, 256);
	struct blocking g = blocking_hold(s);
	ok(dev_event_record(on.d, s, e));
	for (uint32_t i = 2; i < capacity && i < 4096; i++)
		ok(dev_fill(on.d, s, a, (uint8_t)i, 256));
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	expect(load_acquire(g.arrived + 1) == 0);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	/* Queueing more than max_queued may wait, but works. */
	for (uint32_t i = 0; i < capacity + 100 && i < 6000; i++)
		ok(dev_fill(on.d, s, a, (uint8_t)(i % 100), 256));
	ok(dev_fill(on.d, s, a, 101, 256));
	ok(dev_stream_sync(on.d, s));
	expect(*a == 0x65656565);
	free_memory(a);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void many_streams_work(void)
{
	enum { STREAMS = 24 };
	struct dev_stream *s[STREAMS];
	char *a = alloc_memory(DEV_MEM_PINNED, STREAMS * 4096);
	for (int i = 0; i < STREAMS; i++)
		s[i] = open_stream();
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < STREAMS; i++)
			ok(dev_fill(on.d, s[i], a + i * 4096, (uint8_t)(i + round), 4096));
	for (int i = 0; i < STREAMS; i++)
		ok(dev_stream_sync(on.d, s[i]));
	for (int i = 0; i < STREAMS; i++)
		expect(a[i * 4096] == i + 2 && a[i * 4096 + 4095] == i + 2);
	for (int i = 0; i < STREAMS; i++)
		dev_stream_close(on.d, s[i]);
	free_memory(a);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(properties_are_sane),
		RULE(clock_is_monotonic),
		RULE(clock_rate_is_a_rate),
		RULE(opening_twice_gives_two_devices),
		RULE(closing_a_busy_device_does_not_hang),
		RULE(closing_a_busy_stream_does_not_hang),
		RULE(outputs_are_set_on_success_only),
		RULE(optional_operations_say_so),
		RULE(priorities_have_a_range),
		RULE(one_stream_runs_in_order),
		RULE(streams_are_independent),
		RULE(queueing_does_not_wait),
		RULE(a_queue_takes_max_queued),
		RULE(many_streams_work),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
