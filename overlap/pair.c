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
#include "bench/bench_overlap.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "overlap/pair/pair_run.h"

#include <math.h>

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32", .gpu_class = "bf16,f32", .gpu_class_full = "bf16,f32,f8"),
	BENCH_GEMM_SHAPES(.quick = "n512,g5", .simulated = "n256,g5",
			  .full = "n256,n512,n1024,g1,g2,g3,g5,g6,g8,g14",
			  .gpu_class = "n4096,g5,g6",
			  .gpu_class_full = "n2048,n4096,square,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,"
					    "g12,g13,g14,g15,g16"),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "20", .gpu_class = "200000",
			 .gpu_class_full = "2000000"),
	{"transfer",
	 "transfer that is concurrent with the GEMM: up (H2D), down (D2H), local (D2D), "
	 "peer (P2P), or a collective",
	 AXIS_WORD, .words = transfer_kinds, .peers = "peer,all-gather,reduce-scatter,all-to-all",
	 .quick = "up,down,local,peer,all-gather,reduce-scatter,all-to-all"},
	{"copy-method", "engine, kernel, kernel:BLOCKS, or kernel:units/N", AXIS_WORD,
	 .accept = copy_method_accept, .quick = "engine,kernel",
	 .full = "engine,kernel,kernel:1,kernel:units/8",
	 .gpu_class = "engine,kernel,kernel:units/8",
	 .gpu_class_full = "engine,kernel,kernel:1,kernel:units/16,kernel:units/8,kernel:units/4"},
	{"size",
	 "bytes that a device sends, or 0.5x: sized to take that multiple of the GEMM's time",
	 AXIS_WORD, .accept = transfer_size_accept, .quick = "1x", .full = "0.5x,1x,2x"},
	BENCH_OPERANDS,
	{0}};

static int admit(const struct bench_case *c)
{
	struct copy_method method;
	int status = bench_gemm_admit(c);
	TRY(status, copy_method_parse(axis_str(c, "copy-method"), &method));
	return TRY(status,
		   transfer_admit(c, (enum transfer_kind)axis_index(c, "transfer"), &method));
}

static void model_gemm(const struct bench_case *c, long round, struct bench_model *m)
{
	bench_gemm_work(&((const struct pair_run *)c->state)->gemm[0], 1.0, m);
}

static void model_transfer(const struct bench_case *c, long round, struct bench_model *m)
{
	m->bytes = (double)transfer_bytes(&((const struct pair_run *)c->state)->transfer);
}

static int poison(struct bench_case *c, long round)
{
	const struct pair_run *r = c->state;
	TRY(c->status, transfer_poison(&r->transfer, c));
	for (size_t i = 0; i < r->transfer.senders; i++)
		TRY(c->status, bench_gemm_poison(&r->gemm[i], c));
	return TRY(c->status, rotation_spread(r->rotation, 1));
}

static int check_gemms(struct bench_case *c, long round)
{
	const struct pair_run *r = c->state;
	TRY(c->status, rotation_collect(r->rotation));
	for (size_t i = 0; i < r->transfer.senders; i++)
		TRY(c->status, bench_gemm_check(&r->gemm[i], c, 1));
	return c->status;
}

static int check_transfer(struct bench_case *c, long round)
{
	const struct pair_run *r = c->state;
	TRY(c->status, rotation_collect(r->rotation));
	return TRY(c->status, transfer_check(&r->transfer, c));
}

static int check(struct bench_case *c, long round)
{
	TRY(c->status, check_gemms(c, round));
	return TRY(c->status, transfer_check(&((const struct pair_run *)c->state)->transfer, c));
}

#define END_OF_GEMM(round) BENCH_SELF, .arg = (round), .once = pair_time_gemm, .model = model_gemm
#define END_OF_TRANSFER(round)                                                                     \
	BENCH_SELF, .arg = (round), .once = pair_time_transfer, .model = model_transfer

