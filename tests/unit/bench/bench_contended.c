/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who had the core that threads of this process waited for?
 */
#include "lib/cores.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/lib/one_core.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

/* A sample that takes longer than what is taken again. */
#define SAMPLE_NS 11000000

static int work_once(struct bench_case *c, long unused)
{
	work_for(SAMPLE_NS);
	return 0;
}

static const struct bench_variant variants[] = {{"work", BENCH_HOST}, {0}};
static const struct bench bench = {.name = "test/contended",
				   .question = "is other work seen?",
				   .formula = "none",
				   .timed = "work of this process",
				   .variants = variants,
				   .once = work_once};

static char output[1 << 16];

static void other_work_is_seen_in_a_case(void)
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
	expect(strstr(output, "other processes took") != NULL);
}

static atomic_bool stop;

static void *spin_until_stopped(void *unused)
{
	while (!atomic_load(&stop))
		continue;
	return unused;
}

/* A thread of ours shares the core of the one that works, for half of the time, and another core
 * idles: every sample waits, and nobody else took anything. */
static void threads_that_wait_for_each_other_are_not_contended(void)
{
	int cores[CORES_MAX];
	const size_t count = cores_allowed(cores);
	pthread_t other;
	cpu_set_t last;
	if (count < 2 || cores[count - 1] >= CPU_SETSIZE)
		skip("there is one core");
	CPU_ZERO(&last);
	CPU_SET((size_t)cores[count - 1], &last); /* where the harness stays */
	atomic_store(&stop, false);
	require(pthread_create(&other, NULL, spin_until_stopped, NULL) == 0);
	require(pthread_setaffinity_np(other, sizeof(last), &last) == 0);
	int code = run_captured(&bench, output, "--device", "host", "--format", "json", "--warm-up",
				"0", "--min-samples", "10", "--max-samples", "10");
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	expect(code == 0 || code == 3);
	const char *others = strstr(output, "\"others\":"), *waited = strstr(output, "\"waited\":");
	require(others && waited);
	/* With a neighbour on the cores nothing can be said. */
	if (strtod(others + strlen("\"others\":"), NULL) > 0.01)
		skip("others ran on the cores, too");
	if (strtol(waited + strlen("\"waited\":"), NULL, 10) == 0)
		skip("the kernel keeps no account of waiting");
	expect(strstr(output, "\"flag\":\"contended\"") == NULL);
	expect(strstr(output, "\"disturbed\":0,") != NULL);
}

int main(void)
{
	test(threads_that_wait_for_each_other_are_not_contended);
	use_one_core();
	test(other_work_is_seen_in_a_case);
	return test_done();
}
