/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that adds: copies that add to a range lose nothing, and cost what
 * device/sim/machine/traffic.c says. Memory moves 100 bytes in a nanosecond, a link between
 * devices 20.
 */
#include "tests/unit/device/minifloat_arrays.h"
#include "tests/unit/device/sim/sim.h"

#define MODEL PLAIN "memory_control = 1\nmemory_adds = 1\ncopy_ns = 0\n"
#define UNITS_COPY "copy_engines = 0\n"
#define PICOSECOND 1e-3

enum { N = 1 << 20 };

static struct dev_stream *stream;
static char *memory, *peer, *host;

static void open_memory(const char *model)
{
	sim_begin(model);
	ok(dev_peer_enable(sim.d, sim.other));
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 8 * N);
	peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 2 * N);
	host = alloc_memory(DEV_MEM_PINNED, N);
	memset(memory, 0, 8 * N);
	memset(peer, 0, 2 * N);
	memset(host, 0, N);
}

static void a_copy_adds_elements(enum dev_type type, uint64_t elements)
{
	const uint64_t bytes = elements * dev_type_bytes(type);
	for (uint64_t i = 0; i < elements; i++) {
		element_set(memory, type, i, (double)(i % 100));
		element_set(memory + N, type, i, (double)(i % 7) - 3);
		element_set(peer, type, i, 1);
	}
	element_set(memory, type, elements, 77);
	ok(dev_copy_add(sim.d, stream, memory, memory + N, bytes, type));
	ok(dev_copy_add(sim.d, stream, memory, peer, bytes, type));
	ok(dev_copy_add(sim.d, stream, peer, memory, bytes, type));
	ok(dev_stream_sync(sim.d, stream));
	for (uint64_t i = 0; i < elements; i++) {
		const double sum = (double)(i % 100) + (double)(i % 7) - 3 + 1;
		expect_near(element_get(memory, type, i), sum, 0);
		expect_near(element_get(peer, type, i), sum + 1, 0);
	}
	expect_near(element_get(memory, type, elements), 77, 0);
}

static void copies_add_every_type_of_a_c(void)
{
	static const enum dev_type types[] = {DEV_F32, DEV_F64, DEV_F16, DEV_BF16, DEV_I32};
	static const char *const models[] = {MODEL, MODEL UNITS_COPY};
	for (int m = 0; m < 2; m++) {
		open_memory(models[m]);
		for (int i = 0; i < 5; i++) {
			a_copy_adds_elements(types[i], 1);
			a_copy_adds_elements(types[i], 1003);
		}
		ok(dev_copy_add(sim.d, stream, memory, memory + N, 0, DEV_F32));
		ok(dev_stream_sync(sim.d, stream));
		sim_end();
	}
}

static double add_ns(void *dst, const void *src, uint64_t bytes)
{
	struct span span = span_begin(stream);
	ok(dev_copy_add(sim.d, stream, dst, src, bytes, DEV_F32));
	span_end(&span, stream);
	return span_ns(&span);
}

static void an_addition_costs_a_write_or_more(void)
{
	const double n = N;
	open_memory(MODEL);
	expect_near(add_ns(memory, memory + N, N), 2 * n / 100, PICOSECOND);
	expect_near(add_ns(peer, memory, N), n / 20, PICOSECOND);
	expect_near(add_ns(memory, peer, N), n / 20, PICOSECOND);
	expect_near(add_ns(memory, host, N), n / 10, PICOSECOND);
	sim_end();
	open_memory(MODEL "add_cost = 8\n");
	struct dev_memory_bytes here, there;
	expect_near(add_ns(memory, memory + N, N), 9 * n / 100, PICOSECOND);
	/* The target's memory takes longer than the link; the link takes each byte once. */
	expect_near(add_ns(peer, memory, N), 8 * n / 100, PICOSECOND);
	expect_near(add_ns(memory, peer, N), 8 * n / 100, PICOSECOND);
	ok(dev_memory_bytes(sim.d, &here));
	ok(dev_memory_bytes(sim.other, &there));
	expect_near(here.read[DEV_COMMUNICATION], 2 * n, 0);
	expect_near(here.written[DEV_COMMUNICATION], 2 * n, 0);
	expect_near(there.read[DEV_COMMUNICATION], n, 0);
	expect_near(there.written[DEV_COMMUNICATION], n, 0);
	/* A copy that does not add costs what it did. */
	struct span span = span_begin(stream);
	ok(dev_copy(sim.d, stream, memory, memory + N, N));
	span_end(&span, stream);
	expect_near(span_ns(&span), 2 * n / 100, PICOSECOND);
	sim_end();
	open_memory(MODEL UNITS_COPY "add_cost = 8\n");
	expect_near(add_ns(memory, memory + N, N), 9 * n / 100, PICOSECOND);
	sim_end();
}

