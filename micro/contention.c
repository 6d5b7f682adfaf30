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
	for (unsigned i = 0; i < WORKLOAD_KINDS * WORKLOAD_KINDS; i++) {
		const enum workload_kind x = i / WORKLOAD_KINDS, y = i % WORKLOAD_KINDS;
		snprintf(text, sizeof(text), "%s+%s", workload_names[x], workload_names[y]);
		if (strcmp(text, word) != 0)
			continue;
		pair[0] = (struct workload_spec){.kind = x, .direction = WORKLOAD_LOCAL};
		pair[1] = (struct workload_spec){.kind = y, .direction = WORKLOAD_LOCAL};
		return 0;
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

static const struct axis axes[] = {
	{"pair", "X+Y of compute, memory, engine, kernel, gemm", AXIS_WORD, .accept = accept_pair,
	 .quick = "compute+compute,compute+memory,compute+engine,compute+kernel,compute+gemm,"
		  "memory+memory,memory+engine,memory+kernel,memory+gemm,engine+engine,"
		  "engine+kernel,engine+gemm,kernel+kernel,kernel+gemm,gemm+gemm"},
	BENCH_GEMM_TYPES(.quick = "main"),
	{0}};

enum { X, Y };
static const struct bench_variant variants[] = {CONCURRENT("x_alone", X, X),
						CONCURRENT("y_alone", Y, Y),
						CONCURRENT("x_with_y", X, Y),
						CONCURRENT("y_with_x", Y, X),
						{0}};

static const struct bench_quantity_row quantities[] = {
	CONCURRENT_LOSS("x_with_y", "x_alone"), CONCURRENT_LOSS("y_with_x", "y_alone"), {0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_with_local_engine", "CIL", "y_with_x", "pair=engine+gemm type=main"},
	{"cil_gemm_with_local_kernel", "CIL", "y_with_x", "pair=kernel+gemm type=main"},
	{0}};

static int read_axes(const struct bench_case *c, struct workload_spec pair[2])
{
	const int status = parse_pair(axis_str(c, "pair"), pair);
	pair[X].type = pair[Y].type = (enum dev_type)axis_index(c, "type");
	return status;
}

static int admit(const struct bench_case *c)
{
	struct workload_spec pair[2];
	int status = read_axes(c, pair);
	return TRY(status, concurrent_admit(c, pair, 2));
}

static int setup(struct bench_case *c)
{
	struct workload_spec pair[2];
	TRY(c->status, read_axes(c, pair));
	return TRY(c->status, concurrent_open(c, pair, 2));
}

static int derive(struct bench_case *c)
{
	const struct concurrent *both = c->state;
	bench_fact_number(c, "x_repeats", both->workload[X].repeats);
	bench_fact_number(c, "y_repeats", both->workload[Y].repeats);
	return 0;
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
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct concurrent),
	.admit = admit,
	.setup = setup,
	.body = concurrent_body,
	.model = concurrent_model,
	.poison = concurrent_poison,
	.check = concurrent_check,
	.verify_mechanism = concurrent_verify,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
