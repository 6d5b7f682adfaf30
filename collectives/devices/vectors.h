/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an allreduce among devices works on: on every device a vector, its original, and staging memory, filled with small
 * integers from the case's generator, so that sums are exact in any order and every place is told from every other. All of
 * it is the case's (lib/bench_own.h).
 */
#ifndef GPUSIG_VECTORS_H
#define GPUSIG_VECTORS_H

#include "collectives/devices/executor.h"
#include "lib/bench_own.h"

struct vectors {
	uint64_t count, bytes, staging_bytes; /* of floats; of a vector with its padding */
	const struct dev_set *set;
	struct executor_memory memory; /* its streams are the caller's to set */
	void *original[DEV_MAX];
	float *sum, *chunk; /* on the host */
};

/* In setup. Peers are enabled. Returns own_status(). */
int vectors_open(struct vectors *v, struct bench_case *c, uint64_t count, uint64_t staging_bytes);

/* Enqueue on the streams: every vector is its original again; vector and staging memory hold what no sum is. */
int vectors_restore(struct vectors *v);
int vectors_spoil(struct vectors *v);

/* Does every vector hold the sum of all originals? 0, -EBADMSG with the place, or an error of a device. */
int vectors_check(struct vectors *v);

#endif
