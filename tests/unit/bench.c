/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness on the simulated device, whose truth is known: what it measures, what it flags, how it ends.
 */
#include "device/kernels.h"
#include "lib/bench.h"
#include "lib/err.h"
#include "lib/stats.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the callbacks shall do; set by each test. */
static struct {
	int setup, body, check;
	bool realised, second_realised, noisy, above_bound, interrupt, narrow;
	unsigned off;
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
	int status = dev_alloc(c->dev, DEV_MEM_DEVICE, bench_number(c, "size"), &s->from);
	return status ? status : dev_alloc(c->dev, DEV_MEM_DEVICE, bench_number(c, "size"), &s->to);
}

/* Variant 1 is two copies where variant 0 is one. */
static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = c->state;
	act.calls[variant]++;
	if (act.interrupt)
		raise(SIGINT);
	if (act.body)
		return err_note(act.body, "the body broke");
	uint64_t bytes = bench_number(c, "size");
	if (act.noisy)
		bytes = bytes / 256 * (1 + rng_below(&c->rng, 255));
	for (uint64_t i = 0; i < iterations * (variant + 1); i++) {
		int status = dev_copy(c->dev, c->stream, s->to, s->from, bytes);
		if (status)
			return status;
	}
	return 0;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	m->bytes = (double)bench_number(c, "size") * (variant + 1);
}

static int check(struct bench_case *c, unsigned variant)
{
	(void)c;
	return act.check ? bench_wrong("variant %u holds nonsense", variant) : 0;
}

static int prove(struct bench_case *c)
{
	bench_mechanism(c, "magic", act.realised, "was %sseen", act.realised ? "" : "not ");
	bench_mechanism_of(c, 1u << 1, "second magic", act.second_realised, "was %sseen", act.second_realised ? "" : "not ");
	return 0;
}

static int derive(struct bench_case *c)
{
	if (act.above_bound)
		bench_bound(c, "bandwidth", 0, 1.0, "one byte a second");
	return bench_ratio(c, "double", 1, 0, "two copies / one");
}

static void teardown(struct bench_case *c)
{
	struct state *s = c->state;
	dev_free(c->dev, s->from);
	dev_free(c->dev, s->to);
}

static const struct axis axes[] = {{.name = "size", .help = "bytes", .kind = AXIS_SIZE, .min = 256, .multiple = 256,
                                    .quick = "64K,1M"},
                                   {0}};
static const struct bench_variant variants[] = {
	{.name = "one", .timing = BENCH_DEVICE}, {.name = "two", .timing = BENCH_DEVICE, .queued = 2}, {0}};

static const struct bench bench = {
	.name = "test/copies",
	.question = "does the harness work?",
	.formula = "bytes / time",
	.timed = "copies",
	.axes = axes,
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.model = model,
	.check = check,
	.prove = prove,
	.derive = derive,
	.teardown = teardown,
};

static char output[1 << 20];

