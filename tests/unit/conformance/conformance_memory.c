/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory, values and threads: what device/dev.h says operations may touch.
 */
#include "tests/unit/conformance/conformance.h"

#include <pthread.h>

#define N 65536u

/* ------------------------------------------------------------------ memory */

static void allocations_are_checked_and_aligned(void)
{
	void *a = NULL;
	for (int kind = DEV_MEM_DEVICE; kind <= DEV_MEM_PINNED; kind++) {
		expect_error(dev_alloc(on.d, (enum dev_mem)kind, 0, &a), -EINVAL);
		expect_error(dev_alloc(on.d, (enum dev_mem)kind, (uint64_t)1 << 50, &a), -ENOMEM);
		expect_error(dev_alloc(on.d, (enum dev_mem)kind, UINT64_MAX, &a), -ENOMEM);
		for (uint64_t bytes = 1; bytes < 1 << 20; bytes = bytes * 7 + 1) {
			a = alloc_memory((enum dev_mem)kind, bytes);
			expect((uintptr_t)a % 256 == 0);
			if (kind == DEV_MEM_PINNED || dev_can(on.d, DEV_CAP_HOST_ACCESS))
				memset(a, 1, bytes);
			free_memory(a);
		}
	}
	expect_status(dev_free(on.d, NULL), 0);
}

static void foreign_memory_is_efault(void)
{
	need_checks();
	static _Alignas(DEV_KERNEL_ALIGN) char pageable[N];
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, N), *p = alloc_memory(DEV_MEM_PINNED, N),
	     *freed = alloc_memory(DEV_MEM_DEVICE, 1 << 20);
	char *large = alloc_memory(DEV_MEM_DEVICE, 4 * N),
	     *inside = large + 2 * N; /* does not overlap with the others */
	const uint64_t bytes = N;
	const uint32_t reps = 1, word = 1;
	char *wrong = pageable;
	free_memory(freed);
	expect_error(dev_copy(on.d, s, a, pageable, N), -EFAULT);
	expect_error(dev_copy(on.d, s, pageable, a, N), -EFAULT);
	expect_error(dev_copy(on.d, s, p, pageable, 1), -EFAULT);
	expect_error(dev_fill(on.d, s, pageable, 0, N), -EFAULT);
	expect_error(dev_fill(on.d, s, NULL, 0, N), -EFAULT);
	expect_error(dev_fill(on.d, s, freed, 0, N), -EFAULT);
	expect_error(dev_fill(on.d, s, a + 1, 0, N), -EFAULT);
	expect_error(dev_fill(on.d, s, p + N - 1, 0, 2), -EFAULT);
	expect_error(dev_fill(on.d, s, a - 1, 0, 2), -EFAULT);
	expect_error(dev_fill(on.d, s, a, 0, UINT64_MAX), -EFAULT);
	expect_error(dev_copy(on.d, s, inside, p, N + 1), -EFAULT);
	expect_error(dev_copy(on.d, s, inside, p + N / 2, N / 2 + 1), -EFAULT);
	expect_error(dev_copy(on.d, s, p + 1, inside, N), -EFAULT);
	expect_error(dev_copy(on.d, s, p + N - 1, p + N - 2, 2), -EFAULT); /* and overlaps */
	const void *args[] = {&wrong, &bytes, &reps, &word};
	expect_error(launch_kernel(s, "write", 1, args), -EFAULT);
	wrong = a + 256;
	expect_error(launch_kernel(s, "write", 1, args), -EFAULT);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		expect_error(dev_wait_value(on.d, s, (uint32_t *)(void *)pageable, 0), -EFAULT);
		expect_error(dev_write_value(on.d, s, (uint32_t *)(void *)pageable, 0), -EFAULT);
		expect_error(dev_post_value(on.d, (uint32_t *)(void *)pageable, 0), -EFAULT);
	}
	expect_error(dev_free(on.d, pageable), -EFAULT);
	expect_error(dev_free(on.d, a + 256), -EFAULT);
	ok(dev_stream_sync(on.d, s)); /* a refused operation is not queued */
	free_memory(a);
	free_memory(p);
	free_memory(large);
	dev_stream_close(on.d, s);
}

