/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/units.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

static void good_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} table[] = {{"0", 0},
		     {"7", 7},
		     {"4k", 4096},
		     {"4K", 4096},
		     {"3M", 3145728},
		     {"2G", UINT64_C(2) << 30},
		     {"1T", UINT64_C(1) << 40},
		     {"18446744073709551615", UINT64_MAX},
		     {"007", 7}};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t value = 1;
		expect(units_parse_size(table[i].text, &value) == 0);
		expect(value == table[i].value);
	}
}

static void bad_sizes(void)
{
	static const char *const table[] = {"",    " 4",  "4 ",   "-4", "+4",  "0x10", "4Q",
					    "4KB", "4KK", "1.5M", "K",  "4e3", "m4"};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t value = 99;
		expect(units_parse_size(table[i], &value) == -EINVAL);
		expect(value == 99);
		expect(strlen(err_text()) > 0);
	}
	uint64_t value;
	expect(units_parse_size("18446744073709551616", &value) == -ERANGE);
	expect(units_parse_size("99999999999999999999999", &value) == -ERANGE);
	expect(units_parse_size("16777216T", &value) == -ERANGE);
}

static void integers_in_range(void)
{
	uint64_t value = 0;
	expect(units_parse_integer("12", 1, 12, &value) == 0 && value == 12);
	expect(units_parse_integer("13", 1, 12, &value) == -ERANGE);
	expect(units_parse_integer("0", 1, 12, &value) == -ERANGE);
	expect(units_parse_integer("1K", 1, 12, &value) == -EINVAL);
}

static void durations_in_seconds(void)
{
	static const struct {
		const char *text;
		double seconds;
	} table[] = {{"90", 90},      {"90s", 90}, {"1.5s", 1.5}, {"200ms", 0.2},
		     {"50us", 50e-6}, {"2m", 120}, {"1h", 3600}};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double seconds = 0;
		expect(units_parse_seconds(table[i].text, &seconds) == 0);
		expect_near(seconds, table[i].seconds, 1e-12);
	}
	static const char *const bad[] = {"",    "0",   "-1",    "1d", "s",   "1e3",
					  "nan", "inf", "1.2.3", ".5", "1 s", "999999999h"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		double seconds = 42;
		expect(units_parse_seconds(bad[i], &seconds) != 0);
		expect_near(seconds, 42, 0);
	}
}

static void units_are_shown(void)
{
	char text[40];
	expect_str(units_show_bytes(text, sizeof(text), 300), "300 B");
	expect_str(units_show_bytes(text, sizeof(text), 4096), "4 KiB");
	expect_str(units_show_bytes(text, sizeof(text), 1572864), "1.5 MiB");
	expect_str(units_show(text, sizeof(text), 1.234e-3, "s"), "1.234 ms");
	expect_str(units_show(text, sizeof(text), 0.0, "s"), "0 s");
	expect_str(units_show(text, sizeof(text), 12.34e9, "byte/s"), "12.34 GB/s");
	expect_str(units_show(text, sizeof(text), 2.5e12, "flop/s"), "2.5 TFLOP/s");
	expect_str(units_show(text, sizeof(text), 2.5e12, "op/s"), "2.5 TOP/s");
	expect_str(units_show(text, sizeof(text), 7e-13, "J/flop"), "0.7 pJ/FLOP");
	expect_str(units_show(text, sizeof(text), 42e-12, "J/byte"), "42 pJ/B");
	expect_str(units_show(text, sizeof(text), 1.5, ""), "1.5");
	expect_str(units_show(text, sizeof(text), 3e-13, "s"), "0.0003 ns");
	expect_str(units_show(text, sizeof(text), 1.5e6, "1/s"), "1.5 M/s");
	expect_str(units_show(text, sizeof(text), 2.5e3, "1/s"), "2.5 k/s");
	expect_str(units_show(text, sizeof(text), 12.34e9, "1/s"), "12.34 G/s");
	expect_str(units_show(text, sizeof(text), 20.0, "1/s"), "20 1/s");
	expect_str(units_show(text, sizeof(text), 0.02, "1/s"), "0.02 1/s");
	expect_str(units_show(text, sizeof(text), NAN, "1/s"), "nan 1/s");
	expect_str(units_show(text, sizeof(text), NAN, "s"), "nan s");
}

