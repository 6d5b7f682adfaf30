/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory and lanes of a collective among devices: on every device a vector, its original, and
 * staging memory. The originals hold small random integers from the case's generator, so sums are
 * exact in any order, and an element in the wrong place is detected. The case owns everything
 * (bench/bench_alloc.h).
 *
 * Collectives are in place (schedule_graph.h), but for all-to-all, whose parts arrive in the
 * staging memory. A schedule that reduces and scatters has its parts further apart where they are
 * no multiple of what a kernel adds; the library has them next to each other, as its callers do.
 */
#ifndef GPUSIG_VECTORS_H
#define GPUSIG_VECTORS_H

#include "bench/graph/bench_graph.h"
#include "collectives/devices/schedule_graph.h"

struct vectors {
	enum dev_collective what;
	uint64_t count;  /* floats of a vector */
	uint64_t part;   /* floats of a device's part; of an allreduce all of them */
	uint64_t stride; /* floats from part to part where schedules have it: vectors_stride() */
	uint64_t bytes;  /* of a vector with its padding */
	const struct dev_set *set;
	struct work_lanes *lanes;
	struct schedule_graph_places places;
	/* Copies the originals to the vectors, with parts a stride apart; fills vectors and staging
	 * memory with values that no result has. */
	struct work_graph *restore, *spread, *poison;
	void *original[DEV_MAX];
	/* On the host; the sum of all originals. NULL where there are no results. */
	float *sum, *host_buffer;
};

/* Floats from part to part of a vector of schedules. */
uint64_t vectors_stride(enum dev_collective what, uint64_t part);

/* In setup, when the devices are peers if schedules are to run. All but an allreduce have `count`
 * floats in equal parts. Returns c->status. */
int vectors_open(struct vectors *v, struct bench_case *c, enum dev_collective what, uint64_t count,
		 uint64_t staging_bytes);

/* In setup, after that: the same collective on vectors and staging memory of a communicator
 * (dev_comm_alloc()), with the originals of `v`; of the graphs restore and poison alone. Returns
 * -ENOTSUP or -ENOMEM where there is no such memory, which are no errors of the case. */
int vectors_open_registered(struct vectors *registered, const struct vectors *v,
			    struct bench_case *c, struct dev_comm *comm, uint64_t staging_bytes);

/* In check: compares what every device must have with the originals or with their sum. 0, -EBADMSG
 * with the element, or a device's error. `spread`: the parts are a stride apart. */
int vectors_check(struct vectors *v, struct bench_case *c, bool spread);

#endif