static void memory_in_use_is_ebusy(void)
{
	need_checks();
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, N), *p = alloc_memory(DEV_MEM_PINNED, N);
	struct blocking g = blocking_hold(s);
	ok(dev_copy(on.d, s, a, p, N));
	expect_error(dev_free(on.d, a), -EBUSY);
	expect_error(dev_free(on.d, p), -EBUSY);
	expect_error(dev_free(on.d, g.memory), -EBUSY);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	free_memory(a);
	free_memory(p);
	dev_stream_close(on.d, s);
}

static void check_copy(struct dev_stream *s, enum dev_mem to, enum dev_mem from, uint64_t bytes,
		       uint64_t skew)
{
	const uint64_t capacity = bytes + 512;
	unsigned char *dst = alloc_memory(to, capacity), *src = alloc_memory(from, capacity);
	unsigned char *want = malloc(capacity), *got = malloc(capacity);
	require(want && got);
	for (uint64_t i = 0; i < capacity; i++)
		want[i] = (unsigned char)(i * 7 + bytes);
	ok(dev_upload(on.d, src, want, capacity));
	ok(dev_fill(on.d, s, dst, 0xee, capacity));
	ok(dev_copy(on.d, s, dst + skew, src + 2 * skew, bytes));
	ok(dev_stream_sync(on.d, s));
	ok(dev_download(on.d, got, dst, capacity));
	for (uint64_t i = 0; i < capacity; i++)
		require(got[i] == (i < skew || i >= skew + bytes ? 0xee : want[i + skew]));
	free(want);
	free(got);
	free_memory(dst);
	free_memory(src);
}

static void copies_in_every_direction(void)
{
	static const uint64_t sizes[] = {1, 3, 63, 64, 255, 4097, 65536, 300001, 1 << 20};
	static const uint64_t skews[] = {0, 1, 13, 64};
	struct dev_stream *s = open_stream();
	for (int direction = 0; direction < 4; direction++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (size_t j = 0; j < sizeof(skews) / sizeof(skews[0]); j++)
				check_copy(s, direction & 1 ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
					   direction & 2 ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
					   sizes[i], skews[j]);
	dev_stream_close(on.d, s);
}

static void fills_reach_every_byte(void)
{
	static const uint64_t sizes[] = {1, 7, 64, 4099, 1 << 20};
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *dst = alloc_memory(DEV_MEM_DEVICE, sizes[i] + 10),
			      *got = malloc(sizes[i] + 10);
		require(got);
		ok(dev_fill(on.d, s, dst, 0, sizes[i] + 10));
		ok(dev_fill(on.d, s, dst + 5, 0xab, sizes[i]));
		ok(dev_stream_sync(on.d, s));
		ok(dev_download(on.d, got, dst, sizes[i] + 10));
		for (uint64_t j = 0; j < sizes[i] + 10; j++)
			require(got[j] == (j < 5 || j >= sizes[i] + 5 ? 0 : 0xab));
		free(got);
		free_memory(dst);
	}
	dev_stream_close(on.d, s);
}

static void upload_and_download(void)
{
	static const uint64_t sizes[] = {0, 1, 4095, (4 << 20) - 1, 4 << 20, (9 << 20) + 5};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t bytes = sizes[i];
		unsigned char *a = alloc_memory(DEV_MEM_DEVICE, bytes + 1), *in = malloc(bytes + 2),
			      *out = malloc(bytes + 1);
		require(in && out);
		for (uint64_t j = 0; j < bytes + 2; j++)
			in[j] = (unsigned char)(j * 31 + j / 4096);
		ok(dev_upload(on.d, a, in, bytes));
		ok(dev_download(on.d, out, a, bytes));
		expect(memcmp(in, out, bytes) == 0);
		expect_misuse(dev_upload(on.d, a, in, bytes + 2), -EFAULT);
		free(in);
		free(out);
		free_memory(a);
	}
}

