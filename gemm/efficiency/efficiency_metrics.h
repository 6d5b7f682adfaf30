/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of gemm/efficiency, and the fraction of the peak that is derived from their times.
 */
#ifndef GPUSIG_EFFICIENCY_METRICS_H
#define GPUSIG_EFFICIENCY_METRICS_H

#include "bench/bench_gemm.h"
#include "gemm/efficiency/peaks.h"

enum { GEMM, PEAK, GEMM_FAST, MMA_PEAK, WGMMA_PEAK, GEMM_COLD };

extern const struct bench_variant efficiency_variants[];

/* A variant is a GEMM or a peak loop. */
bool efficiency_is_gemm(unsigned variant);
enum peak_loop efficiency_peak_loop(unsigned variant);
unsigned efficiency_peak_variant(enum peak_loop loop);

double efficiency_flops(const struct bench_gemm *gemm, const struct peaks *peaks, unsigned variant);

/* In derive: the facts of the GEMM; "fraction_of_peak" of the GEMMs, against the fastest loop that
 * was measured; "cold_time_ratio" of GEMM_COLD; that loop's rate as "peak_flop_rate" unless it is
 * PEAK; and a bound where the loop is one. */
int efficiency_derive(struct bench_case *c, const struct bench_gemm *gemm,
		      const struct peaks *peaks);

#endif
