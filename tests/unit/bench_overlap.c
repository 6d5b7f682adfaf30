/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gain of running things at once, from times that are known: 6 and 3 alone, 10 one after the
 * other, 7 at once. So S = 10/7, S_ideal = 9/6, and 6/7 of the possible gain is reached.
 */
#include "bench/bench_overlap.h"
#include "tests/unit/bench_output.h"
#include "tests/unit/test.h"

enum { LONG, SHORT, SERIAL, BOTH, VARIANTS };
static const double known_s[VARIANTS] = {6, 3, 10, 7};
static double min_ideal;

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	c->self_seconds = known_s[variant] * (double)iterations;
	return 0;
}

static int derive(struct bench_case *c)
{
	const struct bench_overlap o = {SERIAL, 1u << LONG | 1u << SHORT, 1u << LONG | 1u << SHORT,
					min_ideal};
	int status = bench_derive_overlap(c, &o, BOTH);
	return status ? status : bench_derive_ideal(c, &o);
}

/* The value of a derived quantity in the record; NaN where it is null. */
static double run_and_read(double min, const char *name)
{
	static const struct bench_variant variants[] = {BENCH_ROW("long", BENCH_SELF),
							BENCH_ROW("short", BENCH_SELF),
							BENCH_ROW("serial", BENCH_SELF),
							BENCH_ROW("both", BENCH_SELF),
							{0}};
	static const struct bench bench = {.name = "test/overlap",
					   .question = "what is gained?",
					   .formula = "none",
					   .timed = "nothing",
					   .variants = variants,
					   .body = body,
					   .derive = derive};
	char *argv[] = {"overlap", "--device", "sim", "--format", "json", NULL}, text[65536];
	char wanted[64];
	min_ideal = min;
	expect(run_captured(&bench, 5, argv, text, sizeof(text)) == 0);
	snprintf(wanted, sizeof(wanted), "{\"name\":\"%s\"", name);
	const char *at = strstr(text, wanted);
	require(at);
	at = strstr(at, "\"value\":") + 8;
	return strncmp(at, "null", 4) == 0 ? NAN : strtod(at, NULL);
}

static void gains_of_known_times(void)
{
	expect_near(run_and_read(1.02, "S"), 10.0 / 7, 1e-12);
	expect_near(run_and_read(1.02, "S_ideal"), 1.5, 1e-12);
	expect_near(run_and_read(1.02, "fraction_of_ideal"), 6.0 / 7, 1e-12);
}

static void a_fraction_of_almost_nothing_has_no_value(void)
{
	expect(isnan(run_and_read(1.6, "fraction_of_ideal")));
	expect_near(run_and_read(1.6, "S"), 10.0 / 7, 1e-12);
}

int main(void)
{
	test(gains_of_known_times);
	test(a_fraction_of_almost_nothing_has_no_value);
	return test_done();
}
