/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of multiply-adds in registers, for gemm/efficiency: what products of a type are held against.
 *
 * Of f32 and f64 it is the loop of scalar multiply-adds. Of the other types it is that of matrix multiply-adds, by single
 * warps and by four together, as far as the device has them (device/kernels.h): their sums are known and are checked.
 */
#ifndef GPUSIG_GEMM_EFFICIENCY_PEAKS_H
#define GPUSIG_GEMM_EFFICIENCY_PEAKS_H

#include "lib/bench.h"

enum peak_loop { PEAK_FMA, PEAK_MMA, PEAK_WGMMA, PEAK_LOOPS };

struct peaks {
	struct peak {
		struct dev_kernel *kernel; /* NULL: not for this type, or not on this device */
		uint64_t fmas;             /* of a block */
		uint32_t blocks;
		void *out;
	} loops[PEAK_LOOPS];
};

/* In set-up. What it opens is the case's, and an error is own_status(). */
void peaks_open(struct peaks *p, struct bench_case *c, enum dev_type type);

/* Enqueue one pass of a loop that is there, and its flops. */
int peaks_launch(const struct peaks *p, struct bench_case *c, enum peak_loop loop);
double peaks_flops(const struct peaks *p, enum peak_loop loop);

/* Enqueue on c->stream: the loop's results become what no loop gives. */
int peaks_spoil(const struct peaks *p, struct bench_case *c, enum peak_loop loop);

/* 0, or -EBADMSG with a text: a sum is not what so many multiply-adds make. Nothing is known of the scalar loop's. */
int peaks_check(const struct peaks *p, struct bench_case *c, enum peak_loop loop);

#endif
