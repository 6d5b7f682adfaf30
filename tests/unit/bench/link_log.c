/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The log of passes: only those that became samples count, and only the last ones are kept.
 */
#include "bench/links/link_log.h"
#include "tests/unit/test.h"

enum { FORWARD, BACKWARD, BOTH_WAYS, ROUND_TRIP, VARIANTS };

static void add_any_pass(struct link_log *log, unsigned variant, double seconds, bool checked)
{
	const double by_link[] = {seconds, 10 * seconds};
	link_log_add(log, variant, seconds, by_link, checked);
}

static void add_pass(struct link_log *log, unsigned variant, double seconds)
{
	add_any_pass(log, variant, seconds, false);
}

static void expect_link(const struct link_log *log, unsigned variant, size_t link,
			const double *wanted, size_t count)
{
	double found[LINK_LOG_PASSES];
	require(link_log_count(log, variant) == count);
	link_log_of_link(log, variant, link, found);
	for (size_t i = 0; i < count; i++)
		expect_near(found[i], wanted[i], 0);
}

static void passes_that_are_no_samples_do_not_count(void)
{
	struct link_log log;
	require(link_log_open(&log, VARIANTS, 2) == 0);
	/* Calibration, warm-up, three samples of which the second was taken again, a check. */
	for (int i = 1; i <= 7; i++)
		add_pass(&log, FORWARD, i);
	add_pass(&log, BACKWARD, 3);
	link_log_take(&log, FORWARD, 3);
	link_log_take(&log, FORWARD, 5);
	link_log_take(&log, FORWARD, 6);
	expect_link(&log, FORWARD, 0, (const double[]){3, 5, 6}, 3);
	expect_link(&log, FORWARD, 1, (const double[]){30, 50, 60}, 3);
	expect_link(&log, BACKWARD, 0, NULL, 0);
	expect_near(link_log_of_pass(&log, FORWARD, 1)[1], 50, 0);
	expect(!link_log_of_pass(&log, FORWARD, 3));
	link_log_close(&log);
}

static void equal_times_are_different_passes(void)
{
	struct link_log log;
	require(link_log_open(&log, VARIANTS, 2) == 0);
	for (int i = 0; i < 4; i++)
		add_pass(&log, ROUND_TRIP, 2);
	for (int i = 0; i < 3; i++)
		link_log_take(&log, ROUND_TRIP, 2);
	link_log_take(&log, ROUND_TRIP, 1); /* of no pass */
	expect_link(&log, ROUND_TRIP, 1, (const double[]){20, 20, 20}, 3);
	link_log_close(&log);
}

static void the_last_passes_are_kept(void)
{
	struct link_log log;
	require(link_log_open(&log, VARIANTS, 2) == 0);
	const int passes = 3 * (int)log.capacity + 5;
	for (int i = 1; i <= passes; i++)
		add_pass(&log, BOTH_WAYS, i);
	for (int i = 1; i <= passes; i++)
		link_log_take(&log, BOTH_WAYS, i);
	require(link_log_count(&log, BOTH_WAYS) == log.capacity);
	expect_near(link_log_of_pass(&log, BOTH_WAYS, log.capacity - 1)[0], passes, 0);
	expect_near(link_log_of_pass(&log, BOTH_WAYS, 0)[0], passes - (int)log.capacity + 1, 0);
	link_log_close(&log);
}

static void passes_of_checks_take_no_place_of_samples(void)
{
	struct link_log log;
	require(link_log_open(&log, VARIANTS, 2) == 0);
	const int capacity = (int)log.capacity;
	for (int i = 1; i <= 3; i++)
		add_pass(&log, FORWARD, i);
	for (int i = 0; i < 2 * capacity; i++)
		add_any_pass(&log, FORWARD, 0.5, true);
	for (int i = 1; i <= 3; i++)
		link_log_take(&log, FORWARD, i);
	expect_link(&log, FORWARD, 0, (const double[]){1, 2, 3}, 3);
	/* With --check every the samples themselves are such passes. */
	for (int i = 1; i <= 3; i++)
		add_any_pass(&log, BACKWARD, i, true);
	for (int i = 1; i <= 3; i++)
		link_log_take(&log, BACKWARD, i);
	expect_link(&log, BACKWARD, 0, (const double[]){1, 2, 3}, 3);
	link_log_close(&log);
}

static void many_links_keep_fewer_passes(void)
{
	struct link_log log;
	require(link_log_open(&log, VARIANTS, 8192) == 0);
	expect(log.capacity >= 16 && log.capacity < LINK_LOG_PASSES);
	link_log_close(&log);
	require(link_log_open(&log, VARIANTS, 0) == 0);
	link_log_close(&log);
}

int main(void)
{
	test(passes_that_are_no_samples_do_not_count);
	test(equal_times_are_different_passes);
	test(the_last_passes_are_kept);
	test(passes_of_checks_take_no_place_of_samples);
	test(many_links_keep_fewer_passes);
	return test_done();
}
