/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of multiply-adds in registers, for gemm/efficiency: the peak that GEMMs of a type are
 * compared with.
 *
 * f32 and f64 have a loop of scalar multiply-adds. The other types have loops of matrix
 * multiply-adds, by single warps and by four together, where the device supports them
 * (device/kernels.h). The sums of the matrix loops are known and are checked.
 */
#ifndef GPUSIG_PEAKS_H
#define GPUSIG_PEAKS_H

#include "bench/bench_gemm.h"

enum peak_loop { PEAK_FMA, PEAK_MMA, PEAK_WGMMA, PEAK_LOOPS };

struct peak {
	struct dev_kernel *kernel;
	uint64_t fmas; /* of a block */
	uint32_t blocks;
	void *out;
	uint32_t sum, *found; /* of each block of a matrix loop; 0: a scalar one, not checked */
	bool is_bound;        /* reaches the rate of the units, so no GEMM of the type is faster */
	double nominal_flops; /* of these units in this type; 0: unknown */
};

/* A case's state. */
struct efficiency {
	struct bench_gemm gemm;
	struct rotation *cold;
	struct peak loops[PEAK_LOOPS];
};

/* In setup, after the GEMM is open. False: no such loop for its type, or not on this device. */
bool peak_open(struct bench_case *c, long loop);

/* Callbacks of variants whose `arg` is a loop. */
int peak_once(struct bench_case *c, long loop);
void peak_model(const struct bench_case *c, long loop, struct bench_model *m);
int peak_poison(struct bench_case *c, long loop);
int peak_check(struct bench_case *c, long loop);

#endif
