/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_metrics.h"
#include "bench/bench_alloc.h"
#include "bench/bench_overlap.h"

#include <math.h>

#define BIT(variant) (UINT64_C(1) << (variant))
#define ALONE (BIT(GEMM) | BIT(TRANSFER))
#define ORDERS (BIT(GEMM_FIRST) | BIT(TRANSFER_FIRST))
#define EQUAL_WITHIN 1.15
/* Smaller differences count as noise even on a quiet machine. */
#define MIN_NOISE 0.02

/* Relative distance of the median sample from the best one. */
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

static void record_class(struct bench_case *c, double gemm, double transfer)
{
	if (!isnan(gemm + transfer))
		bench_fact_text(c, "class",
				gemm > EQUAL_WITHIN * transfer   ? "G-long"
				: transfer > EQUAL_WITHIN * gemm ? "C-long"
								 : "GC-equal");
}

/* Record the side that should be enqueued first. */
static void record_better_order(struct bench_case *c)
{
	uint64_t fastest;
	bench_status_add(c, bench_fastest(c, ORDERS, &fastest));
	if (bench_variant_on(c, GEMM_FIRST) && bench_variant_on(c, TRANSFER_FIRST) && fastest)
		bench_fact_text(c, "better_order",
				fastest == ORDERS            ? "tie"
				: fastest == BIT(GEMM_FIRST) ? "gemm_first"
							     : "transfer_first");
}

static void derive_order(struct bench_case *c, unsigned both, unsigned gemm, unsigned transfer)
{
	const struct bench_quantity q = {BENCH_RATIO, .of = {{.longest = ALONE}, BENCH_OF(both)}};
	bench_status_add(c, bench_ratio(c, "TimeRatio", both, SERIAL, NULL));
	bench_status_add(c, bench_difference(c, "exposed_tail", both, GEMM, NULL));
	bench_status_add(c, bench_derive(c, "fraction_of_bound", (int)both, &q,
					 "max(gemm_alone, transfer_alone) / both"));
	bench_bound(c, "fraction_of_bound", (int)both, 1.0, "the longer side alone");
	bench_status_add(c, bench_ratio(c, "CIL", gemm, GEMM,
					"time of the GEMM while the transfer runs / gemm_alone"));
	bench_status_add(c,
			 bench_ratio(c, "CIL", transfer, TRANSFER,
				     "time of the transfer while the GEMM runs / transfer_alone"));
}

int pair_derive(struct bench_case *c)
{
	const struct bench_overlap o = {SERIAL, ALONE, ALONE, NULL};
	record_class(c, bench_median(c, GEMM), bench_median(c, TRANSFER));
	record_slowed_side(c, "slowed_side_gemm_first", G_IN_GF, T_IN_GF);
	record_slowed_side(c, "slowed_side_transfer_first", G_IN_TF, T_IN_TF);
	bench_status_add(c, bench_derive_overlap(c, &o, ORDERS));
	derive_order(c, GEMM_FIRST, G_IN_GF, T_IN_GF);
	derive_order(c, TRANSFER_FIRST, G_IN_TF, T_IN_TF);
	record_better_order(c);
	return bench_status(c);
}
