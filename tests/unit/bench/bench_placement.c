/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine whose processors move by a script: what counts are the rounds of one place.
 */
#include "lib/core_latency.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <time.h>

/* Longer than from one probe to the next, so that each round has one before it and one after it. */
#define ROUND_NS 16000000
#define NEAR_S 50e-9
#define FAR_S 230e-9

/* The place at each probe, "n"ear or "f"ar; the last one stays. */
static const char *places;
static size_t probes;

static bool is_far(size_t probe)
{
	const size_t length = strlen(places);
	return places[probe < length ? probe : length - 1] == 'f';
}

/* Instead of that of lib/. Latencies of a place differ a little. */
int core_latency_mean(unsigned batches, double *seconds_p)
{
	*seconds_p = (is_far(probes) ? FAR_S : NEAR_S) * (1.0 + 0.1 * (double)(probes % 2));
	probes++;
	return 0;
}

/* An iteration takes 1 ms where the processors were near at the latest probe, else 3 ms. */
static int body(struct bench_case *c, long unused, uint64_t iterations)
{
	const struct timespec pause = {.tv_nsec = ROUND_NS};
	nanosleep(&pause, NULL);
	c->self_seconds = (is_far(probes ? probes - 1 : 0) ? 3e-3 : 1e-3) * (double)iterations;
	return 0;
}

static const struct bench_variant variants[] = {{"work", BENCH_SELF}, {0}};
static const struct bench bench = {.name = "test/placement",
				   .question = "which rounds count?",
				   .formula = "none",
				   .timed = "a script",
				   .variants = variants,
				   .body = body};

static char output[1 << 16];

static double number_of(const char *key)
{
	const char *at = strstr(output, key);
	return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void run_script(const char *script)
{
	places = script;
	probes = 0;
	require(run_captured(&bench, output, "--device", "host", "--format", "json", "--warm-up",
			     "0", "--min-samples", "12", "--max-samples", "12", "--budget",
			     "0.3s") != 2);
}

static void a_machine_that_stays_loses_nothing(void)
{
	run_script("n");
	expect(number_of("\"n\":") == 12.0);
	expect_near(number_of("\"median_s\":"), 1e-3, 1e-9);
	expect(number_of("\"rounds_left_out\":") == 0.0);
	expect_near(number_of("\"core_latency_max_s\":"), 1.1 * NEAR_S, 1e-12);
}

/* Probes 0 to 12 lie around 12 rounds: 3 near ones, one that saw a move, 8 far ones. */
static void the_rounds_of_the_commonest_place_count(void)
{
	run_script("nnnnf");
	expect(number_of("\"n\":") == 8.0);
	expect_near(number_of("\"min_s\":"), 3e-3, 1e-9);
	expect(number_of("\"rounds_left_out\":") == 4.0);
	expect_near(number_of("\"core_latency_s\":"), FAR_S, 1e-12);
	expect_near(number_of("\"core_latency_min_s\":"), NEAR_S, 1e-12);
	expect(strstr(output, "places") == NULL);
}

/* Five rounds give no interval: all are kept, and it is said. */
static void too_few_of_each_place_are_noisy(void)
{
	run_script("nfnfnfnfnfnfnfnfnf");
	expect(number_of("\"n\":") >= 6.0);
	expect(strstr(output, "\"flag\":\"noisy\"") != NULL);
	expect(strstr(output, "core-to-core latency") != NULL);
}

int main(void)
{
	test(a_machine_that_stays_loses_nothing);
	test(the_rounds_of_the_commonest_place_count);
	test(too_few_of_each_place_are_noisy);
	return test_done();
}
