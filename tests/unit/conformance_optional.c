/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What only some devices have: pageable memory, graphs, collectives, sharing between processes, readings. Where it is lacking,
 * each operation says so.
 */
#include "tests/unit/conformance.h"

#define N 65536u

/* ------------------------------------------------------------------ pageable memory */

static void pageable_copies(struct dev_stream *s, uint64_t bytes)
{
	unsigned char *host = get(DEV_MEM_PAGEABLE, bytes), *back = get(DEV_MEM_PAGEABLE, bytes);
	unsigned char *dev = get(DEV_MEM_DEVICE, bytes);
	for (uint64_t i = 0; i < bytes; i++)
		host[i] = (unsigned char)(i * 13 + i / 251);
	memset(back, 0, bytes);
	ok(dev_copy(on.d, s, dev, host, bytes));
	ok(dev_copy(on.d, s, back, dev, bytes));
	ok(dev_stream_sync(on.d, s));
	expect(memcmp(host, back, bytes) == 0);
	put(host);
	put(back);
	put(dev);
}

static void pageable_memory_is_copied(void)
{
	static const uint64_t sizes[] = { 1, 4097, 65536, 1000003, 5 << 20 };
	void *memory = &on;
	if (!dev_can(on.d, DEV_CAP_PAGEABLE)) {
		expect_error(dev_alloc(on.d, DEV_MEM_PAGEABLE, N, &memory), -ENOTSUP);
		expect(memory == &on);
		return;
	}
	struct dev_stream *s = stream();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		pageable_copies(s, sizes[i]);
	expect_error(dev_alloc(on.d, DEV_MEM_PAGEABLE, 0, &memory), -EINVAL);
	dev_stream_close(on.d, s);
}

static void pageable_memory_is_for_copies_alone(void)
{
	need(DEV_CAP_PAGEABLE);
	struct dev_stream *s = stream();
	char *host = get(DEV_MEM_PAGEABLE, N), *dev = get(DEV_MEM_DEVICE, N);
	const uint64_t bytes = N / 2;
	const uint32_t reps = 1, word = 1;
	const void *to[] = { &host, &bytes, &reps, &word }, *from[] = { &dev, &host, &bytes, &reps };
	uint32_t *at = (uint32_t *)(void *)host;
	expect_error(launch(s, "write", 1, to), -EFAULT);
	expect_error(launch(s, "copy", 1, from), -EFAULT);
	expect_error(dev_fill(on.d, s, host, 0, N), -EFAULT);
	expect_error(dev_copy(on.d, s, dev, host + 1, N), -EFAULT); /* past its end */
	expect_error(dev_free(on.d, host + 256), -EFAULT);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE)) {
		expect_error(dev_wait_value(on.d, s, at, 0), -EFAULT);
		expect_error(dev_write_value(on.d, s, at, 0), -EFAULT);
		expect_error(dev_post_value(on.d, at, 0), -EFAULT);
	}
	if (dev_can(on.d, DEV_CAP_GEMM)) {
		struct dev_gemm g = { .type = DEV_F32, .m = 8, .n = 8, .k = 8, .alpha = 1, .a = dev, .b = dev + 4096, .c = host,
			              .lda = 8, .ldb = 8, .ldc = 8 };
		expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	}
	ok(dev_stream_sync(on.d, s));
	put(host);
	put(dev);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ graphs */

/* What the tests note: filled := 7..., sums += ones, out := sums. */
struct noted {
	char *filled;
	float *sums, *ones, *out;
	struct dev_graph *graph;
};

static struct noted note(struct dev_stream *s)
{
	const uint64_t bytes = N;
	const uint32_t reps = 1;
	struct noted n = { .filled = get(DEV_MEM_DEVICE, N), .sums = get(DEV_MEM_DEVICE, N), .ones = get(DEV_MEM_DEVICE, N),
		           .out = get(DEV_MEM_PINNED, N) };
	const void *args[] = { &n.sums, &n.ones, &bytes, &reps };
	for (uint32_t i = 0; i < N / 4; i++)
		n.out[i] = 1;
	ok(dev_copy(on.d, s, n.ones, n.out, N));
	ok(dev_fill(on.d, s, n.sums, 0, N));
	ok(dev_fill(on.d, s, n.filled, 0, N));
	ok(dev_stream_sync(on.d, s));
	struct dev_kernel *k = kernel("reduce_add");
	const struct dev_launch l = { .grid = 4, .args = args };
	ok(dev_graph_begin(on.d, s));
	ok(dev_fill(on.d, s, n.filled, 7, N));
	ok(dev_launch(on.d, s, k, &l));
	ok(dev_copy(on.d, s, n.out, n.sums, N));
	ok(dev_graph_end(on.d, s, &n.graph));
	require(n.graph != NULL);
	return n;
}