static void the_host_reaches_pinned_memory(void)
{
	struct dev_stream *s = open_stream();
	uint32_t *p = alloc_memory(DEV_MEM_PINNED, N), *sink = alloc_memory(DEV_MEM_PINNED, 4),
		 sum = 0;
	uint64_t bytes = N;
	uint32_t reps = 1;
	for (uint32_t i = 0; i < N / 4; i++)
		sum += p[i] = i * 2654435761u;
	*sink = 0;
	const void *args[] = {&p, &bytes, &reps, &sink};
	ok(launch_kernel(s, "read", 2, args));
	ok(dev_stream_sync(on.d, s));
	expect(*sink == sum);
	free_memory(p);
	free_memory(sink);
	dev_stream_close(on.d, s);
}

static void expect_pinned_memory(uint32_t node, unsigned char *got)
{
	struct dev_stream *s = open_stream();
	unsigned char *there = alloc_memory(DEV_MEM_DEVICE, N), *p = NULL;
	void *at = NULL;
	ok(dev_alloc_on_node(on.d, node, N, &at));
	expect((uintptr_t)at % 256 == 0);
	p = at;
	memset(p, 3, N);
	ok(dev_copy(on.d, s, there, p, N));
	ok(dev_fill(on.d, s, p, 4, N));
	ok(dev_stream_sync(on.d, s));
	expect(p[0] == 4 && p[N - 1] == 4);
	ok(dev_download(on.d, got, there, N));
	expect(got[0] == 3 && got[N - 1] == 3);
	ok(dev_copy(on.d, s, p, there, N));
	ok(dev_stream_sync(on.d, s));
	expect(p[0] == 3 && p[N - 1] == 3);
	free_memory(p);
	free_memory(there);
	dev_stream_close(on.d, s);
}

static void pinned_memory_on_a_numa_node(void)
{
	uint32_t nodes[DEV_NUMA_NODES], absent = 0;
	void *at = NULL;
	size_t count = dev_numa_nodes(on.d, nodes, DEV_NUMA_NODES);
	if (count == 0) {
		expect_error(dev_alloc_on_node(on.d, 0, N, &at), -ENOTSUP);
		skip("no NUMA nodes to choose from");
	}
	require(count <= DEV_NUMA_NODES);
	if (dev_alloc_on_node(on.d, nodes[0], N, &at) == -ENOTSUP)
		skip("the kernel does not let this process choose");
	free_memory(at);
	unsigned char *got = malloc(N);
	require(got);
	for (size_t i = 0; i < count; i++) {
		expect(i == 0 || nodes[i] > nodes[i - 1]);
		expect_pinned_memory(nodes[i], got);
		absent = nodes[i] + 1;
	}
	free(got);
	expect_error(dev_alloc_on_node(on.d, absent, N, &at), -ENODEV);
	expect_error(dev_alloc_on_node(on.d, nodes[0], 0, &at), -EINVAL);
	expect_error(dev_alloc_on_node(on.d, nodes[0], UINT64_C(1) << 50, &at), -ENOMEM);
}

static void peer_memory(void)
{
	if (!on.other)
		skip("one device");
	struct dev_set twin;
	struct dev_stream *s = NULL, *back = NULL;
	void *a = NULL, *b = NULL;
	unsigned char *got = malloc(N);
	require(got);
	/* On devices of their own, since peer access cannot be disabled. */
	open_twin(&twin);
	struct dev *d = twin.dev[0], *other = twin.dev[1];
	ok(dev_stream_open(d, dev_props(d)->priority_normal, &s));
	ok(dev_stream_open(other, dev_props(other)->priority_normal, &back));
	ok(dev_alloc(d, DEV_MEM_DEVICE, N, &a));
	ok(dev_alloc(other, DEV_MEM_DEVICE, N, &b));
	expect_misuse(dev_copy(d, s, b, a, N), -EFAULT);
	expect_misuse(dev_fill(other, back, a, 0, N), -EFAULT);
	if (dev_can(d, DEV_CAP_PEER) && dev_can(other, DEV_CAP_PEER)) {
		ok(dev_peer_enable(d, other));
		ok(dev_peer_enable(d, other));
		ok(dev_peer_enable(other, d));
		ok(dev_fill(d, s, a, 7, N));
		ok(dev_copy(d, s, b, a, N));
		ok(dev_stream_sync(d, s));
		ok(dev_download(other, got, b, N));
		expect(got[0] == 7 && got[N - 1] == 7);
		ok(dev_fill(other, back, a, 8, N)); /* and in the other direction */
		ok(dev_stream_sync(other, back));
		ok(dev_download(d, got, a, N));
		expect(got[0] == 8 && got[N - 1] == 8);
	}
	free(got);
	dev_close(&twin);
}

