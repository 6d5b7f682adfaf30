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

#include "bench/bench.h"

enum peak_loop { PEAK_FMA, PEAK_MMA, PEAK_WGMMA, PEAK_LOOPS };

struct peaks {
	struct peak {
		struct dev_kernel *kernel; /* NULL: not for this type, or not on this device */
		uint64_t fmas;             /* of a block */
		uint32_t blocks;
		void *out;
	} loops[PEAK_LOOPS];
};

/* In setup. The case owns what this opens; an error is in bench_status(). */
void peaks_open(struct peaks *p, struct bench_case *c, enum dev_type type);

/* Enqueues one pass of a loop whose kernel is not NULL; and the flops of a pass. */
int peaks_launch(const struct peaks *p, struct bench_case *c, enum peak_loop loop);
double peaks_flops(const struct peaks *p, enum peak_loop loop);

/* Enqueues on c->stream: sets the loop's results to values that it cannot give. */
int peaks_poison(const struct peaks *p, struct bench_case *c, enum peak_loop loop);

/* 0, or -EBADMSG with a text if a sum is not that of the loop's multiply-adds. The scalar loop is
 * not checked. */
int peaks_check(const struct peaks *p, struct bench_case *c, enum peak_loop loop);

#endif
