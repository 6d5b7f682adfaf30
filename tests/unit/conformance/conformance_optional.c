/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Optional operations: pageable memory, batches, graphs, memory handles, telemetry. A device
 * that lacks one returns an error.
 */
#include "tests/unit/conformance/conformance.h"

#define N 65536u

/* ------------------------------------------------------------------ pageable memory */

static void check_pageable_copies(struct dev_stream *s, uint64_t bytes)
{
	unsigned char *host = alloc_memory(DEV_MEM_PAGEABLE, bytes),
		      *back = alloc_memory(DEV_MEM_PAGEABLE, bytes);
	unsigned char *dev = alloc_memory(DEV_MEM_DEVICE, bytes);
	for (uint64_t i = 0; i < bytes; i++)
		host[i] = (unsigned char)(i * 13 + i / 251);
	memset(back, 0, bytes);
	ok(dev_copy(on.d, s, dev, host, bytes));
	ok(dev_copy(on.d, s, back, dev, bytes));
	ok(dev_stream_sync(on.d, s));
	expect(memcmp(host, back, bytes) == 0);
	free_memory(host);
	free_memory(back);
	free_memory(dev);
}

static void pageable_memory_is_copied(void)
{
	static const uint64_t sizes[] = {1, 4097, 65536, 1000003, 5 << 20};
	void *memory = &on;
	if (!dev_can(on.d, DEV_CAP_PAGEABLE)) {
		expect_error(dev_alloc(on.d, DEV_MEM_PAGEABLE, N, &memory), -ENOTSUP);
		expect(memory == &on);
		return;
	}
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_pageable_copies(s, sizes[i]);
	expect_error(dev_alloc(on.d, DEV_MEM_PAGEABLE, 0, &memory), -EINVAL);
	dev_stream_close(on.d, s);
}

static void pageable_memory_is_for_copies_alone(void)
{
	need(DEV_CAP_PAGEABLE);
	need_checks();
	struct dev_stream *s = open_stream();
	char *host = alloc_memory(DEV_MEM_PAGEABLE, N), *dev = alloc_memory(DEV_MEM_DEVICE, 2 * N);
	const uint64_t bytes = N / 2;
	const uint32_t reps = 1, word = 1;
	const void *to[] = {&host, &bytes, &reps, &word}, *from[] = {&dev, &host, &bytes, &reps};
	uint32_t *at = (uint32_t *)(void *)host;
	expect_error(launch_kernel(s, "write", 1, to), -EFAULT);
	expect_error(launch_kernel(s, "copy", 1, from), -EFAULT);
	expect_error(dev_fill(on.d, s, host, 0, N), -EFAULT);
	/* Past its end, where `dev` may begin: only its second half is sure not to overlap. */
	expect_error(dev_copy(on.d, s, dev + N, host + 1, N), -EFAULT);
	expect_error(dev_free(on.d, host + 256), -EFAULT);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		expect_error(dev_wait_value(on.d, s, at, 0), -EFAULT);
		expect_error(dev_write_value(on.d, s, at, 0), -EFAULT);
		expect_error(dev_post_value(on.d, at, 0), -EFAULT);
	}
	if (dev_can(on.d, DEV_CAP_GEMM)) {
		struct dev_gemm g =
			PACKED_GEMM(8, 8, 8, .type = DEV_F32, .a = dev, .b = dev + 4096, .c = host);
		expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	}
	ok(dev_stream_sync(on.d, s));
	free_memory(host);
	free_memory(dev);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ batches */

#define COPIES 5u
#define EACH 4096u /* bytes */

struct batch {
	unsigned char *from, *to; /* PINNED, and DEVICE: COPIES parts of EACH bytes */
	void *dsts[DEV_BATCH_MAX + 1];
	const void *srcs[DEV_BATCH_MAX + 1];
	uint64_t bytes[DEV_BATCH_MAX + 1];
};

/* Part i goes to the place of the part COPIES - 1 - i; of unequal sizes. */
static void open_batch(struct batch *b)
{
	b->from = alloc_memory(DEV_MEM_PINNED, COPIES * EACH);
	b->to = alloc_memory(DEV_MEM_DEVICE, COPIES * EACH);
	for (uint32_t i = 0; i < COPIES * EACH; i++)
		b->from[i] = (unsigned char)(i / EACH + 1);
	for (uint32_t i = 0; i <= DEV_BATCH_MAX; i++) {
		b->dsts[i] = b->to + (COPIES - 1 - i % COPIES) * EACH;
		b->srcs[i] = b->from + i % COPIES * EACH;
		b->bytes[i] = EACH - i % COPIES;
	}
}