/* As in a table: with a prefix, four digits, and zeros at the end. */
static const char *show_fixed(double value, const char *unit)
{
	static char text[80];
	char number[40];
	struct units_scale scale = units_scale_of(value, unit);
	snprintf(text, sizeof(text), "%s%s%s",
		 units_show_scaled(number, sizeof(number), value, &scale), scale.unit[0] ? " " : "",
		 scale.unit);
	return text;
}

static void columns_have_four_digits(void)
{
	expect_str(show_fixed(850e-6, "s"), "850.0 us");
	expect_str(show_fixed(838.8e-6, "s"), "838.8 us");
	expect_str(show_fixed(24.7e9, "byte/s"), "24.70 GB/s");
	expect_str(show_fixed(0.0248, ""), "0.02480");
	expect_str(show_fixed(0.0248, "s"), "24.80 ms");
	expect_str(show_fixed(1.0, ""), "1.000");
	expect_str(show_fixed(12345.0, ""), "12345");
	expect_str(show_fixed(0.0, "s"), "0.000 s");
	expect_str(show_fixed(0.0, ""), "0.000");
	expect_str(show_fixed(-28.449e-9, "s"), "-28.45 ns");
	expect_str(show_fixed(-0.72824, ""), "-0.7282");
	expect_str(show_fixed(388.9e3, "1/s"), "388.9 k/s");
	expect_str(show_fixed(20.0, "1/s"), "20.00 1/s");
	expect_str(show_fixed(NAN, "s"), "nan s");
	expect_str(show_fixed(NAN, ""), "nan");
	expect_str(show_fixed(INFINITY, "s"), "inf s");
}

static void rounding_up_takes_the_next_prefix(void)
{
	char text[40];
	expect_str(show_fixed(999.94e-6, "s"), "999.9 us");
	expect_str(show_fixed(999.96e-6, "s"), "1.000 ms");
	expect_str(show_fixed(-999.96e-6, "s"), "-1.000 ms");
	expect_str(show_fixed(0.99996, "s"), "1.000 s");
	expect_str(show_fixed(999.96e9, "flop/s"), "1.000 TFLOP/s");
	expect_str(show_fixed(9.9996, ""), "10.00");
	expect_str(show_fixed(0.99996, ""), "1.000");
	expect_str(show_fixed(1e-3, "s"), "1.000 ms");
	expect_str(show_fixed(1e-6, "s"), "1.000 us");
	expect_str(show_fixed(1e3, "byte/s"), "1.000 kB/s");
	expect_str(units_show(text, sizeof(text), 999.96e-6, "s"), "1 ms");
}

static void extremes_have_an_exponent(void)
{
	expect_str(show_fixed(1e30, "byte/s"), "1.000e+15 PB/s");
	expect_str(show_fixed(-1e30, ""), "-1.000e+30");
	expect_str(show_fixed(2.97e-6, ""), "2.970e-06");
	expect_str(show_fixed(3e-13, "s"), "3.000e-04 ns");
	expect_str(show_fixed(3e-12, "s"), "0.003000 ns");
}

/* The ends of an interval have the prefix and the decimals of its value. */
static void an_interval_has_one_scale(void)
{
	char text[40];
	struct units_scale scale = units_scale_of(998.8e-6, "s");
	expect_str(units_show_scaled(text, sizeof(text), 1.0123e-3, &scale), "1012.3");
	scale = units_scale_of(0.9931, "");
	expect_str(units_show_scaled(text, sizeof(text), 1.0009, &scale), "1.0009");
}

static void one_has_a_word_of_its_own(void)
{
	expect_str(units_word(0, "rank", "ranks"), "ranks");
	expect_str(units_word(1, "rank", "ranks"), "rank");
	expect_str(units_word(2, "process", "processes"), "processes");
}

int main(void)
{
	test(good_sizes);
	test(bad_sizes);
	test(integers_in_range);
	test(durations_in_seconds);
	test(units_are_shown);
	test(columns_have_four_digits);
	test(rounding_up_takes_the_next_prefix);
	test(extremes_have_an_exponent);
	test(an_interval_has_one_scale);
	test(one_has_a_word_of_its_own);
	return test_done();
}
