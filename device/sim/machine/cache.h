/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last-level cache of a device whose model tracks it.
 */
#ifndef GPUSIG_SIM_CACHE_H
#define GPUSIG_SIM_CACHE_H

#include "device/sim/machine/op.h"

#define SIM_CACHED 512
/* An operation may cut a range twice to write back what it reads, once to forget what it writes. */
#define SIM_CACHED_SPARE (3 * OP_USES)

struct sim_cached {
	const char *at;
	uint64_t bytes;
	bool dirty; /* memory does not have it yet */
};

struct sim_cache {
	struct sim_cached at[SIM_CACHED + SIM_CACHED_SPARE]; /* oldest use first */
	size_t count;
	uint64_t bytes;
};

/* Choose the paths of an operation that starts, add what passes between caches and their memories,
 * and change what the caches hold. */
void sim_cache_start(struct op *op);
/* The cache loses a range, without a write-back. */
void sim_cache_forget(struct sim_dev *d, const char *at, uint64_t bytes);

#endif