static void close_batch(const struct batch *b)
{
	free_memory(b->from);
	free_memory(b->to);
}

static int copy_batch(struct dev_stream *s, const struct batch *b, size_t count)
{
	return dev_copy_batch(on.d, s, count, b->dsts, b->srcs, b->bytes);
}

/* Every byte that a copy writes, and those behind it, which none does. */
static bool batch_is_copied(const struct batch *b)
{
	unsigned char seen[COPIES * EACH];
	bool right = true;
	ok(dev_download(on.d, seen, b->to, sizeof(seen)));
	for (uint32_t i = 0; i < COPIES; i++)
		for (uint32_t j = 0; j < EACH; j++)
			right = right &&
				seen[(COPIES - 1 - i) * EACH + j] == (j < b->bytes[i] ? i + 1 : 77);
	return right;
}

static void missing_batches_are_refused(void)
{
	struct dev_stream *s = open_stream();
	if (!dev_can(on.d, DEV_CAP_COPY_BATCH))
		expect_error(dev_copy_batch(on.d, s, 1, NULL, NULL, NULL), -ENOTSUP);
	dev_stream_close(on.d, s);
}

static void a_batch_copies_all_in_stream_order(void)
{
	need(DEV_CAP_COPY_BATCH);
	struct dev_stream *s = open_stream();
	struct batch b;
	open_batch(&b);
	ok(dev_fill(on.d, s, b.to, 77, COPIES * EACH));
	ok(copy_batch(s, &b, COPIES));
	ok(dev_stream_sync(on.d, s));
	expect(batch_is_copied(&b));
	/* Back, behind a block: not before it ends, and whole when the next copy begins. */
	unsigned char *again = alloc_memory(DEV_MEM_DEVICE, EACH), seen[EACH];
	memset(b.from, 0, COPIES * EACH);
	struct blocking g = blocking_hold(s);
	ok(dev_copy_batch(on.d, s, COPIES, (void *const *)(const void *)b.srcs,
			  (const void *const *)(const void *)b.dsts, b.bytes));
	ok(dev_copy(on.d, s, again, b.from + (COPIES - 1) * EACH, EACH));
	spend_ns(MS);
	expect(b.from[0] == 0);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	ok(dev_download(on.d, seen, again, EACH));
	expect(b.from[0] == 1 && seen[0] == COPIES && seen[EACH - COPIES] == COPIES);
	free_memory(again);
	close_batch(&b);
	dev_stream_close(on.d, s);
}

static void a_batch_goes_within_and_between_devices(void)
{
	need(DEV_CAP_COPY_BATCH);
	const bool has_peer = on.other && dev_can(on.d, DEV_CAP_PEER);
	struct dev_stream *s = open_stream();
	char *from = alloc_memory(DEV_MEM_DEVICE, 2 * N), *seen = alloc_memory(DEV_MEM_PINNED, N);
	char *there = from + N, last = 0;
	if (has_peer) {
		ok(dev_peer_enable(on.d, on.other));
		ok(dev_alloc(on.other, DEV_MEM_DEVICE, N, (void **)&there));
	}
	void *const dsts[] = {there, seen};
	const void *const srcs[] = {from, from};
	const uint64_t bytes[] = {N, N};
	ok(dev_fill(on.d, s, from, 5, N));
	ok(dev_copy_batch(on.d, s, 2, dsts, srcs, bytes));
	ok(dev_stream_sync(on.d, s));
	ok(dev_download(has_peer ? on.other : on.d, &last, there + N - 1, 1));
	expect(last == 5 && seen[0] == 5 && seen[N - 1] == 5);
	if (has_peer)
		ok(dev_free(on.other, there));
	free_memory(from);
	free_memory(seen);
	dev_stream_close(on.d, s);
}

