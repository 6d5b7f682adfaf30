/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM as blocks of the device.
 *
 * C is cut into rows x columns blocks of nearly equal size. Each is one call of the BLAS library
 * (host_blas.h; of integers host_onednn.h) on a unit. Among the cuts with at least the requested
 * number of blocks, the one with the lowest estimated time is used. If no number is requested, that
 * is one block for each unit, or a single block where starting more costs more than it saves.
 *
 * Shared memory claims shape residency. A block that claims none is the only block of its kind on
 * its unit: two library calls that alternate on a core evict each other's panels from its cache.
 * The unit's other slots stay free for other launches. With shared_bytes, residency follows the
 * claim as for any kernel, up to slots_per_unit blocks.
 *
 * `tiled` changes nothing: a block may begin and end at any row, and counts what it finished
 * itself. A textbook tile is a library call for every tile_k along k; the library copies what it
 * multiplies into memory of its own, so the claim shapes residency alone.
 *
 * Each group of a grouped GEMM is cut along n alone, so that there are at least two blocks for
 * every unit; the blocks of a group without rows end at once.
 *
 * With `adds` the library writes to the block's scratch memory (host_block.h), a rectangle of C at
 * a time, and each element is added to C by a compare-exchange of its word.
 */
#ifndef GPUSIG_HOST_GEMM_H
#define GPUSIG_HOST_GEMM_H

#include "device/dev.h"
#include "device/host/host_blas.h"
#include "device/host/host_kernels.h"
#include "device/host/host_onednn.h"

struct host_gemm {
	struct dev_gemm g;
	const struct host_blas *blas;
	const struct host_onednn *onednn; /* of integers */
	uint32_t rows,
		columns; /* parts of C along m and n; a block is one of them without tile_k */
};

/* Cut C for a device of so many units: set rows and columns. rows * columns may exceed g.blocks; it
 * is lower only when C has fewer elements. */
void host_gemm_cut(struct host_gemm *job, uint32_t units);

/* Blocks of a launch, and what each claims of its unit's pool before rounding. */
uint32_t host_gemm_blocks(const struct host_gemm *job);
uint64_t host_gemm_claim(const struct dev_gemm *g);

/* Run one block: args is the struct host_gemm; the index counts along n first. -EIO: the library
 * failed. */
int host_gemm_run(const struct host_block *b);

#endif
