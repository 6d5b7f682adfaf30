/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gain of running things at once, from times that are known: 6 and 3 alone, 10 one after the
 * other, 7 at once. So S = 10/7, S_ideal = 9/6, and 6/7 of the ideal gain is reached.
 */
#include "bench/bench_overlap.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

enum { LONG, SHORT, SERIAL, BOTH, OTHER, VARIANTS };

static struct {
	double seconds[VARIANTS];
	double spread[VARIANTS]; /* relative, of samples that are evenly spread */
	unsigned samples[VARIANTS];
	const char *suffix, *asked;
	bool own_ideal;
	double bound; /* of the time of `other`; 0: none */
} known;

static char record[1 << 19];

static int body(struct bench_case *c, long part, uint64_t iterations)
{
	double golden = 0.618033988749895 * known.samples[part]++;
	double offset = golden - (double)(unsigned)golden - 0.5;
	c->self_seconds =
		known.seconds[part] * (1.0 + known.spread[part] * offset) * (double)iterations;
	return 0;
}

static int derive(struct bench_case *c)
{
	const uint64_t parts = 1u << LONG | 1u << SHORT;
	const struct bench_overlap o = {SERIAL, parts, parts, known.suffix, known.own_ideal};
	uint64_t fastest;
	int status = bench_derive_overlap(c, &o, 1u << BOTH);
	if (status == 0)
		status = bench_fastest(c, 1u << BOTH | 1u << OTHER, &fastest);
	if (status == 0)
		bench_fact_number(c, "fastest", (double)fastest);
	if (known.bound > 0)
		bench_bound(c, "time", OTHER, known.bound, "a bound");
	bench_alias_fastest(c, "time", 1u << BOTH | 1u << OTHER, "best_time", "the faster one's");
	return status;
}

/* Fills `record` with that of a run of these times. */
static void run_times(double long_s, double short_s, double serial_s, double both_s, double other_s)
{
	static const struct bench_variant variants[] = {
		[LONG] = {"long", BENCH_SELF, .arg = LONG},
		[SHORT] = {"short", BENCH_SELF, .arg = SHORT},
		[SERIAL] = {"serial", BENCH_SELF, .arg = SERIAL},
		[BOTH] = {"both", BENCH_SELF, .arg = BOTH},
		[OTHER] = {"other", BENCH_SELF, .arg = OTHER},
		{0}};
	static const struct bench bench = {.name = "test/overlap",
					   .question = "what is gained?",
					   .formula = "none",
					   .timed = "nothing",
					   .variants = variants,
					   .body = body,
					   .derive = derive};
	const double seconds[] = {long_s, short_s, serial_s, both_s, other_s};
	memcpy(known.seconds, seconds, sizeof(seconds));
	expect(run_captured(&bench, record, "--device", "sim", "--format", "json", "--variant",
			    known.asked ? known.asked : "long,short,serial,both,other") == 0);
	known.spread[SERIAL] = known.spread[OTHER] = known.bound = 0.0;
	known.suffix = known.asked = NULL;
	known.own_ideal = false;
}

/* Entry of a derived quantity in the record, up to its end. */
static const char *entry_of(const char *name)
{
	static char entry[1024];
	char wanted[64];
	snprintf(wanted, sizeof(wanted), "{\"name\":\"%s\",", name);
	const char *at = strstr(record, wanted), *next = at ? strstr(at + 1, "{\"name\":") : NULL;
	snprintf(entry, sizeof(entry), "%.*s", next ? (int)(next - at) : 1023, at ? at : "");
	return entry;
}

static double value_of(const char *name)
{
	const char *at = strstr(entry_of(name), "\"value\":");
	return at && strncmp(at + 8, "null", 4) != 0 ? strtod(at + 8, NULL) : NAN;
}

static bool is_valid(const char *name) { return strstr(entry_of(name), "\"valid\":true") != NULL; }

static void gains_of_known_times(void)
{
	run_times(6, 3, 10, 7, 7);
	expect_near(value_of("S"), 10.0 / 7, 1e-12);
	expect_near(value_of("S_ideal"), 1.5, 1e-12);
	expect_near(value_of("fraction_of_ideal"), 6.0 / 7, 1e-12);
	expect(is_valid("S") && is_valid("fraction_of_ideal"));
	expect(strstr(entry_of("S"), "\"formula\":\"seconds(serial) / seconds\"") != NULL);
}

static void names_can_say_of_which_baseline(void)
{
	known.suffix = "_tiled";
	run_times(6, 3, 10, 7, 7);
	expect_near(value_of("S_tiled"), 10.0 / 7, 1e-12);
	expect_near(value_of("S_ideal_tiled"), 1.5, 1e-12);
	expect_near(value_of("fraction_of_ideal_tiled"), 6.0 / 7, 1e-12);
}

