/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much time does overlapping a GEMM with a transfer save? After ConCCL (arXiv 2412.14335),
 * which defines the fraction of ideal and the classes, and asks which side to launch first; S and
 * CIL are our working definitions of FiCCO's (arXiv 2512.10236). The copy method, a copy engine or
 * a kernel with a number of thread blocks, is an axis; the variants are compared.
 *
 * Timed: one round at a time, enqueued before the host opens a gate, by the devices' own events
 * (overlap/pair/pair_run.h). gemm_first and transfer_first run both sides at once, to the end of
 * the later one. A variant gives one number, so the end of each side comes from rounds of its own:
 * gemm_in_gemm_first is the same round, timed to the end of its GEMM. With several devices each one
 * has a GEMM and sends; the longest of their times counts.
 *
 * With --operands cold every round finds its data in no cache, in all variants
 * (bench/graph/rotation.h).
 *
 *     bin/overlap/pair --device host --shape g5 --transfer up --copy-method engine,kernel:1 \
 *         --size 0.5x,1x,2x
 */
#include "bench/blocking_kernel.h"
#include "bench/graph/rotation.h"
#include "overlap/pair/pair_metrics.h"
#include "overlap/pair/pair_run.h"

static const struct bench_variant variants[] = {BENCH_ROW("gemm_alone", BENCH_SELF),
						BENCH_ROW("transfer_alone", BENCH_SELF),
						BENCH_ROW("serial", BENCH_SELF),
						BENCH_ROW("gemm_first", BENCH_SELF),
						BENCH_ROW("transfer_first", BENCH_SELF),
						BENCH_ROW("gemm_in_gemm_first", BENCH_SELF),
						BENCH_ROW("transfer_in_gemm_first", BENCH_SELF),
						BENCH_ROW("gemm_in_transfer_first", BENCH_SELF),
						BENCH_ROW("transfer_in_transfer_first", BENCH_SELF),
						{0}};

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32", .gpu_class = "bf16,f32", .gpu_class_full = "bf16,f32,f8"),
	BENCH_GEMM_SHAPES(.quick = "n512,g5", .simulated = "n256,g5",
			  .full = "n256,n512,n1024,g1,g2,g3,g5,g6,g8,g14",
			  .gpu_class = "n4096,g5,g6",
			  .gpu_class_full = "n2048,n4096,square,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,"
					    "g12,g13,g14,g15,g16"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "20", .gpu_class = "200000",
			 .gpu_class_full = "2000000"),
	{.name = "transfer",
	 .help = "transfer that is concurrent with the GEMM: up (H2D), down (D2H), local (D2D), "
		 "peer (P2P), or a collective",
	 .kind = AXIS_WORD,
	 .words = transfer_kinds,
	 .peers = "peer,all-gather,reduce-scatter,all-to-all",
	 .quick = "up,down,local,peer,all-gather,reduce-scatter,all-to-all"},
	{.name = "copy-method",
	 .help = "engine, kernel, kernel:BLOCKS, or kernel:units/N",
	 .kind = AXIS_WORD,
	 .accept = copy_method_accept,
	 .quick = "engine,kernel",
	 .full = "engine,kernel,kernel:1,kernel:units/8",
	 .gpu_class = "engine,kernel,kernel:units/8",
	 .gpu_class_full = "engine,kernel,kernel:1,kernel:units/16,kernel:units/8,kernel:units/4"},
	{.name = "size",
	 .help = "bytes that a device sends, or 0.5x: sized to take that multiple of the GEMM's "
		 "time",
	 .kind = AXIS_WORD,
	 .accept = transfer_size_accept,
	 .quick = "1x",
	 .full = "0.5x,1x,2x"},
	BENCH_OPERANDS,
	{0}};

static const struct bench_metric primary[] = {
	{"overlap_efficiency_engine", "fraction_of_ideal", "transfer_first",
	 "type=main shape=n512|n4096|n256 transfer=up copy-method=engine size=1x "
	 "operands=warm",
	 "", "higher"},
	{"overlap_efficiency_kernel", "fraction_of_ideal", "transfer_first",
	 "type=main shape=n512|n4096|n256 transfer=up copy-method=kernel|kernel:units/8|kernel "
	 "size=1x operands=warm",
	 "", "higher"},
	{0}};

struct state {
	struct pair_run run;
	struct copy_method method;
	struct rotation *rotation;
};

static struct state *pair_state(const struct bench_case *c) { return c->state; }

static enum transfer_kind case_transfer_kind(const struct bench_case *c)
{
	return (enum transfer_kind)axis_index(c, "transfer");
}

