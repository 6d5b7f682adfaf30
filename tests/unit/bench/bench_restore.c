/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `restore` runs after every sample of a variant, outside its time, and after no other run.
 */
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { BYTES = 1 << 20 };

static unsigned bodies[2], restored[2];
static int restore_status;

static int setup(struct bench_case *c)
{
	char **memory = c->state;
	for (int i = 0; i < 2; i++)
		memory[i] = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	return c->status;
}

static int body(struct bench_case *c, long which, uint64_t iterations)
{
	char **memory = c->state;
	bodies[which]++;
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_copy(c->dev, c->stream, memory[1], memory[0], BYTES / 16));
	return c->status;
}

/* Takes many times as long as what is measured. */
static int restore(struct bench_case *c, long which)
{
	char **memory = c->state;
	restored[which]++;
	return restore_status ? err_note(restore_status, "cannot restore")
			      : dev_copy(c->dev, c->stream, memory[0], memory[1], BYTES);
}

static int check(struct bench_case *c, long which) { return 0; }

static const struct bench_variant variants[] = {
	{"one", BENCH_DEVICE, .arg = 0}, {"other", BENCH_DEVICE, .arg = 1}, {0}};

static char output[1 << 16];

static int run_copies(int (*how)(struct bench_case *c, long which))
{
	const struct bench bench = {.name = "test/restore",
				    .question = "is the state restored?",
				    .formula = "none",
				    .timed = "copies",
				    .variants = variants,
				    .state_bytes = 2 * sizeof(char *),
				    .setup = setup,
				    .body = body,
				    .check = check,
				    .restore = how};
	memset(bodies, 0, sizeof(bodies));
	memset(restored, 0, sizeof(restored));
	return run_captured(&bench, output, "--device", "sim:quiet", "--format", "json");
}

static double time_of_one(void)
{
	const char *at = strstr(output, "\"name\":\"time\",\"variant\":\"one\"");
	at = at ? strstr(at, "\"value\":") : NULL;
	return at ? strtod(at + strlen("\"value\":"), NULL) : NAN;
}

static void every_sample_is_followed_by_one_untimed(void)
{
	expect(run_copies(NULL) == 0);
	double without_s = time_of_one();
	expect(restored[0] == 0);
	expect(run_copies(restore) == 0);
	/* The run of a check is no sample. */
	for (int v = 0; v < 2; v++)
		expect(restored[v] > 10 && restored[v] == bodies[v] - 1);
	/* Samples have fewer iterations then, so the event after them counts for more. */
	expect_near(time_of_one(), without_s, 0.01 * without_s);
}

static void a_failure_fails_the_case(void)
{
	restore_status = -EIO;
	expect(run_copies(restore) == 1);
	expect(strstr(output, "cannot restore") != NULL);
}

int main(void)
{
	test(every_sample_is_followed_by_one_untimed);
	test(a_failure_fails_the_case);
	return test_done();
}
