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

static const struct loop {
	unsigned variant;
	const char *bound;
} loops[PEAK_LOOPS] = {
	[PEAK_FMA] = {PEAK, "measured peak of multiply-adds"},
	[PEAK_MMA] = {MMA_PEAK, "measured mma peak"},
	[PEAK_WGMMA] = {WGMMA_PEAK, "measured wgmma peak"},
};

/* What the fraction of peak is of. */
struct peak_reference {
	const struct bench_gemm *gemm;
	const struct peaks *peaks;
	const struct loop *loop; /* the fastest */
};

bool efficiency_is_gemm(unsigned variant)
{
	return variant == GEMM || variant == GEMM_FAST || variant == GEMM_COLD;
}

enum peak_loop efficiency_peak_loop(unsigned variant)
{
	return variant == WGMMA_PEAK ? PEAK_WGMMA : variant == MMA_PEAK ? PEAK_MMA : PEAK_FMA;
}

unsigned efficiency_peak_variant(enum peak_loop loop) { return loops[loop].variant; }

double efficiency_flops(const struct bench_gemm *gemm, const struct peaks *peaks, unsigned variant)
{
	return efficiency_is_gemm(variant) ? shape_flops(&gemm->shape)
					   : peaks_flops(peaks, efficiency_peak_loop(variant));
}

/* NULL: no loop was measured. */
static const struct loop *fastest_loop(const struct bench_case *c, const struct peaks *peaks)
{
	const struct loop *fastest = NULL;
	double max_rate = 0.0;
	for (unsigned loop = 0; loop < PEAK_LOOPS; loop++) {
		double rate = peaks_flops(peaks, (enum peak_loop)loop) /
			      bench_best(c, loops[loop].variant);
		if (!bench_variant_on(c, loops[loop].variant) || (fastest && !(rate > max_rate)))
			continue;
		fastest = &loops[loop];
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
	return bounded[peak->loop->variant] >> peak->gemm->type & 1;
}

static int derive_fraction(struct bench_case *c, unsigned variant,
			   const struct peak_reference *peak)
{
	const unsigned loop = peak->loop->variant;
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
			    peak->loop->bound);
	const double flops = efficiency_flops(peak->gemm, peak->peaks, variant);
	const struct bench_quantity q = {BENCH_SHARE, .of = {BENCH_OF(variant), BENCH_OF(loop)},
					 .factor = flops / loop_flops};
	int status = bench_derive(c, "fraction_of_peak", (int)variant, &q, formula);
	if (bound)
		bench_bound_share(c, "flop_rate", (int)variant, "fraction_of_peak");
	return status;
}

int efficiency_derive(struct bench_case *c, const struct bench_gemm *gemm,
		      const struct peaks *peaks)
{
	const struct peak_reference peak = {gemm, peaks, fastest_loop(c, peaks)};
	char formula[40];
	bench_gemm_facts(gemm, c);
	int status = bench_ratio(c, "cold_time_ratio", GEMM_COLD, GEMM, NULL);
	if (status || !peak.loop)
		return status;
	snprintf(formula, sizeof(formula), "flop_rate(%s)",
		 efficiency_variants[peak.loop->variant].name);
	if (peak.loop->variant != PEAK)
		bench_alias(c, "flop_rate", (int)peak.loop->variant, "peak_flop_rate", formula);
	status = derive_fraction(c, GEMM, &peak);
	if (status == 0)
		status = derive_fraction(c, GEMM_FAST, &peak);
	return status ? status : derive_fraction(c, GEMM_COLD, &peak);
}
