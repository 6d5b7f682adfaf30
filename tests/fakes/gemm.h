/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GEMM of the fake BLAS libraries: column-major, D := alpha op(A) op(B) + beta C, with sums in
 * double. f8 sums imitate Ada and Hopper (DeepSeek-V3, arXiv 2412.19437, 3.3.2; SageAttention2,
 * arXiv 2411.10958): after every 32 terms the sum is truncated to 13 bits of mantissa; after every
 * 128 it is added to a wider sum, unless accumulation is fast.
 */
#ifndef FAKES_GEMM_H
#define FAKES_GEMM_H

#include "device/dev.h"

#include <stdbool.h>
#include <stdint.h>

struct fake_gemm {
	enum dev_type type, result; /* of A and B, and of C and D */
	bool a_transposed, b_transposed;
	uint64_t m, n, k;
	double alpha, beta;
	const void *a, *b, *c;
	void *d;
	uint64_t lda, ldb, ldc, ldd;
	bool fast_accumulation;
	bool is_fnuz; /* f8 of A and B is AMD's: a bias of 8, and the only NaN is OCP's -0 */
	/* Scales of types that have them, of A and of B; in cuBLAS' tiles, or row-major. */
	const uint8_t *a_scales, *b_scales;
	bool scale_tiles;
	unsigned extra_us; /* added run time */
};

/* Computes block `block` of so many. */
void fake_gemm_compute(const struct fake_gemm *p, uint32_t block, uint32_t blocks);

/* Enqueues the GEMM on a stream of the driver and returns the driver's result. */
int fake_gemm_enqueue(void *stream, const struct fake_gemm *p);

#endif
