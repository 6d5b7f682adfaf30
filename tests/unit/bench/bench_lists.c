/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statements of a case about itself are in its record, however many: flags, mechanisms, derived
 * quantities and facts. The case fails if there is no memory for one.
 */
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <stdint.h>

#define MANY 1000u

static char output[1 << 20];

/* The exit code of a benchmark that derives this. */
static int run_deriving(int (*derive)(struct bench_case *c))
{
	static struct bench bench = {.name = "test/lists",
				     .question = "is all of it recorded?",
				     .formula = "none",
				     .timed = "nothing"};
	bench.derive = derive;
	return run_captured(&bench, output, "--device", "sim", "--format", "json");
}

/* Number of the words PREFIX 0 SUFFIX, PREFIX 1 SUFFIX, ... in the output. */
static unsigned count_words(const char *prefix, const char *suffix)
{
	char word[64];
	unsigned found = 0;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(word, sizeof(word), "%s%u%s", prefix, i, suffix);
		found += strstr(output, word) != NULL;
	}
	return found;
}

static int derive_much(struct bench_case *c)
{
	char name[32];
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "quantity%u", i);
		bench_value(c, name, -1, i, "", "its number");
		snprintf(name, sizeof(name), "fact%u", i);
		bench_fact_number(c, name, i);
		snprintf(name, sizeof(name), "text%u", i);
		bench_fact_text(c, name, name);
		snprintf(name, sizeof(name), "mechanism%u", i);
		bench_mechanism(c, name, false, "never");
		bench_flag(c, "test", "reason%u", i);
	}
	return 0;
}

static void nothing_is_left_out(void)
{
	expect(run_deriving(derive_much) == 3);
	expect(count_words("\"name\":\"quantity", "\"") == MANY);
	expect(count_words("\"fact", "\":") == MANY);
	expect(count_words("\":\"text", "\"") == MANY);
	expect(count_words("\"name\":\"mechanism", "\"") == MANY);
	expect(count_words("\"reason\":\"mechanism", ": never\"") == MANY);
	expect(count_words("\"reason\":\"reason", "\"") == MANY);
}

/* An alias is copied from the list that it is added to, which moves when it grows. */
static int derive_aliases(struct bench_case *c)
{
	char alias[32];
	bench_value(c, "quantity", -1, 0.5, "byte/s", "a half");
	bench_bound(c, "quantity", -1, 2.0, "two");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(alias, sizeof(alias), "alias%u", i);
		bench_alias(c, "quantity", -1, alias, "a half");
	}
	return 0;
}

static void aliases_are_copies(void)
{
	unsigned bounds = 0;
	expect(run_deriving(derive_aliases) == 0);
	expect(count_words("\"name\":\"alias", "\",\"variant\":null,\"value\":0.5,") == MANY);
	for (const char *at = output; (at = strstr(at, "\"bound_name\":\"two\"")); at++)
		bounds++;
	expect(bounds == MANY + 1);
}

/* Two of eight values are not finite: the statistic is of six, and its interval is their range. */
static int derive_samples(struct bench_case *c)
{
	static const double x[] = {3, INFINITY, 1, 2, NAN, 4, 6, 5};
	bench_model_value(c, "modelled", -1, 2.0, "", "a formula");
	bench_flag(c, "test", "everything measured is invalid");
	return bench_derive_samples(c, "measured", -1, "s", 0, x, sizeof(x) / sizeof(x[0]), "them");
}

static void statistics_say_of_how_many_values(void)
{
	expect(run_deriving(derive_samples) == 3);
	expect(strstr(output,
		      "\"name\":\"measured\",\"variant\":null,\"value\":3.5,\"ci_low\":1,"
		      "\"ci_high\":6,\"rounds\":6,\"observations\":[3,1,2,4,6,5],\"modelled\":"
		      "false"));
}

static void models_are_no_measurements(void)
{
	expect(run_deriving(derive_samples) == 3);
	expect(strstr(output, "\"name\":\"modelled\",\"variant\":null,\"value\":2,\"ci_low\":null,"
			      "\"ci_high\":null,\"rounds\":null,\"observations\":null,\"modelled\":"
			      "true,\"unit\":\"\",\"kind\":\"model\",\"of\":[],"
			      "\"formula\":\"a formula\",\"bound\":null,\"bound_name\":null,"
			      "\"share\":null,\"valid\":true"));
	expect(strstr(output, "\"formula\":\"them\",\"bound\":null,\"bound_name\":null,"
			      "\"share\":null,\"valid\":false"));
}

/* A flag of one value leaves the others valid; the value's alias is that value. */
static int derive_flagged(struct bench_case *c)
{
	bench_value(c, "doubtful", -1, 3.0, "", "itself");
	bench_value(c, "good", -1, 2.0, "", "itself");
	bench_flag_value(c, "doubtful", -1, "above_bound", "3 is above 2");
	bench_flag_value(c, "absent", -1, "above_bound", "never said");
	bench_alias(c, "doubtful", -1, "alias", "the same");
	bench_no_value(c, "missing", -1, &(struct bench_quantity){BENCH_VALUE}, "itself",
		       "nothing to divide by");
	return 0;
}

