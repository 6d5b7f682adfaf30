/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h on this CPU. A block is one call of run() on a slot's thread.
 */
#ifndef GPUSIG_HOST_KERNELS_H
#define GPUSIG_HOST_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/kernel_signature.h"

struct host_simd;

/* One block, as run() sees it. */
struct host_block {
	uint32_t index, grid;
	const void *args;             /* union kernel_arg[], or what the launch carries in its place */
	const atomic_bool *cancelled; /* its stream is closing: stop waiting */
};

/* run() returns 0, or -errno, which fails the launch. */
struct dev_kernel {
	struct kernel_signature signature;
	int (*run)(const struct host_block *b);
};

/* NULL if there is none of that name. Not const, as the contract hands it out; nobody writes it. */
struct dev_kernel *host_kernel_named(const char *name);

/* The instruction set that kernels use from now on, in the whole process. For tests. */
void host_kernels_use(const struct host_simd *set);

#endif