static void drop_noted(struct noted *n)
{
	dev_graph_close(on.d, n->graph);
	put(n->filled);
	put(n->sums);
	put(n->ones);
	put(n->out);
}

static bool all_are(const float *at, float value)
{
	for (uint32_t i = 0; i < N / 4; i++)
		if (at[i] < value || at[i] > value)
			return false;
	return true;
}

static void graphs_say_when_they_are_lacking(void)
{
	struct dev_stream *s = stream();
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

static void a_graph_runs_what_was_noted(void)
{
	need(DEV_CAP_GRAPH);
	char byte = 1;
	struct dev_stream *s = stream();
	struct noted n = note(s);
	ok(dev_stream_sync(on.d, s));
	pass(MS);
	ok(dev_download(on.d, &byte, n.filled, 1));
	expect(byte == 0 && all_are(n.out, 1)); /* noting runs nothing */
	for (int times = 1; times <= 3; times++) {
		ok(dev_graph_launch(on.d, s, n.graph));
		ok(dev_stream_sync(on.d, s));
		expect(all_are(n.out, (float)times));
	}
	ok(dev_download(on.d, &byte, n.filled + N - 1, 1));
	expect(byte == 7);
	ok(dev_graph_launch(on.d, s, n.graph)); /* twice in a row is twice the work */
	ok(dev_graph_launch(on.d, s, n.graph));
	ok(dev_stream_sync(on.d, s));
	expect(all_are(n.out, 5));
	drop_noted(&n);
	dev_stream_close(on.d, s);
}

static void a_graph_has_its_turn(void)
{
	need(DEV_CAP_GRAPH);
	struct dev_stream *s = stream();
	struct dev_event *e = event();
	struct noted n = note(s);
	char *after = get(DEV_MEM_DEVICE, N), seen[N];
	ok(dev_fill(on.d, s, after, 0, N));
	ok(dev_stream_sync(on.d, s));
	struct gate g = gate_shut(s);
	ok(dev_graph_launch(on.d, s, n.graph));
	ok(dev_copy(on.d, s, after, n.out, N));
	ok(dev_event_record(on.d, s, e));
	pass(MS);
	expect(all_are(n.out, 1));
	expect_rc(dev_event_query(on.d, e), -EAGAIN);
	n.out[0] = 9; /* overwritten by the graph */
	gate_open(&g);
	ok(dev_stream_sync(on.d, s));
	gate_done(&g);
	ok(dev_download(on.d, seen, after, N));
	expect(all_are(n.out, 1) && memcmp(seen, n.out, N) == 0);
	drop_noted(&n);
	put(after);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, s);
}

/* Copies that a vendor may have several functions for: a graph must not lose one. */
static void a_graph_copies_within_and_between_devices(void)
{
	need(DEV_CAP_GRAPH);
	const bool has_peer = on.other && dev_can(on.d, DEV_CAP_PEER);
	struct dev_stream *s = stream();
	struct dev_graph *graph = NULL;
	char *from = get(DEV_MEM_DEVICE, N), *twin = get(DEV_MEM_DEVICE, N), *seen = get(DEV_MEM_PINNED, N);
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
	put(from);
	put(twin);
	put(seen);
	dev_stream_close(on.d, s);
}

static void memory_of_a_graph_is_ebusy(void)
{
	need(DEV_CAP_GRAPH);
	struct dev_stream *s = stream();
	struct noted n = note(s);
	for (int launched = 0; launched < 2; launched++) {
		expect_error(dev_free(on.d, n.filled), -EBUSY);
		expect_error(dev_free(on.d, n.sums), -EBUSY);
		expect_error(dev_free(on.d, n.ones), -EBUSY);
		expect_error(dev_free(on.d, n.out), -EBUSY);
		ok(dev_graph_launch(on.d, s, n.graph));
		ok(dev_stream_sync(on.d, s));
	}
	drop_noted(&n); /* closed: everything can be freed */
	dev_stream_close(on.d, s);
}

