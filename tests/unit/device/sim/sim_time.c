/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known truth: the simulated times must be those of device/sim/README.md, to the picosecond.
 */
#include "tests/unit/device/sim/sim.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PICOSECOND 1e-3

static double copy_ns(struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	struct span span = span_begin(s);
	ok(dev_copy(sim.d, s, dst, src, bytes));
	span_end(&span, s);
	return span_ns(&span);
}

static void a_copy_takes_alpha_and_n_over_beta(void)
{
	static const uint64_t sizes[] = {1, 1000, 4096, 1234567, 8 << 20};
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream();
	char *dev = alloc_memory(DEV_MEM_DEVICE, 8 << 20),
	     *twin = alloc_memory(DEV_MEM_DEVICE, 8 << 20);
	char *host = alloc_memory(DEV_MEM_PINNED, 8 << 20),
	     *peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, 8 << 20);
	ok(dev_peer_enable(sim.d, sim.other));
	for (size_t i = 0; i < COUNT(sizes); i++) {
		double n = (double)sizes[i];
		expect_near(copy_ns(s, dev, host, sizes[i]), 1000 + n / 10, PICOSECOND);
		expect_near(copy_ns(s, host, dev, sizes[i]), 1000 + n / 5, PICOSECOND);
		expect_near(copy_ns(s, twin, dev, sizes[i]), 1000 + 2 * n / 100, PICOSECOND);
		expect_near(copy_ns(s, peer, dev, sizes[i]), 1000 + n / 20, PICOSECOND);
		expect_near(copy_ns(s, dev, peer, sizes[i]), 1000 + n / 20, PICOSECOND);
	}
	sim_end();
}

/* ------------------------------------------------------------------ sharing */

struct pair {
	double a_ns, b_ns;
};

static struct pair two_copies(char *to_a, char *from_a, uint64_t a, char *to_b, char *from_b,
			      uint64_t b)
{
	struct dev_stream *s = open_stream(), *t = open_stream();
	struct span first = span_begin(s), second = span_begin(t);
	struct pair pair;
	ok(dev_copy(sim.d, s, to_a, from_a, a));
	ok(dev_copy(sim.d, t, to_b, from_b, b));
	span_end(&first, s);
	span_end(&second, t);
	pair.a_ns = span_ns(&first);
	pair.b_ns = span_ns(&second);
	dev_stream_close(sim.d, s);
	dev_stream_close(sim.d, t);
	return pair;
}

static void two_flows_share_max_min(void)
{
	const uint64_t n = 1000000;
	const double x = 1e6;
	sim_begin(PLAIN);
	char *dev = alloc_memory(DEV_MEM_DEVICE, 16 * n),
	     *host = alloc_memory(DEV_MEM_PINNED, 8 * n);
	/* Equals get equal shares. */
	struct pair p = two_copies(dev, dev + n, n, dev + 2 * n, dev + 3 * n, n);
	expect_near(p.a_ns, 1000 + 2 * x / 50, PICOSECOND);
	expect_near(p.b_ns, 1000 + 2 * x / 50, PICOSECOND);
	/* The longer one has the memory alone when the other is done. */
	p = two_copies(dev, dev + n, n, dev + 4 * n, dev + 8 * n, 3 * n);
	expect_near(p.a_ns, 1000 + 2 * x / 50, PICOSECOND);
	expect_near(p.b_ns, 1000 + 2 * x / 50 + 2 * 2 * x / 100, PICOSECOND);
	/* The other flow gets what a limited one leaves: 10 and 90 of 100. */
	p = two_copies(dev, host, n, dev + 4 * n, dev + 8 * n, n);
	expect_near(p.a_ns, 1000 + x / 10, PICOSECOND);
	expect_near(p.b_ns, 1000 + 2 * x / 90, PICOSECOND);
	/* Both directions of a link are apart, one direction is shared. */
	p = two_copies(dev, host, n, host + n, dev + n, n);
	expect_near(p.a_ns, 1000 + x / 10, PICOSECOND);
	expect_near(p.b_ns, 1000 + x / 5, PICOSECOND);
	p = two_copies(dev, host, n, dev + n, host + n, n);
	expect_near(p.a_ns, 1000 + x / 5, PICOSECOND);
	expect_near(p.b_ns, 1000 + x / 5, PICOSECOND);
	sim_end();
}

