/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_metrics.h"
#include "bench/bench_alloc.h"
#include "bench/bench_overlap.h"

#include <math.h>
#include <stdio.h>

#define BIT(variant) (UINT64_C(1) << (variant))
#define EQUAL_WITHIN 1.15
/* Smaller differences count as noise even on a quiet machine. */
#define MIN_NOISE 0.02

static double exposed_tail(const struct bench_round *r)
{
	return r->seconds[r->variant] - r->seconds[GEMM];
}

static double fraction_of_bound(const struct bench_round *r)
{
	return fmax(r->seconds[GEMM], r->seconds[TRANSFER]) / r->seconds[r->variant];
}

/* How far the median sample is from the best one. */
static double variant_noise(const struct bench_case *c, unsigned variant)
{
	return fmax(MIN_NOISE, bench_median(c, variant) / bench_best(c, variant) - 1.0);
}

static bool side_is_slowed(const struct bench_case *c, unsigned concurrent, unsigned alone)
{
	return bench_median(c, concurrent) >
	       (1.0 + variant_noise(c, alone)) * bench_median(c, alone);
}

static void record_slowed_side(struct bench_case *c, const char *fact, unsigned gemm,
			       unsigned transfer)
{
	bool g = side_is_slowed(c, gemm, GEMM), t = side_is_slowed(c, transfer, TRANSFER);
	if (!isnan(bench_median(c, gemm) + bench_median(c, GEMM) + bench_median(c, transfer) +
		   bench_median(c, TRANSFER)))
		bench_fact_text(c, fact, g && t ? "both" : g ? "gemm" : t ? "transfer" : "neither");
}

/* Also says whether the ideal gain is beyond noise. */
static bool record_class(struct bench_case *c, double gemm, double transfer)
{
	double ideal = (gemm + transfer) / fmax(gemm, transfer),
	       min_ideal = 1.0 + 2.0 * variant_noise(c, SERIAL);
	char why[128];
	/* S is a ratio of two times, each with its own noise. */
	bool gain_is_significant = !(ideal <= min_ideal);
	if (isnan(gemm + transfer))
		return gain_is_significant;
	bench_fact_text(c, "class",
			gemm > EQUAL_WITHIN * transfer   ? "G-long"
			: transfer > EQUAL_WITHIN * gemm ? "C-long"
							 : "GC-equal");
	if (gain_is_significant)
		return true;
	snprintf(why, sizeof(why), "S_ideal %.4g is within noise; the limit is %.4g", ideal,
		 min_ideal);
	bench_fact_text(c, "no_fraction_of_ideal", why);
	return false;
}

static void derive_order(struct bench_case *c, const struct bench_overlap *o, unsigned both,
			 unsigned gemm, unsigned transfer)
{
	int variant = (int)both;
	bench_status_add(c, bench_derive_overlap(c, o, both));
	bench_status_add(c, bench_ratio(c, "TimeRatio", both, SERIAL, "both / serial"));
	bench_status_add(c, bench_derive(c, "exposed_tail", variant, "s", BIT(both) | BIT(GEMM),
					 exposed_tail, NULL, "both - gemm_alone"));
	bench_status_add(c, bench_derive(c, "fraction_of_bound", variant, "",
					 BIT(both) | o->longest, fraction_of_bound, NULL,
					 "max(gemm_alone, transfer_alone) / both"));
	bench_bound(c, "fraction_of_bound", variant, 1.0, "the longer side alone");
	bench_status_add(c, bench_ratio(c, "CIL", gemm, GEMM,
					"time of the GEMM while the transfer runs / gemm_alone"));
	bench_status_add(c,
			 bench_ratio(c, "CIL", transfer, TRANSFER,
				     "time of the transfer while the GEMM runs / transfer_alone"));
}

int pair_derive(struct bench_case *c)
{
	const uint64_t alone = BIT(GEMM) | BIT(TRANSFER);
	bool gain_is_significant =
		record_class(c, bench_median(c, GEMM), bench_median(c, TRANSFER));
	const struct bench_overlap o = {SERIAL, alone, alone, gain_is_significant ? 0.0 : INFINITY};
	record_slowed_side(c, "slowed_side_gemm_first", G_IN_GF, T_IN_GF);
	record_slowed_side(c, "slowed_side_transfer_first", G_IN_TF, T_IN_TF);
	bench_status_add(c, bench_derive_ideal(c, &o));
	derive_order(c, &o, GEMM_FIRST, G_IN_GF, T_IN_GF);
	derive_order(c, &o, TRANSFER_FIRST, G_IN_TF, T_IN_TF);
	return bench_status(c);
}