static void read_array(char *at, uint64_t bytes)
{
	const uint32_t reps = 1;
	uint32_t *sink = alloc_memory(DEV_MEM_PINNED, 4);
	const void *args[] = {&at, &bytes, &reps, &sink};
	ok(launch_kernel(stream, "read", 4, 0, args));
	ok(dev_stream_sync(sim.d, stream));
	ok(dev_free(sim.d, sink));
}

static void write_array(char *at, uint64_t bytes)
{
	const uint32_t reps = 1, word = 0;
	const void *args[] = {&at, &bytes, &reps, &word};
	ok(launch_kernel(stream, "write", 4, 0, args));
	ok(dev_stream_sync(sim.d, stream));
}

static void an_addition_passes_the_cache_by(void)
{
	static const char *const engine_cache[] = {"engine_cache = bypass\n",
						   "engine_cache = through\n"};
	enum { SOME = 8 << 10 };
	for (int through = 0; through < 2; through++) {
		char model[2048];
		struct dev_memory_bytes b;
		snprintf(model, sizeof(model), "%s%s", MODEL "llc_tracked = 1\nllc_bytes = 64K\n",
			 engine_cache[through]);
		open_memory(model);
		write_array(memory, SOME);
		read_array(memory + N, SOME);
		ok(dev_memory_bytes(sim.d, &b));
		expect_near(b.written[DEV_COMPUTING], 0, 0);
		expect_near(b.read[DEV_COMPUTING], SOME, 0);
		/* Memory needs the dirty half of what it adds to. */
		add_ns(memory + SOME / 2, memory + N, SOME);
		ok(dev_memory_bytes(sim.d, &b));
		expect_near(b.written[DEV_COMMUNICATION], 1.5 * SOME, 0);
		/* The source may be read from the cache where engines use it. */
		expect_near(b.read[DEV_COMMUNICATION], through ? 0 : SOME, 0);
		/* And the cache has none of it. */
		read_array(memory, SOME);
		ok(dev_memory_bytes(sim.d, &b));
		expect_near(b.read[DEV_COMPUTING], 1.5 * SOME, 0);
		expect_near(b.written[DEV_COMPUTING], 0, 0);
		sim_end();
	}
}

static void what_cannot_be_added_is_refused(void)
{
	struct dev_set set;
	open_memory(MODEL);
	float *at = (float *)(void *)memory;
	expect_error(dev_copy_add(sim.d, stream, at, at + 2, 12, DEV_F32), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, memory + 2, memory + N, 8, DEV_F32), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, memory, memory + N + 4, 8, DEV_F64), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, memory, memory + N, 6, DEV_F32), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, memory, memory + N, 8, DEV_TF32), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, memory, memory + N, 8, DEV_F8), -EINVAL);
	expect_error(dev_copy_add(sim.d, stream, host, memory, 8, DEV_F32), -ENOTSUP);
	expect_error(dev_copy_add(sim.d, stream, &set, memory, 8, DEV_F32), -EFAULT);
	/* The memory of a peer that does not add. */
	ok(dev_open("sim:quiet:2", 0, &set));
	ok(dev_peer_enable(sim.d, set.dev[0]));
	void *plain = alloc_memory_on(set.dev[0], DEV_MEM_DEVICE, 64);
	expect_error(dev_copy_add(sim.d, stream, plain, memory, 8, DEV_F32), -ENOTSUP);
	struct dev_stream *s = NULL;
	ok(dev_stream_open(set.dev[0], 0, &s));
	expect_error(dev_copy_add(set.dev[0], s, memory, plain, 8, DEV_F32), -ENOTSUP);
	dev_close(&set);
	ok(dev_stream_sync(sim.d, stream));
	sim_end();
	sim_begin(PLAIN "memory_adds = 1\nlacks = memory_adds\n");
	expect(!dev_can(sim.d, DEV_CAP_MEMORY_ADDS));
	sim_end();
}

static void a_fault_corrupts_what_was_added(void)
{
	open_memory(MODEL "corrupt_copy_every = 2\nfail_copy_at = 3\n");
	float *to = (float *)(void *)memory, *from = to + N / 4;
	from[1] = 1;
	for (int i = 0; i < 2; i++)
		ok(dev_copy_add(sim.d, stream, to, from, 16, DEV_F32));
	ok(dev_stream_sync(sim.d, stream));
	expect(memcmp(to, (const float[4]){0, 2, 0, 0}, 16) != 0);
	ok(dev_copy_add(sim.d, stream, to, from, 16, DEV_F32));
	expect_error(dev_stream_sync(sim.d, stream), -EIO);
	sim_end();
}

int main(void)
{
	test(copies_add_every_type_of_a_c);
	test(an_addition_costs_a_write_or_more);
	test(an_addition_passes_the_cache_by);
	test(what_cannot_be_added_is_refused);
	test(a_fault_corrupts_what_was_added);
	return test_done();
}