static void memory_that_a_peer_uses_is_ebusy(void)
{
	if (!on.other || !dev_can(on.d, DEV_CAP_PEER))
		skip("there is no peer");
	need_checks();
	struct dev_stream *s = open_stream();
	void *here = alloc_memory(DEV_MEM_DEVICE, N), *there = NULL;
	ok(dev_alloc(on.other, DEV_MEM_DEVICE, N, &there));
	ok(dev_peer_enable(on.d, on.other));
	ok(dev_fill(on.d, s, here, 1, N));
	ok(dev_stream_sync(on.d, s));
	struct blocking g = blocking_hold(s);
	ok(dev_copy(on.d, s, there, here, N));
	expect_error(dev_free(on.other, there), -EBUSY);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	ok(dev_free(on.other, there));
	free_memory(here);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ values */

static void check_wait_value(enum dev_mem kind)
{
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event();
	uint32_t *at = alloc_memory(kind, 256);
	ok(dev_fill(on.d, s, at, 0, 256));
	ok(dev_stream_sync(on.d, s));
	expect_error(dev_wait_value(on.d, s, at, DEV_VALUE_MAX + 1), -EINVAL);
	expect_error(dev_write_value(on.d, s, at, DEV_VALUE_MAX + 1), -EINVAL);
	expect_error(dev_post_value(on.d, at, DEV_VALUE_MAX + 1), -EINVAL);
	ok(dev_wait_value(on.d, s, at, DEV_VALUE_MAX - 8));
	ok(dev_event_record(on.d, s, e));
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	ok(dev_post_value(on.d, at, DEV_VALUE_MAX - 9)); /* not yet */
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	ok(dev_post_value(on.d, at, DEV_VALUE_MAX)); /* more is enough */
	ok(dev_stream_sync(on.d, s));
	expect_status(dev_event_query(on.d, e), 0);
	ok(dev_wait_value(on.d, s, at, 5)); /* already there */
	ok(dev_stream_sync(on.d, s));
	free_memory(at);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

/* A watchdog stores like this while another thread is inside the driver. */
static void a_plain_store_releases(void)
{
	need(DEV_CAP_WAIT_VALUE);
	if (dev_can(on.d, DEV_CAP_HOST_ACCESS) || dev_can(on.d, DEV_CAP_VIRTUAL_TIME))
		skip("the device's streams do not poll memory");
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 256);
	*at = 0;
	ok(dev_wait_value(on.d, s, at, 2));
	ok(dev_event_record(on.d, s, e));
	__atomic_store_n(at, 1, __ATOMIC_RELEASE);
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	__atomic_store_n(at, 2, __ATOMIC_RELEASE);
	ok(dev_stream_sync(on.d, s));
	expect_status(dev_event_query(on.d, e), 0);
	free_memory(at);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

static void a_stream_waits_for_a_value(void)
{
	need(DEV_CAP_WAIT_VALUE);
	check_wait_value(DEV_MEM_PINNED);
	check_wait_value(DEV_MEM_DEVICE);
}

static void a_written_value_comes_after_earlier_work(void)
{
	need(DEV_CAP_WAIT_VALUE);
	struct dev_stream *makes = open_stream(), *takes = open_stream();
	unsigned char *a = alloc_memory(DEV_MEM_DEVICE, N), *b = alloc_memory(DEV_MEM_PINNED, N);
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 0;
	for (uint32_t i = 1; i <= 20; i++) {
		memset(b, 0, N);
		ok(dev_wait_value(on.d, takes, at, i));
		ok(dev_copy(on.d, takes, b, a, N));
		ok(dev_fill(on.d, makes, a, (uint8_t)i, N));
		ok(dev_write_value(on.d, makes, at, i));
		ok(dev_stream_sync(on.d, takes));
		ok(dev_stream_sync(on.d, makes));
		expect(load_acquire(at) == i);
		for (uint32_t j = 0; j < N; j++)
			require(b[j] == i);
	}
	free_memory(a);
	free_memory(b);
	free_memory(at);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void a_kernel_may_write_the_value(void)
{
	need(DEV_CAP_WAIT_VALUE);
	struct dev_stream *s = open_stream(), *waits = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_DEVICE, 256), reps = 1, word = 7;
	uint64_t bytes = 256;
	ok(dev_fill(on.d, s, at, 0, 256));
	ok(dev_stream_sync(on.d, s));
	ok(dev_wait_value(on.d, waits, at, 7));
	const void *args[] = {&at, &bytes, &reps, &word};
	ok(launch_kernel(s, "write", 1, args));
	ok(dev_stream_sync(on.d, waits));
	ok(dev_stream_sync(on.d, s));
	free_memory(at);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, waits);
}

/* ------------------------------------------------------------------ threads */

struct work {
	pthread_t thread;
	struct dev_stream *s;
	unsigned char *dev, *host;
	int number, wrong;
};

static void *write_and_copy_thread(void *arg)
{
	struct work *w = arg;
	const uint64_t bytes = 4096;
	const uint32_t reps = 1;
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t word = (uint32_t)w->number * 50 + i;
		const void *args[] = {&w->dev, &bytes, &reps, &word};
		struct dev_kernel *k;
		struct dev_launch l = {.grid = 2, .args = args};
		if (dev_kernel_find(on.d, "write", &k) || dev_launch(on.d, w->s, k, &l) ||
		    dev_copy(on.d, w->s, w->host, w->dev, bytes) || dev_stream_sync(on.d, w->s))
			w->wrong++;
		else
			w->wrong += memcmp(w->host, &word, 4) != 0 ||
				    memcmp(w->host + bytes - 4, &word, 4) != 0;
	}
	return NULL;
}

