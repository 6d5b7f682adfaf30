/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated device without data: what is real, what is not, and that time does not differ.
 */
#include "device/sim/model/model.h"
#include "tests/unit/device/sim/sim.h"

#define GIB (UINT64_C(1) << 30)
#define TIME_ONLY PLAIN "data = none\nmemory_bytes = 512G\nhost_memory_bytes = 512G\n"

static uint64_t resident_bytes(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	require(f != NULL);
	require(fscanf(f, "%llu %llu", &size, &resident) == 2);
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void memory_takes_no_memory(void)
{
	const uint64_t before = resident_bytes();
	sim_begin(TIME_ONLY);
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, 100 * GIB), *b = alloc_memory(DEV_MEM_DEVICE, GIB),
	     *pinned = alloc_memory(DEV_MEM_PINNED, 100 * GIB),
	     *other = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 500 * GIB);
	ok(dev_peer_enable(sim.d, sim.other));
	ok(dev_fill(sim.d, s, a, 0x55, 100 * GIB));
	ok(dev_copy(sim.d, s, pinned, a, 100 * GIB));
	ok(dev_copy(sim.d, s, other, a, 100 * GIB));
	const struct dev_gemm g = PACKED_GEMM(16384, 16384, 65536, .type = DEV_F32, .blocks = 4,
					      .a = a, .b = a + 4 * GIB, .c = b);
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, s));
	expect(a[0] == 0 && pinned[100 * GIB - 1] == 0 && other[50 * GIB] == 0);
	expect(resident_bytes() < before + (16u << 20));
	ok(dev_free(sim.d, a));
	a = alloc_memory(DEV_MEM_DEVICE, 500 * GIB);
	sim_end();
}

static void only_such_a_model_says_so(void)
{
	sim_begin(TIME_ONLY);
	expect(dev_can(sim.d, DEV_CAP_TIME_ONLY | DEV_CAP_VIRTUAL_TIME));
	sim_begin(PLAIN "data = real\n");
	expect(!dev_can(sim.d, DEV_CAP_TIME_ONLY));
	sim_begin(PLAIN);
	expect(!dev_can(sim.d, DEV_CAP_TIME_ONLY));
	sim_end();
}

static void too_much_is_refused_by_name(void)
{
	void *at = NULL;
	sim_begin(TIME_ONLY "memory_bytes = 1048576G\n");
	expect_error(dev_alloc(sim.d, DEV_MEM_DEVICE, UINT64_C(1) << 49, &at), -ENOMEM);
	expect(strstr(err_text(), "address space") != NULL);
	expect_error(dev_alloc(sim.d, DEV_MEM_PINNED, 513 * GIB, &at), -ENOMEM);
	expect(strstr(err_text(), "of pinned memory: ") != NULL);
	/* A refused allocation is not counted. */
	at = alloc_memory(DEV_MEM_PINNED, 512 * GIB);
	sim_end();
}

static void small_copies_and_fills_move(const char *model)
{
	const uint64_t most = SIM_MOVED_BYTES;
	sim_begin(model);
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, 2 * most),
	     *b = alloc_memory(DEV_MEM_PINNED, 2 * most);
	ok(dev_fill(sim.d, s, a, 3, most));
	ok(dev_fill(sim.d, s, a, 4, most + 1));
	ok(dev_copy(sim.d, s, b, a, most));
	ok(dev_stream_sync(sim.d, s));
	expect(a[0] == 3 && a[most - 1] == 3 && a[most] == 0);
	expect(b[0] == 3 && b[most - 1] == 3);
	memset(a, 5, most + 1);
	ok(dev_copy(sim.d, s, b, a, most + 1));
	ok(dev_stream_sync(sim.d, s));
	expect(b[0] == 3 && b[most] == 0);
	sim_end();
}

static void small_copies_and_fills_move_by_engines_and_units(void)
{
	small_copies_and_fills_move(TIME_ONLY);
	small_copies_and_fills_move(TIME_ONLY "copy_engines = 0\n");
}

/* Memory of the operations below, by its use. */
struct operands {
	char *a, *b, *c;
	uint32_t *words, *done;
	uint64_t *stamps, *ring;
};

