/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rule for a fall of a rate: what it finds, and how often it finds one that is not there; and
 * the fit of a temperature, on curves whose constants the test chose.
 */
#include "bench/course_fit.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

#define N 300

static double rates[N], at_s[N], celsius[N], scratch[N];

static void draw_rates(struct rng *r, double sigma, size_t from, double after)
{
	for (size_t i = 0; i < N; i++)
		rates[i] = 100 * (i < from ? 1 : after) * exp(sigma * rng_normal(r));
}

static void a_fall_is_found_where_it_is(void)
{
	struct rng r;
	rng_seed(&r, 1, 1);
	for (int i = 0; i < 200; i++) {
		const size_t from = 20 + (size_t)i;
		draw_rates(&r, 0.005, from, 0.95);
		const struct course_fall f = course_find_fall(rates, N, scratch);
		expect(f.first == from);
		expect_near(f.level, 100, 1);
	}
}

static void noise_is_no_fall(void)
{
	static const double sigmas[] = {0.001, 0.01, 0.05, 0.2};
	unsigned alarms = 0;
	struct rng r;
	rng_seed(&r, 2, 1);
	for (size_t s = 0; s < 4; s++) {
		for (int i = 0; i < 2500; i++) {
			draw_rates(&r, sigmas[s], N, 1);
			alarms += course_find_fall(rates, N, scratch).first < N;
		}
	}
	expect(alarms == 0);
}

static void a_fall_within_the_noise_is_none(void)
{
	struct rng r;
	rng_seed(&r, 3, 1);
	draw_rates(&r, 0.05, 100, 0.97);
	expect(course_find_fall(rates, N, scratch).first == N);
	draw_rates(&r, 0, 100, 0.99);
	expect(course_find_fall(rates, N, scratch).first == N);
}

static void a_fall_that_does_not_stay_is_none(void)
{
	struct rng r;
	rng_seed(&r, 4, 1);
	draw_rates(&r, 0.001, N, 1);
	for (size_t i = 100; i < 150; i++)
		rates[i] *= 0.8;
	expect(course_find_fall(rates, N, scratch).first == N);
	/* One in ten may be above. */
	draw_rates(&r, 0.001, 100, 0.8);
	for (size_t i = 110; i < N; i += 11)
		rates[i] = 100;
	expect(course_find_fall(rates, N, scratch).first == 100);
}

static const char *fit_curve(double constant, double change, double step, size_t n,
			     struct course_approach *found)
{
	struct rng r;
	rng_seed(&r, 5, 1);
	for (size_t i = 0; i < n; i++) {
		at_s[i] = 2.0 * (double)i;
		celsius[i] = 40 + change * (1 - exp(-at_s[i] / constant)) + rng_unit(&r) * step;
	}
	return course_fit_approach(at_s, celsius, n, found);
}

static void a_time_constant_is_found(void)
{
	static const double constants[] = {15, 60, 150};
	struct course_approach f = {0};
	for (size_t i = 0; i < 3; i++) {
		expect(fit_curve(constants[i], 40, 0, N, &f) == NULL);
		expect_near(f.constant / constants[i], 1, 0.01);
		expect_near(f.end, 80, 0.2);
		expect_near(f.start, 40, 0.2);
		expect(fit_curve(constants[i], 40, 1, N, &f) == NULL);
		expect_near(f.constant / constants[i], 1, 0.05);
	}
}

static void what_has_no_time_constant_has_a_reason(void)
{
	struct course_approach f;
	expect_str(fit_curve(60, 40, 0, 8, &f), "there are too few readings");
	expect_str(fit_curve(60, 3, 0, N, &f), "it changed by less than 5 K");
	expect_str(fit_curve(5000, 400, 0, N, &f), "the course is shorter than the time constant");
	for (size_t i = 0; i < N; i++)
		celsius[i] = 40 + 20 * ((double)i / N + (i % 40 < 20));
	expect_str(course_fit_approach(at_s, celsius, N, &f), "it does not follow one exponential");
}

int main(void)
{
	test(a_fall_is_found_where_it_is);
	test(noise_is_no_fall);
	test(a_fall_within_the_noise_is_none);
	test(a_fall_that_does_not_stay_is_none);
	test(a_time_constant_is_found);
	test(what_has_no_time_constant_has_a_reason);
	return test_done();
}
