/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does cutting a matrix product cost? The same product whole and cut into k pieces along M, N or K, all in the
 * same blocks. DIL, decomposition inefficiency loss, is our working definition of FiCCO's (arXiv 2512.10236):
 * DIL = time of all pieces, alone and one after the other / time of the whole; 1 is no loss.
 *
 * Timed: the pieces back to back in one stream, results accumulated in place (a K piece adds to C). Beside DIL stands
 * what a machine without caches would move: traffic(cut, k) / traffic(whole). It predicts that cutting M is cheaper than
 * cutting K exactly when K < 2M.
 *
 *     bin/gemm/split --device host --shape g1,g2 --cut whole,m2,m8,k2,k8
 */
#include "lib/bench_product.h"

/* param: the cut above the low byte, the number of pieces in it. */
#define PIECES(label, cut, k)                                                                                    \
	{                                                                                                        \
		.name = label #k, .timing = BENCH_DEVICE, .param = (cut) << 8 | (k), .queued = (k)               \
	}

static const struct bench_variant variants[] = {
	{.name = "whole", .timing = BENCH_DEVICE, .param = SHAPE_CUT_M << 8 | 1},
	PIECES("m", SHAPE_CUT_M, 2), PIECES("m", SHAPE_CUT_M, 4), PIECES("m", SHAPE_CUT_M, 8),
	PIECES("m", SHAPE_CUT_M, 16), PIECES("m", SHAPE_CUT_M, 32), PIECES("m", SHAPE_CUT_M, 64),
	PIECES("n", SHAPE_CUT_N, 2), PIECES("n", SHAPE_CUT_N, 4), PIECES("n", SHAPE_CUT_N, 8),
	PIECES("n", SHAPE_CUT_N, 16), PIECES("n", SHAPE_CUT_N, 32), PIECES("n", SHAPE_CUT_N, 64),
	PIECES("k", SHAPE_CUT_K, 2), PIECES("k", SHAPE_CUT_K, 4), PIECES("k", SHAPE_CUT_K, 8),
	PIECES("k", SHAPE_CUT_K, 16), PIECES("k", SHAPE_CUT_K, 32), PIECES("k", SHAPE_CUT_K, 64),
	{0}};
enum { WHOLE, VARIANTS = sizeof(variants) / sizeof(variants[0]) - 1 };

static const struct axis axes[] = {
	{.name = "type", .help = "element type", .kind = AXIS_WORD, .words = product_types, .types = true, .quick = "f32,bf16",
	 .full = "f32,f64,tf32,f16,bf16,f8"},
	{.name = "shape", .help = "nSIDE, MxNxK, or g1..g16 scaled", .kind = AXIS_WORD, .accept = shape_accept,
	 .quick = "g1,g2,g5,g6,g7,g8,n512", .simulated = "g1,g2,g5,g6,n256",
	 .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n1024,n2048",
	 .wide = "g1,g2,g5,g6,g7,g8,n4096",
	 .wide_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n4096,n8192"},
	{.name = "mflop", .help = "g1..g16 are scaled to at most this many million flops", .kind = AXIS_COUNT, .min = 1,
	 .quick = "300", .full = "4000", .simulated = "60", .wide = "2000000", .wide_full = "8000000"},
	{0}};

static const struct bench_metric primary[] = {
	{"gemm_dil_m8", "DIL", "m8", "type=f32", "median", "", "lower"},
	{"gemm_dil_k8", "DIL", "k8", "type=f32", "median", "", "lower"},
	{0}};

static struct product *product(const struct bench_case *c) { return c->state; }
static enum shape_cut cut_of(unsigned v) { return (enum shape_cut)(variants[v].param >> 8); }
static uint32_t pieces_of(unsigned v) { return (uint32_t)variants[v].param & 0xff; }

static uint32_t side_of(const struct shape *s, enum shape_cut cut)
{
	return cut == SHAPE_CUT_M ? s->m : cut == SHAPE_CUT_N ? s->n : s->k;
}

static struct dev_gemm piece(const struct product *p, unsigned variant, uint32_t number)
{
	uint64_t side = side_of(&p->shape, cut_of(variant)), pieces = pieces_of(variant);
	uint32_t from = (uint32_t)(side * number / pieces), to = (uint32_t)(side * (number + 1) / pieces);
	return product_piece(p, cut_of(variant), from, to - from);
}

/* Pieces of one side differ by at most one, so the first and the last stand for all. */
static int prepare(struct bench_case *c, unsigned variant)
{
	struct dev_gemm first = piece(product(c), variant, 0), last = piece(product(c), variant, pieces_of(variant) - 1);
	int status = dev_gemm_prepare(c->dev, &first);
	bool same = first.m == last.m && first.n == last.n && first.k == last.k;
	return status || same ? status : dev_gemm_prepare(c->dev, &last);
}

static int setup(struct bench_case *c)
{
	struct product *p = product(c);
	int status = product_open_axes(p, c);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		if (!product_divides(p, cut_of(v), pieces_of(v)))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v))
			status = prepare(c, v);
	}
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		for (uint32_t number = 0; status == 0 && number < pieces_of(variant); number++) {
			struct dev_gemm gemm = piece(product(c), variant, number);
			status = dev_gemm(c->dev, c->stream, &gemm);
		}
	}
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->flops = shape_flops(&product(c)->shape);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return product_spoil(product(c), c);
}

static int check(struct bench_case *c, unsigned variant)
{
	return product_check(product(c), c, cut_of(variant) == SHAPE_CUT_K ? pieces_of(variant) : 1);
}

static int derive(struct bench_case *c)
{
	const struct shape *shape = &product(c)->shape;
	product_facts(product(c), c);
	bench_fact_text(c, "cheaper_cut_by_traffic", shape->k < 2 * shape->m ? "m" : "k");
	for (unsigned v = WHOLE + 1; v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		int status = bench_ratio(c, "DIL", v, WHOLE, "time of all pieces / time of the whole, block by block");
		if (status)
			return status;
		bench_value(c, "traffic_ratio", (int)v,
		            shape_traffic(shape, cut_of(v), pieces_of(v)) / shape_traffic(shape, cut_of(v), 1), "",
		            "traffic without caches, cut / whole; M: MK+kKN+MN, N: kMK+KN+MN, K: MK+KN+(2k-1)MN");
	}
	return 0;
}

static const struct bench bench = {
	.name = "gemm/split",
	.question = "what does cutting a matrix product into pieces cost?",
	.formula = "DIL = time of k pieces back to back / time of the whole; 1 is no loss",
	.timed = "the pieces in one stream on touched random data; not allocation, filling or checking",
	.limits = "caches are warm; the library may choose another kernel for a piece, which is part of the loss",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variant_option = "cut",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct product),
	.admit = product_admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
