/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory and lanes of an allreduce among devices: on every device a vector, its original, and
 * staging memory. The originals hold small random integers from the case's generator, so sums are
 * exact in any order, and an element in the wrong place is detected. The case owns everything
 * (bench/bench_alloc.h).
 */
#ifndef GPUSIG_VECTORS_H
#define GPUSIG_VECTORS_H

#include "bench/graph/bench_graph.h"
#include "collectives/devices/allreduce_graph.h"

struct vectors {
	uint64_t count; /* floats of a vector */
	uint64_t bytes; /* of a vector with its padding */
	const struct dev_set *set;
	struct work_lanes *lanes;
	struct allreduce_places places;
	/* Copies the originals to the vectors; fills vectors and staging memory with values that no
	 * sum has. */
	struct work_graph *restore, *poison;
	void *original[DEV_MAX];
	float *sum, *host_buffer; /* on the host */
};

/* In setup. Returns bench_status(). */
int vectors_open(struct vectors *v, struct bench_case *c, uint64_t count, uint64_t staging_bytes);

/* Compares every vector with the sum of all originals. 0, -EBADMSG with the element, or a device's
 * error. */
int vectors_check(struct vectors *v);

#endif
