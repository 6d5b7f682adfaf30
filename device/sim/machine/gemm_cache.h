/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results of GEMMs that were computed before.
 */
#ifndef GPUSIG_SIM_GEMM_CACHE_H
#define GPUSIG_SIM_GEMM_CACHE_H

#include "device/sim/machine/narrow.h"

struct op;
struct sim_gemm_result;

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
