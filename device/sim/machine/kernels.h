/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: their arguments, what they move and compute, and their results.
 */
#ifndef GPUSIG_SIM_KERNELS_H
#define GPUSIG_SIM_KERNELS_H

#include "device/kernel_signature.h"

struct op;
struct sim_dev;

struct kernel_type {
	const char *name;
	const struct kernel_signature *signature; /* NULL: gemm, or a copy on the units */
	/* Add the cost that the signature does not describe; NULL: none. */
	int (*prepare)(struct sim_dev *d, struct op *op);
	void (*start)(struct op *op, uint32_t block, uint64_t now_ns);
	void (*finish)(struct op *op, uint32_t block);
	bool holds;   /* occupies its slot until it is released, or for arg[3] ns */
	bool signals; /* what it writes is real without data, too */
};

struct dev_kernel {
	const struct kernel_type *type;
};

/* Fills in those that sim has, of KERNELS; returns how many. Without data, kernels that only move
 * or compute have nothing to finish. */
size_t kernels_fill(struct dev_kernel *kernels, bool with_data);
int kernel_prepare(struct sim_dev *d, struct op *op, const void *const *args);
/* Tiles of a GEMM that this block computes; 1 for any other kernel. */
uint32_t kernel_block_tiles(const struct op *op, uint32_t block);
/* Fraction of the launch's traffic that is this block's. */
double kernel_part(const struct op *op, uint32_t block);
/* Number of blocks from this one on, itself included, with the same time and part. */
uint32_t kernel_blocks_alike(const struct op *op, uint32_t block);
bool kernel_is_released(const struct op *op); /* of a kernel that holds */
void kernel_corrupt(struct op *op);
extern const struct kernel_type kernel_copy_type;

#endif