static int admit(const struct bench_case *c)
{
	struct copy_method method;
	int status = bench_gemm_admit(c);
	if (status == 0)
		status = copy_method_parse(axis_str(c, "copy-method"), &method);
	return status ? status : transfer_admit(c, case_transfer_kind(c), &method);
}

static int setup(struct bench_case *c)
{
	struct state *s = pair_state(c);
	struct transfer_size size;
	int status = copy_method_parse(axis_str(c, "copy-method"), &s->method);
	if (status == 0)
		status = transfer_size_parse(axis_str(c, "size"), &size);
	if (status == 0)
		status = pair_run_open(&s->run, c, case_transfer_kind(c), &s->method, &size);
	const struct transfer *t = &s->run.transfer;
	if (status == 0 && s->method.engine)
		status = blocking_kernel_need_local_engine(c, UINT64_MAX, t->message[0].to,
							   t->message[0].from, t->piece_bytes);
	return status ? status : bench_rotate_cold(c, s->run.round, PAIR_ROUNDS, &s->rotation);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	double sum_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		double seconds = 0.0;
		status = pair_run_time(&pair_state(c)->run, variant, &seconds);
		sum_s += seconds;
	}
	c->self_seconds = sum_s;
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct pair_run *r = &pair_state(c)->run;
	if (variant == GEMM || variant == G_IN_GF || variant == G_IN_TF)
		m->flops = shape_flops(&r->gemm[0].shape);
	if (variant == TRANSFER || variant == T_IN_GF || variant == T_IN_TF)
		m->bytes = (double)transfer_bytes(&r->transfer);
}

static int poison(struct bench_case *c, unsigned variant)
{
	const struct pair_run *r = &pair_state(c)->run;
	(void)variant;
	int status = transfer_poison(&r->transfer, c);
	for (size_t i = 0; status == 0 && i < r->transfer.senders; i++)
		status = bench_gemm_poison(&r->gemm[i], c);
	return status ? status : rotation_spread(pair_state(c)->rotation, 1);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct pair_run *r = &pair_state(c)->run;
	int status = rotation_collect(pair_state(c)->rotation);
	for (size_t i = 0; status == 0 && variant != TRANSFER && i < r->transfer.senders; i++)
		status = bench_gemm_check(&r->gemm[i], c, 1);
	return status == 0 && variant != GEMM ? transfer_check(&r->transfer, c) : status;
}

static int verify_mechanism(struct bench_case *c)
{
	const struct pair_run *r = &pair_state(c)->run;
	const struct transfer *t = &r->transfer;
	uint64_t transfer_variants = ((UINT64_C(1) << PAIR_VARIANTS) - 1) & ~(UINT64_C(1) << GEMM);
	int status = bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
					      r->round[GEMM], r->round[TRANSFER]);
	if (status || !pair_state(c)->method.engine)
		return status;
	return blocking_kernel_verify_engine(c, transfer_variants, t->message[0].to,
					     t->message[0].from, t->piece_bytes);
}

/* ------------------------------------------------------------------ metrics */

static int derive(struct bench_case *c)
{
	const struct pair_run *r = &pair_state(c)->run;
	bench_gemm_facts(&r->gemm[0], c);
	bench_fact_number(c, "transfer_bytes", (double)transfer_bytes(&r->transfer));
	bench_fact_number(c, "transfer_passes", r->transfer.passes);
	bench_fact_number(c, "messages_per_device", (double)r->transfer.fan_out);
	bench_fact_number(c, "devices", (double)r->transfer.senders);
	rotation_facts(pair_state(c)->rotation, c);
	if (!pair_state(c)->method.engine)
		bench_fact_number(c, "copy_method_blocks", r->transfer.sender[0].copy_blocks);
	pair_run_verify_size(r, c);
	return pair_derive(c);
}

static const struct bench bench = {
	.name = "overlap/pair",
	.question = "how much does GEMM-transfer overlap save?",
	.formula = "fraction_of_ideal = (S - 1) / (S_ideal - 1); S = serial / overlapped; S_ideal "
		   "= (t_g + t_c) / max(t_g, t_c); CIL = concurrent / alone; bandwidth = bytes "
		   "that one device sends / time",
	.timed =
		"a round enqueued beforehand, by the devices' events: from its start to the end of "
		"the later side, or of the side in the variant's name; the longest of the "
		"devices' times",
	.limits = "one GEMM and one transfer at a time; with operands=warm from the same buffers "
		  "every round, so data that fits in a cache is read from it; the second side "
		  "starts a few events after the first",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.indexed.body = body,
	.indexed.model = model,
	.indexed.poison = poison,
	.indexed.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
