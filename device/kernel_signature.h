/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of device/kernels.h as data: the arguments of a launch, the size of the memory behind
 * each pointer argument, and what the kernel does with that memory.
 */
#ifndef GPUSIG_KERNEL_SIGNATURE_H
#define GPUSIG_KERNEL_SIGNATURE_H

#include "device/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of every kernel in the list. */
#define KERNEL_NUMBER(name, trait, parameters) KERNEL_##name,
enum kernel_number { DEV_KERNELS(KERNEL_NUMBER) KERNELS };
#undef KERNEL_NUMBER

union kernel_arg {
	void *pointer;
	uint64_t u64;
	uint32_t u32;
	float f32;
};

/* The size of the memory behind a pointer argument. */
enum kernel_extent {
	KERNEL_EXTENT_NONE,  /* not a pointer */
	KERNEL_EXTENT_BYTES, /* the kernel's u64 argument `bytes`, a multiple of DEV_KERNEL_ALIGN */
	KERNEL_EXTENT_FIXED, /* `each` bytes */
	KERNEL_EXTENT_PER_BLOCK, /* `each` bytes per block */
	KERNEL_EXTENT_PER_ROW, /* `each` bytes for each row, as the kernel's argument `rows` says */
	KERNEL_EXTENT_PER_PART, /* the same for each part of a row, as its arguments say */
};

/* Access of one pass to an array; 0: dependent loads. */
#define KERNEL_READS 1u
#define KERNEL_WRITES 2u

struct kernel_parameter {
	uint32_t size; /* of the value; 0 past the last parameter */
	enum kernel_extent extent;
	uint32_t each;
	uint32_t access;    /* of an array, by one pass */
	bool bytes, reps;   /* this argument is `bytes`, is `reps` */
	bool rows, parts;   /* the same of u32 */
	bool corruptible;   /* fault injection may corrupt the memory behind this pointer */
	uint32_t quantum;   /* this u64 must be a multiple of it; 0: any value */
	uint32_t fma_bytes; /* not 0: this u64 counts multiply-adds of numbers of that size */
	uint32_t alignment; /* of a pointer */
};

struct kernel_signature {
	const char *name;
	bool may_lack;          /* a device may not have it */
	bool streaming;         /* bypasses caches */
	bool timed;             /* on a GPU it has a last argument, a struct gpu_timed */
	uint32_t group_threads; /* the block size is a multiple of it; 0: any size that the device
				   accepts */
	struct kernel_parameter parameters[DEV_KERNEL_MAX_ARGS];
};

/* Every kernel of the list, in its order; *count_p is their number. */
const struct kernel_signature *kernel_signatures(size_t *count_p);

/* NULL if no kernel has that name. */
const struct kernel_signature *kernel_signature_named(const char *name);

/* The arguments of a launch. -EINVAL: one is missing, misaligned or not a multiple of its quantum.
 */
int kernel_args_check(const struct kernel_signature *k, const void *const *args);

/* Copies arguments that are as they should be. */
void kernel_args_copy(const struct kernel_signature *k, const void *const *args,
		      union kernel_arg *copies);

/* Bytes behind argument i; 0 if it is not a pointer. */
uint64_t kernel_args_extent(const struct kernel_signature *k, const union kernel_arg *args,
			    unsigned i, uint32_t grid);

#endif
