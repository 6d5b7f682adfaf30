/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known numbers of the narrow formats, and properties over all of their bit patterns.
 */
#include "lib/minifloat.h"
#include "tests/unit/test.h"

#include <float.h>

static const struct minifloat_format f16 = {5, 10, true}, bf16 = {8, 7, true}, f8 = {4, 3, false},
				     tf32 = {8, 10, true};

struct known {
	float x;
	uint32_t bits;
};

/* From IEEE 754 and the OCP 8-bit floating point specification. */
static const struct known f16_known[] = {
	{0.0f, 0x0000},          {-0.0f, 0x8000},
	{1.0f, 0x3c00},          {-2.0f, 0xc000},
	{65504.0f, 0x7bff},      {0x1p-14f, 0x0400},
	{0x1p-24f, 0x0001},      {0x1.ff8p-15f, 0x03ff}, /* largest subnormal */
	{0x1.002p0f, 0x3c00},                            /* halfway: to even, down */
	{0x1.006p0f, 0x3c02},                            /* halfway: to even, up */
	{0x1.002002p0f, 0x3c01},                         /* just above halfway */
	{0x1p-25f, 0x0000},      {0x1.000002p-25f, 0x0001},
	{0x1.8p-24f, 0x0002},   /* ties below the least subnormal and above */
	{0x1.ffcp-15f, 0x0400}, /* a subnormal that rounds into the normal ones */
	{65519.0f, 0x7bff},      {65520.0f, 0x7c00},
	{1e30f, 0x7c00},         {-1e30f, 0xfc00}};

static const struct known bf16_known[] = {
	{1.0f, 0x3f80},          {-1.5f, 0xbfc0},       {0x1.01p0f, 0x3f80},  {0x1.03p0f, 0x3f82},
	{0x1.010002p0f, 0x3f81}, {0x1.fep127f, 0x7f7f}, {FLT_MAX, 0x7f80},    {0x1p-126f, 0x0080},
	{0x1p-133f, 0x0001},     {0x1p-134f, 0x0000},   {0x1.8p-133f, 0x0002}};

static const struct known f8_known[] = {
	{1.0f, 0x38},    {-0.0f, 0x00},   {-0x1p-11f, 0x00}, {448.0f, 0x7e},   {-448.0f, 0xfe},
	{0x1p-6f, 0x08}, {0x1p-9f, 0x01}, {0x1.cp-7f, 0x07}, {0x1p-10f, 0x00}, {0x1.8p-9f, 0x02},
	{1.0625f, 0x38}, {1.1875f, 0x3a}, {0.1f, 0x1d},      {464.0f, 0x7e},   {465.0f, 0x7f},
	{1e9f, 0x7f},    {-1e9f, 0xff}};

static void f16_numbers(void)
{
	for (size_t i = 0; i < sizeof(f16_known) / sizeof(f16_known[0]); i++)
		expect_near(minifloat_encode(f16, f16_known[i].x), f16_known[i].bits, 0);
	expect(isinf(minifloat_decode(f16, 0x7c00)) && minifloat_decode(f16, 0xfc00) < 0.0f &&
	       isnan(minifloat_decode(f16, 0x7e00)));
	expect(minifloat_encode(f16, INFINITY) == 0x7c00 &&
	       isnan(minifloat_decode(f16, minifloat_encode(f16, NAN))));
}

static void bf16_numbers(void)
{
	for (size_t i = 0; i < sizeof(bf16_known) / sizeof(bf16_known[0]); i++)
		expect_near(minifloat_encode(bf16, bf16_known[i].x), bf16_known[i].bits, 0);
	expect(isinf(minifloat_decode(bf16, 0x7f80)) && isnan(minifloat_decode(bf16, 0x7fc0)) &&
	       isnan(minifloat_decode(bf16, minifloat_encode(bf16, NAN))));
}

