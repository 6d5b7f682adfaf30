/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does cutting a GEMM into pieces cost? The same GEMM whole and cut into k pieces along M, N
 * or K, all in the same rounds. DIL, decomposition inefficiency loss, is our working definition of
 * FiCCO's (arXiv 2512.10236): DIL = time of all pieces, alone and one after the other / time of the
 * whole; 1 is no loss.
 *
 * Timed: the pieces back to back in one stream, results accumulated in place (a K piece adds to C).
 * For comparison the traffic of a machine without caches is recorded: traffic(cut, k) /
 * traffic(whole). It predicts that cutting M is cheaper than cutting K exactly when K < 2M.
 *
 *     bin/gemm/split --device host --shape g1,g2 --cut whole,m2,m8,k2,k8
 */
#include "bench/bench_gemm.h"

/* param: the number of pieces in the low byte, the cut above it. */
#define PIECES(label, cut, k)                                                                      \
	{                                                                                          \
		.name = label #k, .timing = BENCH_DEVICE, .param = (cut) << 8 | (k), .queued = (k) \
	}

static const struct bench_variant variants[] = {
	{.name = "whole", .timing = BENCH_DEVICE, .param = SHAPE_CUT_M << 8 | 1},
	PIECES("m", SHAPE_CUT_M, 2),
	PIECES("m", SHAPE_CUT_M, 4),
	PIECES("m", SHAPE_CUT_M, 8),
	PIECES("m", SHAPE_CUT_M, 16),
	PIECES("m", SHAPE_CUT_M, 32),
	PIECES("m", SHAPE_CUT_M, 64),
	PIECES("n", SHAPE_CUT_N, 2),
	PIECES("n", SHAPE_CUT_N, 4),
	PIECES("n", SHAPE_CUT_N, 8),
	PIECES("n", SHAPE_CUT_N, 16),
	PIECES("n", SHAPE_CUT_N, 32),
	PIECES("n", SHAPE_CUT_N, 64),
	PIECES("k", SHAPE_CUT_K, 2),
	PIECES("k", SHAPE_CUT_K, 4),
	PIECES("k", SHAPE_CUT_K, 8),
	PIECES("k", SHAPE_CUT_K, 16),
	PIECES("k", SHAPE_CUT_K, 32),
	PIECES("k", SHAPE_CUT_K, 64),
	{0}};
enum { WHOLE, VARIANTS = sizeof(variants) / sizeof(variants[0]) - 1 };

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32,bf16", .full = "f32,f64,tf32,f16,bf16,f8"),
	BENCH_GEMM_SHAPES(.quick = "g1,g2,g5,g6,g7,g8,n512", .simulated = "g1,g2,g5,g6,n256",
			  .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n256,"
				  "n512,n1024,n2048",
			  .gpu_class = "g1,g2,g5,g6,g7,g8,n4096",
			  .gpu_class_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,"
					    "g16,n4096,n8192"),
	BENCH_GEMM_MFLOP(.quick = "300", .full = "4000", .simulated = "60", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{0}};

static const struct bench_metric primary[] = {
	{"gemm_dil_m8", "DIL", "m8", "type=f32 shape=n512|n4096|n256", "", "lower"},
	{"gemm_dil_k8", "DIL", "k8", "type=f32 shape=n512|n4096|n256", "", "lower"},
	{0}};

static struct bench_gemm *case_gemm(const struct bench_case *c) { return c->state; }
static enum shape_cut variant_cut(unsigned v) { return (enum shape_cut)(variants[v].param >> 8); }
static uint32_t variant_pieces(unsigned v) { return (uint32_t)variants[v].param & 0xff; }

static uint32_t shape_side(const struct shape *s, enum shape_cut cut)
{
	return cut == SHAPE_CUT_M ? s->m : cut == SHAPE_CUT_N ? s->n : s->k;
}

static struct dev_gemm gemm_piece_of_variant(const struct bench_gemm *p, unsigned variant,
					     uint32_t number)
{
	uint64_t side = shape_side(&p->shape, variant_cut(variant)),
		 pieces = variant_pieces(variant);
	uint32_t from = (uint32_t)(side * number / pieces),
		 to = (uint32_t)(side * (number + 1) / pieces);
	return bench_gemm_piece(p, variant_cut(variant), from, to - from);
}

/* Sides of pieces differ by at most one, so the first and the last piece represent all. */
static int prepare_pieces(struct bench_case *c, unsigned variant)
{
	struct dev_gemm first = gemm_piece_of_variant(case_gemm(c), variant, 0),
			last = gemm_piece_of_variant(case_gemm(c), variant,
						     variant_pieces(variant) - 1);
	int status = dev_gemm_prepare(c->dev, &first);
	bool same = first.m == last.m && first.n == last.n && first.k == last.k;
	return status || same ? status : dev_gemm_prepare(c->dev, &last);
}

static int setup(struct bench_case *c)
{
	struct bench_gemm *p = case_gemm(c);
	int status = bench_gemm_open_axes(p, c, c->dev);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		if (!bench_gemm_divides(p, variant_cut(v), variant_pieces(v)))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v))
			status = prepare_pieces(c, v);
	}
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		for (uint32_t number = 0; status == 0 && number < variant_pieces(variant);
		     number++) {
			struct dev_gemm gemm = gemm_piece_of_variant(case_gemm(c), variant, number);
			status = dev_gemm(c->dev, c->stream, &gemm);
		}
	}
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->flops = shape_flops(&case_gemm(c)->shape);
}

static int poison(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return bench_gemm_poison(case_gemm(c), c);
}

static int check(struct bench_case *c, unsigned variant)
{
	return bench_gemm_check(case_gemm(c), c,
				variant_cut(variant) == SHAPE_CUT_K ? variant_pieces(variant) : 1);
}

static int derive(struct bench_case *c)
{
	const struct shape *shape = &case_gemm(c)->shape;
	bench_gemm_facts(case_gemm(c), c);
	bench_fact_text(c, "cheaper_cut_by_traffic", shape->k < 2 * shape->m ? "m" : "k");
	for (unsigned v = WHOLE + 1; v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		int status = bench_ratio(c, "DIL", v, WHOLE,
					 "time of all pieces / time of the whole, round by round");
		if (status)
			return status;
		bench_model_value(
			c, "traffic_ratio", (int)v,
			shape_traffic(shape, variant_cut(v), variant_pieces(v)) /
				shape_traffic(shape, variant_cut(v), 1),
			"",
			"traffic without caches, cut / whole; M: MK+kKN+MN, N: kMK+KN+MN, K: "
			"MK+KN+(2k-1)MN");
	}
	return 0;
}

static const struct bench bench = {
	.name = "gemm/split",
	.question = "what does cutting a GEMM into pieces cost?",
	.formula = "DIL = time of k pieces back to back / time of the whole; 1 is no loss",
	.timed = "the pieces in one stream on touched random data; not allocation, filling or "
		 "checking",
	.limits = "caches are warm; the library may choose another kernel for a piece, which is "
		  "part of the loss",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variant_option = "cut",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct bench_gemm),
	.admit = bench_gemm_admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
