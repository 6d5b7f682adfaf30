/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much do two concurrent workloads slow each other? For every pair of {compute, memory, engine
 * copy, kernel copy, gemm}: how much longer each one takes while the other runs
 * (micro/contention/concurrent.h). Copies stay within the device's memory and copy kernels use
 * every unit, so this shows what its parts share; micro/copy_contention measures what a transfer
 * over a link costs a GEMM.
 *
 * Timed: pieces of x by the device's events, in x's own stream, while y is kept running. GEMMs are
 * large enough to occupy every unit, and buffers exceed the last-level cache, so both workloads
 * really use memory.
 *
 *     bin/micro/contention --device host --pair compute+memory,engine+gemm
 */
#include "lib/err.h"
#include "micro/contention/concurrent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int parse_pair(const char *word, struct workload_spec pair[2])
{
	char text[32];
	for (unsigned x = 0; x < WORKLOAD_KINDS; x++) {
		for (unsigned y = 0; y < WORKLOAD_KINDS; y++) {
			snprintf(text, sizeof(text), "%s+%s", workload_names[x], workload_names[y]);
			if (strcmp(text, word) != 0)
				continue;
			for (unsigned i = 0; i < 2; i++)
				pair[i] = (struct workload_spec){
					.kind = (enum workload_kind)(i ? y : x),
					.direction = WORKLOAD_LOCAL};
			return 0;
		}
	}
	return err_note(-EINVAL,
			"unknown pair '%s'; values: X+Y of compute, memory, engine, kernel, gemm",
			word);
}

static int accept_pair(const char *word)
{
	struct workload_spec unused[2];
	return parse_pair(word, unused);
}

static const struct axis axes[] = {{.name = "pair",
				    .help = "X+Y of compute, memory, engine, kernel, gemm",
				    .kind = AXIS_WORD,
				    .accept = accept_pair,
				    .quick =
					    "compute+compute,compute+memory,compute+engine,compute+"
					    "kernel,compute+gemm,memory+memory,memory+engine,"
					    "memory+kernel,memory+gemm,engine+engine,engine+kernel,"
					    "engine+gemm,kernel+kernel,kernel+gemm,gemm+gemm"},
				   BENCH_GEMM_TYPES(.quick = "main"),
				   {0}};

static const struct bench_variant variants[] = {{.name = "x_alone", .timing = BENCH_SELF},
						{.name = "y_alone", .timing = BENCH_SELF},
						{.name = "x_with_y", .timing = BENCH_SELF},
						{.name = "y_with_x", .timing = BENCH_SELF},
						{0}};

static const struct bench_metric primary[] = {{"cil_gemm_with_local_engine", "CIL", "y_with_x",
					       "pair=engine+gemm type=main", "", "lower"},
					      {"cil_gemm_with_local_kernel", "CIL", "y_with_x",
					       "pair=kernel+gemm type=main", "", "lower"},
					      {0}};

static int read_axes(const struct bench_case *c, struct workload_spec pair[2])
{
	int status = parse_pair(axis_str(c, "pair"), pair);
	for (unsigned i = 0; status == 0 && i < 2; i++)
		pair[i].type = (enum dev_type)axis_index(c, "type");
	return status;
}

static int admit(const struct bench_case *c)
{
	struct workload_spec pair[2];
	int status = read_axes(c, pair);
	return status ? status : concurrent_admit(c, pair, 2);
}

static int setup(struct bench_case *c)
{
	struct workload_spec pair[2];
	int status = read_axes(c, pair);
	return status ? status : concurrent_open(c, pair, 2);
}

static int derive(struct bench_case *c)
{
	const struct concurrent *both = c->state;
	bench_fact_number(c, "x_repeats", both->workload[0].repeats);
	bench_fact_number(c, "y_repeats", both->workload[1].repeats);
	return concurrent_derive(c);
}

static const struct bench bench = {
	.name = "micro/contention",
	.question = "how much do two workloads slow each other?",
	.formula = "CIL(x | y) = time of x while y runs / time of x alone; 1 is no loss",
	.timed = "pieces of one workload, by device events, while the other keeps running; not the "
		 "partner's start and drain",
	.limits = "the partner is launched first; both use every unit, and on a host device copy "
		  "engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct concurrent),
	.admit = admit,
	.setup = setup,
	.indexed.body = concurrent_body,
	.indexed.model = concurrent_model,
	.indexed.poison = concurrent_poison,
	.indexed.check = concurrent_check,
	.verify_mechanism = concurrent_verify,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
