/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Laws by which streams get copy engines, by which of them wait: also those that no simulated
 * device has.
 */
#include "micro/copy_engines/sharing.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

enum { RUNS = 10 };

static struct {
	struct sharing sharing;
	double engines;
} now;

static char output[1 << 16];

static int take_time(struct bench_case *c, long arg)
{
	c->self_seconds += 1e-6;
	return 0;
}

static int derive(struct bench_case *c)
{
	sharing_derive(&now.sharing, c, 0, now.engines, 1e-6, true);
	return c->status;
}

static const struct bench_variant variants[] = {{"others", BENCH_SELF, .once = take_time},
						{"others_rotated", BENCH_SELF, .once = take_time},
						{0}};
static const struct bench_quantity_row quantities[] = {{"independent_streams", BENCH_OBSERVED},
						       {0}};
static const struct bench bench = {.name = "test/sharing",
				   .question = "who shares?",
				   .formula = "none",
				   .timed = "nothing",
				   .variants = variants,
				   .quantities = quantities,
				   .derive = derive};

/* The streams of a set of bits waited in most runs, in order and rotated. */
static void set_waits(double engines, unsigned in_order, unsigned rotated)
{
	memset(&now, 0, sizeof(now));
	now.engines = engines;
	now.sharing.idle_s = 2.0 * RUNS * 10e-6;
	for (unsigned k = 0; k < 2; k++) {
		const unsigned waits = k ? rotated : in_order;
		now.sharing.in[k].runs = RUNS;
		for (unsigned i = 1; i < ENGINE_STREAMS; i++)
			now.sharing.in[k].waited[i] = waits >> i & 1 ? RUNS - 2 : 2;
		for (unsigned i = 0; i < RUNS; i++)
			observe(&now.sharing.in[k].independent, 0.625);
	}
}

static bool finds_text(const char *text)
{
	expect(run_captured(&bench, output, "--device", "sim", "--format", "json") == 0);
	return strstr(output, text) != NULL;
}

static void streams_that_wait_tell_the_law(void)
{
	set_waits(2.0, 0, 0);
	expect(finds_text("\"sticky\":\"no\""));
	set_waits(2.0, 0x54, 0x54);
	expect(finds_text("\"sticky\":\"yes\""));
	expect(finds_text("\"2,4,6; enqueued in another order: 2,4,6\""));
	set_waits(2.0, 0x54, 0xa8);
	expect(finds_text("\"sticky\":\"no: assigned in the order of enqueueing\""));
	expect(finds_text("\"2,4,6; enqueued in another order: 3,5,7\""));
	set_waits(1.1, 0xfe, 0xfe);
	expect(finds_text("\"sticky\":\"one engine\""));
}

/* Two engines answer, so one stream at least does not wait for the engine of the first. */
static void what_contradicts_itself_is_unclear(void)
{
	set_waits(2.0, 0xfe, 0x54);
	expect(finds_text("\"sticky\":\"unclear: "));
	set_waits(2.0, 0x54, 0xfe);
	expect(finds_text("\"sticky\":\"unclear: "));
}

static void as_many_engines_as_streams_tell_nothing(void)
{
	set_waits(ENGINE_STREAMS, 0, 0);
	expect(finds_text("\"sticky\":\"not known\""));
}

static void short_copies_that_do_not_stop_in_time_tell_nothing(void)
{
	set_waits(2.0, 0x54, 0x54);
	now.sharing.idle_s = 2.0 * RUNS * 0.9e-6;
	expect(!finds_text("\"sticky\""));
	expect(finds_text("choose a larger size"));
	now.engines = 1.0; /* then they all wait for the bulk copy */
	expect(finds_text("\"sticky\":\"one engine\""));
}

static void without_observations_there_is_no_law(void)
{
	set_waits(NAN, 0, 0);
	expect(!finds_text("\"sticky\""));
	set_waits(2.0, 0, 0);
	now.sharing.in[1].runs = 0;
	expect(!finds_text("\"sticky\""));
}

int main(void)
{
	test(streams_that_wait_tell_the_law);
	test(what_contradicts_itself_is_unclear);
	test(as_many_engines_as_streams_tell_nothing);
	test(short_copies_that_do_not_stop_in_time_tell_nothing);
	test(without_observations_there_is_no_law);
	return test_done();
}
