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

/* param: the number of pieces in the low byte, the cut above it, and COLD. */
#define COLD (1L << 16)
#define PIECES(label, cut, k)                                                                      \
	{                                                                                          \
		.name = label #k, .timing = BENCH_DEVICE, .param = (cut) << 8 | (k), .queued = (k) \
	}
#define COLD_PIECES(label, cut, k)                                                                 \
	{                                                                                          \
		.name = (label), .timing = BENCH_DEVICE, .param = COLD | (cut) << 8 | (k),         \
		.queued = (k)                                                                      \
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
	{.name = "whole_cold", .timing = BENCH_DEVICE, .param = COLD | SHAPE_CUT_M << 8 | 1},
	COLD_PIECES("m8_cold", SHAPE_CUT_M, 8),
	COLD_PIECES("k8_cold", SHAPE_CUT_K, 8),
	{0}};
enum {
	WHOLE,
	VARIANTS = sizeof(variants) / sizeof(variants[0]) - 1,
	WHOLE_COLD = VARIANTS - 3, /* the cold ones are the last */
};

static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "bf16,f32", .full = "bf16,f32,f64,tf32,f16,f8"),
	BENCH_GEMM_SHAPES(.quick = "g1,g2,g5,g6,g7,g8,n512", .simulated = "g1,g2,g5,g6,n256",
			  .full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16,n256,"
				  "n512,n1024,n2048",
			  .gpu_class = "g1,g2,g5,g6,g7,g8,n4096",
			  .gpu_class_full = "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,"
					    "g16,n4096,square"),
	BENCH_GEMM_MFLOP(.quick = "300", .full = "4000", .simulated = "60", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{0}};

static const struct bench_metric primary[] = {
	{"gemm_dil_m8", "DIL", "m8", "type=main shape=n512|n4096|n256", "", "lower"},
	{"gemm_dil_k8", "DIL", "k8", "type=main shape=n512|n4096|n256", "", "lower"},
	{0}};

struct state {
	struct bench_gemm gemm;
	struct rotation *cold;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }
static struct bench_gemm *case_gemm(const struct bench_case *c) { return &case_state(c)->gemm; }
static bool is_cold(unsigned v) { return variants[v].param & COLD; }
static enum shape_cut variant_cut(unsigned v)
{
	return (enum shape_cut)(variants[v].param >> 8 & 0xff);
}
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
	uint64_t cold = 0;
	int status = bench_gemm_open_axes(p, c, c->dev);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		if (!bench_gemm_divides(p, variant_cut(v), variant_pieces(v)))
			bench_variant_off(c, v);
		else if (bench_variant_on(c, v))
			status = prepare_pieces(c, v);
		cold |= (uint64_t)is_cold(v) << v;
	}
	return status ? status : bench_gemm_rotate(p, c, cold, &case_state(c)->cold);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct bench_gemm operands = *case_gemm(c);
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		if (is_cold(variant))
			operands = bench_gemm_next(case_gemm(c), case_state(c)->cold);
		for (uint32_t number = 0; status == 0 && number < variant_pieces(variant);
		     number++) {
			struct dev_gemm gemm = gemm_piece_of_variant(&operands, variant, number);
			status = dev_gemm(c->dev, c->stream, &gemm);
		}
	}
	return status;
}

/* Cold operands leave those of the other variants in no cache. */
static int restore(struct bench_case *c, unsigned variant)
{
	struct dev_gemm gemm = bench_gemm_whole(case_gemm(c));
	return is_cold(variant) ? dev_gemm(c->dev, c->stream, &gemm) : 0;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->flops = shape_flops(&case_gemm(c)->shape);
}

static int poison(struct bench_case *c, unsigned variant)
{
	int status = bench_gemm_poison(case_gemm(c), c);
	return status || !is_cold(variant) ? status : rotation_spread(case_state(c)->cold, 1);
}

static int check(struct bench_case *c, unsigned variant)
{
	int status = is_cold(variant) ? rotation_collect(case_state(c)->cold) : 0;
	uint32_t writes = variant_cut(variant) == SHAPE_CUT_K ? variant_pieces(variant) : 1;
	return status ? status : bench_gemm_check(case_gemm(c), c, writes);
}

static int derive_cold(struct bench_case *c)
{
	static const char ratio[] =
		"seconds(cold) / seconds(warm), of the same pieces, round by round";
	static const char loss[] =
		"time of all pieces / time of the whole, both cold, round by round";
	int status = bench_ratio(c, "cold_time_ratio", WHOLE_COLD, WHOLE, ratio);
	for (unsigned v = WHOLE + 1; v < WHOLE_COLD; v++) {
		unsigned cold = WHOLE_COLD + 1;
		while (cold < VARIANTS && variants[cold].param != (variants[v].param | COLD))
			cold++;
		if (cold == VARIANTS || status)
			continue;
		status = bench_ratio(c, "cold_time_ratio", cold, v, ratio);
		if (status == 0)
			status = bench_ratio(c, "DIL", cold, WHOLE_COLD, loss);
	}
	return status;
}

static int derive(struct bench_case *c)
{
	const struct shape *shape = &case_gemm(c)->shape;
	bench_gemm_facts(case_gemm(c), c);
	bench_fact_text(c, "cheaper_cut_by_traffic", shape->k < 2 * shape->m ? "m" : "k");
	for (unsigned v = WHOLE + 1; v < WHOLE_COLD; v++) {
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
	rotation_facts(case_state(c)->cold, c);
	return derive_cold(c);
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
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = bench_gemm_admit,
	.setup = setup,
	.indexed.body = body,
	.indexed.restore = restore,
	.indexed.model = model,
	.indexed.poison = poison,
	.indexed.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
