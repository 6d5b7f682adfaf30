/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of the results that timed samples leave: how often, and where a fingerprint suffices.
 */
#include "bench/bench_check.h"
#include "bench/bench_alloc.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <time.h>

#define NS 1000000000L

enum { BYTES = 1 << 20, WORDS = BYTES / 4 };

/* Behaviour of the next runs. `wrong_from`, `wrong_until`: bodies of variant "copy" that leave a
 * wrong word; the first is 1. */
static struct {
	unsigned wrong_from, wrong_until;
	bool alternates; /* every result differs from the one before, and all are right */
	long sample_ns;  /* that samples take longer */
	bool wrong_after_them;
	bool first_fails; /* nothing of the first case can be executed */
	unsigned checks;  /* this many are right; 0: no limit */
	unsigned held_up; /* this check takes ten times as long as a sample */
	unsigned late;    /* from this execution after the samples on they take `late_ns` longer */
	long late_ns;
	bool dear; /* every comparison in full takes forty times as long */
} act;

static unsigned setups, bodies, single_passes, poisons, polls, comparisons;

struct state {
	float *from, *to, *pattern, *word;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	setups++;
	s->pattern = pattern_reals(c);
	s->from = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, BYTES, s->pattern);
	s->to = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	s->word = bench_alloc(c, DEV_MEM_PINNED, DEV_KERNEL_ALIGN);
	return c->status;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_sec = ns / NS, .tv_nsec = ns % NS}, NULL);
}

static int copy_right(struct bench_case *c, long unused, uint64_t iterations)
{
	struct state *s = c->state;
	if (act.first_fails && setups == 1)
		return err_note(-EIO, "no first case");
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_copy(c->dev, c->stream, s->to, s->from, BYTES));
	return c->status;
}

static int copy_as_told(struct bench_case *c, long unused, uint64_t iterations)
{
	struct state *s = c->state;
	TRY(c->status, copy_right(c, unused, iterations));
	bodies++;
	single_passes += bench_single_pass(c);
	if (act.sample_ns && poisons == 0)
		sleep_ns(act.sample_ns);
	if (act.late && poisons >= act.late)
		sleep_ns(act.late_ns);
	bool wrong = (bodies >= act.wrong_from && bodies <= act.wrong_until) ||
		     (act.wrong_after_them && poisons > 1);
	*s->word = wrong ? 99.0f : s->pattern[0] + 0.5f * (float)(bodies % 2);
	if (wrong || act.alternates)
		TRY(c->status,
		    dev_copy(c->dev, c->stream, s->to + WORDS / 2, s->word, sizeof(*s->word)));
	return c->status;
}

static int poison(struct bench_case *c, long counted)
{
	const struct state *s = c->state;
	poisons += (unsigned)counted;
	return dev_fill(c->dev, c->stream, s->to, 0xa5, BYTES);
}

static int check(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	polls++;
	if (polls == act.held_up)
		sleep_ns(10 * act.sample_ns);
	if (act.dear) {
		if (bench_known_right(c, c->dev, s->to, BYTES))
			return 0;
		comparisons++;
		sleep_ns(40 * act.sample_ns);
		bench_note_right(c, c->dev, s->to, BYTES);
		return 0;
	}
	if (act.checks && polls > act.checks)
		return err_note(-EBADMSG, "more than %u checks", act.checks);
	return pattern_check(c, c->dev, s->to, BYTES, s->pattern, 0.6f);
}

static const struct bench_variant variants[] = {
	{"copy", BENCH_DEVICE, .arg = true, .body = copy_as_told},
	{"bound", BENCH_DEVICE, .body = copy_right, .reference = true},
	{0}};

static const struct bench bench = {
	.name = "test/check",
	.question = "is what samples leave checked?",
	.formula = "none",
	.timed = "copies",
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.poison = poison,
	.check = check,
};

static char output[1 << 18];

static int run_of(const struct bench *b, const char *device, const char *when, const char *samples)
{
	setups = bodies = single_passes = poisons = polls = 0;
	return run_captured(b, output, "--device", device, "--format", "json", "--warm-up", "0",
			    "--min-samples", samples, "--max-samples", samples, "--check", when);
}

static int run_on(const char *device, const char *when, const char *samples)
{
	return run_of(&bench, device, when, samples);
}

