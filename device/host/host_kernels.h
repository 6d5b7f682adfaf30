/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h on this CPU. Each block is one call of run() on a slot's thread.
 */
#ifndef GPUSIG_HOST_KERNELS_H
#define GPUSIG_HOST_KERNELS_H

#include "device/host/host_block.h"

struct host_simd;

struct dev_kernel {
	struct kernel_signature signature;
	host_body run;
};

/* NULL if the CPU has no kernel of that name. It is not const because dev_kernel_find() returns it
 * so; nobody writes to it. */
struct dev_kernel *host_kernel_named(const char *name);

/* The instruction set of kernels. */
const struct host_simd *host_kernels_simd(void);

/* For tests: sets the instruction set that all kernels of the process use from now on. */
void host_kernels_use(const struct host_simd *set);

#endif
