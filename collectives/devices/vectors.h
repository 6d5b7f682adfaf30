/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of an allreduce among devices: on every device a vector, its original, and staging
 * memory. The originals hold small random integers from the case's generator, so sums are exact in
 * any order, and an element in the wrong place is detected. The case owns all memory
 * (bench/bench_alloc.h).
 */
#ifndef GPUSIG_VECTORS_H
#define GPUSIG_VECTORS_H

#include "bench/bench_alloc.h"
#include "collectives/devices/executor.h"

struct vectors {
	uint64_t count;         /* floats of a vector */
	uint64_t bytes;         /* of a vector with its padding */
	uint64_t staging_bytes; /* of each device */
	const struct dev_set *set;
	struct executor_memory memory; /* the caller sets its streams */
	void *original[DEV_MAX];
	float *sum, *host_buffer; /* on the host */
};

/* In setup, after peers were enabled. Returns bench_status(). */
int vectors_open(struct vectors *v, struct bench_case *c, uint64_t count, uint64_t staging_bytes);

/* Enqueue on the streams: the first copies the originals to the vectors; the second fills vectors
 * and staging memory with values that no sum has. */
int vectors_restore(struct vectors *v);
int vectors_poison(struct vectors *v);

/* Compares every vector with the sum of all originals. 0, -EBADMSG with the element, or a device's
 * error. */
int vectors_check(struct vectors *v);

#endif
