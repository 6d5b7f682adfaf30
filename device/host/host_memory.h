/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every live allocation of every host device, found by address.
 *
 * Allocations are mapped as whole pages, in huge pages where the kernel grants them. Threads on the
 * device's own cores touch them at once, each its share. So on a machine with several memories the
 * data of a block lies near the unit that runs the block.
 *
 * What is freed is kept for the next allocation of the device with as many pages, a sixteenth of
 * the available memory at most, and until an allocation needs it: the kernel clears pages before it
 * gives them, on a virtual machine at 0.5 GB/s, and other pages would be another layout.
 */
#ifndef GPUSIG_HOST_MEMORY_H
#define GPUSIG_HOST_MEMORY_H

#include "device/dev.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_memory {
	char *start;
	uint64_t bytes;
	enum dev_mem kind;
	const void *owner; /* the device */
	void *map;
	size_t map_bytes;
	bool on_cores;            /* touched by them, so that it may be kept */
	struct host_memory *next; /* in a list of what is not live */
};

/* Map and touch memory for a device with these cores, and register it. -ENOMEM. */
int host_memory_alloc(const void *owner, const int *cores, size_t core_count, enum dev_mem kind,
		      uint64_t bytes, void **ptr_p);

/* The same for PINNED memory on a NUMA node. As numa_bind() and numa_verify(). */
int host_memory_alloc_on_node(const void *owner, uint32_t node, uint64_t bytes, void **ptr_p);

/* -EFAULT: no allocation of `owner` starts at `ptr`. */
int host_memory_free(const void *owner, void *ptr);

/* The allocation that holds all of [ptr, ptr+bytes), or NULL. Lock held. */
struct host_memory *host_memory_find(const void *ptr, uint64_t bytes);

/* Free all memory of a device that is closing, which no work uses any more. Lock NOT held. */
void host_memory_close(const void *owner);

#endif
