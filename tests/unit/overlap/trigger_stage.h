/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stage of tests of overlap/trigger: a benchmark with its axes, whose set-up is the test.
 */
#ifndef GPUSIG_TEST_TRIGGER_STAGE_H
#define GPUSIG_TEST_TRIGGER_STAGE_H

#include "overlap/trigger/trigger_metrics.h"
#include "tests/unit/bench/bench_output.h"

static const struct axis stage_axes[] = {
	{.name = "type", .help = "", .kind = AXIS_WORD, .words = dev_type_names, .quick = "f32"},
	{.name = "shape",
	 .help = "",
	 .kind = AXIS_WORD,
	 .accept = shape_accept,
	 .quick = "128x64x32,150x192x40,96x100x24"},
	{.name = "mflop", .help = "", .kind = AXIS_COUNT, .quick = "1"},
	{.name = "direction",
	 .help = "",
	 .kind = AXIS_WORD,
	 .words = producer_directions,
	 .quick = "down,local,peer,exchange"},
	{.name = "bands", .help = "", .kind = AXIS_COUNT, .quick = "1,3,8,31"},
	{.name = "copy-method",
	 .help = "",
	 .kind = AXIS_WORD,
	 .words = (const char *const[]){"engine", "kernel", NULL},
	 .quick = "engine"},
	{0}};

/* Runs setup() once for every case of the lists above, but for those in `more`: options and values,
 * of which there may be 8, ended by NULL. Returns the benchmark's exit code. */
static int run_trigger_stage(int (*setup)(struct bench_case *c), const char *device,
			     const char *const *more)
{
	const struct bench stage = {.name = "test/stage",
				    .question = "is it in order?",
				    .formula = "none",
				    .timed = "nothing",
				    .needs = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE,
				    .wants = DEV_CAP_PEER,
				    .axes = stage_axes,
				    .admit = producers_admit,
				    .setup = setup};
	const char *words[13] = {"--device", device, "--out", "/dev/null"};
	for (size_t i = 0; more && more[i] && i < 8; i++)
		words[4 + i] = more[i];
	return run_words(&stage, words, NULL, 0);
}

#endif
