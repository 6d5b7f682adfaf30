/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of the simulator: how they are cut into tiles, and what they cost.
 */
#ifndef GPUSIG_SIM_GEMM_H
#define GPUSIG_SIM_GEMM_H

#include "device/dev_gemm.h"
#include "device/sim/model/model.h"

#include <stdbool.h>

struct op;
struct sim_dev;

/* Indices of an operation's uses. */
enum { SIM_GEMM_A, SIM_GEMM_B, SIM_GEMM_C };

/* Rows and columns of C that a block computes. */
struct tile {
	uint32_t row, rows_end, column, columns_end;
	uint32_t group; /* whose matrix of B it is multiplied by */
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
#endif
