/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inner loops of the memory and arithmetic kernels, over one block's part, written once
 * per instruction set in device/host/host_simd.inc and selected at run time. A build needs no
 * -march.
 */
#ifndef GPUSIG_HOST_SIMD_H
#define GPUSIG_HOST_SIMD_H

#include <stddef.h>
#include <stdint.h>

/* Each loop does `reps` passes. All sizes are multiples of DEV_KERNEL_ALIGN and all pointers are
 * aligned to it, but sources of copies may have any alignment. Non-temporal (_nt) loops end with a
 * store fence, so that their data is visible when they return. */
struct host_simd {
	const char *name;
	uint32_t (*read)(const void *src, uint64_t bytes,
			 uint32_t reps); /* sum of the 32-bit words of one pass */
	void (*write)(void *dst, uint64_t bytes, uint32_t reps, uint32_t word);
	void (*write_nt)(void *dst, uint64_t bytes, uint32_t reps, uint32_t word);
	void (*copy)(void *dst, const void *src, uint64_t bytes, uint32_t reps);
	void (*copy_nt)(void *dst, const void *src, uint64_t bytes, uint32_t reps);
	void (*triad)(float *a, const float *b, const float *c, uint64_t bytes, uint32_t reps,
		      float scale);
	void (*triad_nt)(float *a, const float *b, const float *c, uint64_t bytes, uint32_t reps,
			 float scale);
	float (*fma_f32)(uint64_t fmas); /* `fmas` a multiple of DEV_FMA_QUANTUM; a finite number */
	double (*fma_f64)(uint64_t fmas);
	/* Rows have DEV_ATTENTION_DEPTH numbers. scores[r*keys + j] = the product of row r of four
	 * rows of q and row j of k. sums[r] += weights[r*keys + j] v[j], of four rows, too. */
	void (*dot_rows)(float *scores, const float *q, const float *k, uint32_t keys);
	void (*add_rows)(float *sums, const float *weights, const float *v, uint32_t keys);
	/* x[i] <- 2^(scale*x[i] - less), within 2^-21 of it, at least 2^-126; their sum. */
	float (*exp2)(float *x, uint32_t count, float scale, float less);
};

/* The fastest instruction set that this processor supports. */
const struct host_simd *host_simd_best(void);

/* The i-th supported instruction set, fastest first; NULL past the last. For tests. */
const struct host_simd *host_simd_at(size_t i);

#endif
