/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of integers by oneDNN, if it is there: no BLAS multiplies them.
 *
 * On processors without instructions that add products of 8 bits to sums of 32 (VNNI), oneDNN adds
 * pairs of products in 16 bits, which saturate. It is tried when it is loaded, and one that
 * saturates is as if it were not there.
 */
#ifndef GPUSIG_HOST_ONEDNN_H
#define GPUSIG_HOST_ONEDNN_H

#include <stddef.h>
#include <stdint.h>

/* Row-major; 'N' or 'T' for A and B, 'F' for one offset of C. dnnl_status_t: 0 is success. */
typedef int host_igemm_fn(char, char, char, int64_t, int64_t, int64_t, float, const int8_t *,
			  int64_t, int8_t, const int8_t *, int64_t, int8_t, float, int32_t *,
			  int64_t, const int32_t *);

struct host_onednn {
	host_igemm_fn *multiply;
	void (*use_threads)(int); /* that calls of the calling thread may use */
	char text[96];            /* the library and its version, or why it is not used */
};

/* Loads it; later calls return the result of the first, whose `multiply` is NULL where there is no
 * library that can be used. It stays loaded until the process ends. Any thread. */
const struct host_onednn *host_onednn_open(void);

/* C := A B + beta C in the calling thread alone, B given as n x k if `b_transposed`. 0, or -EIO. */
int host_onednn_multiply(const struct host_onednn *l, int64_t m, int64_t n, int64_t k,
			 const int8_t *a, int64_t lda, const int8_t *b, int64_t ldb,
			 int b_transposed, int beta, int32_t *c, int64_t ldc);

#endif