static void batches_are_checked(void)
{
	need(DEV_CAP_COPY_BATCH);
	static char foreign[EACH];
	struct dev_stream *s = open_stream();
	struct batch b;
	open_batch(&b);
	ok(dev_fill(on.d, s, b.to, 77, COPIES * EACH));
	expect_error(copy_batch(s, &b, 0), -EINVAL);
	expect_error(copy_batch(s, &b, DEV_BATCH_MAX + 1), -EINVAL);
	b.bytes[COPIES - 1] = 0;
	expect_error(copy_batch(s, &b, COPIES), -EINVAL);
	b.bytes[COPIES - 1] = EACH;
	expect_misuse(copy_batch(s, &b, COPIES + 1), -EINVAL); /* two write the same place */
	b.srcs[COPIES - 1] = foreign;
	expect_misuse(copy_batch(s, &b, COPIES), -EFAULT);
	b.srcs[COPIES - 1] = b.to; /* what the copy before it writes, or its own target */
	expect_misuse(copy_batch(s, &b, COPIES), -EINVAL);
	ok(dev_stream_sync(on.d, s));
	unsigned char first = 0;
	ok(dev_download(on.d, &first, b.to + (COPIES - 1) * EACH, 1));
	expect(first == 77); /* nothing was enqueued */
	close_batch(&b);
	dev_stream_close(on.d, s);
}

static void memory_of_a_batch_is_ebusy(void)
{
	need(DEV_CAP_COPY_BATCH);
	need_checks();
	struct dev_stream *s = open_stream();
	struct batch b;
	open_batch(&b);
	struct blocking g = blocking_hold(s);
	ok(copy_batch(s, &b, COPIES));
	expect_error(dev_free(on.d, b.from), -EBUSY);
	expect_error(dev_free(on.d, b.to), -EBUSY);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	close_batch(&b);
	dev_stream_close(on.d, s);
}