/* Run with up to six extra words; stdout goes to `output`. */
static int run(const char *const words[])
{
	char *argv[16] = {"copies", "--device", "sim"};
	int argc = 3, kept = dup(STDOUT_FILENO);
	for (size_t i = 0; words[i]; i++)
		argv[argc++] = (char *)(uintptr_t)words[i];
	char path[] = "/tmp/gpusig-bench-XXXXXX";
	int fd = mkstemp(path);
	unlink(path);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	act.calls[0] = act.calls[1] = 0;
	int code = bench_main(&bench, argc, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	ssize_t length = pread(fd, output, sizeof(output) - 1, 0);
	output[length > 0 ? length : 0] = '\0';
	close(fd);
	close(kept);
	return code;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void reset(void)
{
	memset(&act, 0, sizeof(act));
	act.realised = act.second_realised = true;
}

static unsigned count(const char *needle)
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

static void knows_the_truth(void)
{
	reset();
	expect(RUN("--format", "json") == 0);
	expect(count("\"kind\":\"run\"") == 1 && count("\"kind\":\"case\"") == 2 && count("\"kind\":\"end\"") == 1);
	expect_near(number_after("\"name\":\"double\"", "\"value\":"), 2.0, 0.02);
	expect(count("\"valid\":true,\"flags\":[]") == 2);
	expect(count("\"status\":\"ok\",\"detail\"") == 2);
}

static void same_seed_same_bytes(void)
{
	static char first[sizeof(output)];
	reset();
	expect(RUN("--format", "json", "--seed", "5") == 0);
	memcpy(first, output, sizeof(first));
	expect(RUN("--format", "json", "--seed", "5") == 0);
	/* The first line says what the machine is doing now. */
	expect_str(strchr(output, '\n'), strchr(first, '\n'));
	expect(RUN("--format", "json", "--seed", "6") == 0);
	expect(strcmp(strchr(output, '\n'), strchr(first, '\n')) != 0);
}

static void wrong_result_is_1(void)
{
	reset();
	act.check = 1;
	expect(RUN("--format", "json") == 1);
	expect(count("wrong result: one: variant 0 holds nonsense") == 2);
	expect(count("\"derived\":[]") == 2);
	expect(RUN("--format", "json", "--check", "off") == 3);
	expect(count("\"flag\":\"unverified\"") == 2);
}

static void failures_and_skips(void)
{
	reset();
	act.body = -EIO;
	expect(RUN("--format", "json") == 1);
	expect(count("the body broke") == 2);
	reset();
	act.setup = -ENOTSUP;
	expect(RUN("--format", "json") == 77);
	expect(count("\"status\":\"skipped\",\"reason\":\"the set-up does not want to\"") == 2);
	act.setup = -EFAULT;
	expect(RUN("--format", "json") == 1);
}

static void invalid_is_3(void)
{
	reset();
	act.realised = false;
	expect(RUN("--format", "json") == 3);
	expect(count("\"flag\":\"mechanism\"") == 2 && count("\"status\":\"invalid\"") == 1);
	reset();
	act.second_realised = false;
	expect(RUN("--format", "json") == 0);
	expect(count("\"flag\":\"mechanism\",\"variant\":\"two\"") == 2 && count("\"flag\":\"mechanism\"") == 2);
	reset();
	act.noisy = true;
	expect(RUN("--format", "json", "--max-samples", "12", "--size", "1M") == 3);
	expect(count("\"flag\":\"noisy\"") > 0);
	reset();
	expect(RUN("--format", "json", "--device", "host", "--size", "64K", "--min-samples", "5", "--max-samples", "5") == 3);
	expect(count("\"flag\":\"few_samples\"") == 2);
	reset();
	act.above_bound = true;
	expect(RUN("--format", "json") == 0);
	expect(count("\"flag\":\"above_bound\",\"variant\":\"one\"") == 2);
}

static void samples_and_warm_up_can_be_counted(void)
{
	reset();
	expect(RUN("--format", "json", "--size", "64K", "--min-samples", "1", "--max-samples", "1", "--warm-up", "0") == 0);
	expect(count("\"n\":1,") == 2);
	int without = act.calls[0];
	reset();
	expect(RUN("--format", "json", "--size", "64K", "--min-samples", "1", "--max-samples", "1", "--warm-up", "7") == 0);
	expect(act.calls[0] == without + 7);
}

static void variants_can_be_chosen(void)
{
	reset();
	expect(RUN("--format", "json", "--variant", "two") == 0);
	expect(act.calls[0] == 0 && act.calls[1] > 0);
	expect(count("\"name\":\"double\"") == 0);
	reset();
	act.off = 2;
	expect(RUN("--format", "json") == 0);
	expect(act.calls[1] == 0);
}

static void interrupt_leaves_an_end(void)
{
	reset();
	act.interrupt = true;
	/* The harness raises the signal again once it is done; here it must not kill the test. */
	pid_t child = fork();
	if (child == 0) {
		RUN("--format", "json", "--out", "/tmp/gpusig-interrupted.jsonl");
		_exit(0);
	}
	int status = 0;
	expect(waitpid(child, &status, 0) == child);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	FILE *file = fopen("/tmp/gpusig-interrupted.jsonl", "r");
	require(file != NULL);
	size_t length = fread(output, 1, sizeof(output) - 1, file);
	output[length] = '\0';
	fclose(file);
	unlink("/tmp/gpusig-interrupted.jsonl");
	expect(count("\"status\":\"interrupted\"") == 1);
	expect(length > 0 && output[length - 1] == '\n');
}

static void done_cases_are_not_repeated(void)
{
	reset();
	FILE *file = fopen("/tmp/gpusig-done.txt", "w");
	require(file != NULL);
	fputs("size=65536\n", file);
	fclose(file);
	expect(RUN("--format", "json", "--done", "/tmp/gpusig-done.txt") == 0);
	expect(count("\"kind\":\"case\"") == 1 && count("\"already_done\":1") == 1);
	unlink("/tmp/gpusig-done.txt");
	expect(RUN("--done", "/nonexistent") == 2);
}

static void budget_ends_it(void)
{
	reset();
	expect(RUN("--format", "json", "--size", "4K:256K:+4K", "--budget", "1ms") == 0);
	expect(number_after("\"kind\":\"end\"", "\"out_of_budget\":") > 20);
	expect(number_after("\"kind\":\"end\"", "\"ok\":") >= 1);
}

static void options_are_strict(void)
{
	static const char *const bad[][3] = {
		{"--bogus", NULL},      {"bogus", NULL},           {"--budget", NULL},    {"--budget", "x"},   {"--size", "1Q"},
		{"--size", "300"},      {"--variant", "three"},    {"--variant", ""},     {"--seed", "-1"},    {"--format", "xml"},
		{"--check", "maybe"},   {"--full=1", NULL},        {"--goal", "0"},       {"--device", "warp9"},
		{"--device", ""},       {"--min-samples", "0"}, {"--warm-up", "-1"},    {"--max-samples", "9"}, {"-x", NULL}, {"--size", "4K,"}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int code = run((const char *const[]){bad[i][0], bad[i][1], NULL});
		if (code != 2)
			printf("# %s %s ended with %d\n", bad[i][0], bad[i][1] ? bad[i][1] : "", code);
		expect(code == 2);
		expect_str(output, "");
	}
}

int main(void)
{
	test(knows_the_truth);
	test(same_seed_same_bytes);
	test(wrong_result_is_1);
	test(failures_and_skips);
	test(invalid_is_3);
	test(samples_and_warm_up_can_be_counted);
	test(variants_can_be_chosen);
	test(interrupt_leaves_an_end);
	test(done_cases_are_not_repeated);
	test(budget_ends_it);
	test(options_are_strict);
	return test_done();
}