static void f8_numbers(void)
{
	for (size_t i = 0; i < sizeof(f8_known) / sizeof(f8_known[0]); i++)
		expect_near(minifloat_encode(f8, f8_known[i].x), f8_known[i].bits, 0);
	expect(isnan(minifloat_decode(f8, 0x7f)) && isnan(minifloat_decode(f8, 0xff)));
	expect(minifloat_encode(f8, INFINITY) == 0x7f && minifloat_encode(f8, NAN) == 0x7f);
}

/* Every number survives, and what lies between two neighbours goes to the nearer one or to the even
 * one. */
static void all_patterns(void)
{
	unsigned wrong = 0;
	for (unsigned bits = 0; bits < 1u << 16; bits++) {
		float half = minifloat_decode(f16, bits), brain = minifloat_decode(bf16, bits);
		wrong += !isnan(half) && minifloat_encode(f16, half) != bits;
		wrong += !isnan(brain) && minifloat_encode(bf16, brain) != bits;
	}
	for (unsigned bits = 0; bits < 1u << 8; bits++) {
		float value = minifloat_decode(f8, bits);
		wrong += !isnan(value) && minifloat_encode(f8, value) != (bits == 0x80 ? 0 : bits);
	}
	for (unsigned bits = 0; bits < 0x7bff; bits++) {
		float middle =
			0.5f * (minifloat_decode(f16, bits) + minifloat_decode(f16, bits + 1));
		wrong += minifloat_encode(f16, middle) != bits + (bits & 1);
		wrong += minifloat_encode(f16, nextafterf(middle, 0.0f)) != bits ||
			 minifloat_encode(f16, nextafterf(middle, 1e9f)) != bits + 1;
	}
	for (unsigned bits = 0; bits < 0x7e; bits++) {
		float middle = 0.5f * (minifloat_decode(f8, bits) + minifloat_decode(f8, bits + 1));
		wrong += minifloat_encode(f8, middle) != bits + (bits & 1);
	}
	expect(wrong == 0);
}

static bool is_same(float x, float y)
{
	return isnan(x) ? isnan(y) && !signbit(x) == !signbit(y) : memcmp(&x, &y, sizeof(x)) == 0;
}

static void arrays_hold_the_same(void)
{
	static uint16_t wide[1 << 16];
	static uint8_t narrow[1 << 8];
	static float values[1 << 16];
	for (uint32_t i = 0; i < 1 << 16; i++)
		wide[i] = (uint16_t)i;
	for (uint32_t i = 0; i < 1 << 8; i++)
		narrow[i] = (uint8_t)i;
	const struct minifloat_format formats[] = {f16, bf16, f8};
	for (int f = 0; f < 3; f++) {
		const uint32_t codes = f == 2 ? 1 << 8 : 1 << 16;
		uint32_t same = 0;
		minifloat_decode_array(formats[f], f == 2 ? (void *)narrow : (void *)wide,
				       f == 2 ? 1 : 2, codes, values);
		for (uint32_t i = 0; i < codes; i++)
			same += is_same(values[i], minifloat_decode(formats[f], i));
		expect(same == codes);
	}
}

static float nearest_tf32(float x) { return minifloat_decode(tf32, minifloat_encode(tf32, x)); }

static void tf32_numbers(void)
{
	expect(nearest_tf32(1.0f) == 1.0f && nearest_tf32(-0.375f) == -0.375f);
	expect(nearest_tf32(0x1.002p0f) == 1.0f && nearest_tf32(0x1.006p0f) == 0x1.008p0f);
	expect(nearest_tf32(0x1.002002p0f) == 0x1.004p0f && nearest_tf32(-0x1.ffep0f) == -2.0f);
	expect(isinf(nearest_tf32(FLT_MAX)) && isnan(nearest_tf32(NAN)));
	expect(nearest_tf32(nearest_tf32(0.1f)) == nearest_tf32(0.1f) &&
	       nearest_tf32(0.1f) != 0.1f);
}

int main(void)
{
	test(f16_numbers);
	test(bf16_numbers);
	test(f8_numbers);
	test(all_patterns);
	test(arrays_hold_the_same);
	test(tf32_numbers);
	return test_done();
}