/* Refused, and never run at once. */
static void a_batch_is_not_captured(void)
{
	need(DEV_CAP_GRAPH | DEV_CAP_COPY_BATCH);
	struct dev_stream *s = open_stream();
	struct dev_graph *graph = NULL;
	struct batch b;
	unsigned char first = 0;
	open_batch(&b);
	ok(dev_fill(on.d, s, b.to, 77, COPIES * EACH));
	ok(dev_stream_sync(on.d, s));
	ok(dev_graph_begin(on.d, s));
	expect_error(copy_batch(s, &b, COPIES), -ENOTSUP);
	ok(dev_fill(on.d, s, b.from, 9, 1));
	ok(dev_graph_end(on.d, s, &graph));
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	ok(dev_download(on.d, &first, b.to + (COPIES - 1) * EACH, 1));
	expect(first == 77 && b.from[0] == 9);
	dev_graph_close(on.d, graph);
	close_batch(&b);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ graphs */

/* The captured work: filled := 7..., sums += ones, out := sums. */
struct captured {
	char *filled;
	float *sums, *ones, *out;
	struct dev_graph *graph;
};

static struct captured capture_graph(struct dev_stream *s)
{
	const uint64_t bytes = N;
	const uint32_t reps = 1;
	struct captured c = {.filled = alloc_memory(DEV_MEM_DEVICE, N),
			     .sums = alloc_memory(DEV_MEM_DEVICE, N),
			     .ones = alloc_memory(DEV_MEM_DEVICE, N),
			     .out = alloc_memory(DEV_MEM_PINNED, N)};
	const void *args[] = {&c.sums, &c.ones, &bytes, &reps};
	for (uint32_t i = 0; i < N / 4; i++)
		c.out[i] = 1;
	ok(dev_copy(on.d, s, c.ones, c.out, N));
	ok(dev_fill(on.d, s, c.sums, 0, N));
	ok(dev_fill(on.d, s, c.filled, 0, N));
	ok(dev_stream_sync(on.d, s));
	struct dev_kernel *k = find_kernel("reduce_add");
	const struct dev_launch l = {.grid = 4, .args = args};
	ok(dev_graph_begin(on.d, s));
	ok(dev_fill(on.d, s, c.filled, 7, N));
	ok(dev_launch(on.d, s, k, &l));
	ok(dev_copy(on.d, s, c.out, c.sums, N));
	ok(dev_graph_end(on.d, s, &c.graph));
	require(c.graph != NULL);
	return c;
}

static void free_captured(struct captured *c)
{
	dev_graph_close(on.d, c->graph);
	free_memory(c->filled);
	free_memory(c->sums);
	free_memory(c->ones);
	free_memory(c->out);
}

static bool all_equal(const float *at, float value)
{
	for (uint32_t i = 0; i < N / 4; i++)
		if (at[i] < value || at[i] > value)
			return false;
	return true;
}

static void missing_graphs_are_refused(void)
{
	struct dev_stream *s = open_stream();
	struct dev_graph *graph = (struct dev_graph *)(void *)&on;
	dev_graph_close(on.d, NULL);
	if (!dev_can(on.d, DEV_CAP_GRAPH)) {
		expect_error(dev_graph_begin(on.d, s), -ENOTSUP);
		expect_error(dev_graph_end(on.d, s, &graph), -ENOTSUP);
		expect_error(dev_graph_launch(on.d, s, graph), -ENOTSUP);
		expect((void *)graph == &on);
	}
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

static void a_graph_runs_what_was_captured(void)
{
	need(DEV_CAP_GRAPH);
	char byte = 1;
	struct dev_stream *s = open_stream();
	struct captured c = capture_graph(s);
	ok(dev_stream_sync(on.d, s));
	spend_ns(MS);
	ok(dev_download(on.d, &byte, c.filled, 1));
	expect(byte == 0 && all_equal(c.out, 1)); /* capturing runs nothing */
	for (int times = 1; times <= 3; times++) {
		ok(dev_graph_launch(on.d, s, c.graph));
		ok(dev_stream_sync(on.d, s));
		expect(all_equal(c.out, (float)times));
	}
	ok(dev_download(on.d, &byte, c.filled + N - 1, 1));
	expect(byte == 7);
	ok(dev_graph_launch(on.d, s, c.graph)); /* launched twice: works twice */
	ok(dev_graph_launch(on.d, s, c.graph));
	ok(dev_stream_sync(on.d, s));
	expect(all_equal(c.out, 5));
	free_captured(&c);
	dev_stream_close(on.d, s);
}

static void a_graph_runs_in_stream_order(void)
{
	need(DEV_CAP_GRAPH);
	struct dev_stream *s = open_stream();
	struct dev_event *e = open_event();
	struct captured c = capture_graph(s);
	char *after = alloc_memory(DEV_MEM_DEVICE, N), seen[N];
	ok(dev_fill(on.d, s, after, 0, N));
	ok(dev_stream_sync(on.d, s));
	struct blocking g = blocking_hold(s);
	ok(dev_graph_launch(on.d, s, c.graph));
	ok(dev_copy(on.d, s, after, c.out, N));
	ok(dev_event_record(on.d, s, e));
	spend_ns(MS);
	expect(all_equal(c.out, 1));
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	c.out[0] = 9; /* overwritten by the graph */
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	ok(dev_download(on.d, seen, after, N));
	expect(all_equal(c.out, 1) && memcmp(seen, c.out, N) == 0);
	free_captured(&c);
	free_memory(after);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

/* A vendor may have several copy functions; a graph must record all of them. */
static void a_graph_copies_within_and_between_devices(void)
{
	need(DEV_CAP_GRAPH);
	const bool has_peer = on.other && dev_can(on.d, DEV_CAP_PEER);
	struct dev_stream *s = open_stream();
	struct dev_graph *graph = NULL;
	char *from = alloc_memory(DEV_MEM_DEVICE, N), *twin = alloc_memory(DEV_MEM_DEVICE, N),
	     *seen = alloc_memory(DEV_MEM_PINNED, N);
	char *there = twin;
	if (has_peer) {
		ok(dev_peer_enable(on.d, on.other));
		ok(dev_alloc(on.other, DEV_MEM_DEVICE, N, (void **)&there));
	}
	ok(dev_fill(on.d, s, from, 5, N));
	ok(dev_fill(on.d, s, twin, 0, N));
	ok(dev_stream_sync(on.d, s));
	ok(dev_graph_begin(on.d, s));
	ok(dev_copy(on.d, s, twin, from, N));
	if (has_peer)
		ok(dev_copy(on.d, s, there, twin, N));
	ok(dev_copy(on.d, s, seen, there, N));
	ok(dev_graph_end(on.d, s, &graph));
	require(graph != NULL);
	memset(seen, 0, N);
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	expect(seen[0] == 5 && seen[N - 1] == 5);
	dev_graph_close(on.d, graph);
	if (has_peer)
		ok(dev_free(on.other, there));
	free_memory(from);
	free_memory(twin);
	free_memory(seen);
	dev_stream_close(on.d, s);
}

static void memory_of_a_graph_is_ebusy(void)
{
	need(DEV_CAP_GRAPH);
	need_checks();
	struct dev_stream *s = open_stream();
	struct captured c = capture_graph(s);
	for (int launched = 0; launched < 2; launched++) {
		expect_error(dev_free(on.d, c.filled), -EBUSY);
		expect_error(dev_free(on.d, c.sums), -EBUSY);
		expect_error(dev_free(on.d, c.ones), -EBUSY);
		expect_error(dev_free(on.d, c.out), -EBUSY);
		ok(dev_graph_launch(on.d, s, c.graph));
		ok(dev_stream_sync(on.d, s));
	}
	free_captured(&c); /* closing the graph allows freeing its memory */
	dev_stream_close(on.d, s);
}

static void graphs_are_checked(void)
{
	need(DEV_CAP_GRAPH);
	static char foreign[256];
	struct dev_stream *s = open_stream();
	struct dev_graph *graph = NULL;
	char *a = alloc_memory(DEV_MEM_PINNED, 256);
	memset(a, 1, 256);
	expect_error(dev_graph_end(on.d, s, &graph), -EINVAL); /* no capture was begun */
	expect(graph == NULL);
	ok(dev_graph_begin(on.d, s));
	expect_error(dev_graph_begin(on.d, s), -EINVAL);
	expect_misuse(dev_fill(on.d, s, foreign, 0, sizeof(foreign)), -EFAULT);
	ok(dev_fill(on.d, s, a, 2, 256));
	ok(dev_graph_end(on.d, s, &graph));
	ok(dev_stream_sync(on.d, s));
	expect(a[0] == 1);
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_fill(on.d, s, a, 3, 128)); /* the stream works as before */
	ok(dev_stream_sync(on.d, s));
	expect(a[0] == 3 && a[255] == 2);
	dev_graph_close(on.d, graph);
	free_memory(a);
	dev_stream_close(on.d, s);
}

/* A value is captured or refused; it never runs at once. */
static void a_graph_of_values_runs_when_it_is_launched(void)
{
	need(DEV_CAP_GRAPH | DEV_CAP_WAIT_VALUE);
	const int wanted = dev_can(on.d, DEV_CAP_VALUE_IN_QUEUE) ? 0 : -ENOTSUP;
	struct dev_stream *s = open_stream();
	struct dev_graph *graph = NULL;
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 256);
	at[0] = at[1] = 0;
	ok(dev_graph_begin(on.d, s));
	expect_status(dev_write_value(on.d, s, at, 1), wanted);
	expect_status(dev_wait_value(on.d, s, at, 1), wanted);
	ok(dev_fill(on.d, s, at + 1, 2, 4));
	ok(dev_graph_end(on.d, s, &graph));
	spend_ns(MS);
	expect(load_acquire(at) == 0);
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(at) == (wanted ? 0 : 1) && load_acquire(at + 1) == 0x02020202);
	dev_graph_close(on.d, graph);
	free_memory(at);
	dev_stream_close(on.d, s);
}

