/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A product beside a transfer: what is gained by doing both at once, and who pays? After ConCCL (arXiv 2412.14335), whose
 * fraction of ideal, classes and question of the launch order these are; S and CIL are our working definitions of FiCCO's
 * (arXiv 2512.10236). Which mover, an engine or a kernel with so many blocks, is an axis; what is compared are the variants.
 *
 * Timed: rounds, one at a time, enqueued before the host lets them go, by the devices' own stamps (overlap/pair/rounds.h).
 * gemm_first and transfer_first are both at once, to the end of the later one. A variant gives one number, so the ends of the
 * sides come from rounds of their own: gemm_in_gemm_first is the same round again, timed to the end of its product. Among
 * devices every one of them has a product and sends; the longest of their times counts.
 *
 *     bin/overlap/pair --device host --shape g5 --transfer up --mover engine,kernel:1 --size 0.5x,1x,2x
 */
#include "lib/bench_hold.h"
#include "lib/bench_own.h"
#include "overlap/pair/amount.h"
#include "overlap/pair/gain.h"

enum side { WHOLE, OF_GEMM, OF_TRANSFER };

#define ROW(label) {.name = (label), .timing = BENCH_SELF}
static const struct bench_variant variants[] = {
	ROW("gemm_alone"), ROW("transfer_alone"), ROW("serial"), ROW("gemm_first"), ROW("transfer_first"),
	ROW("gemm_in_gemm_first"), ROW("transfer_in_gemm_first"), ROW("gemm_in_transfer_first"), ROW("transfer_in_transfer_first"),
	{0}};

static const struct {
	enum round_kind round;
	enum side side;
} runs[GAIN_VARIANTS] = {
	[GEMM] = {ROUND_GEMM, WHOLE}, [TRANSFER] = {ROUND_TRANSFER, WHOLE}, [SERIAL] = {ROUND_SERIAL, WHOLE},
	[GEMM_FIRST] = {ROUND_GEMM_FIRST, WHOLE}, [TRANSFER_FIRST] = {ROUND_TRANSFER_FIRST, WHOLE},
	[G_IN_GF] = {ROUND_GEMM_FIRST, OF_GEMM}, [T_IN_GF] = {ROUND_GEMM_FIRST, OF_TRANSFER},
	[G_IN_TF] = {ROUND_TRANSFER_FIRST, OF_GEMM}, [T_IN_TF] = {ROUND_TRANSFER_FIRST, OF_TRANSFER}};

static int accept_mover(const char *word)
{
	struct mover unused;
	return mover_parse(word, &unused);
}

static int accept_size(const char *word)
{
	struct amount unused;
	return amount_parse(word, &unused);
}

static const struct axis axes[] = {
	{.name = "type", .help = "element type", .kind = AXIS_WORD, .words = product_types, .types = true,
	 .quick = "f32", .wide = "f32,bf16", .wide_full = "f32,bf16,f8"},
	{.name = "shape", .help = "nSIDE, MxNxK, or g1..g16 scaled", .kind = AXIS_WORD, .accept = shape_accept,
	 .quick = "n512,g5", .simulated = "n256,g5", .full = "n256,n512,n1024,g1,g2,g3,g5,g6,g8,g14", .wide = "n4096,g5,g6",
	 .wide_full = "n2048,n4096,n8192,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"},
	{.name = "mflop", .help = "g1..g16 are scaled to at most this many million flops", .kind = AXIS_COUNT, .min = 1,
	 .quick = "500", .full = "4000", .simulated = "20", .wide = "200000", .wide_full = "2000000"},
	{.name = "transfer", .help = "what moves beside it", .kind = AXIS_WORD, .words = transfer_kinds,
	 .peers = "peer,all-gather,reduce-scatter,all-to-all",
	 .quick = "up,down,local,peer,all-gather,reduce-scatter,all-to-all"},
	{.name = "mover", .help = "engine, kernel, kernel:BLOCKS, or kernel:units/N", .kind = AXIS_WORD, .accept = accept_mover,
	 .quick = "engine,kernel", .full = "engine,kernel,kernel:1,kernel:units/8", .wide = "engine,kernel,kernel:units/8",
	 .wide_full = "engine,kernel,kernel:1,kernel:units/16,kernel:units/8,kernel:units/4"},
	{.name = "size", .help = "bytes that a device sends, or 0.5x: so many that they take that multiple of the product's time",
	 .kind = AXIS_WORD, .accept = accept_size, .quick = "1x", .full = "0.5x,1x,2x"},
	{0}};

