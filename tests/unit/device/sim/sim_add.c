/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory adds the exact sum of two values, rounded once to their type, for every type of a C.
 */
#include "device/sim/machine/memory.h"
#include "lib/rng.h"
#include "tests/unit/device/minifloat_arrays.h"
#include "tests/unit/test.h"

#define ELEMENTS 1000u /* more than one part of a narrow array, and no multiple of it */

static void f32_and_f64_are_added(void)
{
	float sums[ELEMENTS + 1], added[ELEMENTS];
	double wide_sums[ELEMENTS + 1], wide_added[ELEMENTS];
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		sums[i] = (float)i + 0.1f;
		added[i] = 1.0f / (float)(i + 1);
		wide_sums[i] = (double)i + 0.1;
		wide_added[i] = 1.0 / (i + 1);
	}
	sums[ELEMENTS] = -1;
	wide_sums[ELEMENTS] = -1;
	sim_memory_add(DEV_F32, sums, added, ELEMENTS);
	sim_memory_add(DEV_F64, wide_sums, wide_added, ELEMENTS);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		const float sum = (float)i + 0.1f + 1.0f / (float)(i + 1);
		expect_near(sums[i], sum, 0);
		expect_near(wide_sums[i], (double)i + 0.1 + 1.0 / (i + 1), 0);
	}
	expect_near(sums[ELEMENTS], -1, 0);
	expect_near(wide_sums[ELEMENTS], -1, 0);
}

/* The sum of two codes in f64 is exact but for f64's own rounding, which is far below; so one
 * encoding is the one rounding. */
static void narrow_sums_are_rounded_once(enum dev_type type, const struct small_float *format)
{
	uint16_t sums[ELEMENTS + 1], added[ELEMENTS], wanted[ELEMENTS];
	struct rng r;
	rng_seed(&r, 1, (uint64_t)type);
	for (int round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < ELEMENTS; i++) {
			sums[i] = (uint16_t)rng_below(&r, 1u << 16);
			/* Half of them of similar size, so that the sums are not one of the two. */
			added[i] = (uint16_t)(i % 2 ? rng_below(&r, 1u << 16)
						    : sums[i] ^ rng_below(&r, 1u << 12));
			wanted[i] = (uint16_t)small_encode(format,
							   small_decode(format, sums[i]) +
								   small_decode(format, added[i]));
		}
		sums[ELEMENTS] = 0x1234;
		sim_memory_add(type, sums, added, ELEMENTS);
		for (uint32_t i = 0; i < ELEMENTS; i++) {
			const double got = small_decode(format, sums[i]),
				     exact = small_decode(format, wanted[i]);
			require((isnan(got) && isnan(exact)) || sums[i] == wanted[i]);
		}
		require(sums[ELEMENTS] == 0x1234);
	}
}

static void f16_sums_are_rounded_once(void)
{
	narrow_sums_are_rounded_once(DEV_F16, &minifloat_f16);
}

static void bf16_sums_are_rounded_once(void)
{
	narrow_sums_are_rounded_once(DEV_BF16, &minifloat_bf16);
}

static void known_sums(void)
{
	uint16_t ones[3] = {0x3f80, 0x3f80, 0x4380}, bf16[3] = {0x3f80, 0x3b80, 0x3f80};
	sim_memory_add(DEV_BF16, ones, bf16, 3);
	expect(ones[0] == 0x4000); /* 1 + 1 */
	expect(ones[1] == 0x3f80); /* 1 + 1/256 is a tie, to even */
	expect(ones[2] == 0x4380); /* 256 + 1, too */
	uint16_t large[1] = {0x7bff}, f16[1] = {0x7bff};
	sim_memory_add(DEV_F16, large, f16, 1);
	expect(large[0] == 0x7c00); /* 2 * 65504 is infinite */
	sim_memory_add(DEV_F16, large, f16, 0);
	expect(large[0] == 0x7c00);
}

int main(void)
{
	test(f32_and_f64_are_added);
	test(f16_sums_are_rounded_once);
	test(bf16_sums_are_rounded_once);
	test(known_sums);
	return test_done();
}