static void closing_a_capturing_stream_discards_the_capture(void)
{
	need(DEV_CAP_GRAPH);
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_PINNED, 256);
	memset(a, 1, 256);
	ok(dev_graph_begin(on.d, s));
	ok(dev_fill(on.d, s, a, 2, 256));
	dev_stream_close(on.d, s);
	expect(a[0] == 1);
	free_memory(a);
}

/* ------------------------------------------------------------------ memory handles, telemetry */

static void memory_handles_are_checked(void)
{
	static char foreign[4096];
	struct dev_ipc handle, none;
	void *memory = &on;
	char *a = alloc_memory(DEV_MEM_DEVICE, N);
	memset(&none, 0xff, sizeof(none));
	if (!dev_can(on.d, DEV_CAP_IPC)) {
		expect_error(dev_ipc_export(on.d, a, &handle), -ENOTSUP);
		expect_error(dev_ipc_import(on.d, &none, N, &memory), -ENOTSUP);
		expect(memory == &on);
		free_memory(a);
		return;
	}
	ok(dev_ipc_export(on.d, a, &handle));
	expect_error(dev_ipc_export(on.d, foreign, &handle), -EFAULT);
	err_clear();
	expect(dev_ipc_import(on.d, &none, N, &memory) < 0);
	expect(err_text()[0] != '\0' && memory == &on);
	struct dev_stream *s = open_stream();
	ok(dev_fill(on.d, s, a, 1, N)); /* and the device still works */
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
	free_memory(a);
}

static bool is_terminated(const char *text, size_t capacity)
{
	return memchr(text, '\0', capacity) != NULL;
}