static struct operands open_operands(void)
{
	struct operands o = {.a = alloc_memory(DEV_MEM_DEVICE, 1 << 20),
			     .b = alloc_memory(DEV_MEM_DEVICE, 1 << 20),
			     .c = alloc_memory(DEV_MEM_DEVICE, 1 << 20),
			     .words = alloc_memory(DEV_MEM_PINNED, 4096),
			     .done = alloc_memory(DEV_MEM_DEVICE, 4096),
			     .stamps = alloc_memory(DEV_MEM_PINNED, 4096),
			     .ring = alloc_memory(DEV_MEM_DEVICE, 4096)};
	memset(o.words, 0, 4096);
	memset(o.done, 0, 4096);
	memset(o.ring, 0, 4096);
	return o;
}

static struct dev_gemm counting_gemm(const struct operands *o)
{
	return (struct dev_gemm)PACKED_GEMM(200, 96, 64, .type = DEV_F32, .a = o->a, .b = o->b,
					    .c = o->c, .tiled = true, .done = o->done,
					    .done_rows = 64);
}

static void kernels_and_gemms_leave_memory_alone(void)
{
	sim_begin(TIME_ONLY "gemm_tile = 32\n");
	struct operands o = open_operands();
	struct dev_stream *s = open_stream();
	const uint64_t bytes = 4096, fmas = DEV_FMA_QUANTUM, steps = 100;
	const uint32_t reps = 2, word = 7;
	const float scale = 2;
	memset(o.b, 0x3f, bytes);
	const void *const
		write[] = {&o.a, &bytes, &reps, &word},
		*const copy[] = {&o.a, &o.b, &bytes, &reps}, *const triad[] = {&o.a,  &o.b,
									       &o.b,  &bytes,
									       &reps, &scale},
		*const fma[] = {&o.a, &fmas}, *const sum[] = {&o.b, &bytes, &reps, &o.words},
		*const chase[] = {&o.ring, &bytes, &steps, &o.stamps};
	ok(launch_kernel(s, "write", 2, 0, write));
	ok(launch_kernel(s, "write_nt", 2, 0, write));
	ok(launch_kernel(s, "copy", 2, 0, copy));
	ok(launch_kernel(s, "copy_nt", 2, 0, copy));
	ok(launch_kernel(s, "reduce_add", 2, 0, copy));
	ok(launch_kernel(s, "triad", 2, 0, triad));
	ok(launch_kernel(s, "fma_f32", 2, 0, fma));
	ok(launch_kernel(s, "fma_f64", 2, 0, fma));
	ok(launch_kernel(s, "read", 2, 0, sum));
	ok(launch_kernel(s, "chase", 1, 0, chase)); /* of a ring of zeros */
	struct dev_gemm g = counting_gemm(&o);
	g.a = o.b;
	ok(dev_gemm(sim.d, s, &g));
	g.done = NULL;
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, s));
	for (uint64_t i = 0; i < bytes; i++)
		require(o.a[i] == 0 && o.c[i] == 0);
	expect(o.words[0] == 0 && o.stamps[0] == 0);
	expect(o.done[0] == 64 * 96 && o.done[2] == 64 * 96 && o.done[3] == 8 * 96);
	sim_end();
}

static void signals_stamps_and_values_are_real(void)
{
	sim_begin(TIME_ONLY "gemm_tile = 32\n");
	struct operands o = open_operands();
	struct dev_stream *s = open_stream(), *other = open_stream();
	uint32_t *flag = o.words, *arrived = o.words + 2, *seen = o.words + 4, *late = o.words + 6;
	const uint32_t one = 1, two = 2;
	const uint64_t long_ns = 1000000, short_ns = 1000;
	const void *const hold[] = {&flag, &arrived, &o.stamps, &long_ns},
			  *const await[] = {&flag, &two, &late, &short_ns},
			  *const signal[] = {&seen, &one}, *const stamp[] = {&o.stamps};
	ok(launch_kernel(s, "blocking_kernel", 3, 0, hold));
	ok(launch_kernel(s, "signal", 1, 0, signal));
	ok(launch_kernel(other, "await", 1, 0, await)); /* times out */
	ok(dev_stream_sync(sim.d, other));
	expect(arrived[0] == 3 && seen[0] == 0 && late[0] == 1);
	ok(dev_wait_value(sim.d, other, seen, 1));
	ok(dev_write_value(sim.d, other, seen + 1, 9));
	ok(dev_post_value(sim.d, flag, 1));
	ok(dev_stream_sync(sim.d, other));
	expect(seen[0] == 1 && seen[1] == 9 && arrived[1] == 0);
	const uint64_t now_ns = dev_clock_ns(sim.d);
	ok(launch_kernel(s, "stamp", 2, 0, stamp));
	ok(dev_stream_sync(sim.d, s));
	expect(o.stamps[0] >= now_ns && o.stamps[1] >= now_ns);
	/* A stream waits for the counters of a GEMM. */
	const struct dev_gemm g = counting_gemm(&o);
	ok(dev_wait_value(sim.d, other, o.done, 64 * 96));
	ok(dev_write_value(sim.d, other, seen + 1, 10));
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, other));
	expect(seen[1] == 10);
	sim_end();
}

