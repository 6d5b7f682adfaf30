/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of the simulator: what they cost and what they compute.
 */
#ifndef GPUSIG_SIM_GEMM_H
#define GPUSIG_SIM_GEMM_H

#include "device/dev_gemm.h"
#include "device/sim/model/model.h"

#include <stdbool.h>

struct op;
struct sim_dev;
struct sim_gemm_result;

/* Indices of an operation's uses. */
enum { SIM_GEMM_A, SIM_GEMM_B, SIM_GEMM_C };

/* Rows and columns of C that a block computes. */
struct tile {
	uint32_t row, rows_end, column, columns_end;
};

/* flop/s of one unit; 0: the device has no GEMM of this type. */
double sim_gemm_flops(const struct sim_model *m, enum dev_type type);
/* Resources that a block of the GEMM claims. -EINVAL: more than a block may have. */
int sim_gemm_claims(struct sim_dev *d, const struct dev_gemm *g, uint64_t *shared_p,
		    uint64_t *registers_p);
int sim_gemm_prepare(struct sim_dev *d, struct op *op, const struct dev_gemm *g);
/* A tile of a GEMM by its number: number i is of block i % grid. */
struct tile sim_gemm_tile(const struct op *op, uint32_t number);
/* Bytes of this traffic that pass memory if the matrices are larger than the cache. */
double sim_gemm_memory_bytes(const struct op *op, unsigned traffic);
/* narrow.c: types with fewer bits of mantissa than f32. */
bool sim_narrow_is(enum dev_type type);
/* True if the values of a result are rounded to C's type: a narrow GEMM that adds to no C. */
bool sim_narrow_is_rounded(const struct dev_gemm *g);

/* A and B of a narrow GEMM as f32, without gaps, B as k x n; memory for alpha*A*B where the values
 * of the result are rounded. One allocation. */
struct sim_narrow {
	float *a, *b, *ab;
};
bool sim_narrow_open(struct sim_narrow *w, const struct dev_gemm *g); /* false: out of memory */
void sim_narrow_close(struct sim_narrow *w);
/* The same GEMM, in f32 of what was decoded. */
struct dev_gemm sim_narrow_decoded(const struct sim_narrow *w, const struct dev_gemm *g);
/* Elements in a row as f32, which is exact; f32 as tf32 is stored are rounded to its bits. */
void sim_narrow_decode(enum dev_type type, const void *from, uint32_t count, float *to);
/* To f32, f16 or bf16, the types of a C. */
void sim_narrow_round(enum dev_type result, const float *from, uint32_t count, void *to);
/* Part of a row: C := from + beta*C. */
void sim_narrow_add_row(const struct dev_gemm *g, const float *from, void *c, uint32_t count);

/* alpha*A*B of a GEMM, m x n without gaps: in f64 of f64, in C's type where
 * sim_narrow_is_rounded(), else in f32. It is complete if the same GEMM was computed before; else
 * the caller fills it in. NULL if memory is exhausted. At the end it is complete if all blocks are
 * done. */
struct sim_gemm_result *sim_gemm_cache_begin(const struct op *op);
bool sim_gemm_cache_is_complete(const struct sim_gemm_result *p);
void *sim_gemm_cache_values(struct sim_gemm_result *p);
/* Operands of a narrow GEMM, as they were when it began; its result is not complete. */
const struct sim_narrow *sim_gemm_cache_narrow(const struct sim_gemm_result *p);
void sim_gemm_cache_end(const struct op *op);
void sim_gemm_cache_clear(void);

#endif
