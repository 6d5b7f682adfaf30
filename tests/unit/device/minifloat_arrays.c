/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small floating-point formats against codes from their definitions.
 */
#include "tests/unit/device/minifloat_arrays.h"
#include "tests/unit/test.h"

struct known {
	double value;
	uint32_t code;
};

#define CHECK(format, known) check_codes(format, known, sizeof(known) / sizeof((known)[0]))

static void check_codes(const struct small_float *f, const struct known *known, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t code = small_encode(f, known[i].value);
		if (code != known[i].code)
			printf("# %.17g gives %#x, not %#x\n", known[i].value, code, known[i].code);
		expect(code == known[i].code);
	}
}

static void f16_is_ieee(void)
{
	static const struct known known[] = {
		{0.0, 0x0000},
		{-0.0, 0x8000},
		{1.0, 0x3c00},
		{-2.0, 0xc000},
		{0.333251953125, 0x3555},
		{1 + 0x1p-11, 0x3c00},
		{1 + 0x1.8p-10, 0x3c02},
		{1 + 0x1p-11 + 0x1p-30, 0x3c01}, /* ties to even */
		{65504.0, 0x7bff},
		{65519.99, 0x7bff},
		{65520.0, 0x7c00},
		{1e300, 0x7c00},
		{-INFINITY, 0xfc00},
		{0x1p-14, 0x0400},
		{0x1p-24, 0x0001},
		{0x1p-25, 0x0000},
		{0x1.8p-24, 0x0002},
		{0x1.ffcp-15, 0x0400},
	};
	CHECK(&minifloat_f16, known);
	expect(isnan(small_decode(&minifloat_f16, small_encode(&minifloat_f16, NAN))));
	expect(isinf(small_decode(&minifloat_f16, 0x7c00)) &&
	       small_decode(&minifloat_f16, 0xfc00) < 0);
	expect_near(small_decode(&minifloat_f16, 0x3555), 0.333251953125, 0);
}

/* The upper half of an f32. */
static void bf16_is_half_of_f32(void)
{
	static const struct known known[] = {
		{1.0, 0x3f80},        {-1.0, 0xbf80},         {3.140625, 0x4049},
		{1 + 0x1p-8, 0x3f80}, {1 + 0x1.8p-7, 0x3f82}, {0x1.fep127, 0x7f7f},
		{0x1.ffp127, 0x7f80}, {0x1p128, 0x7f80},      {0x1p-133, 0x0001},
		{1e-300, 0},
	};
	CHECK(&minifloat_bf16, known);
	for (uint32_t code = 0; code < 0x7f80; code += 5) {
		const uint32_t wide = code << 16;
		float value;
		memcpy(&value, &wide, sizeof(value));
		expect_near(small_decode(&minifloat_bf16, code), (double)value, 0);
	}
}

static void e4m3_is_as_ocp_says(void)
{
	static const struct known known[] = {
		{1.0, 0x38},      {-1.0, 0xb8},   {448.0, 0x7e},  {464.0, 0x7e},  {465.0, 0x7f},
		{INFINITY, 0x7f}, {240.0, 0x77},  {0x1p-6, 0x08}, {0x1p-9, 0x01}, {0x1p-10, 0x00},
		{0x1.8p-9, 0x02}, {1.0625, 0x38}, {1.1875, 0x3a}, {0.0, 0x00},
	};
	CHECK(&small_e4m3, known);
	expect(isnan(small_decode(&small_e4m3, 0x7f)) && isnan(small_decode(&small_e4m3, 0xff)));
	expect_near(small_decode(&small_e4m3, 0x7e), 448, 0);
}

static void every_code_comes_back(void)
{
	static const struct small_float *const formats[] = {&minifloat_f16, &minifloat_bf16,
							    &small_e4m3};
	for (int i = 0; i < 3; i++) {
		double last = -1;
		for (uint32_t code = 0; code < small_end(formats[i]); code++) {
			const double value = small_decode(formats[i], code);
			require(value > last && small_encode(formats[i], value) == code);
			require(small_encode(formats[i], -value) ==
				(code | small_sign(formats[i])));
			last = value;
		}
	}
}

int main(void)
{
	test(f16_is_ieee);
	test(bf16_is_half_of_f32);
	test(e4m3_is_as_ocp_says);
	test(every_code_comes_back);
	return test_done();
}
