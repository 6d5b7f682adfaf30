/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A scene is a test that needs a case of a benchmark on the simulated device. It runs in the set-up
 * of one; what the benchmark prints is discarded.
 */
#ifndef GPUSIG_TEST_SCENE_H
#define GPUSIG_TEST_SCENE_H

#include "tests/unit/bench/bench_output.h"

static void (*scene)(struct bench_case *c);

static int setup(struct bench_case *c)
{
	scene(c);
	return c->status;
}

/* The exit code of the benchmark. */
static int run_scene(void (*what)(struct bench_case *c))
{
	static const struct bench stage = {.name = "test/stage",
					   .question = "does the scene hold?",
					   .formula = "none",
					   .timed = "nothing",
					   .setup = setup};
	scene = what;
	return run_captured(&stage, NULL, "--device", "sim", "--out", "/dev/null");
}

#endif
