/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shaping model against the paper's tables (arXiv 2606.09200), and its bounds against simulated
 * pipelines that reach them.
 */
#include "lib/rng.h"
#include "overlap/shaping/model.h"
#include "tests/unit/test.h"

enum { KIB = 1024 };
#define EVERYTHING 1e30

/* Resident blocks by the shared memory of the paper's tiles; NVIDIA adds 1 KiB to every block. */
static void residents_of_the_paper(void)
{
	static const struct {
		uint64_t pool_kib, reserved_kib, by_8_kib, by_16_kib, by_32_kib;
	} gpus[] = {{100, 1, 11, 5, 3}, {164, 1, 18, 9, 4}, {228, 1, 25, 13, 6}, {64, 0, 8, 4, 2}};
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		uint64_t pool = gpus[i].pool_kib * KIB, reserved = gpus[i].reserved_kib * KIB;
		expect(shaping_residents(pool, reserved, 1, 8 * KIB) == gpus[i].by_8_kib);
		expect(shaping_residents(pool, reserved, 1, 16 * KIB) == gpus[i].by_16_kib);
		expect(shaping_residents(pool, reserved, 1, 32 * KIB) == gpus[i].by_32_kib);
	}
}

static void residents_are_a_step_function(void)
{
	const uint64_t pool = 228 * KIB;
	uint64_t before = UINT64_MAX;
	expect(shaping_residents(pool, 0, 128, 0) == UINT64_MAX);
	expect(shaping_residents(pool, 0, 128, 1) == pool / 128);
	expect(shaping_residents(pool, 0, 128, 128) == pool / 128);
	expect(shaping_residents(pool, 0, 1, pool) == 1 &&
	       shaping_residents(pool, 0, 1, pool + 1) == 0);
	for (uint64_t claim = 1; claim <= pool; claim += 37) {
		uint64_t now = shaping_residents(pool, KIB, 128, claim);
		expect(now <= before);
		before = now;
	}
}

static void scenarios_of_the_paper(void)
{
	struct shape cb = shaping_gemm(false, EVERYTHING), mb = shaping_gemm(true, EVERYTHING);
	expect(cb.m == 8192 && cb.n == 8192 && cb.k == 8192 && cb.scale == 1);
	expect(mb.m == 8192 && mb.n == 57344 && mb.k == 8192 && mb.scale == 1);
	expect(2 * (uint64_t)mb.m * mb.n == UINT64_C(896) << 20);
	struct shape undivided = shaping_gemm(true, 0.0);
	expect(undivided.n == 57344 && undivided.scale == 1);
}

static void scaling_keeps_proportions(void)
{
	for (double flops = 1.0; flops < 1e14; flops *= 3.0) {
		struct shape cb = shaping_gemm(false, flops), mb = shaping_gemm(true, flops);
		expect(cb.scale == mb.scale && cb.m == cb.n && cb.m == cb.k);
		expect(mb.m == cb.m && mb.n == 7 * mb.m && mb.k == mb.m && mb.m * mb.scale == 8192);
		expect(shape_flops(&mb) <= flops || mb.scale == 512);
		struct shape larger = {2 * mb.m, 2 * mb.n, 2 * mb.k, 1};
		expect(mb.scale == 1 || shape_flops(&larger) > flops);
	}
}

/* With equal times the minimum is (i+1) / (2i), which approaches a half. */
static void bounds_of_equal_times(void)
{
	for (unsigned i = 2; i <= SHAPING_ITERATIONS_MAX; i++) {
		expect_near(shaping_ratio_pipelined(i, 3.0, 3.0), (i + 1.0) / (2.0 * i), 1e-15);
		expect_near(shaping_rate_max(i), (i - 1.0) / i, 1e-15);
		expect_near(shaping_rate_pipelined(i, 3.0, 3.0), (i - 1.0) / (i + 1.0), 1e-15);
		expect(shaping_rate_pipelined(i, 2.0, 3.0) < shaping_rate_max(i));
	}
	expect_near(shaping_rate_pipelined(19, 3.0, 3.0), 0.9, 1e-15);
	expect_near(shaping_rate_pipelined(3, 1.0, 2.0), 2.0 / 7.0, 1e-15);
	expect_near(shaping_ratio_pipelined(1, 2.0, 5.0), 1.0, 1e-15);
}

