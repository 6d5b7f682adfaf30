/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much do a GEMM and a transfer slow each other? The same GEMM and the same copy alone and
 * concurrently, for every direction, copy method, number of blocks and type of GEMM, because each
 * of them decides what the two share: a copy over a link shares hardly any memory bandwidth, a copy
 * within the device shares all of it, and a copy kernel takes slots and units as well. These are
 * the losses that ./gpusig advise assumes for its transfers.
 *
 * Timed: pieces of one side by the device's events while the other is kept running
 * (micro/contention/concurrent.h). There are two GEMMs, because one that memory limits loses more:
 * `gemm` is the smallest square that occupies every unit twice; `skinny` has 32 columns and an A
 * of twice the last-level cache. A copy has as many bytes as that cache. The first device
 * copies: peer writes into the second device, and in an exchange that one writes as many bytes back
 * at the same time, as in every step of a collective.
 *
 *     bin/micro/copy_contention --device host:0,1 --direction peer --copy-method engine,kernel:1
 */
#include "bench/copy_method.h"
#include "micro/contention/concurrent.h"

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "bf16,f32"),
	{.name = "direction",
	 .help = "up is H2D, down D2H, local D2D; peer and exchange: first two devices",
	 .kind = AXIS_WORD,
	 .words = workload_directions,
	 .peers = "peer,exchange",
	 .quick = "up,down,local,peer,exchange"},
	{.name = "copy-method",
	 .help = "engine, kernel, kernel:BLOCKS, or kernel:units/N",
	 .kind = AXIS_WORD,
	 .accept = copy_method_accept,
	 .quick = "engine,kernel:1,kernel:units/8,kernel",
	 .simulated = "engine,kernel:1,kernel"},
	{0}};

static const struct bench_variant variants[] = {
	BENCH_ROW("gemm_alone", BENCH_SELF),       BENCH_ROW("copy_alone", BENCH_SELF),
	BENCH_ROW("gemm_with_copy", BENCH_SELF),   BENCH_ROW("copy_with_gemm", BENCH_SELF),
	BENCH_ROW("skinny_alone", BENCH_SELF),     BENCH_ROW("skinny_with_copy", BENCH_SELF),
	BENCH_ROW("copy_with_skinny", BENCH_SELF), {0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_with_engine_up", "CIL", "gemm_with_copy",
	 "type=main direction=up copy-method=engine", "", "lower"},
	{"cil_gemm_with_engine_peer", "CIL", "gemm_with_copy",
	 "type=main direction=peer copy-method=engine", "", "lower"},
	{0}};

enum { GEMM, COPY, SKINNY, WORKLOADS };

/* If the device cannot give the number of blocks, setup reports it. */
static int read_axes(const struct bench_case *c, struct workload_spec spec[WORKLOADS])
{
	struct copy_method method;
	uint32_t blocks = 0;
	int status = copy_method_parse(axis_str(c, "copy-method"), &method);
	if (status == 0)
		status = copy_method_blocks(&method, c->dev, "copy_nt", &blocks);
	if (status)
		return status;
	spec[GEMM] = (struct workload_spec){.kind = WORKLOAD_GEMM,
					    .type = (enum dev_type)axis_index(c, "type")};
	spec[SKINNY] = spec[GEMM];
	spec[SKINNY].skinny = true;
	spec[COPY] = (struct workload_spec){
		.kind = method.engine ? WORKLOAD_ENGINE : WORKLOAD_KERNEL,
		.direction = (enum workload_direction)axis_index(c, "direction"),
		.blocks = blocks};
	return 0;
}

static int setup(struct bench_case *c)
{
	struct workload_spec spec[WORKLOADS];
	int status = read_axes(c, spec);
	if (status == 0)
		status = concurrent_admit(c, spec, WORKLOADS);
	return status ? status : concurrent_open(c, spec, WORKLOADS);
}

static int derive(struct bench_case *c)
{
	const struct concurrent *both = c->state;
	const struct workload *gemm = &both->workload[GEMM], *copy = &both->workload[COPY];
	const struct shape *skinny = &both->workload[SKINNY].gemm.shape;
	bench_gemm_facts(&gemm->gemm, c);
	bench_fact_number(c, "skinny_m", skinny->m);
	bench_fact_number(c, "skinny_n", skinny->n);
	bench_fact_number(c, "skinny_k", skinny->k);
	bench_fact_number(c, "gemm_repeats", gemm->repeats);
	bench_fact_number(c, "copy_repeats", copy->repeats);
	bench_fact_number(c, "copy_bytes", (double)copy->bytes);
	bench_fact_number(c, "copy_blocks", copy->spec.blocks);
	return concurrent_derive(c);
}

static const struct bench bench = {
	.name = "micro/copy_contention",
	.question = "how much do GEMM and copy slow each other?",
	.formula = "CIL = time of one side while the other runs / time of it alone; 1 is no loss",
	.timed = "pieces of one side, by device events, while the other keeps running; not the "
		 "partner's start and drain",
	.limits = "one size of each; the partner is launched first, so a copy kernel finds the "
		  "units occupied; on a host device copy engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE | DEV_CAP_GEMM,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct concurrent),
	.setup = setup,
	.indexed.body = concurrent_body,
	.indexed.model = concurrent_model,
	.indexed.poison = concurrent_poison,
	.indexed.check = concurrent_check,
	.verify_mechanism = concurrent_verify,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
