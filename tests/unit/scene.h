/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A scene is a test that needs a case of a benchmark on the simulated device. It runs in the set-up
 * of one; what the benchmark prints is discarded.
 */
#ifndef GPUSIG_TEST_SCENE_H
#define GPUSIG_TEST_SCENE_H

#include "bench/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void (*scene)(struct bench_case *c);

static int setup(struct bench_case *c)
{
	scene(c);
	return bench_status(c);
}

/* The exit code of the benchmark. */
static int run_scene(void (*what)(struct bench_case *c))
{
	static const struct bench stage = {.name = "test/stage",
					   .question = "does the scene hold?",
					   .formula = "none",
					   .timed = "nothing",
					   .setup = setup};
	char *argv[] = {"stage", "--device", "sim", "--out", "/dev/null", NULL};
	int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
	scene = what;
	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	int code = bench_main(&stage, 5, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(nowhere);
	close(kept);
	return code;
}

#endif
