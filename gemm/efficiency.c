/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fraction of this machine's measured peak does a GEMM reach, by shape and type? The peak is
 * not a datasheet's: it is a loop of independent multiply-adds in registers, on every unit,
 * measured in the same rounds as the GEMM.
 *
 * The loop of f32 and f64 does not use matrix units; a GEMM may, where a device has them, so the
 * peak of these types is then not a bound. The narrower types have loops of matrix multiply-adds;
 * the faster one is the peak, and it is a bound where it is known to reach the rate of the units.
 * f16 gives f16; bf16 and f8 (e4m3) give bf16. Sums are f32, except for gemm_fast of f8, which uses
 * the library's fast accumulation.
 *
 * gemm reads the same operands again and again: what fits in a cache comes from there. gemm_cold
 * takes other ones each time, from rotating buffers (bench/graph/rotation.h), which are in no
 * cache, as the operands of a GEMM are that follows other work.
 *
 * Timed: the vendor's GEMM on data that was touched before, and the loop. flop/s counts 2 M N K.
 *
 *     bin/gemm/efficiency --device host --type f32 --shape n2048,g5,512x4096x64
 */
#include "bench/bench_alloc.h"
#include "gemm/efficiency/efficiency_metrics.h"

#define NAMED "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"

/* Squares, also between the powers of two, where the last wave is another part of the device. */
static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32,f64,tf32,f16,bf16,f8"),
	BENCH_GEMM_SHAPES(
			.multiple = 16, .quick = "n256,n384,n512,n768,n1024,n2048," NAMED,
			.simulated = "n128,n256,n384,n512,n768,n1024," NAMED,
			.full = "n64,n128,n256,n384,n512,n768,n1000,n1024,n1040,n2048,n4096," NAMED,
			.gpu_class = "n1024,n1536,n2048,n3072,n4096,square," NAMED,
			.gpu_class_full = "n512,n1024,n1536,n2048,n3072,n4000,n4096,n4160,square,"
					  "n16384," NAMED),
	BENCH_GEMM_MFLOP(.quick = "500", .full = "4000", .simulated = "100", .gpu_class = "2000000",
			 .gpu_class_full = "8000000"),
	{0}};

#define AT(type) "type=" type " shape=n2048|square|n1024", "flop/s", "higher"
#define FLOP_RATE(type, name, ...) {"gemm_" #name "_flop_rate", "flop_rate", "gemm", AT(#name)},
#define MATRIX_PEAKS(type)                                                                         \
	{"mma_peak_" type "_flop_rate", "flop_rate", "mma_peak", AT(type)},                        \
	{                                                                                          \
		"wgmma_peak_" type "_flop_rate", "flop_rate", "wgmma_peak", AT(type)               \
	}

static const struct bench_metric primary[] = {
	DEV_TYPE_LIST(FLOP_RATE){"gemm_f8_fast_flop_rate", "flop_rate", "gemm_fast", AT("f8")},
	{"peak_f32_flop_rate", "flop_rate", "peak", AT("f32")},
	{"peak_f64_flop_rate", "flop_rate", "peak", AT("f64")},
	MATRIX_PEAKS("tf32"),
	MATRIX_PEAKS("f16"),
	MATRIX_PEAKS("bf16"),
	MATRIX_PEAKS("f8"),
	{0}};

struct state {
	struct bench_gemm gemm;
	struct rotation *cold;
	struct peaks peaks;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static struct bench_gemm gemm_of_variant(const struct bench_case *c, unsigned variant)
{
	struct bench_gemm p = case_state(c)->gemm;
	p.fast_accumulation = variant == GEMM_FAST;
	return p;
}

static void prepare_gemm(struct bench_case *c, unsigned variant)
{
	struct bench_gemm p = gemm_of_variant(c, variant);
	struct dev_gemm gemm = bench_gemm_whole(&p);
	if (bench_variant_on(c, variant))
		bench_status_add(c, dev_gemm_prepare(c->dev, &gemm));
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	if (bench_gemm_open_axes(&s->gemm, c, c->dev))
		return bench_status(c);
	if (!bench_gemm_has_fast(&s->gemm, c->dev))
		bench_variant_off(c, GEMM_FAST);
	prepare_gemm(c, GEMM);
	prepare_gemm(c, GEMM_FAST);
	peaks_open(&s->peaks, c, s->gemm.type);
	bench_status_add(c, bench_gemm_rotate(&s->gemm, c, UINT64_C(1) << GEMM_COLD, &s->cold));
	for (unsigned loop = 0; loop < PEAK_LOOPS; loop++)
		if (!s->peaks.loops[loop].kernel)
			bench_variant_off(c, efficiency_peak_variant((enum peak_loop)loop));
	return bench_status(c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	struct bench_gemm operands = gemm_of_variant(c, variant);
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		if (variant == GEMM_COLD)
			operands = bench_gemm_next(&s->gemm, s->cold);
		struct dev_gemm gemm = bench_gemm_whole(&operands);
		status = efficiency_is_gemm(variant)
				 ? dev_gemm(c->dev, c->stream, &gemm)
				 : peaks_launch(&s->peaks, c, efficiency_peak_loop(variant));
	}
	return status;
}

/* Cold operands leave those of the other variants in no cache. */
static int restore(struct bench_case *c, unsigned variant)
{
	struct dev_gemm gemm = bench_gemm_whole(&case_state(c)->gemm);
	return variant == GEMM_COLD ? dev_gemm(c->dev, c->stream, &gemm) : 0;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct state *s = case_state(c);
	m->flops = efficiency_flops(&s->gemm, &s->peaks, variant);
}

static int poison(struct bench_case *c, unsigned variant)
{
	struct state *s = case_state(c);
	int status = efficiency_is_gemm(variant)
			     ? bench_gemm_poison(&s->gemm, c)
			     : peaks_poison(&s->peaks, c, efficiency_peak_loop(variant));
	return status || variant != GEMM_COLD ? status : rotation_spread(s->cold, 1);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct bench_gemm gemm = gemm_of_variant(c, variant);
	int status = variant == GEMM_COLD ? rotation_collect(case_state(c)->cold) : 0;
	if (status)
		return status;
	return efficiency_is_gemm(variant)
		       ? bench_gemm_check(&gemm, c, 1)
		       : peaks_check(&case_state(c)->peaks, c, efficiency_peak_loop(variant));
}

static int derive(struct bench_case *c)
{
	const struct state *s = case_state(c);
	rotation_facts(s->cold, c);
	return efficiency_derive(c, &s->gemm, &s->peaks);
}

static const struct bench bench = {
	.name = "gemm/efficiency",
	.question = "what fraction of peak does a GEMM reach?",
	.formula = "flop_rate = 2 M N K / median time; fraction_of_peak = flop_rate / that of the "
		   "fastest register-only loop; cold_time_ratio = seconds(gemm_cold) / "
		   "seconds(gemm)",
	.timed = "the vendor's GEMM on touched random data; not allocation, filling or checking",
	.limits = "gemm, the headline, reads operands that fit from a cache, gemm_cold never; the "
		  "peak of f32 and f64 is not a bound where GEMMs may use matrix units, nor is "
		  "that of a matrix loop that may not reach the rate of the units",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variants = efficiency_variants,
	.primary = primary,
	.cliff = {"shape", "flop_rate", "gemm", "higher", NULL},
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