static void graphs_are_checked(void)
{
	need(DEV_CAP_GRAPH);
	static char foreign[256];
	struct dev_stream *s = stream();
	struct dev_graph *graph = NULL;
	char *a = get(DEV_MEM_PINNED, 256);
	memset(a, 1, 256);
	expect_error(dev_graph_end(on.d, s, &graph), -EINVAL); /* nothing was begun */
	expect(graph == NULL);
	ok(dev_graph_begin(on.d, s));
	expect_error(dev_graph_begin(on.d, s), -EINVAL);
	expect_error(dev_fill(on.d, s, foreign, 0, sizeof(foreign)), -EFAULT);
	ok(dev_fill(on.d, s, a, 2, 256));
	ok(dev_graph_end(on.d, s, &graph));
	ok(dev_stream_sync(on.d, s));
	expect(a[0] == 1);
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_fill(on.d, s, a, 3, 128)); /* the stream itself works as before */
	ok(dev_stream_sync(on.d, s));
	expect(a[0] == 3 && a[255] == 2);
	dev_graph_close(on.d, graph);
	put(a);
	dev_stream_close(on.d, s);
}

/* Noted, or refused: never run beside the graph. */
static void a_graph_of_values_runs_when_it_is_launched(void)
{
	need(DEV_CAP_GRAPH | DEV_CAP_WAIT_VALUE);
	const int wanted = dev_can(on.d, DEV_CAP_VALUE_IN_QUEUE) ? 0 : -ENOTSUP;
	struct dev_stream *s = stream();
	struct dev_graph *graph = NULL;
	uint32_t *at = get(DEV_MEM_PINNED, 256);
	at[0] = at[1] = 0;
	ok(dev_graph_begin(on.d, s));
	expect_rc(dev_write_value(on.d, s, at, 1), wanted);
	expect_rc(dev_wait_value(on.d, s, at, 1), wanted);
	ok(dev_fill(on.d, s, at + 1, 2, 4));
	ok(dev_graph_end(on.d, s, &graph));
	pass(MS);
	expect(look(at) == 0);
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	expect(look(at) == (wanted ? 0 : 1) && look(at + 1) == 0x02020202);
	dev_graph_close(on.d, graph);
	put(at);
	dev_stream_close(on.d, s);
}

static void a_stream_closed_while_noting_forgets_it(void)
{
	need(DEV_CAP_GRAPH);
	struct dev_stream *s = stream();
	char *a = get(DEV_MEM_PINNED, 256);
	memset(a, 1, 256);
	ok(dev_graph_begin(on.d, s));
	ok(dev_fill(on.d, s, a, 2, 256));
	dev_stream_close(on.d, s);
	expect(a[0] == 1);
	put(a);
}

/* ------------------------------------------------------------------ collectives */

struct rank {
	struct dev_stream *stream;
	float *buffer;
};

/* Whole numbers that stay exact in f32 over two sums of up to 64 devices. */
static float part_of(size_t device, uint64_t i) { return (float)((device + 1) * (i % 31)); }

static void one_allreduce(struct dev_crew *crew, const struct rank *ranks, uint64_t count)
{
	struct dev_stream *streams[DEV_MAX];
	float *buffers[DEV_MAX], *values = malloc(count * sizeof(float));
	const size_t devices = on.set.count;
	require(values);
	for (size_t d = 0; d < devices; d++) {
		streams[d] = ranks[d].stream;
		buffers[d] = ranks[d].buffer;
		for (uint64_t i = 0; i < count; i++)
			values[i] = part_of(d, i);
		ok(dev_upload(on.set.dev[d], buffers[d], values, count * sizeof(float)));
	}
	ok(dev_allreduce(crew, streams, buffers, count));
	ok(dev_allreduce(crew, streams, buffers, count)); /* and the sums once more */
	for (size_t d = 0; d < devices; d++)
		ok(dev_stream_sync(on.set.dev[d], streams[d]));
	for (size_t d = 0; d < devices; d++) {
		uint64_t wrong = 0;
		ok(dev_download(on.set.dev[d], values, buffers[d], count * sizeof(float)));
		for (uint64_t i = 0; i < count; i++) {
			const float want = (float)(devices * devices * (devices + 1) / 2 * (i % 31));
			wrong += memcmp(&values[i], &want, sizeof(want)) != 0;
		}
		expect(wrong == 0);
	}
	free(values);
}

