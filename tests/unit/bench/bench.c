/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness on the simulated device, whose truth is known: what it measures, what it flags, how
 * it ends.
 */
#include "bench/bench.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/stats.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behaviour of the callbacks; set by each test. */
static struct {
	int setup, body, check;
	bool observed, second_observed, noisy, above_bound, interrupt, narrow;
	unsigned off, queue_entries;
	int calls[2];
} act;

struct state {
	void *from, *to;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	if (act.setup)
		return err_note(act.setup, "the set-up does not want to");
	for (unsigned v = 0; v < 2; v++)
		if (act.off >> v & 1)
			bench_variant_off(c, v);
	if (act.queue_entries)
		bench_queue_entries(c, 1, act.queue_entries);
	int status = dev_alloc(c->dev, DEV_MEM_DEVICE, axis_u64(c, "size"), &s->from);
	return status ? status : dev_alloc(c->dev, DEV_MEM_DEVICE, axis_u64(c, "size"), &s->to);
}

static int copy_often(struct bench_case *c, long copies, uint64_t iterations)
{
	struct state *s = c->state;
	act.calls[copies - 1]++;
	if (act.interrupt)
		raise(SIGINT);
	if (act.body)
		return err_note(act.body, "the body broke");
	uint64_t bytes = axis_u64(c, "size");
	if (act.noisy)
		bytes = bytes / 256 * (1 + rng_below(&c->rng, 255));
	for (uint64_t i = 0; i < iterations * (uint64_t)copies; i++)
		TRY(c->status, dev_copy(c->dev, c->stream, s->to, s->from, bytes));
	return c->status;
}

static void model(const struct bench_case *c, long copies, struct bench_model *m)
{
	m->bytes = (double)axis_u64(c, "size") * (double)copies;
}

static int check(struct bench_case *c, long copies)
{
	return act.check ? bench_wrong("copy %ld holds nonsense", copies) : 0;
}

static int verify_mechanism(struct bench_case *c)
{
	bench_mechanism(c, "magic", act.observed, "was %sseen", act.observed ? "" : "not ");
	bench_mechanism_of(c, 1u << 1, "second magic", act.second_observed, "was %sseen",
			   act.second_observed ? "" : "not ");
	return 0;
}

/* The argument is a factor. */
static double scaled_time(const struct bench_round *r)
{
	return *(const double *)r->arg * r->seconds[r->variant];
}

static int derive(struct bench_case *c)
{
	static const double factors[2] = {3.0, 5.0};
	struct bench_quantity scaled = {BENCH_FORMULA, .unit = "s", .f = scaled_time};
	int status = 0;
	if (act.above_bound)
		bench_bound(c, "bandwidth", 0, 1.0, "one byte a second");
	for (unsigned v = 0; status == 0 && v < 2; v++) {
		scaled.of[0] = BENCH_OF(v);
		scaled.arg = &factors[v];
		status = bench_derive(c, "scaled", (int)v, &scaled, "factor * time");
	}
	return status ? status : bench_ratio(c, "double", 1, 0, "two copies / one");
}

static void teardown(struct bench_case *c)
{
	struct state *s = c->state;
	dev_free(c->dev, s->from);
	dev_free(c->dev, s->to);
}

static const struct axis axes[] = {{.name = "size",
				    .help = "bytes",
				    .kind = AXIS_SIZE,
				    .min = 256,
				    .multiple = 256,
				    .quick = "64K,1M"},
				   {0}};
static const struct bench_variant variants[] = {
	{"one", BENCH_DEVICE, .arg = 1}, {"two", BENCH_DEVICE, .arg = 2, .queued = 2}, {0}};