/* Each round, to its end; then to the end of each side of those that run both at once. */
enum { G_IN_GF = PAIR_ROUNDS, T_IN_GF, G_IN_TF, T_IN_TF };
static const struct bench_variant variants[] = {
	[GEMM] = {"gemm_alone", BENCH_SELF, GEMM, .model = model_gemm, .check = check_gemms},
	[TRANSFER] = {"transfer_alone", BENCH_SELF, TRANSFER, .model = model_transfer,
		      .check = check_transfer},
	[SERIAL] = {"serial", BENCH_SELF, SERIAL},
	[GEMM_FIRST] = {"gemm_first", BENCH_SELF, GEMM_FIRST},
	[TRANSFER_FIRST] = {"transfer_first", BENCH_SELF, TRANSFER_FIRST},
	[G_IN_GF] = {"gemm_in_gemm_first", END_OF_GEMM(GEMM_FIRST)},
	[T_IN_GF] = {"transfer_in_gemm_first", END_OF_TRANSFER(GEMM_FIRST)},
	[G_IN_TF] = {"gemm_in_transfer_first", END_OF_GEMM(TRANSFER_FIRST)},
	[T_IN_TF] = {"transfer_in_transfer_first", END_OF_TRANSFER(TRANSFER_FIRST)},
	{0}};

#define BIT(variant) (UINT64_C(1) << (variant))

static int verify_mechanism(struct bench_case *c)
{
	const struct pair_run *r = c->state;
	const struct message *m = r->transfer.message;
	TRY(c->status, bench_verify_independent(c, UINT64_MAX, "streams_are_independent",
						r->round[GEMM], r->round[TRANSFER]));
	if (m->blocks == 0)
		TRY(c->status, blocking_kernel_verify_engine(c, ~BIT(GEMM), m->to, m->from,
							     r->transfer.piece_bytes));
	return c->status;
}

/* ------------------------------------------------------------------ metrics */

#define ALONE (BIT(GEMM) | BIT(TRANSFER))
#define ORDERS (BIT(GEMM_FIRST) | BIT(TRANSFER_FIRST))
#define EQUAL_WITHIN 1.15
/* Smaller differences count as noise even on a quiet machine. */
#define MIN_NOISE 0.02

#define CIL_GEMM "time of the GEMM while the transfer runs / gemm_alone"
#define CIL_TRANSFER "time of the transfer while the GEMM runs / transfer_alone"
static const struct bench_quantity_row quantities[] = {
	{"fraction_of_ideal", BENCH_FRACTION},
	{"transfer_multiple", BENCH_RATIO, "transfer_alone", "gemm_alone",
	 "transfer_alone / gemm_alone"},
	{"TimeRatio", BENCH_RATIO, "gemm_first", "serial"},
	{"TimeRatio", BENCH_RATIO, "transfer_first", "serial"},
	{"exposed_tail", BENCH_DIFFERENCE, "gemm_first", "gemm_alone"},
	{"exposed_tail", BENCH_DIFFERENCE, "transfer_first", "gemm_alone"},
	{"CIL", BENCH_RATIO, "gemm_in_gemm_first", "gemm_alone", CIL_GEMM},
	{"CIL", BENCH_RATIO, "transfer_in_gemm_first", "transfer_alone", CIL_TRANSFER},
	{"CIL", BENCH_RATIO, "gemm_in_transfer_first", "gemm_alone", CIL_GEMM},
	{"CIL", BENCH_RATIO, "transfer_in_transfer_first", "transfer_alone", CIL_TRANSFER},
	{0}};

#define OF_METHOD(method)                                                                          \
	"type=main shape=n512|n4096|n256 transfer=up copy-method=" method " size=1x operands=warm"