static int run_with(const char *when, const char *samples)
{
	return run_on("sim:quiet", when, samples);
}

static uint64_t number_of(const char *key)
{
	char quoted[40];
	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	const char *at = strstr(output, "\"check\":{");
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtoull(at + strlen(quoted), NULL, 10) : UINT64_MAX;
}

/* Bodies of "copy" before the first sample: calibration, and the code's loading where it loads. */
static unsigned bodies_before_samples(const char *when)
{
	memset(&act, 0, sizeof(act));
	require(run_with(when, "8") == 0 || strcmp(when, "every") == 0);
	return bodies - 8 - 1;
}

static void samples_1_2_4_and_8_are_checked_in_virtual_time(void)
{
	memset(&act, 0, sizeof(act));
	expect(run_with("rounds", "10") == 0);
	expect(number_of("checked") == 4 && polls == 4 + 1 && poisons == 1);
	expect(number_of("timed") % 10 == 0 && number_of("timed") >= 10);
	expect(number_of("untimed") == 1);
	expect(strstr(output, "\"check_when\":\"rounds\"") != NULL);
	expect(run_with("end", "10") == 0);
	expect(number_of("checked") == 0 && polls == 1);
	expect(run_with("off", "10") == 3);
	expect(number_of("checked") == 0 && polls == 0);
}

static void a_wrong_sample_fails_the_case(void)
{
	const unsigned before = bodies_before_samples("rounds");
	act.wrong_from = act.wrong_until = before + 4;
	expect(run_with("rounds", "8") == 1);
	expect(strstr(output, "wrong result: copy, sample 4: element 131072 is 99") != NULL);
	expect(strstr(output, "\"status\":\"failed\",\"detail\":\"copy, sample 4") != NULL);
	expect(number_of("checked") == 3);
	/* One that is not due. */
	act.wrong_from = act.wrong_until = before + 5;
	expect(run_with("rounds", "8") == 0);
	/* The one extra execution does not see what the samples did. */
	act.wrong_from = before + 1;
	act.wrong_until = before + 8;
	expect(run_with("end", "8") == 0);
}

static void every_execution_is_poisoned_and_checked(void)
{
	const unsigned before = bodies_before_samples("every");
	expect(number_of("timed") == 8 && number_of("checked") == 8);
	expect(poisons == 8 + 1 && polls == 8 + 1);
	expect(strstr(output, "\"flag\":\"soak\"") != NULL);
	expect(strstr(output, "\"validity\":{\"valid\":false") != NULL);
	for (unsigned i = 1; i <= 8; i++) {
		act.wrong_from = act.wrong_until = before + i;
		expect(run_with("every", "8") == 1);
	}
}

static void a_fingerprint_stands_for_what_was_compared(void)
{
	memset(&act, 0, sizeof(act));
	expect(run_with("rounds", "64") == 0);
	expect(number_of("checked") == 7);
	expect(number_of("by_fingerprint") > 0 && number_of("by_fingerprint") < 7);
	const unsigned before = bodies_before_samples("rounds");
	for (unsigned sample = 1; sample <= 64; sample *= 2) {
		act.wrong_from = act.wrong_until = before + sample;
		expect(run_with("rounds", "64") == 1);
	}
}

/* A sum that rounds otherwise, for one. */
static void another_right_result_is_compared(void)
{
	memset(&act, 0, sizeof(act));
	act.alternates = true;
	expect(run_with("every", "16") == 0);
	expect(number_of("checked") == 16 && number_of("by_fingerprint") == 0);
}

/* The number of checks depends on time. A busy machine gets more of it. */
static bool give_more_time(void)
{
	act.sample_ns = act.sample_ns ? 2 * act.sample_ns : 20000000;
	return act.sample_ns < 16 * NS;
}

static void what_is_left_of_the_time_goes_to_more_executions(void)
{
	uint64_t untimed = 0;
	memset(&act, 0, sizeof(act));
	while (untimed < 2 && give_more_time()) {
		expect(run_on("host", "rounds", "30") != 1);
		untimed = number_of("untimed");
		expect(untimed + number_of("checked") == polls && untimed == poisons);
		expect(single_passes == untimed - 1); /* one is as the timed ones */
	}
	expect(untimed > 1);
	expect(run_on("host", "end", "30") != 1);
	expect(number_of("untimed") == 1 && polls == 1);
}

