/* SPDX-License-Identifier: BSD-3-Clause */
#include "gemm/efficiency/efficiency_metrics.h"

#include <stdio.h>

const struct bench_variant efficiency_variants[] = {
	[GEMM] = {.name = "gemm", .timing = BENCH_DEVICE},
	[PEAK] = {.name = "peak", .timing = BENCH_DEVICE},
	[GEMM_FAST] = {.name = "gemm_fast", .timing = BENCH_DEVICE},
	[MMA_PEAK] = {.name = "mma_peak", .timing = BENCH_DEVICE},
	[WGMMA_PEAK] = {.name = "wgmma_peak", .timing = BENCH_DEVICE},
	[GEMM_COLD] = {.name = "gemm_cold", .timing = BENCH_DEVICE},
	{0}};

static const unsigned loop_variants[PEAK_LOOPS] = {
	[PEAK_FMA] = PEAK, [PEAK_MMA] = MMA_PEAK, [PEAK_WGMMA] = WGMMA_PEAK};

/* Reference of the fraction of peak. */
struct peak_reference {
	const struct bench_gemm *gemm;
	const struct peaks *peaks;
	unsigned loop; /* the fastest, a variant */
};

bool efficiency_is_gemm(unsigned variant)
{
	return variant == GEMM || variant == GEMM_FAST || variant == GEMM_COLD;
}

enum peak_loop efficiency_peak_loop(unsigned variant)
{
	return variant == WGMMA_PEAK ? PEAK_WGMMA : variant == MMA_PEAK ? PEAK_MMA : PEAK_FMA;
}

unsigned efficiency_peak_variant(enum peak_loop loop) { return loop_variants[loop]; }

double efficiency_flops(const struct bench_gemm *gemm, const struct peaks *peaks, unsigned variant)
{
	return efficiency_is_gemm(variant) ? shape_flops(&gemm->shape)
					   : peaks_flops(peaks, efficiency_peak_loop(variant));
}

/* A variant; GEMM: no loop was measured. */
static unsigned fastest_loop(const struct bench_case *c, const struct peaks *peaks)
{
	unsigned fastest = GEMM;
	double max_rate = 0.0;
	for (unsigned loop = 0; loop < PEAK_LOOPS; loop++) {
		const unsigned v = loop_variants[loop];
		double rate = peaks_flops(peaks, (enum peak_loop)loop) / bench_best(c, v);
		if (!bench_variant_on(c, v) || (fastest != GEMM && !(rate > max_rate)))
			continue;
		fastest = v;
		max_rate = rate;
	}
	return fastest;
}

static bool peak_is_upper_bound(const struct bench_case *c, const struct peak_reference *peak)
{
	const struct dev_props *p = dev_props(c->dev);
	const uint32_t bounded[] = {[PEAK] = p->fma_peak_types,
				    [MMA_PEAK] = p->mma_peak_types,
				    [WGMMA_PEAK] = p->wgmma_types};
	return bounded[peak->loop] >> peak->gemm->type & 1;
}

static int derive_fraction(struct bench_case *c, unsigned variant,
			   const struct peak_reference *peak)
{
	const unsigned loop = peak->loop;
	const double loop_flops = efficiency_flops(peak->gemm, peak->peaks, loop);
	const bool bound = peak_is_upper_bound(c, peak);
	char formula[160];
	snprintf(formula, sizeof(formula), "flop_rate(%s) / flop_rate(%s), round by round%s",
		 efficiency_variants[variant].name, efficiency_variants[loop].name,
		 bound || loop == PEAK
			 ? ""
			 : "; of measured mma.sync peak (MFMA, WMMA), which the units may exceed");
	if (bound)
		bench_bound(c, "flop_rate", (int)variant, loop_flops / bench_best(c, loop),
			    "measured peak");
	const double flops = efficiency_flops(peak->gemm, peak->peaks, variant);
	const struct bench_quantity q = {BENCH_SHARE, .of = {BENCH_OF(variant), BENCH_OF(loop)},
					 .factor = flops / loop_flops};
	int status = bench_derive(c, "fraction_of_peak", (int)variant, &q, formula);
	if (bound)
		bench_bound_share(c, "flop_rate", (int)variant, "fraction_of_peak");
	return status;
}

/* That of the units which the variant uses: GEMMs and matrix loops have one, the loop without
 * matrix units another. 0: unknown. */
static double nominal_flops(const struct bench_case *c, unsigned variant, enum dev_type type)
{
	const struct dev_nominal *n = &dev_props(c->dev)->nominal;
	return variant != PEAK   ? n->gemm_flops[type]
	       : type == DEV_F64 ? n->fma_flops_f64
				 : n->fma_flops_f32;
}

/* After the measured peak has flagged what exceeds it: where it is known, the nominal rate is what
 * the share is of. */
static int derive_nominal(struct bench_case *c, const struct bench_gemm *gemm,
			  const struct peaks *peaks, unsigned variant)
{
	const double nominal = nominal_flops(c, variant, gemm->type);
	if (!(nominal > 0.0))
		return 0;
	bench_nominal(c, "flop_rate", (int)variant, nominal,
		      !dev_props(c->dev)->nominal.clock_varies);
	return bench_rate(c, "fraction_of_nominal", variant,
			  efficiency_flops(gemm, peaks, variant) / nominal, "",
			  "flop_rate / nominal rate of the device in this type");
}

int efficiency_derive(struct bench_case *c, const struct bench_gemm *gemm,
		      const struct peaks *peaks)
{
	static const unsigned gemms[] = {GEMM, GEMM_FAST, GEMM_COLD};
	const struct peak_reference peak = {gemm, peaks, fastest_loop(c, peaks)};
	char formula[40];
	bench_gemm_facts(gemm, c);
	int status = bench_ratio(c, "cold_time_ratio", GEMM_COLD, GEMM, NULL);
	snprintf(formula, sizeof(formula), "flop_rate(%s)", efficiency_variants[peak.loop].name);
	for (unsigned i = 0; status == 0 && peak.loop != GEMM && i < 3; i++)
		status = derive_fraction(c, gemms[i], &peak);
	for (unsigned v = 0; status == 0 && efficiency_variants[v].name; v++)
		status = derive_nominal(c, gemm, peaks, v);
	if (status == 0 && peak.loop != GEMM && peak.loop != PEAK)
		bench_alias(c, "flop_rate", (int)peak.loop, "peak_flop_rate", formula);
	return status;
}
