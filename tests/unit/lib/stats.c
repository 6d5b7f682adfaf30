/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known answers for every statistic.
 */
#include "lib/stats.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#include <errno.h>

static void median_of_sorted(void)
{
	expect_near(stats_median((double[]){7}, 1), 7, 0);
	expect_near(stats_median((double[]){1, 4}, 2), 2.5, 0);
	expect_near(stats_median((double[]){1, 4, 9}, 3), 4, 0);
	expect_near(stats_median((double[]){1, 4, 6, 9}, 4), 5, 0);
}

static void quantiles_interpolate(void)
{
	double x[] = {10, 20, 30, 40, 50};
	expect_near(stats_quantile(x, 5, 0.0), 10, 0);
	expect_near(stats_quantile(x, 5, 0.5), 30, 0);
	expect_near(stats_quantile(x, 5, 0.95), 48, 1e-12);
	expect_near(stats_quantile(x, 5, 1.0), 50, 0);
	expect_near(stats_quantile(x, 1, 0.95), 10, 0);
}

/* From practice: n -> 1-based ranks of the 95 % interval of the median. */
static void median_ranks(void)
{
	static const struct {
		size_t n, low, high;
	} known[] = {{6, 1, 6},   {9, 2, 8},    {10, 2, 9},   {15, 4, 12},
		     {20, 6, 15}, {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t low = 0, high = 0;
		expect(stats_median_ranks(known[i].n, &low, &high) == 0);
		expect_near((double)low + 1, (double)known[i].low, 0);
		expect_near((double)high + 1, (double)known[i].high, 0);
	}
	for (size_t n = 1; n <= 5; n++) {
		size_t low = 99, high = 99;
		expect(stats_median_ranks(n, &low, &high) == -ERANGE);
		expect(low == 99 && high == 99);
	}
}

/* P(Binomial(n, 1/2) <= rank): (1 + 10) / 1024 and (1 + 10 + 45) / 1024 around the two last. */
static void bounds_of_the_median(void)
{
	size_t rank = 99;
	expect(stats_median_bound(4, 0.05, &rank) == -ERANGE && rank == 99);
	expect(stats_median_bound(5, 0.05, &rank) == 0 && rank == 0);
	expect(stats_median_bound(10, 0.001, &rank) == 0 && rank == 0);
	expect(stats_median_bound(10, 0.0009, &rank) == -ERANGE);
	expect(stats_median_bound(10, 0.0108, &rank) == 0 && rank == 1);
	expect(stats_median_bound(10, 0.0107, &rank) == 0 && rank == 0);
	expect(stats_median_bound(10, 0.05, &rank) == 0 && rank == 1);
	expect(stats_median_bound(10, 0.055, &rank) == 0 && rank == 2);
}

static void ranks_of_thousands(void)
{
	size_t low = 0, high = 0;
	expect(stats_median_ranks(10000, &low, &high) == 0);
	/* Half the width is 1.96 * sqrt(n) / 2. */
	expect_near((double)(high - low) / 2, 98, 2);
	expect(low + high == 9999);
}

/* The interval must hold the true median in at least 95 % of many experiments, whatever the
 * distribution. */
static void interval_covers(void)
{
	struct rng r;
	rng_seed(&r, 7, 0);
	static const size_t sizes[] = {6, 10, 33};
	for (size_t k = 0; k < 3; k++) {
		int hits = 0;
		for (int trial = 0; trial < 4000; trial++) {
			double x[64], scratch[64];
			for (size_t i = 0; i < sizes[k]; i++)
				x[i] = exp(2.0 * rng_normal(&r));
			struct stats_summary s = stats_summarise(x, sizes[k], scratch);
			hits += s.ci_low <= 1.0 && 1.0 <= s.ci_high;
		}
		/* Three standard deviations of 4000 trials at 95 %. */
		expect(hits >= 4000 * 0.95 - 3 * 13.8);
	}
}

static void summary_of_samples(void)
{
	double x[] = {5, 1, 4, 2, 3, 6}, scratch[6];
	struct stats_summary s = stats_summarise(x, 6, scratch);
	expect(s.n == 6);
	expect_near(s.median, 3.5, 0);
	expect_near(s.ci_low, 1, 0);
	expect_near(s.ci_high, 6, 0);
	expect_near(s.min, 1, 0);
	expect_near(s.max, 6, 0);
	expect_near(s.p95, 5.75, 1e-12);
	expect_near(x[0], 5, 0);
	s = stats_summarise(x, 1, scratch);
	expect_near(s.median, 5, 0);
	expect(isnan(s.ci_low) && isnan(s.ci_high));
	expect(isinf(stats_relative_width(&s)));
}

static void relative_width(void)
{
	struct stats_summary s = {.n = 10, .median = 10, .ci_low = 9, .ci_high = 12};
	expect_near(stats_relative_width(&s), 0.15, 1e-15);
}

static void lag1_of_series(void)
{
	double alternating[] = {1, -1, 1, -1, 1, -1}, same[] = {2, 2, 2, 2},
	       rising[] = {1, 2, 3, 4, 5};
	expect_near(stats_lag1(alternating, 6), -5.0 / 6.0, 1e-12);
	expect_near(stats_lag1(same, 4), 0, 0);
	expect_near(stats_lag1(rising, 5), 0.4, 1e-12);
	expect_near(stats_lag1(rising, 2), 0, 0);
}

static void drift_of_series(void)
{
	double scratch[STATS_DRIFT_CAPACITY], x[1000];
	for (int i = 0; i < 1000; i++)
		x[i] = 100 + 0.01 * i;
	expect_near(stats_drift(x, 1000, 105, scratch), 9.99 / 105, 1e-9);
	x[3] = 1e9; /* one outlier does not matter */
	expect_near(stats_drift(x, 1000, 105, scratch), 9.99 / 105, 1e-3);
	expect_near(stats_drift(x, 2, 105, scratch), 0, 0);
	expect_near(stats_drift((double[]){1, 2, 3}, 3, 2, scratch), 1, 1e-12);
}

int main(void)
{
	test(median_of_sorted);
	test(quantiles_interpolate);
	test(median_ranks);
	test(bounds_of_the_median);
	test(ranks_of_thousands);
	test(interval_covers);
	test(summary_of_samples);
	test(relative_width);
	test(lag1_of_series);
	test(drift_of_series);
	return test_done();
}
