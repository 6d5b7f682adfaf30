/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How near to this machine's own peak does a matrix product come, by shape and type? The peak is not a datasheet's:
 * a loop of independent multiply-adds in registers, on every unit, measured in the same blocks as the product.
 *
 * Units that multiply whole tiles, where a device has them, are not in that loop: f32 and f64 may exceed it there, so it is
 * no bound, and of the narrower types no peak is measured. f16 gives f16, bf16 and f8 (e4m3) give bf16; sums are f32, and with
 * gemm_fast, of f8, what the library's fast accumulation keeps of them.
 *
 * Timed: the vendor's product on data that was touched before, and the loop. flop/s counts 2 M N K.
 *
 *     bin/gemm/efficiency --device host --type f32 --shape n2048,g5,512x4096x64
 */
#include "device/kernels.h"
#include "lib/bench_own.h"
#include "lib/bench_product.h"

enum { GEMM, PEAK, GEMM_FAST };

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
	{.name = "gemm_fast", .timing = BENCH_DEVICE}, {0}};

static const struct bench_metric primary[] = {
	{"gemm_f32_flop_rate", "flop_rate", "gemm", "type=f32", "max", "flop/s", "higher"},
	{"gemm_f64_flop_rate", "flop_rate", "gemm", "type=f64", "max", "flop/s", "higher"},
	{"gemm_tf32_flop_rate", "flop_rate", "gemm", "type=tf32", "max", "flop/s", "higher"},
	{"gemm_f16_flop_rate", "flop_rate", "gemm", "type=f16", "max", "flop/s", "higher"},
	{"gemm_bf16_flop_rate", "flop_rate", "gemm", "type=bf16", "max", "flop/s", "higher"},
	{"gemm_f8_flop_rate", "flop_rate", "gemm", "type=f8", "max", "flop/s", "higher"},
	{"gemm_f8_fast_flop_rate", "flop_rate", "gemm_fast", "type=f8", "max", "flop/s", "higher"},
	{"peak_f32_flop_rate", "flop_rate", "peak", "type=f32", "max", "flop/s", "higher"},
	{0}};

/* Multiply-adds of one block of the peak loop: about a millisecond on a CPU core. */
#define PEAK_FMAS (UINT64_C(8192) * DEV_FMA_QUANTUM)

struct state {
	struct product product;
	struct dev_kernel *peak;
	uint64_t fmas;
	uint32_t blocks;
	void *out;
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
	if (s->product.type != DEV_F32 && s->product.type != DEV_F64) {
		bench_variant_off(c, PEAK);
		return own_status(c);
	}
	s->fmas = s->product.type == DEV_F32 ? PEAK_FMAS : PEAK_FMAS / 2;
	s->peak = own_kernel(c, s->product.type == DEV_F32 ? "fma_f32" : "fma_f64");
	if (own_status(c))
		return own_status(c);
	s->blocks = dev_wave_blocks(c->dev, s->peak);
	s->out = own_memory(c, DEV_MEM_DEVICE, s->blocks * sizeof(double));
	return own_status(c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	const struct product product = product_of(c, variant);
	struct dev_gemm gemm = product_whole(&product);
	const void *const args[] = {&s->out, &s->fmas};
	struct dev_launch launch = {.grid = s->blocks, .args = args};
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = variant != PEAK ? dev_gemm(c->dev, c->stream, &gemm) : dev_launch(c->dev, c->stream, s->peak, &launch);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct state *s = state(c);
	m->flops = variant != PEAK ? shape_flops(&s->product.shape) : 2.0 * (double)s->fmas * s->blocks;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	return variant == PEAK ? 0 : product_spoil(&state(c)->product, c);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct product product = product_of(c, variant);
	return variant == PEAK ? 0 : product_check(&product, c, 1);
}

static double fraction(const struct bench_case *c, const double *seconds)
{
	struct bench_model gemm = {0}, peak = {0};
	model(c, GEMM, &gemm);
	model(c, PEAK, &peak);
	return gemm.flops / seconds[GEMM] / (peak.flops / seconds[PEAK]);
}

static int derive(struct bench_case *c)
{
	struct bench_model peak = {0};
	product_facts(&state(c)->product, c);
	model(c, PEAK, &peak);
	if (bench_variant_on(c, GEMM) && bench_variant_on(c, PEAK) && !product_has_own_units(c->dev))
		bench_bound(c, "flop_rate", GEMM, peak.flops / bench_best(c, PEAK), "measured peak of multiply-adds");
	return bench_derive(c, "fraction_of_peak", GEMM, "", 1u << GEMM | 1u << PEAK, fraction,
	                    "flop_rate(gemm) / flop_rate(peak), block by block");
}

static const struct bench bench = {
	.name = "gemm/efficiency",
	.question = "how near to its own peak is a matrix product, by shape and type?",
	.formula = "flop_rate = 2 M N K / median time; fraction_of_peak = flop_rate / that of a register-only multiply-add loop",
	.timed = "the vendor's product on touched random data; not allocation, filling or checking",
	.limits = "caches are warm; a cold product is slower; the peak is that of f32 and f64, and no bound where products may "
	          "have units of their own",
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
