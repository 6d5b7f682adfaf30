/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One block of a kernel on this CPU. The simulator computes results with these kernels too, where
 * it has no code of its own.
 */
#ifndef GPUSIG_HOST_BLOCK_H
#define GPUSIG_HOST_BLOCK_H

#include "device/kernel_signature.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct host_block {
	uint32_t index, grid;
	const void *args;             /* union kernel_arg[], or the launch's own data */
	const atomic_bool *cancelled; /* the stream is closing: stop waiting */
};

/* Runs a block: 0, or -errno, which fails the launch. */
typedef int (*host_body)(const struct host_block *b);

/* NULL for kernels of matrix units, which a CPU lacks. */
host_body host_kernel_body(enum kernel_number kernel);

#endif