static void a_crew_adds_up(void)
{
	static const uint64_t counts[] = { 1, 1000, 65536, (1 << 20) + 3 };
	struct dev_crew *crew = NULL;
	struct rank ranks[DEV_MAX] = { 0 };
	dev_crew_close(NULL);
	if (on.set.count < 2) {
		expect_error(dev_crew_open(&on.set, &crew), -ENODEV);
		expect(crew == NULL);
		return;
	}
	if (!dev_can(on.d, DEV_CAP_CREW)) {
		expect_error(dev_crew_open(&on.set, &crew), -ENOTSUP);
		expect(crew == NULL);
		return;
	}
	ok(dev_crew_open(&on.set, &crew));
	expect(crew->count == on.set.count && crew->library[0] != '\0');
	for (size_t d = 0; d < on.set.count; d++) {
		struct dev *device = on.set.dev[d];
		void *memory = NULL;
		ok(dev_stream_open(device, dev_props(device)->priority_normal, &ranks[d].stream));
		ok(dev_alloc(device, DEV_MEM_DEVICE, counts[3] * sizeof(float), &memory));
		ranks[d].buffer = memory;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (int repeat = 0; repeat < 3; repeat++)
			one_allreduce(crew, ranks, counts[i]);
	for (size_t d = 0; d < on.set.count; d++) {
		ok(dev_free(on.set.dev[d], ranks[d].buffer));
		dev_stream_close(on.set.dev[d], ranks[d].stream);
	}
	dev_crew_close(crew);
}

/* ------------------------------------------------------------------ other processes, readings */

static void handles_of_memory(void)
{
	static char foreign[4096];
	struct dev_ipc handle, none;
	void *memory = &on;
	char *a = get(DEV_MEM_DEVICE, N);
	memset(&none, 0xff, sizeof(none));
	if (!dev_can(on.d, DEV_CAP_IPC)) {
		expect_error(dev_ipc_export(on.d, a, &handle), -ENOTSUP);
		expect_error(dev_ipc_import(on.d, &none, N, &memory), -ENOTSUP);
		expect(memory == &on);
		put(a);
		return;
	}
	ok(dev_ipc_export(on.d, a, &handle));
	expect_error(dev_ipc_export(on.d, foreign, &handle), -EFAULT);
	err_clear();
	expect(dev_ipc_import(on.d, &none, N, &memory) < 0);
	expect(err_text()[0] != '\0' && memory == &on);
	struct dev_stream *s = stream();
	ok(dev_fill(on.d, s, a, 1, N)); /* and the device is as it was */
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
	put(a);
}

static bool ends(const char *text, size_t room) { return memchr(text, '\0', room) != NULL; }

static void readings_say_what_they_are(void)
{
	struct dev_reading r[DEV_READINGS + 1];
	size_t count = 77;
	memset(r, 0x5a, sizeof(r));
	ok(dev_read_state(on.d, r, &count));
	require(count <= DEV_READINGS);
	expect(memchr(&r[DEV_READINGS], 0x5a, 1) != NULL);
	for (size_t i = 0; i < count; i++) {
		require(ends(r[i].name, sizeof(r[i].name)) && ends(r[i].unit, sizeof(r[i].unit)));
		require(ends(r[i].text, sizeof(r[i].text)) && ends(r[i].why, sizeof(r[i].why)));
		const int known = isfinite(r[i].number) != 0, text = r[i].text[0] != '\0', unknown = r[i].why[0] != '\0';
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
		RULE(graphs_say_when_they_are_lacking),
		RULE(a_graph_runs_what_was_noted),
		RULE(a_graph_has_its_turn),
		RULE(a_graph_copies_within_and_between_devices),
		RULE(memory_of_a_graph_is_ebusy),
		RULE(graphs_are_checked),
		RULE(a_graph_of_values_runs_when_it_is_launched),
		RULE(a_stream_closed_while_noting_forgets_it),
		RULE(a_crew_adds_up),
		RULE(handles_of_memory),
		RULE(readings_say_what_they_are),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