static void one_engine_copies_in_sequence(void)
{
	const uint64_t n = 1000000;
	sim_begin(PLAIN "copy_engines = 1\n");
	char *dev = alloc_memory(DEV_MEM_DEVICE, 4 * n);
	struct pair p = two_copies(dev, dev + n, n, dev + 2 * n, dev + 3 * n, n);
	expect_near(p.a_ns, 1000 + 2e6 / 100, PICOSECOND);
	expect_near(p.b_ns, 2 * (1000 + 2e6 / 100), PICOSECOND);
	sim_end();
}

static void an_engine_shares_memory_with_blocks(void)
{
	/* 8 resident blocks read from memory and one copy writes: 9 equal flows, or the copy
	 * weighs 8. */
	const uint64_t n = 8 << 20;
	const uint32_t reps = 10;
	for (int weight = 1; weight <= 8; weight += 7) {
		char model[2048];
		snprintf(model, sizeof(model),
			 PLAIN "link_down_bandwidth = 1e15\nengine_weight = %d\n", weight);
		sim_begin(model);
		struct dev_stream *s = open_stream(), *t = open_stream();
		char *dev = alloc_memory(DEV_MEM_DEVICE, 2 * n),
		     *host = alloc_memory(DEV_MEM_PINNED, n);
		uint32_t *sink = alloc_memory(DEV_MEM_PINNED, 4);
		const void *args[] = {&dev, &n, &reps, &sink};
		ok(launch_kernel(s, "read", 8, 0, args));
		struct span span = span_begin(t);
		ok(dev_copy(sim.d, t, dev + n, host, n / 2));
		span_end(&span, t);
		double share = 100.0 * weight / (8 + weight);
		expect_near(span_ns(&span), 1000 + (double)(n / 2) / share, PICOSECOND);
		ok(dev_stream_sync(sim.d, s));
		sim_end();
	}
}

/* ------------------------------------------------------------------ blocks */

static double fma_ns(struct dev_stream *s, uint32_t grid, uint64_t shared_bytes, uint64_t fmas)
{
	float *out = alloc_memory(DEV_MEM_DEVICE, grid * 4);
	const void *args[] = {&out, &fmas};
	struct span span = span_begin(s);
	ok(launch_kernel(s, "fma_f32", grid, shared_bytes, args));
	span_end(&span, s);
	double ns = span_ns(&span);
	ok(dev_free(sim.d, out));
	return ns;
}

static void blocks_run_in_waves(void)
{
	static const uint32_t grids[] = {1, 7, 8, 9, 16, 17, 40, 41};
	/* A block gets half of its unit even when alone, so all take the same time. */
	sim_begin(PLAIN "block_share = 0.5\nblock_ns = 300\nlaunch_ns = 700\n");
	struct dev_stream *s = open_stream();
	const uint64_t fmas = DEV_FMA_QUANTUM;
	const double block_ns = 300 + 2.0 * (double)fmas / 0.5;
	for (size_t i = 0; i < COUNT(grids); i++) {
		double count = ceil(grids[i] / 8.0);
		expect_near(fma_ns(s, grids[i], 0, fmas), 700 + count * block_ns, PICOSECOND);
	}
	sim_end();
}

static void residents_share_their_unit(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream();
	const double alone_ns = 2.0 * DEV_FMA_QUANTUM;
	/* One block to each unit first; then two on each take twice as long. */
	expect_near(fma_ns(s, 4, 0, DEV_FMA_QUANTUM), alone_ns, PICOSECOND);
	expect_near(fma_ns(s, 8, 0, DEV_FMA_QUANTUM), 2 * alone_ns, PICOSECOND);
	expect_near(fma_ns(s, 5, 0, DEV_FMA_QUANTUM), 2 * alone_ns, PICOSECOND);
	sim_end();
}

static void residence_is_a_step_function(void)
{
	sim_begin(PLAIN "slots_per_unit = 8\nblock_share = 0.125\nshared_per_unit_bytes = 64K\n"
			"shared_per_block_bytes = 64K\nshared_granularity_bytes = 1K\n");
	struct dev_stream *s = open_stream();
	const double block_ns = 2.0 * DEV_FMA_QUANTUM / 0.125;
	for (uint64_t shared = 0; shared <= 64 << 10; shared += 1000) {
		uint64_t claim = (shared + 1023) / 1024 * 1024;
		double resident = 4 * (claim ? fmin(8, floor(65536.0 / (double)claim)) : 8);
		expect_near(fma_ns(s, 64, shared, DEV_FMA_QUANTUM), ceil(64 / resident) * block_ns,
			    PICOSECOND);
	}
	sim_end();
}

