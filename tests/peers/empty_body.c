/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what the harness adds to an empty body: per iteration of a calibrated sample, and per
 * sample of one iteration (two clock reads and the call), where the cost is not spread over many
 * iterations.
 *
 *     empty_body   ->   {"calibrated_s": ..., "single_s": ...}
 */
#include "bench/bench.h"
#include "bench/sampling/samples.h"
#include "lib/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { SINGLES = 2001 };

static double calibrated_s, single_s;

static int body(struct bench_case *c, long unused, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
		__asm__ volatile("" ::: "memory");
	return 0;
}

static int derive(struct bench_case *c)
{
	static double seconds[SINGLES];
	int status = 0;
	for (unsigned i = 0; status == 0 && i < SINGLES; i++)
		status = bench_sample_once(c->run, 0, 1, false, &seconds[i]);
	stats_sort(seconds, SINGLES);
	calibrated_s = bench_median(c, 0);
	single_s = stats_median(seconds, SINGLES);
	return status;
}

static const struct bench_variant variants[] = {{"empty", BENCH_HOST}, {0}};

static const struct bench bench = {
	.name = "peers/empty_body",
	.question = "what does the harness add?",
	.formula = "seconds of an iteration that does nothing",
	.timed = "an empty loop",
	.variants = variants,
	.body = body,
	.derive = derive,
};

int main(void)
{
	char *argv[] = {"empty_body", "--device", "host", "--budget", "2s"};
	int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
	dup2(nowhere, STDOUT_FILENO);
	int code = bench_main(&bench, 5, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	printf("{\"calibrated_s\": %.4g, \"single_s\": %.4g}\n", calibrated_s, single_s);
	return code == 3 ? 0 : code;
}
