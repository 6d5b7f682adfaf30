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
#include "lib/err.h"
#include "micro/contention/concurrent.h"

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "bf16,f32"),
	{"direction", "up is H2D, down D2H, local D2D; peer and exchange: first two devices",
	 AXIS_WORD, .words = workload_directions, .peers = "peer,exchange",
	 .quick = "up,down,local,peer,exchange"},
	{"copy-method", "engine, kernel, kernel:BLOCKS, or kernel:units/N", AXIS_WORD,
	 .accept = copy_method_accept, .quick = "engine,kernel:1,kernel:units/8,kernel",
	 .simulated = "engine,kernel:1,kernel"},
	{0}};

enum { GEMM, COPY, SKINNY, WORKLOADS };
static const struct bench_variant variants[] = {
	CONCURRENT("gemm_alone", GEMM, GEMM),         CONCURRENT("copy_alone", COPY, COPY),
	CONCURRENT("gemm_with_copy", GEMM, COPY),     CONCURRENT("copy_with_gemm", COPY, GEMM),
	CONCURRENT("skinny_alone", SKINNY, SKINNY),   CONCURRENT("skinny_with_copy", SKINNY, COPY),
	CONCURRENT("copy_with_skinny", COPY, SKINNY), {0}};

static const struct bench_quantity_row quantities[] = {
	CONCURRENT_LOSS("gemm_with_copy", "gemm_alone"),
	CONCURRENT_LOSS("copy_with_gemm", "copy_alone"),
	CONCURRENT_LOSS("skinny_with_copy", "skinny_alone"),
	CONCURRENT_LOSS("copy_with_skinny", "copy_alone"),
	{0}};

#define BY_ENGINE(direction) "type=main direction=" direction " copy-method=engine"
static const struct bench_metric primary[] = {
	{"cil_gemm_with_engine_up", "CIL", "gemm_with_copy", BY_ENGINE("up")},
	{"cil_gemm_with_engine_peer", "CIL", "gemm_with_copy", BY_ENGINE("peer")},
	{0}};

/* If the device cannot give the number of blocks, it says so. */
static int setup(struct bench_case *c)
{
	struct workload_spec spec[WORKLOADS] = {
		[GEMM] = {.kind = WORKLOAD_GEMM},
		[COPY] = {.kind = WORKLOAD_KERNEL,
			  .direction = (enum workload_direction)axis_index(c, "direction")},
		[SKINNY] = {.kind = WORKLOAD_GEMM, .skinny = true}};
	struct copy_method method = {0};
	spec[GEMM].type = spec[SKINNY].type = (enum dev_type)axis_index(c, "type");
	TRY(c->status, copy_method_parse(axis_str(c, "copy-method"), &method));
	TRY(c->status, copy_method_blocks(&method, c->dev, "copy_nt", &spec[COPY].blocks));
	if (method.engine)
		spec[COPY].kind = WORKLOAD_ENGINE;
	TRY(c->status, concurrent_admit(c, spec, WORKLOADS));
	return TRY(c->status, concurrent_open(c, spec, WORKLOADS));
}

static int derive(struct bench_case *c)
{
	const struct concurrent *all = c->state;
	const struct workload *gemm = &all->workload[GEMM], *copy = &all->workload[COPY];
	const struct shape *skinny = &all->workload[SKINNY].gemm.shape;
	bench_gemm_facts(&gemm->gemm, c);
	bench_fact_number(c, "skinny_m", skinny->m);
	bench_fact_number(c, "skinny_n", skinny->n);
	bench_fact_number(c, "skinny_k", skinny->k);
	bench_fact_number(c, "gemm_repeats", gemm->repeats);
	bench_fact_number(c, "copy_repeats", copy->repeats);
	bench_fact_number(c, "copy_bytes", (double)copy->bytes);
	bench_fact_number(c, "copy_blocks", copy->spec.blocks);
	return 0;
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
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct concurrent),
	.setup = setup,
	.body = concurrent_body,
	.model = concurrent_model,
	.poison = concurrent_poison,
	.check = concurrent_check,
	.verify_mechanism = concurrent_verify,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