static const struct bench_metric primary[] = {
	{"overlap_efficiency_engine", "fraction_of_ideal", "transfer_first", OF_METHOD("engine")},
	{"overlap_efficiency_kernel", "fraction_of_ideal", "transfer_first",
	 OF_METHOD("kernel|kernel:units/8|kernel")},
	{0}};

/* Beyond noise: the relative distance of the median sample from the best one. */
static bool is_slowed(const struct bench_case *c, unsigned concurrent, unsigned alone)
{
	const double alone_s = bench_median(c, alone),
		     noise = fmax(MIN_NOISE, alone_s / bench_best(c, alone) - 1.0);
	return bench_median(c, concurrent) > (1.0 + noise) * alone_s;
}

static void record_slowed_side(struct bench_case *c, const char *fact, unsigned gemm,
			       unsigned transfer)
{
	const bool g = is_slowed(c, gemm, GEMM), t = is_slowed(c, transfer, TRANSFER);
	if (!isnan(bench_median(c, gemm) + bench_median(c, GEMM) + bench_median(c, transfer) +
		   bench_median(c, TRANSFER)))
		bench_fact_text(c, fact, g && t ? "both" : g ? "gemm" : t ? "transfer" : "neither");
}

/* ConCCL's: which side takes longer, by over 15 %. */
static void record_class(struct bench_case *c, double gemm, double transfer)
{
	if (!isnan(gemm + transfer))
		bench_fact_text(c, "class",
				gemm > EQUAL_WITHIN * transfer   ? "G-long"
				: transfer > EQUAL_WITHIN * gemm ? "C-long"
								 : "GC-equal");
}

/* Record the side that should be enqueued first. */
static void record_better_order(struct bench_case *c)
{
	uint64_t fastest = 0;
	TRY(c->status, bench_fastest(c, ORDERS, &fastest));
	if (bench_variant_on(c, GEMM_FIRST) && bench_variant_on(c, TRANSFER_FIRST) && fastest)
		bench_fact_text(c, "better_order",
				fastest == ORDERS            ? "tie"
				: fastest == BIT(GEMM_FIRST) ? "gemm_first"
							     : "transfer_first");
}

static void derive_bound(struct bench_case *c, unsigned both)
{
	const struct bench_quantity q = {BENCH_RATIO, .of = {{.longest = ALONE}, BENCH_OF(both)}};
	TRY(c->status, bench_derive(c, "fraction_of_bound", (int)both, &q,
				    "max(gemm_alone, transfer_alone) / both"));
	bench_bound(c, "fraction_of_bound", (int)both, 1.0, "the longer side alone");
}

static int derive(struct bench_case *c)
{
	static const struct bench_overlap overlap = {SERIAL, ALONE, ALONE, NULL};
	const struct pair_run *r = c->state;
	bench_gemm_facts(&r->gemm[0], c);
	bench_fact_number(c, "transfer_bytes", (double)transfer_bytes(&r->transfer));
	bench_fact_number(c, "transfer_passes", r->transfer.passes);
	bench_fact_number(c, "messages_per_device", (double)r->transfer.fan_out);
	bench_fact_number(c, "devices", (double)r->transfer.senders);
	rotation_facts(r->rotation, c);
	if (r->transfer.sender[0].copy_blocks)
		bench_fact_number(c, "copy_method_blocks", r->transfer.sender[0].copy_blocks);
	pair_run_verify_size(c);
	record_class(c, bench_median(c, GEMM), bench_median(c, TRANSFER));
	record_slowed_side(c, "slowed_side_gemm_first", G_IN_GF, T_IN_GF);
	record_slowed_side(c, "slowed_side_transfer_first", G_IN_TF, T_IN_TF);
	TRY(c->status, bench_derive_overlap(c, &overlap, ORDERS));
	derive_bound(c, GEMM_FIRST);
	derive_bound(c, TRANSFER_FIRST);
	record_better_order(c);
	return c->status;
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
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct pair_run),
	.admit = admit,
	.setup = pair_run_open,
	.once = pair_time,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