static const struct bench bench = {
	.name = "test/copies",
	.question = "does the harness work?",
	.formula = "bytes / time",
	.timed = "copies",
	.axes = axes,
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = copy_often,
	.model = model,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

static char output[1 << 20];

#define RUN(...)                                                                                   \
	(act.calls[0] = act.calls[1] = 0,                                                          \
	 run_captured(&bench, output, "--device", "sim", __VA_ARGS__))

static void reset_case(void)
{
	memset(&act, 0, sizeof(act));
	act.observed = act.second_observed = true;
}

static unsigned count_in_output(const char *needle)
{
	unsigned found = 0;
	for (const char *at = output; (at = strstr(at, needle)); at++)
		found++;
	return found;
}

static double number_after(const char *needle, const char *key)
{
	const char *at = strstr(output, needle);
	at = at ? strstr(at, key) : NULL;
	return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void records_match_the_model(void)
{
	reset_case();
	expect(RUN("--format", "json") == 0);
	expect(count_in_output("\"kind\":\"run\"") == 1 &&
	       count_in_output("\"kind\":\"case\"") == 2 &&
	       count_in_output("\"kind\":\"end\"") == 1);
	expect_near(number_after("\"name\":\"double\"", "\"value\":"), 2.0, 0.02);
	expect(count_in_output("\"valid\":true,\"flags\":[]") == 2);
	expect(count_in_output("\"status\":\"ok\",\"detail\"") == 2);
}

static void formulas_know_their_variant_and_argument(void)
{
	reset_case();
	expect(RUN("--format", "json", "--size", "64K") == 0);
	double one = number_after("\"name\":\"time\",\"variant\":\"one\"", "\"value\":");
	double two = number_after("\"name\":\"time\",\"variant\":\"two\"", "\"value\":");
	expect_near(number_after("\"name\":\"scaled\",\"variant\":\"one\"", "\"value\":"),
		    3.0 * one, 1e-12 * one);
	expect_near(number_after("\"name\":\"scaled\",\"variant\":\"two\"", "\"value\":"),
		    5.0 * two, 1e-12 * two);
}

static void same_seed_same_bytes(void)
{
	static char first[sizeof(output)];
	reset_case();
	expect(RUN("--format", "json", "--seed", "5") == 0);
	memcpy(first, output, sizeof(first));
	expect(RUN("--format", "json", "--seed", "5") == 0);
	/* The run record differs: it has the machine's present state. */
	expect_str(strchr(output, '\n'), strchr(first, '\n'));
	expect(RUN("--format", "json", "--seed", "6") == 0);
	expect(strcmp(strchr(output, '\n'), strchr(first, '\n')) != 0);
}

static void wrong_result_is_1(void)
{
	reset_case();
	act.check = 1;
	expect(RUN("--format", "json", "--check", "end") == 1);
	expect(count_in_output("wrong result: one: copy 1 holds nonsense") == 2);
	expect(count_in_output("\"status\":\"failed\",\"cause\":\"wrong_result\"") == 2);
	expect(count_in_output("\"derived\":[]") == 2);
	expect(RUN("--format", "json", "--check", "off") == 3);
	expect(count_in_output("\"flag\":\"unverified\"") == 2);
}

static void failures_and_skips(void)
{
	reset_case();
	act.body = -EIO;
	expect(RUN("--format", "json") == 1);
	expect(count_in_output("\"cause\":\"error\",\"reason\":\"the body broke\"") == 2);
	reset_case();
	act.body = -ENOMEM;
	expect(RUN("--format", "json") == 1);
	expect(count_in_output("\"status\":\"failed\",\"cause\":\"out_of_memory\"") == 2);
	reset_case();
	act.setup = -ENOTSUP;
	expect(RUN("--format", "json") == 77);
	expect(count_in_output("\"status\":\"skipped\",\"cause\":\"not_supported\",\"reason\":"
			       "\"the set-up does not want to\"") == 2);
	act.setup = -ENOMEM;
	expect(RUN("--format", "json") == 77);
	expect(count_in_output("\"status\":\"skipped\",\"cause\":\"out_of_memory\"") == 2);
	act.setup = -EFAULT;
	expect(RUN("--format", "json") == 1);
	expect(count_in_output("\"status\":\"failed\",\"cause\":\"error\"") == 2);
}

static void invalid_is_3(void)
{
	reset_case();
	act.observed = false;
	expect(RUN("--format", "json") == 3);
	expect(count_in_output("\"flag\":\"mechanism\"") == 2 &&
	       count_in_output("\"status\":\"invalid\"") == 1);
	reset_case();
	act.second_observed = false;
	expect(RUN("--format", "json") == 0);
	expect(count_in_output("\"flag\":\"mechanism\",\"variant\":\"two\"") == 2 &&
	       count_in_output("\"flag\":\"mechanism\"") == 2);
	reset_case();
	expect(RUN("--format", "json", "--device", "host", "--size", "64K", "--min-samples", "5",
		   "--max-samples", "5") == 3);
	expect(count_in_output("\"flag\":\"few_samples\"") == 2);
	reset_case();
	act.above_bound = true;
	expect(RUN("--format", "json") == 0);
	expect(count_in_output("\"flag\":\"above_bound\",\"variant\":\"one\"") == 2);
}

/* A noisy value stays valid with its interval, and so do quantities derived from it. */
static void noisy_is_a_grade(void)
{
	reset_case();
	act.noisy = true;
	expect(RUN("--format", "json", "--max-samples", "12", "--size", "1M") == 0);
	expect(count_in_output("\"flag\":\"noisy\"") > 0);
	expect(count_in_output("\"validity\":{\"valid\":true") == 1);
	expect(count_in_output("\"valid\":false") == 0);
	expect(count_in_output("\"name\":\"double\"") == 1 &&
	       count_in_output("\"valid\":true,\"grades\":[\"noisy\"]") >= 3);
	reset_case();
	act.noisy = true;
	expect(RUN("--max-samples", "12", "--size", "1M") == 0);
	expect(count_in_output("  noisy\n") > 0 && count_in_output(" ~ ") > 0);
	expect(count_in_output("\n  noisy ") == 0 && count_in_output("invalid") == 0);
	reset_case();
	act.noisy = true;
	expect(RUN("-v", "--max-samples", "12", "--size", "1M") == 0);
	expect(count_in_output("\n  noisy ") > 0 && count_in_output("invalid") == 0);
	reset_case();
	expect(RUN("--format", "json", "--size", "1M") == 0);
	expect(count_in_output("grades") == 0);
}

static void samples_and_warm_up_can_be_counted(void)
{
	reset_case();
	expect(RUN("--format", "json", "--size", "64K", "--min-samples", "1", "--max-samples", "1",
		   "--warm-up", "0") == 0);
	expect(count_in_output("\"n\":1,") == 2);
	int without = act.calls[0];
	reset_case();
	expect(RUN("--format", "json", "--size", "64K", "--min-samples", "1", "--max-samples", "1",
		   "--warm-up", "7") == 0);
	expect(act.calls[0] == without + 7 * 2); /* each has an untimed one in front */
}

/* Copies of very different sizes, one per sample: no goal is met, and samples are short. */
static void never_converge(void)
{
	reset_case();
	act.noisy = true;
	act.queue_entries = 5000;
}

static void the_record_says_why_a_case_stopped(void)
{
	reset_case();
	expect(RUN("--format", "json", "--size", "64K") == 0);
	expect(count_in_output("\"stopped\":\"goal\"") == 1);
	never_converge();
	RUN("--format", "json", "--size", "64K", "--device", "host", "--budget", "1us");
	expect(count_in_output("\"stopped\":\"time\"") == 1);
	never_converge();
	RUN("--format", "json", "--size", "1M", "--budget", "1h");
	expect(count_in_output("\"stopped\":\"max_samples\"") == 1 &&
	       count_in_output("\"n\":200,") == 2);
	never_converge();
	RUN("-v", "--size", "1M", "--max-samples", "20");
	expect(count_in_output("goal of 1 % not met after 20 samples: the maximum is reached "
			       "(--max-samples)") == 1);
	act.setup = -ENOTSUP;
	RUN("--format", "json", "--size", "1M");
	expect(count_in_output("\"stopped\":null") == 1);
}

/* At most 200 samples are taken, whatever the budget. */
static void samples_follow_the_budget(void)
{
	never_converge();
	RUN("--format", "json", "--size", "64K", "--device", "host", "--variant", "two", "--budget",
	    "10s", "--goal", "0.0001");
	expect(count_in_output("\"stopped\":\"goal\"") == 0);
	expect(number_after("\"name\":\"two\"", "\"n\":") > 200);
}

static void a_record_keeps_a_thousand_samples(void)
{
	static const char text[] = "\"round\":[0,";
	never_converge();
	RUN("--format", "json", "--size", "64K", "--min-samples", "2500", "--budget", "1s");
	expect(count_in_output("\"max_samples\":2500") == 1 && count_in_output("\"n\":2500,") == 2);
	const char *at = strstr(output, text);
	require(at != NULL);
	unsigned kept = 1, round = 0, last = 0;
	for (at += sizeof(text) - 1; sscanf(at, "%u", &round) == 1; at += strcspn(at, ",]") + 1) {
		kept++;
		expect(round == last + 3);
		last = round;
		if (at[strcspn(at, ",]")] == ']')
			break;
	}
	expect(kept == 834 && last == 2499);
}

static void variants_can_be_chosen(void)
{
	reset_case();
	expect(RUN("--format", "json", "--variant", "two") == 0);
	expect(act.calls[0] == 0 && act.calls[1] > 0);
	expect(count_in_output("\"name\":\"double\"") == 0);
	reset_case();
	act.off = 2;
	expect(RUN("--format", "json") == 0);
	expect(act.calls[1] == 0);
}

/* A stream of the simulated device holds 1024 operations, of which the harness reserves 8, and an
 * iteration runs before each sample. */
static void queue_entries_limit_iterations(void)
{
	reset_case();
	expect(RUN("--format", "json", "--size", "256", "--budget", "10s") == 0);
	double plain = number_after("\"name\":\"two\"", "\"iterations\":");
	expect(plain > 5 && plain <= 1016 / 2);
	act.queue_entries = 200;
	expect(RUN("--format", "json", "--size", "256", "--budget", "10s") == 0);
	expect(number_after("\"name\":\"one\"", "\"iterations\":") > 5);
	expect_near(number_after("\"name\":\"two\"", "\"iterations\":"), 1016 / 200 - 1, 0);
	act.queue_entries = 5000;
	expect(RUN("--format", "json", "--size", "256", "--budget", "10s") == 0);
	expect_near(number_after("\"name\":\"two\"", "\"iterations\":"), 1, 0);
}

/* A path with the process id: another build of this test may run at the same time. */
static const char *own_path(const char *what)
{
	static char path[64];
	snprintf(path, sizeof(path), "/tmp/gpusig-%s-%ld", what, (long)getpid());
	return path;
}

static void interrupt_leaves_an_end(void)
{
	reset_case();
	const char *path = own_path("interrupted");
	act.interrupt = true;
	/* The harness raises the signal again at its end; here it must not kill the test. */
	pid_t child = fork();
	if (child == 0) {
		RUN("--format", "json", "--out", path);
		_exit(0);
	}
	int status = 0;
	expect(waitpid(child, &status, 0) == child);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	FILE *file = fopen(path, "r");
	require(file != NULL);
	size_t length = fread(output, 1, sizeof(output) - 1, file);
	output[length] = '\0';
	fclose(file);
	unlink(path);
	expect(count_in_output("\"status\":\"interrupted\"") == 1);
	expect(length > 0 && output[length - 1] == '\n');
}

static void done_cases_are_not_repeated(void)
{
	reset_case();
	const char *path = own_path("done");
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs("size=65536\n", file);
	fclose(file);
	expect(RUN("--format", "json", "--done", path) == 0);
	expect(count_in_output("\"kind\":\"case\"") == 1 &&
	       count_in_output("\"already_done\":1") == 1);
	unlink(path);
	expect(RUN("--done", "/dev/null/none") == 2);
}

static void budget_ends_the_run(void)
{
	reset_case();
	expect(RUN("--format", "json", "--size", "4K:256K:+4K", "--budget", "1ms") == 0);
	expect(number_after("\"kind\":\"end\"", "\"out_of_budget\":") > 20);
	expect(number_after("\"kind\":\"end\"", "\"ok\":") >= 1);
}

static void options_are_strict(void)
{
	static const char *const bad[][3] = {
		{"--bogus", NULL},      {"bogus", NULL},       {"--budget", NULL},
		{"--budget", "x"},      {"--size", "1Q"},      {"--size", "300"},
		{"--variant", "three"}, {"--variant", ""},     {"--seed", "-1"},
		{"--format", "xml"},    {"--check", "maybe"},  {"--full=1", NULL},
		{"--goal", "0"},        {"--device", "warp9"}, {"--device", ""},
		{"--min-samples", "0"}, {"--warm-up", "-1"},   {"--max-samples", "9"},
		{"-x", NULL},           {"--size", "4K,"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int code = RUN(bad[i][0], bad[i][1]);
		if (code != 2)
			printf("# %s %s ended with %d\n", bad[i][0], bad[i][1] ? bad[i][1] : "",
			       code);
		expect(code == 2);
		expect_str(output, "");
	}
}

int main(void)
{
	test(records_match_the_model);
	test(formulas_know_their_variant_and_argument);
	test(same_seed_same_bytes);
	test(wrong_result_is_1);
	test(failures_and_skips);
	test(invalid_is_3);
	test(noisy_is_a_grade);
	test(samples_and_warm_up_can_be_counted);
	test(the_record_says_why_a_case_stopped);
	test(samples_follow_the_budget);
	test(a_record_keeps_a_thousand_samples);
	test(variants_can_be_chosen);
	test(queue_entries_limit_iterations);
	test(interrupt_leaves_an_end);
	test(done_cases_are_not_repeated);
	test(budget_ends_the_run);
	test(options_are_strict);
	return test_done();
}
