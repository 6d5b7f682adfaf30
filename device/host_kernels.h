/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h on this CPU. A block is one call of run() on a slot's thread.
 */
#ifndef GPUSIG_HOST_KERNELS_H
#define GPUSIG_HOST_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/kernels.h"

struct host_simd;

union host_arg {
	void *pointer;
	uint64_t u64;
	uint32_t u32;
	float f32;
};

/* One block, as run() sees it. */
struct host_block {
	uint32_t index, grid;
	const void *args;             /* union host_arg[], or what the launch carries in its place */
	const atomic_bool *cancelled; /* its stream is closing: stop waiting */
};

/* How much memory a pointer argument must have behind it. */
enum host_extent {
	HOST_EXTENT_NONE,      /* not a pointer */
	HOST_EXTENT_BYTES,     /* as the kernel's u64 argument `bytes` says; a multiple of DEV_KERNEL_ALIGN */
	HOST_EXTENT_FIXED,     /* `each` bytes */
	HOST_EXTENT_PER_BLOCK, /* `each` bytes a block */
};

struct host_parameter {
	uint32_t size; /* of the value; 0 past the last parameter */
	enum host_extent extent;
	uint32_t each;
	bool bytes; /* this is the argument `bytes` */
	bool fmas;  /* a multiple of DEV_FMA_QUANTUM */
};

/* run() returns 0, or -errno, which fails the launch. */
struct dev_kernel {
	const char *name;
	struct host_parameter parameters[DEV_KERNEL_MAX_ARGS];
	int (*run)(const struct host_block *b);
};

/* NULL if there is none of that name. */
const struct dev_kernel *host_kernel_named(const char *name);

/* Copy the arguments of a launch. -EINVAL: one is missing, not aligned or not a multiple of what it must be. */
int host_kernel_args(const struct dev_kernel *k, const void *const *args, union host_arg *copies);

/* Bytes behind pointer argument i; 0 when argument i is none. */
uint64_t host_kernel_extent(const struct dev_kernel *k, const union host_arg *args, unsigned i, uint32_t grid);

/* The instruction set that kernels use from now on, in the whole process. For tests. */
void host_kernels_use(const struct host_simd *set);

#endif