static double read_ns(struct dev_stream *s, const char *name, char *at, uint64_t bytes,
		      uint32_t grid)
{
	uint32_t reps = 1, word = 1;
	const void *args[] = {&at, &bytes, &reps, &word};
	struct span span = span_begin(s);
	ok(launch_kernel(s, name, grid, 0, args));
	span_end(&span, s);
	return span_ns(&span);
}

static void caches_and_units_limit(void)
{
	sim_begin(PLAIN "llc_bytes = 4M\n");
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, 16 << 20);
	const double m = 1 << 20;
	expect_near(read_ns(s, "write", a, 4 << 20, 8), 4 * m / 400, PICOSECOND);
	expect_near(read_ns(s, "write_nt", a, 4 << 20, 8), 4 * m / 100, PICOSECOND);
	expect_near(read_ns(s, "write", a, 8 << 20, 8), 8 * m / 100, PICOSECOND);
	sim_end();
	/* Few units cannot use the full memory bandwidth: a unit has 20, one block gets half of it.
	 */
	sim_begin(PLAIN "unit_bandwidth = 20e9\nblock_share = 0.5\nllc_bytes = 0\n");
	s = open_stream();
	a = alloc_memory(DEV_MEM_DEVICE, 16 << 20);
	expect_near(read_ns(s, "write", a, 8 << 20, 1), 8 * m / 10, PICOSECOND);
	expect_near(read_ns(s, "write", a, 8 << 20, 4), 8 * m / 40, PICOSECOND);
	expect_near(read_ns(s, "write", a, 8 << 20, 8), 8 * m / 80, PICOSECOND);
	sim_end();
}

/* ------------------------------------------------------------------ noise */

#define NOISY "like = default\njitter_sigma = 0.1\nblock_jitter_sigma = 0.1\n"

static void run_mixture(double *ns, int count)
{
	const uint64_t bytes = 1 << 16, fmas = DEV_FMA_QUANTUM;
	struct dev_stream *s = open_stream(), *t = open_stream();
	char *dev = alloc_memory(DEV_MEM_DEVICE, bytes),
	     *host = alloc_memory(DEV_MEM_PINNED, bytes);
	float *out = alloc_memory(DEV_MEM_DEVICE, 1024);
	const void *args[] = {&out, &fmas};
	for (int i = 0; i < count; i++) {
		struct span span = span_begin(s);
		ok(dev_copy(sim.d, t, dev, host, bytes));
		ok(launch_kernel(s, "fma_f32", 100, 0, args));
		span_end(&span, s);
		ns[i] = span_ns(&span);
		ok(dev_stream_sync(sim.d, t));
	}
}

static void the_same_calls_take_the_same_time(void)
{
	static double first[100], second[100];
	uint64_t first_end, second_end;
	sim_begin(NOISY);
	run_mixture(first, 100);
	first_end = dev_clock_ns(sim.d);
	sim_end();
	sim_begin(NOISY);
	run_mixture(second, 100);
	second_end = dev_clock_ns(sim.d);
	sim_end();
	expect(memcmp(first, second, sizeof(first)) == 0);
	expect(first_end == second_end);
	sim_begin(NOISY "seed = 2\n");
	run_mixture(second, 100);
	sim_end();
	expect(memcmp(first, second, sizeof(first)) != 0);
}

static void jitter_is_unbiased(void)
{
	enum { SAMPLES = 4000 };
	sim_begin(PLAIN "jitter_sigma = 0.1\n");
	struct dev_stream *s = open_stream();
	char *dev = alloc_memory(DEV_MEM_DEVICE, 10000),
	     *host = alloc_memory(DEV_MEM_PINNED, 10000);
	double sum = 0, logs = 0, squares = 0;
	for (int i = 0; i < SAMPLES; i++) {
		double x = copy_ns(s, dev, host, 10000) / 2000;
		sum += x;
		logs += log(x);
		squares += log(x) * log(x);
	}
	double mean = logs / SAMPLES, sigma = sqrt(squares / SAMPLES - mean * mean);
	expect_near(sum / SAMPLES, 1, 4 * 0.1 / sqrt(SAMPLES));
	expect_near(sigma, 0.1, 4 * 0.1 / sqrt(2.0 * SAMPLES));
	sim_end();
}

