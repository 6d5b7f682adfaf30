/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The argument lists of device/kernels.h as data: what a launch must be given, and how much memory must lie behind every
 * pointer. Backends that run the kernels for real check launches with it; a kernel is written down once.
 */
#ifndef GPUSIG_KERNEL_SIGNATURE_H
#define GPUSIG_KERNEL_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/kernels.h"

union kernel_arg {
	void *pointer;
	uint64_t u64;
	uint32_t u32;
	float f32;
};

/* How much memory a pointer argument must have behind it. */
enum kernel_extent {
	KERNEL_EXTENT_NONE,      /* not a pointer */
	KERNEL_EXTENT_BYTES,     /* as the kernel's u64 argument `bytes` says; a multiple of DEV_KERNEL_ALIGN */
	KERNEL_EXTENT_FIXED,     /* `each` bytes */
	KERNEL_EXTENT_PER_BLOCK, /* `each` bytes a block */
};

struct kernel_parameter {
	uint32_t size; /* of the value; 0 past the last parameter */
	enum kernel_extent extent;
	uint32_t each;
	bool bytes; /* this is the argument `bytes` */
	uint32_t quantum; /* of an u64: it is a multiple of this; 0: anything */
	uint32_t alignment; /* of a pointer */
};

struct kernel_signature {
	const char *name;
	bool may_lack;          /* not every device has it */
	uint32_t group_threads; /* a block is a multiple of so many threads; 0: of any the device takes */
	struct kernel_parameter parameters[DEV_KERNEL_MAX_ARGS];
};

/* Every kernel of the contract, in its order; count_p gets how many. */
const struct kernel_signature *kernel_signatures(size_t *count_p);

/* NULL if there is none of that name. */
const struct kernel_signature *kernel_signature_named(const char *name);

/* Copy the arguments of a launch. -EINVAL: one is missing, not aligned or not a multiple of what it must be. */
int kernel_args_copy(const struct kernel_signature *k, const void *const *args, union kernel_arg *copies);

/* Bytes behind pointer argument i; 0 when argument i is none. */
uint64_t kernel_args_extent(const struct kernel_signature *k, const union kernel_arg *args, unsigned i, uint32_t grid);

#endif
