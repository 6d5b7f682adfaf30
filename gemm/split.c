/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much slower is a GEMM that is split into pieces? The same GEMM whole and cut into k pieces
 * along M, N or K, all in the same rounds. DIL, decomposition inefficiency loss, is our working
 * definition of FiCCO's (arXiv 2512.10236): DIL = time of all pieces, alone and one after the other
 * / time of the whole; 1 is no loss.
 *
 * Timed: the pieces back to back in one stream, results accumulated in place (a K piece adds to C).
 * For comparison the traffic of a machine without caches is recorded: traffic(cut, k) /
 * traffic(whole). It predicts that cutting M is cheaper than cutting K exactly when K < 2M.
 *
 * A cold variant takes its operands from rotating buffers (bench/graph/rotation.h), which are in no
 * cache; its DIL is over the whole GEMM, cold too.
 *
 *     bin/gemm/split --device host --shape g1,g2 --cut whole,m2,m8,k2,k8
 */
#include "bench/bench_gemm.h"
#include "lib/err.h"

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "bf16,f32", .full = "bf16,f32,f64,tf32,f16,f8,i8"),
	BENCH_GEMM_SHAPES(.quick = "g1,g2,g5,g6,g7,g8,n512", .simulated = "g1,g2,g5,g6,n256",
			  .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n256,"
				  "n512,n1024,n2048",
			  .gpu_class = "g1,g2,g5,g6,g7,g8,n4096",
			  .gpu_class_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,"
					    "g16,n4096,square"),
	BENCH_GEMM_MFLOP(.quick = "300", .full = "4000", .simulated = "60", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{0}};

#define SHAPE "type=main shape=n512|n4096|n256"
static const struct bench_metric primary[] = {
	{"gemm_dil_m8", "DIL", "m8", SHAPE}, {"gemm_dil_k8", "DIL", "k8", SHAPE}, {0}};

struct state {
	struct bench_gemm gemm;
	struct rotation *cold;
};

/* The argument of a variant: the cut, and into how many pieces. */
#define PIECES(cut, k) ((cut) << 8 | (k))
static enum shape_cut cut_of(long pieces) { return (enum shape_cut)(pieces >> 8); }
static uint32_t count_of(long pieces) { return (uint32_t)pieces & 0xff; }

static struct dev_gemm find_piece(const struct bench_gemm *p, long pieces, uint32_t number)
{
	const enum shape_cut cut = cut_of(pieces);
	const struct shape *s = &p->shape;
	const uint64_t side = cut == SHAPE_CUT_M ? s->m : cut == SHAPE_CUT_N ? s->n : s->k;
	const uint32_t from = (uint32_t)(side * number / count_of(pieces)),
		       to = (uint32_t)(side * (number + 1) / count_of(pieces));
	return bench_gemm_piece(p, cut, from, to - from);
}

static int run_pieces(struct bench_case *c, const struct bench_gemm *operands, long pieces)
{
	for (uint32_t number = 0; number < count_of(pieces); number++) {
		const struct dev_gemm gemm = find_piece(operands, pieces, number);
		TRY(c->status, dev_gemm(c->dev, c->stream, &gemm));
	}
	return c->status;
}

static int run_warm(struct bench_case *c, long pieces)
{
	return run_pieces(c, &((const struct state *)c->state)->gemm, pieces);
}

static int run_cold(struct bench_case *c, long pieces)
{
	const struct state *s = c->state;
	const struct bench_gemm operands = bench_gemm_next(&s->gemm, s->cold);
	return run_pieces(c, &operands, pieces);
}

/* Cold operands leave those of the other variants in no cache. */
static int restore_warm(struct bench_case *c, long pieces)
{
	return run_warm(c, PIECES(SHAPE_CUT_M, 1));
}

static void model(const struct bench_case *c, long pieces, struct bench_model *m)
{
	bench_gemm_work(&((const struct state *)c->state)->gemm, 1.0, m);
}

static int poison(struct bench_case *c, long pieces)
{
	return bench_gemm_poison(&((const struct state *)c->state)->gemm, c);
}

static int poison_cold(struct bench_case *c, long pieces)
{
	TRY(c->status, poison(c, pieces));
	return TRY(c->status, rotation_spread(((struct state *)c->state)->cold, 1));
}

static int check(struct bench_case *c, long pieces)
{
	return bench_gemm_check(&((const struct state *)c->state)->gemm, c,
				cut_of(pieces) == SHAPE_CUT_K ? count_of(pieces) : 1);
}

static int check_cold(struct bench_case *c, long pieces)
{
	TRY(c->status, rotation_collect(((struct state *)c->state)->cold));
	return TRY(c->status, check(c, pieces));
}

#define WARM(label, cut, k)                                                                        \
	{                                                                                          \
		label, BENCH_DEVICE, .arg = PIECES(cut, k), .queued = (k)                          \
	}
