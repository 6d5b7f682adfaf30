/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A case concurrent with other work is graded "contended" also where it is over before the counters
 * of the cores tell anything.
 */
#include "tests/unit/bench_output.h"
#include "tests/unit/one_core.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* A sample that takes longer than what is taken again. */
#define SAMPLE_NS 11000000

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	(void)c;
	(void)variant;
	work_for(iterations * SAMPLE_NS);
	return 0;
}

static const struct bench_variant variants[] = {BENCH_ROW("work", BENCH_HOST), {0}};
static const struct bench bench = {.name = "test/contended",
				   .question = "is other work seen?",
				   .formula = "none",
				   .timed = "work of this process",
				   .variants = variants,
				   .body = body};

static char output[1 << 16];

static void a_short_case_says_so_of_other_work(void)
{
	pid_t other = fork();
	require(other >= 0);
	while (other == 0)
		continue;
	int code = run_captured(&bench, output, "--device", "host", "--format", "json", "--warm-up",
				"0", "--min-samples", "6", "--max-samples", "6");
	expect(code == 0 || code == 3); /* 3: where the case has other flags, too */
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	expect(strstr(output, "\"flag\":\"contended\"") != NULL);
	expect(strstr(output, "others took the cores during") != NULL);
}

int main(void)
{
	use_one_core();
	test(a_short_case_says_so_of_other_work);
	return test_done();
}
