/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/router.h"
#include "tests/unit/test.h"

enum { EXPERTS = 16, ROWS = 100000 };

/* Whole rows differ from the law by at most one. */
static void rows_are_all_given_in_bounds(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct rng r;
		double popular[EXPERTS];
		uint32_t rows[EXPERTS], sum = 0, least = UINT32_MAX, most = 0;
		rng_seed(&r, seed, 0);
		router_draw(&r, EXPERTS, popular);
		router_divide(&r, popular, EXPERTS, ROWS, rows);
		for (int i = 0; i < EXPERTS; i++) {
			expect(popular[i] >= ROUTER_LEAST && popular[i] <= ROUTER_MOST);
			sum += rows[i];
			least = rows[i] < least ? rows[i] : least;
			most = rows[i] > most ? rows[i] : most;
		}
		expect(sum == ROWS);
		expect(most > least && most <= 9 * (least + 2));
	}
}

static void popular_experts_get_more_of_every_source(void)
{
	const double popular[] = {0.5, 1.5};
	uint32_t sum[2] = {0, 0};
	struct rng r;
	rng_seed(&r, 1, 0);
	for (int source = 0; source < 1000; source++) {
		uint32_t rows[2];
		router_divide(&r, popular, 2, 1000, rows);
		sum[0] += rows[0];
		sum[1] += rows[1];
	}
	/* The mean of x / (x + 3 y), x and y uniform in [0.5, 1.5), is 0.258. */
	expect_near(sum[0] / 1e6, 0.2584, 0.005);
	expect(sum[0] + sum[1] == 1000000);
}

static void few_rows_and_none_are_divided(void)
{
	double popular[EXPERTS];
	uint32_t rows[EXPERTS], sum = 0;
	struct rng r;
	rng_seed(&r, 5, 0);
	router_draw(&r, EXPERTS, popular);
	router_divide(&r, popular, EXPERTS, 3, rows);
	for (int i = 0; i < EXPERTS; i++)
		sum += rows[i];
	expect(sum == 3);
	router_divide(&r, popular, EXPERTS, 0, rows);
	for (int i = 0; i < EXPERTS; i++)
		expect(rows[i] == 0);
	router_divide(&r, popular, 1, 7, rows);
	expect(rows[0] == 7);
}

int main(void)
{
	test(rows_are_all_given_in_bounds);
	test(popular_experts_get_more_of_every_source);
	test(few_rows_and_none_are_divided);
	return test_done();
}
