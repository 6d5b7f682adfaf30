/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The matrix product of the fake BLAS libraries: column-major, D := alpha op(A) op(B) + beta C, with sums in double. Those of f8 are
 * what Ada and Hopper were found to do (DeepSeek-V3, arXiv 2412.19437, 3.3.2; SageAttention2, arXiv 2411.10958): after every 32
 * products the sum is cut to 13 bits of mantissa, and after every 128 it moves to a wider one, unless accumulation is fast.
 */
#ifndef FAKES_PRODUCT_H
#define FAKES_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

enum product_type { PRODUCT_F32, PRODUCT_F64, PRODUCT_TF32, PRODUCT_F16, PRODUCT_BF16, PRODUCT_F8 };

struct product {
	enum product_type type, result; /* of A and B, and of C and D */
	bool a_transposed, b_transposed;
	uint64_t m, n, k;
	double alpha, beta;
	const void *a, *b, *c;
	void *d;
	uint64_t lda, ldb, ldc, ldd;
	bool fast_accumulation;
	unsigned extra_us; /* that it takes longer */
};

/* Enqueue on a stream of the driver, whose result it returns. */
int product_enqueue(void *stream, const struct product *p);

#endif