#define COLD(label, cut, k)                                                                        \
	{                                                                                          \
		label, BENCH_DEVICE, .arg = PIECES(cut, k), .queued = (k), .once = run_cold,       \
				     .restore = restore_warm, .poison = poison_cold,               \
				     .check = check_cold                                           \
	}
#define WARM_CUTS(label, cut)                                                                      \
	WARM(label "2", cut, 2), WARM(label "4", cut, 4), WARM(label "8", cut, 8),                 \
		WARM(label "16", cut, 16), WARM(label "32", cut, 32), WARM(label "64", cut, 64)

enum { WHOLE };
static const struct bench_variant variants[] = {[WHOLE] = WARM("whole", SHAPE_CUT_M, 1),
						WARM_CUTS("m", SHAPE_CUT_M),
						WARM_CUTS("n", SHAPE_CUT_N),
						WARM_CUTS("k", SHAPE_CUT_K),
						COLD("whole_cold", SHAPE_CUT_M, 1),
						COLD("m8_cold", SHAPE_CUT_M, 8),
						COLD("k8_cold", SHAPE_CUT_K, 8),
						{0}};

/* Sides of pieces differ by at most one, so the first and the last piece represent all. */
static void prepare_pieces(struct bench_case *c, long pieces)
{
	const struct bench_gemm *p = &((const struct state *)c->state)->gemm;
	const struct dev_gemm first = find_piece(p, pieces, 0),
			      last = find_piece(p, pieces, count_of(pieces) - 1);
	TRY(c->status, dev_gemm_prepare(c->dev, &first));
	if (first.m != last.m || first.n != last.n || first.k != last.k)
		TRY(c->status, dev_gemm_prepare(c->dev, &last));
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	uint64_t cold = 0;
	bench_gemm_open_axes(&s->gemm, c, c->dev);
	for (unsigned v = 0; c->status == 0 && variants[v].name; v++) {
		const long pieces = variants[v].arg;
		if (!bench_gemm_divides(&s->gemm, cut_of(pieces), count_of(pieces)))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v))
			prepare_pieces(c, pieces);
		cold |= (uint64_t)(variants[v].once == run_cold) << v;
	}
	return TRY(c->status, bench_gemm_rotate(&s->gemm, c, cold, &s->cold));
}

#define COLD_RATIO "seconds(cold) / seconds(warm), of the same pieces, round by round"
#define COLD_LOSS "time of all pieces / time of the whole, both cold, round by round"
static const struct bench_quantity_row quantities[] = {
	{"DIL", BENCH_RATIO},
	{"DIL", BENCH_RATIO, "m8_cold", "whole_cold", COLD_LOSS},
	{"DIL", BENCH_RATIO, "k8_cold", "whole_cold", COLD_LOSS},
	{"cold_time_ratio", BENCH_RATIO, "whole_cold", "whole", COLD_RATIO},
	{"cold_time_ratio", BENCH_RATIO, "m8_cold", "m8", COLD_RATIO},
	{"cold_time_ratio", BENCH_RATIO, "k8_cold", "k8", COLD_RATIO},
	{0}};

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const struct shape *shape = &s->gemm.shape;
	bench_gemm_facts(&s->gemm, c);
	bench_fact_text(c, "cheaper_cut_by_traffic", shape->k < 2 * shape->m ? "m" : "k");
	for (unsigned v = 0; variants[v].name; v++) {
		const long pieces = variants[v].arg;
		if (variants[v].once == run_cold || count_of(pieces) == 1 ||
		    !bench_variant_on(c, v))
			continue;
		TRY(c->status,
		    bench_ratio(c, "DIL", v, WHOLE,
				"time of all pieces / time of the whole, round by round"));
		bench_model_value(
			c, "traffic_ratio", (int)v,
			shape_traffic(shape, cut_of(pieces), count_of(pieces)) /
				shape_traffic(shape, cut_of(pieces), 1),
			"",
			"traffic without caches, cut / whole; M: MK+kKN+MN, N: kMK+KN+MN, K: "
			"MK+KN+(2k-1)MN");
	}
	rotation_facts(s->cold, c);
	return c->status;
}

static const struct bench bench = {
	.name = "gemm/split",
	.question = "how much slower is a GEMM split into pieces?",
	.formula = "DIL = time of k pieces back to back / time of the whole; 1 is no loss",
	.timed = "the pieces in one stream on touched random data; not allocation, filling or "
		 "checking",
	.limits = "operands that fit in a cache are read from it, except in variants named cold; "
		  "the headline is warm; the library may choose another kernel for a piece, which "
		  "is part of the loss",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variant_option = "cut",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = bench_gemm_admit,
	.setup = setup,
	.once = run_warm,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
