/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocations: where they are, who uses them, and sums in them.
 *
 * DATA. With `data = none` the device has DEV_CAP_TIME_ONLY. With block_jitter_sigma every time is
 * as with data. Without it blocks that differ by a line of memory count as equal, and waves of a
 * launch that nothing disturbs are simulated together, each as long as the others; whoever shares a
 * resource with them does not see the block_ns between waves. That changes times by less than 1 %.
 * Memory is address space, of which the host pays for the pages that are written. Copies and fills
 * of at most SIM_MOVED_BYTES do their work. Larger ones move nothing, kernels move and compute
 * nothing, GEMMs compute nothing, and `chase` follows no ring. Real is what streams write and wait
 * for, what `signal`, `stamp`, `blocking_kernel` and `await` write, and what a GEMM counts in
 * `done`. Fresh memory is 0. The address space that the process may have is the limit, and -ENOMEM
 * says so. A model that corrupts results needs `data = real`.
 */
#ifndef GPUSIG_SIM_MEMORY_H
#define GPUSIG_SIM_MEMORY_H

#include "device/dev.h"

struct op;
struct sim_dev;

struct alloc {
	char *base;
	uint64_t bytes;
	enum dev_mem kind;
	uint32_t node; /* of pinned memory */
	struct sim_dev *dev;
	uint32_t users;    /* queued operations that use it */
	uint32_t trackers; /* open ones that name it */
	uint64_t version;  /* changes when it is written; no two allocations have the same */
};

/* The allocation that holds all of [at, at + bytes) and that `d` may use; NULL after err_note(). */
struct alloc *sim_memory_find(struct sim_dev *d, const void *at, uint64_t bytes, const char *what);
int sim_memory_alloc(struct sim_dev *d, enum dev_mem kind, uint32_t node, uint64_t bytes,
		     void **ptr_p);
/* The NUMA node next to the device. */
uint32_t sim_near_node(const struct sim_dev *d);
/* Queued operations, of any device, that use its memory. */
uint32_t sim_memory_users(const struct sim_dev *d);
/* True if copies and fills of this size move data. */
bool sim_memory_moves(const struct sim_dev *d, uint64_t bytes);
/* An allocation was written; or the memory that an operation uses may have been, except for A and B
 * of a GEMM. */
void sim_memory_changed(struct alloc *a);
void sim_memory_changed_by(const struct op *op);
/* dst[i] += src[i], each sum rounded to the type, which is that of some GEMM's C. */
void sim_memory_add(enum dev_type type, void *dst, const void *src, uint64_t elements);
int sim_memory_free(struct sim_dev *d, void *ptr);
void sim_memory_free_all(struct sim_dev *d);

/* Device memory of `d` itself. */
static inline bool sim_is_own(const struct sim_dev *d, const struct alloc *a)
{
	return a->dev == d && a->kind == DEV_MEM_DEVICE;
}

#endif