static void the_ideal_can_be_of_each_variant(void)
{
	known.own_ideal = true;
	run_times(6, 3, 10, 7, 7);
	expect(strstr(entry_of("S_ideal"), "\"variant\":\"both\"") != NULL);
	expect_near(value_of("S_ideal"), 1.5, 1e-12);
	expect_near(value_of("fraction_of_ideal"), 6.0 / 7, 1e-12);
	known.own_ideal = true;
	run_times(6, 3, 20, 7, 7);
	expect(!is_valid("S") && !is_valid("fraction_of_ideal") && is_valid("S_ideal"));
}

static void a_loss_is_below_zero(void)
{
	run_times(6, 3, 10, 20, 20);
	expect_near(value_of("fraction_of_ideal"), -1.0, 1e-12);
	expect(is_valid("fraction_of_ideal"));
}

static void a_fraction_of_almost_nothing_has_no_value(void)
{
	run_times(100, 3, 103, 100, 100);
	expect(isnan(value_of("fraction_of_ideal")));
	expect(strstr(entry_of("fraction_of_ideal"),
		      "\"reason\":\"S_ideal 1.03 is within noise of 1; the limit is 1.04\"") !=
	       NULL);
	expect_near(value_of("S"), 1.03, 1e-12);
}

static void noise_raises_the_limit(void)
{
	run_times(20, 1, 21, 20, 20);
	expect_near(value_of("fraction_of_ideal"), 1.0, 1e-9);
	known.spread[SERIAL] = 0.8;
	run_times(20, 1, 21, 20, 20);
	expect(isnan(value_of("fraction_of_ideal")));
	expect(strstr(entry_of("fraction_of_ideal"), "within noise of 1") != NULL);
}

/* The baseline does other work than its parts: the times are right, and S means no overlap. */
static void more_than_overlap_can_give_is_flagged(void)
{
	run_times(6, 3, 20, 7, 7);
	expect_near(value_of("S"), 20.0 / 7, 1e-12);
	expect(!is_valid("S") && !is_valid("fraction_of_ideal"));
	expect(is_valid("S_ideal") && is_valid("time"));
	expect(strstr(record, "{\"flag\":\"above_bound\",\"variant\":\"both\",\"quantity\":\"S\","
			      "\"reason\":\"S 2.857 is above S_ideal 1.5: serial takes 2.22 times "
			      "the parts' sum, this 1.17 times the longest part\"}") != NULL);
}

static void a_hair_above_is_no_flag(void)
{
	run_times(6, 3, 9.1, 6, 6);
	expect_near(value_of("fraction_of_ideal"), 0.5166666667 / 0.5, 1e-9);
	expect(is_valid("S") && is_valid("fraction_of_ideal"));
	known.spread[SERIAL] = 0.8;
	run_times(6, 3, 9.25, 6, 6);
	expect(is_valid("S"));
}

static bool both_tie(void) { return strstr(record, "\"fastest\":24") != NULL; }

static void what_does_not_differ_ties(void)
{
	run_times(6, 3, 10, 7, 7);
	expect(both_tie());
	run_times(6, 3, 10, 7, 7.06);
	expect(both_tie());
	run_times(6, 3, 10, 7, 7.1);
	expect(strstr(record, "\"fastest\":8") != NULL);
	run_times(6, 3, 10, 7.1, 7);
	expect(strstr(record, "\"fastest\":16") != NULL);
	known.spread[OTHER] = 0.8;
	run_times(6, 3, 10, 7, 7.1);
	expect(both_tie());
}

/* One number of the case, of both: it says of which it is, and no other takes the place of one that
 * is invalid or was left out. */
static void the_best_of_a_list(void)
{
	run_times(6, 3, 10, 7, 7.1);
	expect_near(value_of("best_time"), 7, 1e-12);
	expect(is_valid("best_time") && strstr(entry_of("best_time"), "\"variant\":null") != NULL &&
	       strstr(entry_of("best_time"), "\"of\":[\"both\"]") != NULL);
	run_times(6, 3, 10, 7.1, 7);
	expect_near(value_of("best_time"), 7, 1e-12);
	expect(strstr(entry_of("best_time"), "\"of\":[\"other\"]") != NULL);
	known.bound = 6;
	run_times(6, 3, 10, 7, 7.1);
	expect_near(value_of("best_time"), 7, 1e-12);
	expect(!is_valid("best_time"));
	known.asked = "long,short,serial,both";
	run_times(6, 3, 10, 7, 7.1);
	expect(strstr(record, "best_time") == NULL);
}

int main(void)
{
	test(gains_of_known_times);
	test(names_can_say_of_which_baseline);
	test(the_ideal_can_be_of_each_variant);
	test(a_loss_is_below_zero);
	test(a_fraction_of_almost_nothing_has_no_value);
	test(noise_raises_the_limit);
	test(more_than_overlap_can_give_is_flagged);
	test(a_hair_above_is_no_flag);
	test(what_does_not_differ_ties);
	test(the_best_of_a_list);
	return test_done();
}