static void any_thread_may_call(void)
{
	enum { THREADS = 4 };
	struct work w[THREADS] = {0};
	for (int i = 0; i < THREADS; i++) {
		w[i].number = i;
		w[i].s = open_stream();
		w[i].dev = alloc_memory(DEV_MEM_DEVICE, 4096);
		w[i].host = alloc_memory(DEV_MEM_PINNED, 4096);
	}
	for (int i = 0; i < THREADS; i++)
		require(pthread_create(&w[i].thread, NULL, write_and_copy_thread, &w[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		require(pthread_join(w[i].thread, NULL) == 0);
	for (int i = 0; i < THREADS; i++) {
		expect(w[i].wrong == 0);
		free_memory(w[i].dev);
		free_memory(w[i].host);
		dev_stream_close(on.d, w[i].s);
	}
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(allocations_are_checked_and_aligned),
		RULE(foreign_memory_is_efault),
		RULE(memory_in_use_is_ebusy),
		RULE(memory_that_a_peer_uses_is_ebusy),
		RULE(copies_in_every_direction),
		RULE(fills_reach_every_byte),
		RULE(upload_and_download),
		RULE(the_host_reaches_pinned_memory),
		RULE(pinned_memory_on_a_numa_node),
		RULE(peer_memory),
		RULE(a_stream_waits_for_a_value),
		RULE(a_plain_store_releases),
		RULE(a_written_value_comes_after_earlier_work),
		RULE(a_kernel_may_write_the_value),
		RULE(any_thread_may_call),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
