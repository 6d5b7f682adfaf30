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

#define HOST_SCRATCH_BYTES ((uint64_t)1 << 20)

struct host_block {
	uint32_t index, grid;
	const void *args;             /* union kernel_arg[], or the launch's own data */
	const atomic_bool *cancelled; /* the stream is closing: stop waiting */
	void *scratch; /* HOST_SCRATCH_BYTES that no other block uses meanwhile; GEMMs that add
			  need it, elsewhere it may be NULL */
};

/* Runs a block: 0, or -errno, which fails the launch. */
typedef int (*host_body)(const struct host_block *b);

/* NULL for kernels of matrix units, which a CPU lacks. */
host_body host_kernel_body(enum kernel_number kernel);

#endif
