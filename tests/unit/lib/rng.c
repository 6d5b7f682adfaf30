/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/rng.h"
#include "tests/unit/test.h"

static void same_seed_same_numbers(void)
{
	struct rng a, b, other;
	rng_seed(&a, 1, 2);
	rng_seed(&b, 1, 2);
	rng_seed(&other, 1, 3);
	int equal = 0;
	for (int i = 0; i < 100; i++) {
		uint64_t x = rng_u64(&a);
		expect(x == rng_u64(&b));
		equal += x == rng_u64(&other);
	}
	expect(equal == 0);
}

/* The output of the authors' reference implementation from state 1, 2, 3, 4. */
static void reference_sequence(void)
{
	struct rng r = {{1, 2, 3, 4}};
	expect(rng_u64(&r) == 11520);
	expect(rng_u64(&r) == 0);
	expect(rng_u64(&r) == 1509978240);
	expect(rng_u64(&r) == 1215971899390074240);
}

static void moments_are_right(void)
{
	struct rng r;
	double unit = 0, normal = 0, square = 0;
	rng_seed(&r, 5, 5);
	for (int i = 0; i < 100000; i++) {
		double u = rng_unit(&r), z = rng_normal(&r);
		expect(u >= 0 && u < 1);
		unit += u / 100000;
		normal += z / 100000;
		square += z * z / 100000;
	}
	expect_near(unit, 0.5, 0.005);
	expect_near(normal, 0, 0.015);
	expect_near(square, 1, 0.025);
}

static void fills_stay_inside(void)
{
	struct rng r;
	float f[1000];
	double d[1000];
	rng_seed(&r, 9, 9);
	rng_fill_f32(&r, f, 1000);
	rng_fill_f64(&r, d, 1000);
	for (int i = 0; i < 1000; i++)
		expect(f[i] >= -1 && f[i] < 1 && d[i] >= -1 && d[i] < 1);
}

static void shuffles_are_permutations(void)
{
	struct rng r;
	uint32_t order[50], first[3] = {0};
	rng_seed(&r, 1, 1);
	for (int trial = 0; trial < 3000; trial++) {
		uint64_t seen = 0;
		rng_shuffle(&r, order, 50);
		for (int i = 0; i < 50; i++)
			seen |= UINT64_C(1) << order[i];
		expect(seen == (UINT64_C(1) << 50) - 1);
		rng_shuffle(&r, order, 3);
		first[order[0]]++;
	}
	for (int i = 0; i < 3; i++)
		expect_near(first[i], 1000, 100);
}

int main(void)
{
	test(same_seed_same_numbers);
	test(reference_sequence);
	test(moments_are_right);
	test(fills_stay_inside);
	test(shuffles_are_permutations);
	return test_done();
}