static void other_noise_and_slow_downs(void)
{
	const uint64_t n = 100000;
	double hz;
	sim_begin(PLAIN "outlier_probability = 1\noutlier_factor = 3\n");
	struct dev_stream *s = open_stream();
	ok(dev_clock_rate(sim.d, &hz));
	expect_near(hz, 1.5e9, 0); /* cycles of one kernel have no noise of operations */
	char *dev = alloc_memory(DEV_MEM_DEVICE, n), *host = alloc_memory(DEV_MEM_PINNED, n);
	expect_near(copy_ns(s, dev, host, n), 3 * (1000 + 1e4), PICOSECOND);
	sim_end();
	sim_begin(PLAIN "slow_down = engine 1.05\nslow_down = fma_f32 2\n");
	s = open_stream();
	dev = alloc_memory(DEV_MEM_DEVICE, n);
	host = alloc_memory(DEV_MEM_PINNED, n);
	expect_near(copy_ns(s, dev, host, n), 1000 + 1.05 * 1e4, PICOSECOND);
	expect_near(fma_ns(s, 4, 0, DEV_FMA_QUANTUM), 2 * 2.0 * DEV_FMA_QUANTUM, PICOSECOND);
	sim_end();
	/* 1.5 times as long after a virtual second, for which a hold runs. */
	sim_begin(PLAIN "drift_per_s = 0.5\n");
	s = open_stream();
	dev = alloc_memory(DEV_MEM_DEVICE, n);
	host = alloc_memory(DEV_MEM_PINNED, n);
	expect_near(copy_ns(s, dev, host, n), 11000, 1);
	memset(host, 0, n);
	char *arrived = host + 256, *start = host + 512;
	uint64_t second = 1000000000;
	const void *args[] = {&host, &arrived, &start, &second};
	ok(launch_kernel(s, "blocking_kernel", 1, 0, args));
	ok(dev_stream_sync(sim.d, s));
	expect_near(copy_ns(s, dev, host, n), 1.5 * 11000, 1);
	sim_end();
}

static void devices_share_a_clock(void)
{
	sim_begin("like = default\n");
	uint64_t last = 0;
	for (int i = 0; i < 10; i++) {
		uint64_t now = dev_clock_ns(i % 2 ? sim.d : sim.other);
		expect(now > last);
		last = now;
	}
	sim_end();
	sim_begin("like = default\n");
	expect(dev_clock_ns(sim.d) < last); /* and it starts anew */
	sim_end();
}

/* The first entry leads to itself. */
static double chase_ns(struct dev_stream *s, void *ring, uint64_t bytes, uint64_t steps, void *out)
{
	const void *args[] = {&ring, &bytes, &steps, &out};
	*(uint64_t *)ring = (uintptr_t)ring;
	struct span span = span_begin(s);
	ok(launch_kernel(s, "chase", 4, 0, args));
	span_end(&span, s);
	return span_ns(&span);
}

static void a_chase_takes_a_latency_per_step(void)
{
	const uint64_t n = 1 << 20;
	sim_begin(PLAIN "llc_bytes = 64K\nslow_down = chase 2\n"
			"memory_latency_ns = 400\nllc_latency_ns = 150\n"
			"link_latency_ns = 900\n");
	struct dev_stream *s = open_stream();
	char *own = alloc_memory(DEV_MEM_DEVICE, n), *host = alloc_memory(DEV_MEM_PINNED, n),
	     *peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, n);
	ok(dev_peer_enable(sim.d, sim.other));
	memset(own, 0, n);
	memset(host, 0, n);
	memset(peer, 0, n);
	expect_near(chase_ns(s, own, 65536, 1000, host + 512), 2 * 150e3, PICOSECOND);
	expect_near(chase_ns(s, own, 65536 + 256, 1000, host + 512), 2 * 400e3, PICOSECOND);
	expect_near(chase_ns(s, host, 256, 10, host + 512), 2 * 9e3, PICOSECOND);
	expect_near(chase_ns(s, peer, n, 10, host + 512), 2 * 9e3, PICOSECOND);
	expect_near(chase_ns(s, own, n, 0, host + 512), 0, PICOSECOND);
	sim_end();
}

