/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes against the paper's table, and the traffic formulas against a GEMM that counts.
 */
#include "bench/shape.h"
#include "tests/unit/test.h"

#include <errno.h>

static struct shape parse_shape(const char *name, double flops)
{
	struct shape s = {0};
	expect(shape_parse(name, flops, &s) == 0);
	return s;
}

static void table_of_the_paper(void)
{
	static const struct {
		const char *name;
		double tflop, traffic;
	} table[] = {{"g1", 70.4, 4.56},      {"g2", 70.4, 4.56},    {"g3", 228.7, 10.00},
		     {"g4", 28.6, 2.01},      {"g5", 35.2, 4.36},    {"g6", 35.2, 4.36},
		     {"g7", 123.1, 9.90},     {"g8", 123.1, 9.90},   {"g9", 118.7, 7.15},
		     {"g10", 686.1, 25.90},   {"g11", 175.9, 19.41}, {"g12", 985.2, 69.19},
		     {"g13", 1510.5, 105.83}, {"g14", 34.6, 4.95},   {"g15", 77.0, 10.85},
		     {"g16", 53.9, 7.63}};
	for (size_t i = 0; i < 16; i++) {
		struct shape s = parse_shape(table[i].name, 1e30);
		expect_near(1e-12 * shape_flops(&s), table[i].tflop, 0.06);
		expect_near(1e-9 * shape_traffic(&s, SHAPE_CUT_M, 1), table[i].traffic, 0.006);
		expect(s.scale == 1);
		struct shape whole = parse_shape(table[i].name, 0);
		expect(whole.m == s.m && whole.n == s.n && whole.k == s.k && whole.scale == 1);
	}
}

static void scaling_keeps_ratios(void)
{
	for (int i = 1; i <= 16; i++) {
		char name[8];
		snprintf(name, sizeof(name), "g%d", i);
		struct shape whole = parse_shape(name, 1e30), small = parse_shape(name, 1e9);
		expect(small.m * small.scale == whole.m && small.n * small.scale == whole.n &&
		       small.k * small.scale == whole.k);
		expect(shape_flops(&small) <= 1e9 || small.scale == 512);
	}
}

static void control_pairs(void)
{
	static const char *const pairs[][2] = {{"g1", "g2"}, {"g5", "g6"}, {"g7", "g8"}};
	for (size_t i = 0; i < 3; i++) {
		struct shape a = parse_shape(pairs[i][0], 1e9), b = parse_shape(pairs[i][1], 1e9);
		expect_near(shape_flops(&a), shape_flops(&b), 0);
		expect_near(shape_traffic(&a, SHAPE_CUT_M, 1), shape_traffic(&b, SHAPE_CUT_M, 1),
			    0);
	}
}

static void plain_shapes(void)
{
	struct shape s = parse_shape("n64", 1);
	expect(s.m == 64 && s.n == 64 && s.k == 64 && s.scale == 1);
	s = parse_shape("3x5x7", 1);
	expect(s.m == 3 && s.n == 5 && s.k == 7);
	static const char *const bad[] = {"",        "n",      "n0",           "nx",   "g0",
					  "g17",     "g",      "3x5",          "3x5x", "x5x7",
					  "3x5x7x9", "3x-5x7", "n99999999999", "n64 "};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(shape_parse(bad[i], 1e9, &s) != 0);
	expect(shape_accept("g16") == 0 && shape_accept("g99") == -EINVAL);
}

/* Reads and writes of elements when nothing is cached: each piece reads its A and B once and writes
 * its C, and a later K piece also reads C. */
static double count_traffic(const struct shape *s, enum shape_cut cut, uint32_t pieces)
{
	double total = 0;
	for (uint32_t p = 0; p < pieces; p++) {
		double m = s->m, n = s->n, k = s->k;
		if (cut == SHAPE_CUT_M)
			m /= pieces;
		else if (cut == SHAPE_CUT_N)
			n /= pieces;
		else
			k /= pieces;
		total += m * k + k * n + m * n + (cut == SHAPE_CUT_K && p > 0 ? m * n : 0);
	}
	return total;
}

static void traffic_is_counted(void)
{
	struct shape s = {48, 96, 192, 1};
	for (uint32_t pieces = 1; pieces <= 16; pieces *= 2)
		for (int cut = 0; cut < 3; cut++)
			expect_near(shape_traffic(&s, (enum shape_cut)cut, pieces),
				    count_traffic(&s, (enum shape_cut)cut, pieces), 1e-6);
}

/* Cutting M moves less than cutting K exactly when K < 2M, for every N and every number of pieces.
 */
static void k_below_2m(void)
{
	for (uint32_t m = 1; m <= 12; m++)
		for (uint32_t k = 1; k <= 30; k++)
			for (uint32_t n = 1; n <= 9; n += 4)
				for (uint32_t pieces = 2; pieces <= 64; pieces *= 2) {
					struct shape s = {m, n, k, 1};
					double by_m = shape_traffic(&s, SHAPE_CUT_M, pieces),
					       by_k = shape_traffic(&s, SHAPE_CUT_K, pieces);
					expect((by_m < by_k) == (k < 2 * m));
				}
}

int main(void)
{
	test(table_of_the_paper);
	test(scaling_keeps_ratios);
	test(control_pairs);
	test(plain_shapes);
	test(traffic_is_counted);
	test(k_below_2m);
	return test_done();
}