static void one_value_can_be_flagged(void)
{
	expect(run_deriving(derive_flagged) == 0);
	expect(strstr(output, "\"formula\":\"itself\",\"bound\":null,\"bound_name\":null,"
			      "\"share\":null,\"valid\":false},{\"name\":\"good\""));
	expect(strstr(output, "\"share\":null,\"valid\":true},{\"name\":\"alias\""));
	expect(strstr(output, "\"formula\":\"the same\",\"bound\":null,\"bound_name\":null,"
			      "\"share\":null,\"valid\":false}"));
	expect(strstr(output, "{\"flag\":\"above_bound\",\"variant\":null,"
			      "\"quantity\":\"doubtful\",\"reason\":\"3 is above 2\"}"));
	expect(!strstr(output, "never said"));
}

static void a_missing_value_has_a_reason(void)
{
	expect(run_deriving(derive_flagged) == 0);
	expect(strstr(output, "\"name\":\"missing\",\"variant\":null,\"value\":null"));
	expect(strstr(output,
		      "\"share\":null,\"valid\":false,\"reason\":\"nothing to divide by\""));
}

/* A list that is too large to grow, for one call. */
#define WITHOUT_MEMORY(list, prefix, call)                                                         \
	do {                                                                                       \
		size_t count = (list)->prefix##count;                                              \
		size_t capacity = (list)->prefix##capacity;                                        \
		(list)->prefix##count = SIZE_MAX / 2;                                              \
		(list)->prefix##capacity = SIZE_MAX / 2;                                           \
		call;                                                                              \
		(list)->prefix##count = count;                                                     \
		(list)->prefix##capacity = capacity;                                               \
	} while (0)

static int derive_flag(struct bench_case *c)
{
	WITHOUT_MEMORY(c->run->notes, flag_, bench_flag(c, "test", "lost"));
	return 0;
}

static int derive_mechanism(struct bench_case *c)
{
	WITHOUT_MEMORY(c->run->notes, mechanism_, bench_mechanism(c, "test", false, "lost"));
	return 0;
}

static int derive_value(struct bench_case *c)
{
	WITHOUT_MEMORY(c->run->quantities, , bench_value(c, "test", -1, 1.0, "", "lost"));
	return 0;
}

static int derive_fact(struct bench_case *c)
{
	WITHOUT_MEMORY(c->run->notes, fact_, bench_fact_text(c, "test", "lost"));
	return 0;
}

#define LONG_TEXT 480

static const char *long_text(void)
{
	static char words[LONG_TEXT + 1];
	memset(words, 'x', LONG_TEXT);
	return words;
}

static int derive_long_texts(struct bench_case *c)
{
	const struct bench_quantity ratio = {.kind = BENCH_RATIO};
	bench_flag(c, "test", "%s END OF FLAG", long_text());
	bench_mechanism(c, "test", true, "%s END OF MECHANISM", long_text());
	bench_fact_format(c, "test", "%s%s%s END OF FACT", long_text(), long_text(), long_text());
	bench_no_value(c, "test", -1, &ratio, "none", long_text());
	return 0;
}

static int derive_long_error(struct bench_case *c)
{
	return err_note(-EIO, "%s END OF ERROR", long_text());
}

static void texts_are_whole(void)
{
	static const char *const ends[] = {"x END OF FLAG", "x END OF MECHANISM", "x END OF FACT"};
	char value[LONG_TEXT + 40];
	expect(run_deriving(derive_long_texts) == 3);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		expect(strstr(output, ends[i]) != NULL);
	snprintf(value, sizeof(value), "\"reason\":\"%s\"", long_text());
	expect(strstr(output, value) != NULL);
	expect(run_deriving(derive_long_error) == 1);
	expect(strstr(output, "x END OF ERROR") != NULL);
}

static int derive_too_long(struct bench_case *c)
{
	char text[3 * LONG_TEXT];
	snprintf(text, sizeof(text), "%s%s", long_text(), long_text());
	bench_flag(c, "test", "%s%s", text, text);
	return err_note(-EIO, "%s%s", text, text);
}

static void what_is_cut_says_so(void)
{
	expect(run_deriving(derive_too_long) == 1);
	const char *flag = strstr(output, "\"flag\":\"test\"");
	const char *error = strstr(output, "\"status\":\"failed\"");
	require(flag && error);
	expect(strstr(flag, "xxx...\"") != NULL && strstr(error, "xxx...\"") != NULL);
}

static void what_is_lost_fails_the_case(void)
{
	static const struct {
		int (*derive)(struct bench_case *c);
		const char *reason;
	} losses[] = {{derive_flag, "flag test: out of memory"},
		      {derive_mechanism, "mechanism test: out of memory"},
		      {derive_value, "derive test: out of memory"},
		      {derive_fact, "fact test: out of memory"}};
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		char reason[80];
		snprintf(reason, sizeof(reason), "\"cause\":\"out_of_memory\",\"reason\":\"%s\"",
			 losses[i].reason);
		expect(run_deriving(losses[i].derive) == 1);
		expect(strstr(output, reason) != NULL);
	}
}

int main(void)
{
	test(nothing_is_left_out);
	test(aliases_are_copies);
	test(statistics_say_of_how_many_values);
	test(models_are_no_measurements);
	test(one_value_can_be_flagged);
	test(a_missing_value_has_a_reason);
	test(texts_are_whole);
	test(what_is_cut_says_so);
	test(what_is_lost_fails_the_case);
	return test_done();
}