/* As when another process has the core. */
static void a_check_that_is_held_up_stops_no_others(void)
{
	memset(&act, 0, sizeof(act));
	act.sample_ns = NS / 25;
	act.held_up = 3;
	expect(run_on("host", "rounds", "30") != 1);
	expect(number_of("untimed") > 1 && number_of("untimed") < UINT64_MAX);
}

/* Each would count twice the least, which is next to nothing. */
static void a_crowded_machine_is_not_checked_for_long(void)
{
	memset(&act, 0, sizeof(act));
	act.late = 2;
	act.late_ns = NS / 10;
	expect(run_on("host", "rounds", "10") != 1);
	expect(number_of("untimed") > 1 && number_of("untimed") < 15);
}

static void a_case_that_ends_early_is_checked_as_often(void)
{
	memset(&act, 0, sizeof(act));
	act.late = 1;
	act.late_ns = NS / 100;
	expect(run_on("host", "rounds", "6") != 1);
	expect(number_of("untimed") > 1);
}

/* The first comparison of a case is in full, so it waits until the run has the time. */
static void dear_comparisons_are_rare(void)
{
	static const struct axis turns[] = {
		{.name = "turn", .help = "number", .kind = AXIS_COUNT, .quick = "1,2,3,4"}, {0}};
	struct bench four_cases = bench;
	four_cases.axes = turns;
	memset(&act, 0, sizeof(act));
	act.sample_ns = NS / 100;
	act.dear = true;
	comparisons = 0;
	expect(run_of(&four_cases, "host", "rounds", "10") != 1);
	/* That after the samples of each case, and one of the first case's; 8 where each case has
	 * one. */
	expect(comparisons > 4 && comparisons < 8);
}

static void the_record_says_what_checks_find(void)
{
	memset(&act, 0, sizeof(act));
	expect(run_with("rounds", "10") == 0);
	expect(number_of("checked") == 4 && strstr(output, "\"finds_1_in_100\":0.0100") != NULL);
	expect(run_with("every", "8") == 0);
	expect(strstr(output, "\"finds_1_in_100\":0.0864") != NULL); /* 1 - 0.99^9 */
	expect(run_with("off", "10") == 3);
	expect(strstr(output, "\"finds_1_in_100\":0}") != NULL);
}

static void a_wrong_one_of_them_fails_the_case(void)
{
	int code = 0;
	memset(&act, 0, sizeof(act));
	act.wrong_after_them = true;
	while (code != 1 && give_more_time())
		code = run_on("host", "rounds", "30");
	expect(code == 1);
	expect(strstr(output, "wrong result: copy, execution 2 after the samples: element") !=
	       NULL);
}

/* Its time since the machine was started once went to executions of the next case, for hours. */
static void a_case_that_fails_before_its_samples_leaves_no_time(void)
{
	static const struct axis turns[] = {
		{.name = "turn", .help = "number", .kind = AXIS_COUNT, .quick = "1,2"}, {0}};
	struct bench two_cases = bench;
	two_cases.axes = turns;
	memset(&act, 0, sizeof(act));
	act.first_fails = true;
	act.checks = 100000;
	expect(run_of(&two_cases, "host", "rounds", "30") == 1);
	expect(strstr(output, "no first case") != NULL);
	expect(polls > 0 && polls <= act.checks);
}

int main(void)
{
	test(samples_1_2_4_and_8_are_checked_in_virtual_time);
	test(a_wrong_sample_fails_the_case);
	test(every_execution_is_poisoned_and_checked);
	test(a_fingerprint_stands_for_what_was_compared);
	test(another_right_result_is_compared);
	test(what_is_left_of_the_time_goes_to_more_executions);
	test(a_check_that_is_held_up_stops_no_others);
	test(a_crowded_machine_is_not_checked_for_long);
	test(a_case_that_ends_early_is_checked_as_often);
	test(dear_comparisons_are_rare);
	test(the_record_says_what_checks_find);
	test(a_wrong_one_of_them_fails_the_case);
	test(a_case_that_fails_before_its_samples_leaves_no_time);
	return test_done();
}