static void a_sum_moves_three_times_its_size(void)
{
	uint64_t n = 4 << 20;
	const uint32_t reps = 2;
	sim_begin(PLAIN "llc_bytes = 8M\n");
	struct dev_stream *s = open_stream();
	float *dst = alloc_memory(DEV_MEM_DEVICE, 2 * n),
	      *src = alloc_memory(DEV_MEM_DEVICE, 2 * n);
	memset(dst, 0, 2 * n);
	memset(src, 0, 2 * n);
	const void *args[] = {&dst, &src, &n, &reps};
	for (int i = 0; i < 2; i++, n *= 2) {
		const double rate = i == 0 ? 400 : 100; /* both arrays fit the cache, or not */
		struct span span = span_begin(s);
		ok(launch_kernel(s, "reduce_add", 8, 0, args));
		span_end(&span, s);
		expect_near(span_ns(&span), 2 * 3 * (double)n / rate, PICOSECOND);
	}
	sim_end();
}

static void memory_of_a_far_node_passes_its_own_limit(void)
{
	const uint64_t n = 1 << 20;
	sim_begin(PLAIN "numa_nodes = 2\nfar_bandwidth = 2e9\n");
	struct dev_stream *s = open_stream();
	char *dev = alloc_memory(DEV_MEM_DEVICE, n);
	void *near_node = NULL, *far_node = NULL, *of_other = NULL;
	ok(dev_alloc_on_node(sim.d, 0, n, &near_node));
	ok(dev_alloc_on_node(sim.d, 1, n, &far_node));
	ok(dev_peer_enable(sim.d, sim.other));
	ok(dev_alloc(sim.other, DEV_MEM_PINNED, n, &of_other)); /* next to device 1 */
	expect_near(copy_ns(s, dev, near_node, n), 1000 + (double)n / 10, PICOSECOND);
	expect_near(copy_ns(s, near_node, dev, n), 1000 + (double)n / 5, PICOSECOND);
	expect_near(copy_ns(s, dev, far_node, n), 1000 + (double)n / 2, PICOSECOND);
	expect_near(copy_ns(s, far_node, dev, n), 1000 + (double)n / 2, PICOSECOND);
	expect_near(copy_ns(s, dev, of_other, n), 1000 + (double)n / 2, PICOSECOND);
	sim_end();
}

static void an_await_ends_with_its_signal(void)
{
	uint64_t timeout_ns = 1000000, fmas = DEV_FMA_QUANTUM;
	uint32_t value = 5;
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream(), *waits = open_stream();
	char *memory = alloc_memory(DEV_MEM_PINNED, 4096);
	uint32_t *flag = (uint32_t *)(void *)memory, *timed_out = flag + 64;
	char *out = memory + 1024;
	memset(memory, 0, 4096);
	const void *awaits[] = {&flag, &value, &timed_out, &timeout_ns},
		   *signals[] = {&flag, &value}, *fma[] = {&out, &fmas};
	struct span span = span_begin(waits);
	ok(launch_kernel(waits, "await", 2, 0, awaits));
	span_end(&span, waits);
	ok(launch_kernel(s, "fma_f32", 1, 0, fma));
	ok(launch_kernel(s, "signal", 1, 0, signals));
	expect_near(span_ns(&span), 2.0 * DEV_FMA_QUANTUM, PICOSECOND);
	value = 6;
	span = span_begin(waits);
	ok(launch_kernel(waits, "await", 2, 0, awaits));
	span_end(&span, waits);
	expect_near(span_ns(&span), (double)timeout_ns, PICOSECOND);
	expect(*timed_out == 2);
	ok(dev_stream_sync(sim.d, s));
	sim_end();
}

int main(void)
{
	test(a_copy_takes_alpha_and_n_over_beta);
	test(two_flows_share_max_min);
	test(one_engine_copies_in_sequence);
	test(an_engine_shares_memory_with_blocks);
	test(blocks_run_in_waves);
	test(residents_share_their_unit);
	test(residence_is_a_step_function);
	test(caches_and_units_limit);
	test(the_same_calls_take_the_same_time);
	test(jitter_is_unbiased);
	test(other_noise_and_slow_downs);
	test(devices_share_a_clock);
	test(a_chase_takes_a_latency_per_step);
	test(memory_of_a_far_node_passes_its_own_limit);
	test(a_sum_moves_three_times_its_size);
	test(an_await_ends_with_its_signal);
	return test_done();
}
