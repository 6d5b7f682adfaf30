/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of variants carry their work: their own callbacks and argument, those of the case where they
 * have none, what the device must be able to do, an error that a callback kept. Rows of quantities
 * say what they are. Results that are a pattern are poisoned and checked.
 */
#include "bench/bench_expect.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { BYTES = 1 << 20 };

struct state {
	char *from, *to, *never;
};

static struct {
	int kept;           /* what once() keeps and does not return */
	long once_arg;      /* the last one's */
	uint64_t wrong_run; /* the execution that writes too little */
	uint64_t runs;
	unsigned poisons, checks;
} act;

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const uint32_t *pattern = pattern_words(c);
	s->from = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, BYTES, pattern);
	s->to = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	bench_expect(c, 1u << 0, c->dev, s->to, BYTES, pattern, 0.0f);
	TRY(c->status, bench_variants_skip(c, 1u << 5, "setup refuses it"));
	/* No variant leaves it. */
	return bench_expect(c, 1u << 7, c->dev, s->from, BYTES, NULL, 0.0f);
}

static int copy_once(struct bench_case *c, long arg)
{
	const struct state *s = c->state;
	act.once_arg = arg;
	act.runs++;
	TRY(c->status, act.kept ? err_note(act.kept, "kept") : 0);
	/* Not after an error. */
	TRY(c->status, dev_copy(c->dev, c->stream, s->to, s->from,
				act.runs == act.wrong_run ? BYTES / 2 : BYTES));
	return 0;
}

static int copy_all(struct bench_case *c, long arg, uint64_t iterations)
{
	const struct state *s = c->state;
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_copy(c->dev, c->stream, s->to, s->from, (uint64_t)arg));
	return c->status;
}

static int add_seconds(struct bench_case *c, long arg)
{
	c->self_seconds += 1e-6 * (double)arg;
	return 0;
}

static void model_case(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = (double)arg;
}

static void model_row(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->flops = 7.0 * (double)arg;
}

static int poison_row(struct bench_case *c, long arg)
{
	act.poisons++;
	return 0;
}

static int check_row(struct bench_case *c, long arg)
{
	act.checks++;
	return 0;
}

static const struct bench_variant variants[] = {
	{"expected", BENCH_DEVICE, .arg = BYTES, .once = copy_once},
	{"own", BENCH_DEVICE, .arg = BYTES / 4, .model = model_row, .poison = poison_row,
	 .check = check_row},
	{"self", BENCH_SELF, .arg = 3, .once = add_seconds},
	{"reference", BENCH_DEVICE, .arg = BYTES, .check = check_row, .reference = true},
	{"impossible", BENCH_DEVICE, .arg = BYTES, .needs = DEV_CAP_CARVEOUT},
	{"refused", BENCH_DEVICE, .arg = BYTES},
	{"part", BENCH_DEVICE, .arg = BYTES, .needs = DEV_CAP_CARVEOUT, .always = true},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"over_expected", BENCH_RATIO, NULL, "expected"},
	{"less", BENCH_DIFFERENCE, "own", "self"},
	{"gain", BENCH_SPEEDUP, "own", "expected"},
	{"share", BENCH_SHARE, "expected", "self"},
	{"flops_and_bytes", BENCH_SHARE, "own", "expected"},
	{"given", BENCH_RATE, .unit = "byte/s"},
	{"counted", BENCH_FORMULA, .more_is_better = true},
	{0}};

static const struct bench_metric primary[] = {{"m_bandwidth", "bandwidth", "expected"},
					      {"m_time", "time", "own"},
					      {"m_ratio", "over_expected", "own"},
					      {"m_gain", "gain", "own"},
					      {"m_given", "given", NULL},
					      {"m_counted", "counted", NULL},
					      {0}};

static char output[1 << 18];

static int run_rows(const char *check, const char *list)
{
	const struct bench bench = {.name = "test/rows",
				    .question = "what do rows do?",
				    .formula = "none",
				    .timed = "copies",
				    .variants = variants,
				    .quantities = quantities,
				    .primary = primary,
				    .state_bytes = sizeof(struct state),
				    .setup = setup,
				    .body = copy_all,
				    .model = model_case};
	act.runs = act.poisons = act.checks = 0;
	return run_captured(&bench, output, "--device", "sim", "--format", "json", "--max-samples",
			    "12", "--check", check, list ? "--variant" : NULL, list);
}

