/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix products as blocks of the device.
 *
 * C is cut into rows x columns blocks of nearly equal size, each one call of the BLAS library (host_blas.h)
 * on a unit. The cut is the one with the least estimated time among those with at least the blocks asked
 * for; with none asked for, that is one block for each unit, or a single block where starting others
 * costs more than they save.
 *
 * Claims shape residency. A block that claims no shared memory is resident alone of its kind: two library calls
 * that take turns on a core evict each other's panels from its cache. That leaves the unit's other
 * slots to foreign blocks. With shared_bytes, residency follows the claim as for any kernel, up to
 * slots_per_unit blocks.
 *
 * `tiled` changes nothing: a block may begin and end at any row, and counts what it finished by itself.
 */
#ifndef GPUSIG_HOST_GEMM_H
#define GPUSIG_HOST_GEMM_H

#include "device/dev.h"
#include "device/host_blas.h"
#include "device/host_kernels.h"

struct host_gemm {
	struct dev_gemm g;
	const struct host_blas *blas;
	uint32_t rows, columns; /* blocks along m and n */
};

/* Cut for a device of so many units. Sets rows and columns; their product may exceed g.blocks, and fall short
 * of it only when C has fewer elements. */
void host_gemm_cut(struct host_gemm *job, uint32_t units);

/* One block: args is the struct host_gemm, index counts along n first. */
int host_gemm_run(const struct host_block *b);

#endif