enum { TIMES = 10 };

/* Jitter and a cache that is tracked: every draw and every range count. */
static void take_times(const char *data, double *ns)
{
	char model[1200];
	snprintf(model, sizeof(model),
		 "%sgemm_tile = 32\njitter_sigma = 0.1\nflops_bf16 = 4e9\n%s%s",
		 PLAIN "launch_ns = 500\nblock_ns = 100\nevent_ns = 10\n",
		 "block_jitter_sigma = 0.1\nllc_tracked = 1\nllc_bytes = 256K\n", data);
	sim_begin(model);
	struct operands o = open_operands();
	struct dev_stream *s = open_stream();
	const uint64_t bytes = 300000 / 256 * 256, ring_bytes = 4096, steps = 100, fmas = 40960;
	const uint32_t reps = 1;
	uint64_t *out = o.ring + 64;
	o.ring[0] = (uintptr_t)o.ring;
	const void *const copy[] = {&o.a, &o.b, &bytes, &reps}, *const fma[] = {&o.c, &fmas},
			  *const chase[] = {&o.ring, &ring_bytes, &steps, &out};
	const struct dev_gemm counting = counting_gemm(&o);
	struct dev_gemm narrow = counting;
	narrow.type = DEV_BF16;
	narrow.done = NULL;
	ok(dev_fill(sim.d, s, o.a, 0, 1 << 20));
	ok(dev_fill(sim.d, s, o.b, 0, 1 << 20));
	for (unsigned i = 0; i < TIMES; i++) {
		struct span span = span_begin(s);
		ok(i == 0   ? dev_copy(sim.d, s, o.a, o.b, 1 << 20)
		   : i == 1 ? dev_copy(sim.d, s, o.stamps, o.b, 4096)
		   : i == 2 ? dev_fill(sim.d, s, o.a, 1, 1 << 20)
		   : i == 3 ? launch_kernel(s, "copy", 5, 0, copy)
		   : i == 4 ? launch_kernel(s, "reduce_add", 5, 0, copy)
		   : i == 5 ? launch_kernel(s, "copy_nt", 5, 0, copy)
		   : i == 6 ? launch_kernel(s, "fma_f32", 5, 0, fma)
		   : i == 7 ? launch_kernel(s, "chase", 1, 0, chase)
		   : i == 8 ? dev_gemm(sim.d, s, &counting)
			    : dev_gemm(sim.d, s, &narrow));
		span_end(&span, s);
		ns[i] = span_ns(&span);
	}
	sim_end();
}

static void times_do_not_differ(void)
{
	double real_ns[TIMES], none_ns[TIMES];
	take_times("data = real\n", real_ns);
	take_times("data = none\n", none_ns);
	for (unsigned i = 0; i < TIMES; i++) {
		if (memcmp(&real_ns[i], &none_ns[i], sizeof(double)))
			printf("# %u: %.6f ns, without data %.6f ns\n", i, real_ns[i], none_ns[i]);
		expect(real_ns[i] > 0 && memcmp(&real_ns[i], &none_ns[i], sizeof(double)) == 0);
	}
}

int main(void)
{
	test(memory_takes_no_memory);
	test(only_such_a_model_says_so);
	test(too_much_is_refused_by_name);
	test(small_copies_and_fills_move_by_engines_and_units);
	test(kernels_and_gemms_leave_memory_alone);
	test(signals_stamps_and_values_are_real);
	test(times_do_not_differ);
	return test_done();
}