/* Starts each as early as possible: a GEMM after the GEMM before it and after the communication
 * that used its buffer. */
static void run_pipeline(double gemm_s, double comm_s, unsigned iterations,
			 struct shaping_span *gemm, struct shaping_span *comm)
{
	double gemm_free = 0.0, link_free = 0.0;
	for (unsigned i = 0; i < iterations; i++) {
		double begin = i < 2 ? gemm_free : fmax(gemm_free, comm[i - 2].end);
		gemm_free = begin + gemm_s;
		gemm[i] = (struct shaping_span){begin, gemm_free};
		begin = fmax(gemm_free, link_free);
		link_free = begin + comm_s;
		comm[i] = (struct shaping_span){begin, link_free};
	}
}

static void ideal_pipelines_reach_the_bound(void)
{
	struct rng rng;
	rng_seed(&rng, 7, 1);
	for (unsigned trial = 0; trial < 2000; trial++) {
		struct shaping_span gemm[SHAPING_ITERATIONS_MAX], comm[SHAPING_ITERATIONS_MAX];
		unsigned n = 2 + trial % (SHAPING_ITERATIONS_MAX - 1);
		double times[2];
		rng_fill_f64(&rng, times, 2);
		double g = 1.01 + times[0], c = 1.01 + times[1];
		run_pipeline(g, c, n, gemm, comm);
		double ratio = comm[n - 1].end / (n * (g + c));
		expect_near(ratio, shaping_ratio_pipelined(n, g, c), 1e-12);
		expect(ratio >= fmax(g, c) / (g + c));
		expect(shaping_in_order(gemm, comm, n));
		double rate = shaping_overlap_rate(gemm, comm, n);
		expect_near(rate, (n - 1) * fmin(g, c) / comm[n - 1].end, 1e-12);
		expect(rate <= shaping_rate_max(n));
	}
}

static void serial_pipelines_do_not_overlap(void)
{
	const struct shaping_span gemm[] = {{0, 2}, {5, 7}}, comm[] = {{2, 5}, {7, 10}};
	expect_near(shaping_overlap_rate(gemm, comm, 2), 0.0, 0.0);
	expect(shaping_in_order(gemm, comm, 2));
}

static void overlap_is_counted_once(void)
{
	const struct shaping_span gemm[] = {{0, 4}, {4, 8}, {8, 12}},
				  comm[] = {{4, 9}, {9, 10}, {12, 16}};
	expect_near(shaping_overlap_rate(gemm, comm, 3), 6.0 / 16.0, 1e-15);
}

static void wrong_order_is_found(void)
{
	const struct shaping_span gemm[] = {{0, 2}, {2, 4}, {4, 6}},
				  comm[] = {{2, 3}, {4, 5}, {6, 7}};
	struct shaping_span early[] = {{2, 3}, {3.9, 5}, {6, 7}},
			    late[] = {{2, 4.1}, {4.1, 5}, {6, 7}};
	expect(shaping_in_order(gemm, comm, 3));
	expect(!shaping_in_order(gemm, early, 3));
	expect(!shaping_in_order(gemm, late, 3));
	expect(shaping_in_order(gemm, late, 2));
	early[1].begin = NAN;
	expect(!shaping_in_order(gemm, early, 3));
}

int main(void)
{
	test(residents_of_the_paper);
	test(residents_are_a_step_function);
	test(scenarios_of_the_paper);
	test(scaling_keeps_proportions);
	test(bounds_of_equal_times);
	test(ideal_pipelines_reach_the_bound);
	test(serial_pipelines_do_not_overlap);
	test(overlap_is_counted_once);
	test(wrong_order_is_found);
	return test_done();
}
