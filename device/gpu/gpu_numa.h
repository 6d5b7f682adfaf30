/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's NUMA node next to a GPU: transfers from memory of another node are slower by tens of
 * percent.
 */
#ifndef GPUSIG_GPU_NUMA_H
#define GPUSIG_GPU_NUMA_H

#include "device/gpu/gpu.h"

/* The NUMA node next to the device, or -1 where there is one node only or the node is unknown. */
int gpu_numa_node(const struct gpu_traits *traits);

/* Pin the calling thread, and threads it starts later, to the processors of this node that its
 * affinity mask allows. Memory that the thread then allocates is local to the node. False: the
 * thread was pinned to another node before, and only that keeps it from this one's processors.
 * Does nothing when its own mask does, or the node is -1 or unknown. The nodes' processors are read
 * from /sys/devices/system/node, or the folder that GPUSIG_NUMA_TOPOLOGY names. */
bool gpu_numa_pin_thread(int node);

#endif
