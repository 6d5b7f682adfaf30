/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a GPU sits among the host's memories: transfers from another memory node are slower by tens of percent.
 */
#ifndef GPUSIG_GPU_PLACE_H
#define GPUSIG_GPU_PLACE_H

#include "device/gpu.h"

/* The memory node next to the device, or -1: there is one node only, or nobody says. */
int gpu_place_node(const struct gpu_traits *traits);

/* Keep the calling thread, and those it starts, to the processors of this node, as far as it may use them; not at all when it
 * may use none of them or the node is -1. What it then allocates lies there. */
void gpu_place_thread(int node);

#endif