/* A link has a kind and, unless it is up, fewer facts; what is unknown has its reason. */
static void links_are_complete(void)
{
	struct dev_links links = {.count = 99};
	ok(dev_links_read(on.d, &links));
	expect(links.count <= DEV_LINKS_MAX && links.numa_node >= -1);
	for (size_t i = 0; i < links.count; i++) {
		const struct dev_link *link = &links.link[i];
		expect(link->kind[0] != '\0');
		expect(link->state != DEV_LINK_UNKNOWN || link->why[0]);
		expect(!(link->lanes > link->lanes_max) || !link->lanes_max);
		expect(i == 0 || strcmp(link->kind, "PCIe") != 0);
		expect((link->in_bytes_per_s > 0) == (link->out_bytes_per_s > 0));
	}
	struct dev_path path;
	memset(&path, 0x5a, sizeof(path));
	if (on.other) {
		ok(dev_path_read(on.d, on.other, &path));
		expect(strlen(path.kind) < sizeof(path.kind) &&
		       strlen(path.why) < sizeof(path.why));
		expect(path.kind[0] || path.why[0] || links.count == 0);
		struct dev_upstream up, back;
		memset(&up, 0x5a, sizeof(up));
		ok(dev_upstream_read(on.d, on.other, &up));
		ok(dev_upstream_read(on.other, on.d, &back));
		expect(up.state == back.state && strcmp(up.port, back.port) == 0);
		expect((up.state == DEV_UPSTREAM_UNKNOWN) == (up.why[0] != '\0'));
		expect(!up.port[0] || up.state == DEV_UPSTREAM_SHARED);
	}
}

static void memory_errors_are_numbers_or_have_a_reason(void)
{
	struct dev_telemetry r[DEV_TELEMETRY_MAX];
	size_t count = 99;
	ok(dev_health_read(on.d, r, &count));
	expect(count <= DEV_TELEMETRY_MAX);
	for (size_t i = 0; i < count; i++) {
		bool known = !isnan(r[i].number);
		expect(r[i].name[0] && (known ? r[i].number >= 0 : r[i].why[0] != '\0'));
	}
}

static void telemetry_samples_are_complete(void)
{
	struct dev_telemetry r[DEV_TELEMETRY_MAX + 1];
	size_t count = 77;
	memset(r, 0x5a, sizeof(r));
	ok(dev_telemetry_read(on.d, r, &count));
	require(count <= DEV_TELEMETRY_MAX);
	expect(memchr(&r[DEV_TELEMETRY_MAX], 0x5a, 1) != NULL);
	for (size_t i = 0; i < count; i++) {
		require(is_terminated(r[i].name, sizeof(r[i].name)) &&
			is_terminated(r[i].unit, sizeof(r[i].unit)));
		require(is_terminated(r[i].text, sizeof(r[i].text)) &&
			is_terminated(r[i].why, sizeof(r[i].why)));
		const int known = isfinite(r[i].number) != 0, text = r[i].text[0] != '\0',
			  unknown = r[i].why[0] != '\0';
		if (known + text + unknown != 1 || isinf(r[i].number))
			printf("# %s: %g '%s' '%s'\n", r[i].name, r[i].number, r[i].text, r[i].why);
		expect(r[i].name[0] && known + text + unknown == 1 && !isinf(r[i].number));
		for (size_t j = 0; j < i; j++)
			expect(strcmp(r[i].name, r[j].name) != 0);
	}
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(pageable_memory_is_copied),
		RULE(pageable_memory_is_for_copies_alone),
		RULE(missing_batches_are_refused),
		RULE(a_batch_copies_all_in_stream_order),
		RULE(a_batch_goes_within_and_between_devices),
		RULE(batches_are_checked),
		RULE(memory_of_a_batch_is_ebusy),
		RULE(a_batch_is_not_captured),
		RULE(missing_graphs_are_refused),
		RULE(a_graph_runs_what_was_captured),
		RULE(a_graph_runs_in_stream_order),
		RULE(a_graph_copies_within_and_between_devices),
		RULE(memory_of_a_graph_is_ebusy),
		RULE(graphs_are_checked),
		RULE(a_graph_of_values_runs_when_it_is_launched),
		RULE(closing_a_capturing_stream_discards_the_capture),
		RULE(memory_handles_are_checked),
		RULE(telemetry_samples_are_complete),
		RULE(links_are_complete),
		RULE(memory_errors_are_numbers_or_have_a_reason),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
