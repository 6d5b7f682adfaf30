/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output for people: nothing that is wrong is left out, lines end within 80 columns, and columns
 * line up whatever their contents.
 */
#include "bench/out.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { BRIEF, LENGTHY, VARIANTS };

static const char lengthy[] = "a-variant-whose-name-is-longer-than-any-table-has-space-for";

/* Behaviour of the callbacks; set by each test. */
static struct {
	bool observed, skipped, flagged;
	double seconds[VARIANTS];
} act;

static int setup(struct bench_case *c)
{
	return act.skipped ? err_note(-ENOTSUP, "not on this device") : 0;
}

static int add_seconds(struct bench_case *c, long which)
{
	c->self_seconds += act.seconds[which];
	return 0;
}

static void model_bytes(const struct bench_case *c, long which, struct bench_model *m)
{
	m->bytes = 1e6;
}

static void model_flops(const struct bench_case *c, long which, struct bench_model *m)
{
	m->flops = 1e9;
}

static int verify_mechanism(struct bench_case *c)
{
	bench_mechanism_of(c, 1u << LENGTHY, "magic", act.observed, "42 of 43");
	bench_mechanism(c, "other magic", true, "43 of 43");
	return 0;
}

static int derive(struct bench_case *c)
{
	static const double none[] = {NAN};
	bench_fact_text(c, "plain", "a fact");
	bench_fact_text(c, "not_measured", "others: no time");
	const struct bench_quantity gain = {BENCH_RATIO,
					    .of = {BENCH_OF(LENGTHY), BENCH_OF(BRIEF)}};
	bench_no_value(c, "gain", LENGTHY, &gain, "a / b", "b is within noise of 0");
	bench_value(c, "blocks", -1, 8.0, "", "counted");
	bench_bound(c, "bandwidth", BRIEF, 1e12, "all there is");
	int status = bench_ratio(c, "ratio", LENGTHY, BRIEF, "b / a");
	if (act.flagged)
		bench_flag_value(c, "ratio", LENGTHY, "odd", "this number is odd");
	return status ? status
		      : bench_derive_samples(c, "empty", BRIEF, "s", 1u << BRIEF, none, 1, "none");
}

static const struct bench_variant variants[] = {
	[BRIEF] = {"brief", BENCH_SELF, .arg = BRIEF, .model = model_bytes},
	[LENGTHY] = {lengthy, BENCH_SELF, .arg = LENGTHY, .model = model_flops},
	{0}};

static const struct bench bench = {
	.name = "test/table",
	.question = "how does a table look of which every part is about as long as it can be, or "
		    "longer?",
	.formula = "gain = a / b",
	.timed = "nothing",
	.variants = variants,
	.setup = setup,
	.once = add_seconds,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

static char output[1 << 16];

static int print_table(const char *verbose)
{
	return run_captured(&bench, output, "--device", "sim:quiet", "--min-samples", "8",
			    "--max-samples", "8", "--warm-up", "0", verbose);
}

static void set_up(void)
{
	memset(&act, 0, sizeof(act));
	act.observed = true;
	act.seconds[BRIEF] = 850e-6;
	act.seconds[LENGTHY] = 1.7e-3;
}

static bool has_text(const char *text) { return strstr(output, text) != NULL; }

/* The same wherever the lines end: one blank between words. */
static bool has_words(const char *text)
{
	static char words[sizeof(output)];
	size_t used = 0;
	for (size_t i = 0; output[i]; i++) {
		bool blank = output[i] == ' ' || output[i] == '\n';
		if (!blank)
			words[used++] = output[i];
		else if (used && words[used - 1] != ' ')
			words[used++] = ' ';
	}
	words[used] = '\0';
	return strstr(words, text) != NULL;
}

static void no_line_is_too_long(const char *text)
{
	for (const char *line = text; *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
		expect(strcspn(line, "\n") <= OUT_COLUMNS);
}

static void a_row_has_all_of_its_variant(void)
{
	set_up();
	expect(print_table(NULL) == 0);
	expect(has_text("\n  brief"));
	expect(has_text(" 850.0 us   0.0     8  1.176 GB/s"));
	expect(has_text(" 1.700 ms   0.0     8              588.2 GFLOP/s"));
	expect(has_text("# share = bandwidth / all there is\n"));
	expect(has_text(" 8                      blocks\n"));
	expect(has_text(" 2.000 [2.000, 2.000]       ratio\n"));
	no_line_is_too_long(output);
}

static void a_long_name_has_its_own_line(void)
{
	char line[100];
	set_up();
	expect(print_table(NULL) == 0);
	snprintf(line, sizeof(line), "\n  %s\n", lengthy);
	expect(has_text(line));
	const char *one = strstr(output, "850.0 us"), *other = strstr(output, "1.700 ms");
	require(one && other);
	while (one > output && one[-1] != '\n' && other[-1] != '\n')
		one--, other--;
	expect(one[-1] == '\n' && other[-1] == '\n');
}

static void what_is_left_out_is_said(void)
{
	set_up();
	expect(print_table(NULL) == 0);
	expect(!has_text("a fact") && !has_text("other magic"));
	expect(has_text("\n# -v also shows "));
	expect(print_table("-v") == 0);
	expect(has_text("a fact") && has_text("other magic: observed (43 of 43)"));
	expect(!has_text("\n# -v also shows "));
	no_line_is_too_long(output);
	expect(print_table("--verbose") == 0 && has_text("a fact"));
}

static void what_is_wrong_is_never_left_out(void)
{
	set_up();
	act.observed = false;
	act.flagged = true;
	expect(print_table(NULL) == 0);
	expect(has_words("mechanism magic: NOT OBSERVED (42 of 43)"));
	expect(has_words("INVALID"));
	expect(has_words("invalid, mechanism "));
	expect(has_words("invalid, odd ratio of "));
	expect(has_words("this number is odd"));
	expect(has_words("no value, gain of "));
	expect(has_words("b is within noise of 0"));
	expect(has_words("no value, empty of brief: no round gave a finite value"));
	expect(has_words("others: no time"));
	expect(has_text(" 2.000 [2.000, 2.000] !"));
	no_line_is_too_long(output);
}

static void a_skipped_case_has_its_reason(void)
{
	set_up();
	act.skipped = true;
	expect(print_table(NULL) == 77);
	expect(has_text("(one case): skipped: not on this device\n"));
}

int main(void)
{
	test(a_row_has_all_of_its_variant);
	test(a_long_name_has_its_own_line);
	test(what_is_left_out_is_said);
	test(what_is_wrong_is_never_left_out);
	test(a_skipped_case_has_its_reason);
	return test_done();
}
