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
 * the library's fast accumulation. i8 gives i32, exactly; its rate is op/s.
 * mxf8, mxf4 and nvf4, with a scale for every 32 or 16 elements, give bf16.
 *
 * gemm reads the same operands again and again: what fits in a cache comes from there. gemm_cold
 * takes other ones each time, from rotating buffers (bench/graph/rotation.h), which are in no
 * cache, as the operands of a GEMM are that follows other work.
 *
 * Timed: the vendor's GEMM on data that was touched before, and the loop. flop/s and op/s count 2 M
 * N K.
 *
 *     bin/gemm/efficiency --device host --type f32 --shape n2048,g5,512x4096x64
 */
#include "gemm/efficiency/peaks.h"
#include "lib/err.h"

#include <stdio.h>

#define NAMED "g1,g2,g3,g4,g5,g6,g7,g8,g9,g10,g11,g12,g13,g14,g15,g16"

/* Squares, also between the powers of two, where the last wave is another part of the device. */
static const struct axis axes[] = {
	BENCH_GEMM_TYPES(.quick = "f32,f64,tf32,f16,bf16,f8,i8,mxf8,mxf4,nvf4"),
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

#define AT(type) "type=" type " shape=n2048|square|n1024"
#define GEMM_RATE(type, name, work, ...)                                                           \
	{"gemm_" #name "_" #work "_rate", #work "_rate", "gemm", AT(#name)},
#define MATRIX_PEAKS(type, rate)                                                                   \
	{"mma_peak_" type "_" rate, rate, "mma_peak", AT(type)},                                   \
	{                                                                                          \
		"wgmma_peak_" type "_" rate, rate, "wgmma_peak", AT(type)                          \
	}

static const struct bench_metric primary[] = {
	DEV_TYPE_LIST(GEMM_RATE){"gemm_f8_fast_flop_rate", "flop_rate", "gemm_fast", AT("f8")},
	{"peak_f32_flop_rate", "flop_rate", "peak", AT("f32")},
	{"peak_f64_flop_rate", "flop_rate", "peak", AT("f64")},
	MATRIX_PEAKS("tf32", "flop_rate"),
	MATRIX_PEAKS("f16", "flop_rate"),
	MATRIX_PEAKS("bf16", "flop_rate"),
	MATRIX_PEAKS("f8", "flop_rate"),
	MATRIX_PEAKS("i8", "op_rate"),
	{0}};

static struct dev_gemm whole_gemm(const struct bench_case *c, long fast)
{
	struct dev_gemm gemm = bench_gemm_whole(&((const struct efficiency *)c->state)->gemm);
	gemm.fast_accumulation = fast;
	return gemm;
}

static int run_gemm(struct bench_case *c, long fast)
{
	const struct dev_gemm gemm = whole_gemm(c, fast);
	return dev_gemm(c->dev, c->stream, &gemm);
}

static int run_cold(struct bench_case *c, long fast)
{
	const struct efficiency *s = c->state;
	const struct bench_gemm operands = bench_gemm_next(&s->gemm, s->cold);
	const struct dev_gemm gemm = bench_gemm_whole(&operands);
	return dev_gemm(c->dev, c->stream, &gemm);
}

static void model(const struct bench_case *c, long fast, struct bench_model *m)
{
	bench_gemm_work(&((const struct efficiency *)c->state)->gemm, 1.0, m);
}

static int poison(struct bench_case *c, long fast)
{
	return bench_gemm_poison(&((const struct efficiency *)c->state)->gemm, c);
}

static int poison_cold(struct bench_case *c, long fast)
{
	TRY(c->status, poison(c, fast));
	return TRY(c->status, rotation_spread(((struct efficiency *)c->state)->cold, 1));
}

static int check(struct bench_case *c, long fast)
{
	struct bench_gemm gemm = ((const struct efficiency *)c->state)->gemm;
	gemm.fast_accumulation = fast;
	return bench_gemm_check(&gemm, c, 1);
}

static int check_cold(struct bench_case *c, long fast)
{
	TRY(c->status, rotation_collect(((struct efficiency *)c->state)->cold));
	return TRY(c->status, check(c, fast));
}

#define LOOP(loop)                                                                                 \
	.arg = (loop), .once = peak_once, .model = peak_model, .poison = peak_poison,              \
	.check = peak_check

enum { GEMM, PEAK, GEMM_FAST, MMA_PEAK, WGMMA_PEAK, GEMM_COLD };

/* Cold operands leave those of the other variants in no cache: restore. */
static const struct bench_variant variants[] = {
	[GEMM] = {"gemm", BENCH_DEVICE},
	[PEAK] = {"peak", BENCH_DEVICE, LOOP(PEAK_FMA)},
	[GEMM_FAST] = {"gemm_fast", BENCH_DEVICE, .arg = true},
	[MMA_PEAK] = {"mma_peak", BENCH_DEVICE, LOOP(PEAK_MMA)},
	[WGMMA_PEAK] = {"wgmma_peak", BENCH_DEVICE, LOOP(PEAK_WGMMA)},
	[GEMM_COLD] = {"gemm_cold", BENCH_DEVICE, .once = run_cold, .restore = run_gemm,
		       .poison = poison_cold, .check = check_cold},
	{0}};

static bool is_loop(unsigned v) { return variants[v].once == peak_once; }

/* NULL: a GEMM. */
static const struct peak *loop_of(const struct bench_case *c, unsigned v)
{
	const struct efficiency *s = c->state;
	return is_loop(v) ? &s->loops[variants[v].arg] : NULL;
}

static int setup(struct bench_case *c)
{
	struct efficiency *s = c->state;
	if (bench_gemm_open_axes(&s->gemm, c, c->dev))
		return c->status;
	if (!bench_gemm_has_fast(&s->gemm, c->dev))
		bench_variant_off(c, GEMM_FAST);
	for (int fast = 0; fast < 2; fast++) {
		const struct dev_gemm gemm = whole_gemm(c, fast);
		if (bench_variant_on(c, fast ? GEMM_FAST : GEMM))
			TRY(c->status, dev_gemm_prepare(c->dev, &gemm));
	}
	for (unsigned v = 0; variants[v].name; v++)
		if (is_loop(v) && !peak_open(c, variants[v].arg))
			bench_variant_off(c, v);
	return TRY(c->status, bench_gemm_rotate(&s->gemm, c, 1u << GEMM_COLD, &s->cold));
}

/* ------------------------------------------------------------------ the fraction of the peak */

static const char *rate_of(const struct bench_case *c)
{
	return bench_gemm_rate(((const struct efficiency *)c->state)->gemm.type);
}

static double operations_of(const struct bench_case *c, unsigned v)
{
	const struct bench_model work = bench_work(c, v);
	return work.flops + work.ops;
}

/* A variant; -1: no loop was measured. */
static int fastest_loop(const struct bench_case *c)
{
	int fastest = -1;
	double max_rate = 0.0;
	for (unsigned v = 0; variants[v].name; v++) {
		const double rate = operations_of(c, v) / bench_best(c, v);
		if (is_loop(v) && bench_variant_on(c, v) && (fastest < 0 || rate > max_rate)) {
			fastest = (int)v;
			max_rate = rate;
		}
	}
	return fastest;
}

static void derive_fraction(struct bench_case *c, unsigned variant, unsigned fastest)
{
	const struct peak *loop = loop_of(c, fastest);
	const double loop_operations = operations_of(c, fastest);
	const char *rate = rate_of(c);
	const struct bench_quantity q = {BENCH_SHARE, .of = {BENCH_OF(variant), BENCH_OF(fastest)},
					 .factor = operations_of(c, variant) / loop_operations};
	char formula[160];
	snprintf(formula, sizeof(formula), "%s(%s) / %s(%s), round by round%s", rate,
		 variants[variant].name, rate, variants[fastest].name,
		 loop->is_bound || !loop->sum
			 ? ""
			 : "; of measured mma.sync peak (MFMA, WMMA), which the units may exceed");
	if (loop->is_bound)
		bench_bound(c, rate, (int)variant, loop_operations / bench_best(c, fastest),
			    "measured peak");
	TRY(c->status, bench_derive(c, "fraction_of_peak", (int)variant, &q, formula));
	if (loop->is_bound)
		bench_bound_share(c, rate, (int)variant, "fraction_of_peak");
}

/* After the measured peak has flagged what exceeds it: where it is known, the nominal rate of the
 * units that the variant uses is what the share is of. */
static void derive_nominal(struct bench_case *c, unsigned v)
{
	const enum dev_type type = ((const struct efficiency *)c->state)->gemm.type;
	const struct dev_nominal *n = &dev_props(c->dev)->nominal;
	const struct peak *loop = loop_of(c, v);
	const double nominal = loop ? loop->nominal_flops : n->gemm_flops[type];
	if (!(nominal > 0.0))
		return;
	bench_nominal(c, rate_of(c), (int)v, nominal, !n->clock_varies);
	TRY(c->status,
	    bench_rate(c, "fraction_of_nominal", v, operations_of(c, v) / nominal, "",
		       "rate of flops (i8: of ops) / nominal rate of the device in this type"));
}

static int derive(struct bench_case *c)
{
	const struct efficiency *s = c->state;
	const int fastest = fastest_loop(c);
	rotation_facts(s->cold, c);
	bench_gemm_facts(&s->gemm, c);
	for (unsigned v = 0; fastest >= 0 && variants[v].name; v++)
		if (!is_loop(v))
			derive_fraction(c, v, (unsigned)fastest);
	for (unsigned v = 0; variants[v].name; v++)
		derive_nominal(c, v);
	if (c->status == 0 && fastest >= 0 && loop_of(c, (unsigned)fastest)->sum) {
		char name[40], formula[40];
		snprintf(name, sizeof(name), "peak_%s", rate_of(c));
		snprintf(formula, sizeof(formula), "%s(%s)", rate_of(c), variants[fastest].name);
		bench_alias(c, rate_of(c), fastest, name, formula);
	}
	return c->status;
}

static const struct bench_quantity_row quantities[] = {
	{"cold_time_ratio", BENCH_RATIO, "gemm_cold", "gemm"}, {0}};

static const struct bench bench = {
	.name = "gemm/efficiency",
	.question = "what fraction of peak does a GEMM reach?",
	.formula = "flop_rate (of i8: op_rate) = 2 M N K / median time; fraction_of_peak = "
		   "flop_rate / that of the "
		   "fastest register-only loop; cold_time_ratio = seconds(gemm_cold) / "
		   "seconds(gemm)",
	.timed = "the vendor's GEMM on touched random data; not allocation, filling or checking",
	.limits = "gemm, the headline, reads operands that fit from a cache, gemm_cold never; the "
		  "peak of f32 and f64 is not a bound where GEMMs may use matrix units, nor is "
		  "that of a matrix loop that may not reach the rate of the units; matrices are "
		  "dense: the libraries multiply none of which 2 of 4 elements are zero",
	.needs = DEV_CAP_GEMM,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.cliff = {"shape", "flop_rate", "gemm"},
	.state_bytes = sizeof(struct efficiency),
	.admit = bench_gemm_admit,
	.setup = setup,
	.once = run_gemm,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