static bool has_text(const char *text) { return strstr(output, text) != NULL; }

/* NaN: null. */
static double derived_value(const char *name, const char *variant)
{
	char text[128];
	double value = NAN;
	snprintf(text, sizeof(text), "\"name\":\"%s\",\"variant\":\"%s\"", name, variant);
	const char *at = strstr(output, text);
	if (at && (at = strstr(at, "\"value\":")) != NULL)
		sscanf(at, "\"value\":%lf", &value);
	return value;
}

static void rows_have_their_own_callbacks_and_the_cases(void)
{
	expect(run_rows("end", NULL) == 0);
	expect(act.once_arg == BYTES);
	expect(has_text("\"name\":\"own\"") && has_text("\"flops\":1835008"));
	expect(has_text("\"name\":\"self\"") && has_text("\"median_s\":3.000000000000001"));
	expect(act.poisons == 1 && act.checks == 1); /* those of `own`; a reference has none */
	expect(has_text("\"check\":{\"status\":\"ok\""));
}

static void what_the_device_lacks_is_left_out_with_the_reason(void)
{
	expect(run_rows("end", NULL) == 0);
	expect(has_text("\"not_measured\":\"impossible: the device does not support carveout"));
	expect(has_text("; refused: setup refuses it\""));
	expect(run_rows("end", "impossible") == 77);
	expect(has_text("does not support carveout"));
}

static void an_error_that_was_kept_fails_the_case(void)
{
	act.kept = -EIO;
	expect(run_rows("end", NULL) == 1);
	expect(has_text("\"reason\":\"kept\""));
	act.kept = 0;
}

static void a_result_that_is_expected_is_compared(void)
{
	expect(run_rows("end", "expected") == 0);
	act.wrong_run = act.runs; /* the poisoned one, after the samples */
	expect(run_rows("end", "expected") == 1);
	expect(has_text("wrong result: expected: word 131072 is 0xa5a5a5a5"));
	act.wrong_run = 0;
}

static void quantities_are_what_their_rows_say(void)
{
	expect(run_rows("end", NULL) == 0);
	expect(has_text("\"name\":\"over_expected\",\"variant\":\"own\""));
	expect(has_text("\"name\":\"over_expected\",\"variant\":\"self\""));
	expect(!has_text("\"name\":\"over_expected\",\"variant\":\"expected\""));
	expect(!has_text("\"name\":\"over_expected\",\"variant\":\"reference\""));
	expect(has_text("\"name\":\"less\",\"variant\":\"own\"") &&
	       has_text("seconds - seconds(self)"));
	expect(has_text("\"name\":\"gain\",\"variant\":\"own\"") &&
	       has_text("seconds(expected) / seconds"));
	expect(!has_text("\"name\":\"given\""));
	/* `self` takes 3 us for 3 bytes. */
	expect(fabs(derived_value("share", "expected") / derived_value("bandwidth", "expected") -
		    1e-6) < 1e-9);
	expect(has_text("rate / rate(self)"));
	expect(isnan(derived_value("flops_and_bytes", "own")));
	expect(has_text(
		"\"where\":{},\"unit\":\"byte/s\",\"better\":\"higher\"},{\"metric\":\"m_time\""));
	expect(has_text("\"unit\":\"s\",\"better\":\"lower\"},{\"metric\":\"m_ratio\""));
	expect(has_text("\"unit\":\"\",\"better\":\"lower\"},{\"metric\":\"m_gain\""));
	expect(has_text("\"unit\":\"\",\"better\":\"higher\"},{\"metric\":\"m_given\""));
	expect(has_text("\"unit\":\"byte/s\",\"better\":\"higher\"},{\"metric\":\"m_counted\""));
	expect(has_text("\"unit\":\"\",\"better\":\"higher\"}]"));
}

int main(void)
{
	test(rows_have_their_own_callbacks_and_the_cases);
	test(what_the_device_lacks_is_left_out_with_the_reason);
	test(an_error_that_was_kept_fails_the_case);
	test(a_result_that_is_expected_is_compared);
	test(quantities_are_what_their_rows_say);
	return test_done();
}
