/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of types narrower than f32, and their elements.
 */
#ifndef GPUSIG_SIM_NARROW_H
#define GPUSIG_SIM_NARROW_H

#include "device/dev_gemm.h"

/* Types with fewer bits than f32 has in its mantissa, integers among them. */
bool sim_narrow_is(enum dev_type type);
/* True if the values of a result are rounded to C's type: a narrow GEMM that adds to no C. Integers
 * are not rounded. */
bool sim_narrow_is_rounded(const struct dev_gemm *g);

/* A and B of a narrow GEMM as f32, or as i32, without gaps, B as k x n, of every group; memory for
 * alpha*A*B where the values of the result are rounded. One allocation. */
struct sim_narrow {
	void *a, *b;
	float *ab;
};
bool sim_narrow_open(struct sim_narrow *w, const struct dev_gemm *g); /* false: out of memory */
void sim_narrow_close(struct sim_narrow *w);
/* The same GEMM, of what was decoded. */
struct dev_gemm sim_narrow_decoded(const struct sim_narrow *w, const struct dev_gemm *g);
/* Elements in a row as f32, which is exact; f32 as tf32 is stored are rounded to its bits. */
void sim_narrow_decode(enum dev_type type, const void *from, uint32_t count, float *to);
/* To f32, f16 or bf16, the types of a C. */
void sim_narrow_round(enum dev_type result, const float *from, uint32_t count, void *to);
/* Part of a row: C := from + beta*C. */
void sim_narrow_add_row(const struct dev_gemm *g, const float *from, void *c, uint32_t count);

#endif
