/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory on a NUMA node of choice. A part of device/dev.h.
 */
#ifndef GPUSIG_DEV_NUMA_H
#define GPUSIG_DEV_NUMA_H

#include <stddef.h>
#include <stdint.h>

struct dev;

/* Nodes beyond so many are not used. */
#define DEV_NUMA_NODES 64

/* The host's NUMA nodes on which dev_alloc_on_node() allocates, ascending: fills at most `capacity`
 * and returns how many there are; 0 where the backend cannot choose a node. */
size_t dev_numa_nodes(struct dev *d, uint32_t *nodes, size_t capacity);

/* As dev_alloc() of PINNED memory, all of it on this node. -ENODEV: none of dev_numa_nodes().
 * -ENOTSUP: also where the kernel does not let this process choose. [optional] */
int dev_alloc_on_node(struct dev *d, uint32_t node, uint64_t bytes, void **ptr_p);

#endif
