/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How near to this machine's own peak does a matrix product come, by shape and type? The peak is not a datasheet's:
 * a loop of independent multiply-adds in registers, on every unit, measured in the same blocks as the product.
 *
 * Units that multiply whole tiles, where a device has them, are not in that loop: f32 and f64 may exceed it there, so it is
 * no bound. The narrower types have loops of their own, of matrix multiply-adds; the faster one is the peak, and a bound where
 * it is known to reach what the units can do. f16 gives f16, bf16 and f8 (e4m3) give bf16; sums are f32, and with
 * gemm_fast, of f8, what the library's fast accumulation keeps of them.
 *
 * Timed: the vendor's product on data that was touched before, and the loop. flop/s counts 2 M N K.
 *
 *     bin/gemm/efficiency --device host --type f32 --shape n2048,g5,512x4096x64
 */
#include "gemm/efficiency/peaks.h"
#include "lib/bench_own.h"
#include "lib/bench_product.h"

#include <stdio.h>

enum { GEMM, PEAK, GEMM_FAST, MMA_PEAK, WGMMA_PEAK };

static const struct axis axes[] = {
	{.name = "type", .help = "element type", .kind = AXIS_WORD, .words = product_types, .types = true,
	 .quick = "f32,f64,tf32,f16,bf16,f8"},
	{.name = "shape", .help = "nSIDE, MxNxK, or g1..g16 scaled", .kind = AXIS_WORD, .accept = shape_accept,
	 .quick = "n256,n512,n1024,n2048,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16",
	 .simulated = "n128,n256,n512,n1024,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16",
	 .full = "n64,n128,n256,n512,n1000,n1024,n1040,n2048,n4096,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16",
	 .wide = "n1024,n2048,n4096,n8192,g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16",
	 .wide_full = "n512,n1024,n2048,n4000,n4096,n4160,n8192,n16384,"
	              "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"},
	{.name = "mflop", .help = "g1..g16 are scaled to at most this many million flops", .kind = AXIS_COUNT, .min = 1,
	 .quick = "500", .full = "4000", .simulated = "100", .wide = "2000000", .wide_full = "8000000"},
	{0}};

static const struct bench_variant variants[] = {
	{.name = "gemm", .timing = BENCH_DEVICE}, {.name = "peak", .timing = BENCH_DEVICE},
	{.name = "gemm_fast", .timing = BENCH_DEVICE}, {.name = "mma_peak", .timing = BENCH_DEVICE},
	{.name = "wgmma_peak", .timing = BENCH_DEVICE}, {0}};

static const struct bench_metric primary[] = {
	{"gemm_f32_flop_rate", "flop_rate", "gemm", "type=f32", "max", "flop/s", "higher"},
	{"gemm_f64_flop_rate", "flop_rate", "gemm", "type=f64", "max", "flop/s", "higher"},
	{"gemm_tf32_flop_rate", "flop_rate", "gemm", "type=tf32", "max", "flop/s", "higher"},
	{"gemm_f16_flop_rate", "flop_rate", "gemm", "type=f16", "max", "flop/s", "higher"},
	{"gemm_bf16_flop_rate", "flop_rate", "gemm", "type=bf16", "max", "flop/s", "higher"},
	{"gemm_f8_flop_rate", "flop_rate", "gemm", "type=f8", "max", "flop/s", "higher"},
	{"gemm_f8_fast_flop_rate", "flop_rate", "gemm_fast", "type=f8", "max", "flop/s", "higher"},
	{"peak_f32_flop_rate", "flop_rate", "peak", "type=f32", "max", "flop/s", "higher"},
	{"peak_tf32_flop_rate", "peak_flop_rate", NULL, "type=tf32", "max", "flop/s", "higher"},
	{"peak_f16_flop_rate", "peak_flop_rate", NULL, "type=f16", "max", "flop/s", "higher"},
	{"peak_bf16_flop_rate", "peak_flop_rate", NULL, "type=bf16", "max", "flop/s", "higher"},
	{"peak_f8_flop_rate", "peak_flop_rate", NULL, "type=f8", "max", "flop/s", "higher"},
	{0}};

struct state {
	struct product product;
	struct peaks peaks;
};

static const struct loop {
	unsigned variant;
	const char *bound;
} loops[PEAK_LOOPS] = {
	[PEAK_FMA] = {PEAK, "measured peak of multiply-adds"},
	[PEAK_MMA] = {MMA_PEAK, "measured mma peak"},
	[PEAK_WGMMA] = {WGMMA_PEAK, "measured wgmma peak"},
};

static struct state *state(const struct bench_case *c) { return c->state; }

static struct product product_of(const struct bench_case *c, unsigned variant)
{
	struct product p = state(c)->product;
	p.fast_accumulation = variant == GEMM_FAST;
	return p;
}