static const struct bench_metric primary[] = {
	{"pair_of_ideal_engine", "fraction_of_ideal", NULL, "transfer=up mover=engine size=1x", "median", "", "higher"},
	{"pair_of_ideal_kernel", "fraction_of_ideal", NULL, "transfer=up mover=kernel size=1x", "median", "", "higher"},
	{0}};

#define PROOF_BYTES (64u << 10)
#define FIRST_BYTES (UINT64_C(1) << 20)

struct state {
	struct rounds rounds;
	struct amount amount;
	struct mover mover;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static enum transfer_kind kind(const struct bench_case *c) { return (enum transfer_kind)bench_choice(c, "transfer"); }

static int admit(const struct bench_case *c)
{
	struct mover mover;
	int status = product_admit(c);
	if (status == 0)
		status = mover_parse(bench_word(c, "mover"), &mover);
	return status ? status : transfer_admit(c, kind(c), &mover);
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	int status = mover_parse(bench_word(c, "mover"), &s->mover);
	if (status == 0)
		status = amount_parse(bench_word(c, "size"), &s->amount);
	if (status == 0)
		status = rounds_open(&s->rounds, c, kind(c), &s->mover, s->amount.bytes ? s->amount.bytes : FIRST_BYTES);
	return status ? status : amount_choose(&s->amount, &s->rounds, c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	double sum_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		struct round_times times = {0};
		status = rounds_run(&state(c)->rounds, runs[variant].round, &times);
		sum_s += runs[variant].side == OF_GEMM       ? times.gemm_s
		         : runs[variant].side == OF_TRANSFER ? times.transfer_s
		                                             : times.all_s;
	}
	c->self_seconds = sum_s;
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct rounds *r = &state(c)->rounds;
	if (variant == GEMM || runs[variant].side == OF_GEMM)
		m->flops = shape_flops(&r->seat[0].product.shape);
	if (variant == TRANSFER || runs[variant].side == OF_TRANSFER)
		m->bytes = (double)transfer_bytes(&r->transfer);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return rounds_spoil(&state(c)->rounds, c);
}

static int check(struct bench_case *c, unsigned variant)
{
	struct rounds *r = &state(c)->rounds;
	int status = variant == TRANSFER ? 0 : rounds_check_products(r, c);
	return status == 0 && variant != GEMM ? transfer_check(&r->transfer) : status;
}

static int prove(struct bench_case *c)
{
	const struct transfer *t = &state(c)->rounds.transfer;
	uint64_t bytes = t->piece_bytes < PROOF_BYTES ? t->piece_bytes : PROOF_BYTES;
	uint64_t movers = ((UINT64_C(1) << GAIN_VARIANTS) - 1) & ~(UINT64_C(1) << GEMM);
	int status = rounds_prove_independent(&state(c)->rounds, c);
	if (status || !t->mover.engine)
		return status;
	return hold_prove_engine(c, movers, t->message[0].to, t->message[0].from, bytes);
}

/* ------------------------------------------------------------------ what follows from the times */

static int derive(struct bench_case *c)
{
	const struct rounds *r = &state(c)->rounds;
	product_facts(&r->seat[0].product, c);
	bench_fact_number(c, "transfer_bytes", (double)transfer_bytes(&r->transfer));
	bench_fact_number(c, "messages_of_a_device", (double)r->transfer.lanes);
	bench_fact_number(c, "devices", (double)r->count);
	if (!r->transfer.mover.engine)
		bench_fact_number(c, "mover_blocks", mover_blocks(&r->transfer.mover, c->dev, r->transfer.sender[0].copy));
	return gain_derive(c);
}

static const struct bench bench = {
	.name = "overlap/pair",
	.question = "a product beside a transfer: what is gained, and who pays?",
	.formula = "fraction_of_ideal = (S - 1) / (S_ideal - 1); S = serial / both at once; S_ideal = (t_g + t_c) / max(t_g, t_c); "
	           "CIL = beside / alone; bandwidth = bytes that one device sends / time",
	.timed = "a round enqueued beforehand, by the devices' stamps: from its beginning to the end of the later side, or of the "
	         "side that is named; the longest of the devices' times",
	.limits = "one product and one transfer at a time, from the same buffers every round: what fits in a cache comes from it; "
	          "the second side starts a few events after the first",
	.needs = DEV_CAP_GEMM | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