static void prepare(struct bench_case *c, unsigned variant)
{
	struct product p = product_of(c, variant);
	struct dev_gemm gemm = product_whole(&p);
	if (bench_variant_on(c, variant))
		own_result(c, dev_gemm_prepare(c->dev, &gemm));
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	if (product_open_axes(&s->product, c))
		return own_status(c);
	if (!product_has_fast(&s->product, c->dev))
		bench_variant_off(c, GEMM_FAST);
	prepare(c, GEMM);
	prepare(c, GEMM_FAST);
	peaks_open(&s->peaks, c, s->product.type);
	for (unsigned loop = 0; loop < PEAK_LOOPS; loop++)
		if (!s->peaks.loops[loop].kernel)
			bench_variant_off(c, loops[loop].variant);
	return own_status(c);
}

static bool multiplies(unsigned variant) { return variant == GEMM || variant == GEMM_FAST; }

static enum peak_loop loop_of(unsigned variant)
{
	return variant == WGMMA_PEAK ? PEAK_WGMMA : variant == MMA_PEAK ? PEAK_MMA : PEAK_FMA;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	const struct product product = product_of(c, variant);
	struct dev_gemm gemm = product_whole(&product);
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = multiplies(variant) ? dev_gemm(c->dev, c->stream, &gemm) : peaks_launch(&s->peaks, c, loop_of(variant));
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct state *s = state(c);
	m->flops = multiplies(variant) ? shape_flops(&s->product.shape) : peaks_flops(&s->peaks, loop_of(variant));
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	return multiplies(variant) ? product_spoil(&s->product, c) : peaks_spoil(&s->peaks, c, loop_of(variant));
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct product product = product_of(c, variant);
	return multiplies(variant) ? product_check(&product, c, 1) : peaks_check(&state(c)->peaks, c, loop_of(variant));
}

static double best_rate(const struct bench_case *c, unsigned variant)
{
	struct bench_model m = {0};
	model(c, variant, &m);
	return m.flops / bench_best(c, variant);
}

/* NULL: there is none, or it was left out. */
static const struct loop *fastest(const struct bench_case *c)
{
	const struct loop *best = NULL;
	for (unsigned loop = 0; loop < PEAK_LOOPS; loop++)
		if (bench_variant_on(c, loops[loop].variant) &&
		    (!best || best_rate(c, loops[loop].variant) > best_rate(c, best->variant)))
			best = &loops[loop];
	return best;
}

static double fraction_of(const struct bench_case *c, const double *seconds, unsigned variant)
{
	const unsigned loop = fastest(c)->variant;
	struct bench_model gemm = {0}, peak = {0};
	model(c, variant, &gemm);
	model(c, loop, &peak);
	return gemm.flops / seconds[variant] / (peak.flops / seconds[loop]);
}

static double gemm_fraction(const struct bench_case *c, const double *seconds) { return fraction_of(c, seconds, GEMM); }
static double fast_fraction(const struct bench_case *c, const double *seconds) { return fraction_of(c, seconds, GEMM_FAST); }

/* f32 and f64 may use units that the loop of theirs doesn't; a loop of matrices may not reach what the units can do. */
static bool bounds(const struct bench_case *c, const struct loop *loop)
{
	if (loop->variant == MMA_PEAK)
		return dev_props(c->dev)->mma_peak_types >> state(c)->product.type & 1;
	return loop->variant == WGMMA_PEAK || !product_has_own_units(c->dev);
}

static int derive_of(struct bench_case *c, unsigned variant, bench_formula fraction)
{
	const struct loop *peak = fastest(c);
	const bool bound = bounds(c, peak);
	char formula[160];
	snprintf(formula, sizeof(formula), "flop_rate(%s) / flop_rate(%s), block by block%s", variants[variant].name,
	         variants[peak->variant].name,
	         bound || peak->variant == PEAK ? "" : "; of measured mma.sync peak (MFMA, WMMA), which the units may exceed");
	if (bound)
		bench_bound(c, "flop_rate", (int)variant, best_rate(c, peak->variant), peak->bound);
	return bench_derive(c, "fraction_of_peak", (int)variant, "", UINT64_C(1) << variant | UINT64_C(1) << peak->variant, fraction,
	                    formula);
}

static int derive(struct bench_case *c)
{
	const struct loop *peak = fastest(c);
	char formula[40];
	product_facts(&state(c)->product, c);
	if (!peak)
		return 0;
	snprintf(formula, sizeof(formula), "flop_rate(%s)", variants[peak->variant].name);
	if (peak->variant != PEAK)
		bench_alias(c, "flop_rate", (int)peak->variant, "peak_flop_rate", formula);
	int status = derive_of(c, GEMM, gemm_fraction);
	return status ? status : derive_of(c, GEMM_FAST, fast_fraction);
}

static const struct bench bench = {
	.name = "gemm/efficiency",
	.question = "how near to its own peak is a matrix product, by shape and type?",
	.formula = "flop_rate = 2 M N K / median time; fraction_of_peak = flop_rate / that of the fastest register-only loop",
	.timed = "the vendor's product on touched random data; not allocation, filling or checking",
	.limits = "caches are warm; a cold product is slower; the peak of f32 and f64 is no bound where products may have "
	          "units of their own, nor that of a loop of matrices which is not known to reach what the units can do",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = product_admit,
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
