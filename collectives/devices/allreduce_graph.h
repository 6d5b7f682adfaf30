/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce among the devices of one process as a work graph (bench/graph/work_graph.h): the
 * messages of a schedule become peer copies and a kernel that adds. Device i is rank i, on a line
 * with one port.
 *
 *     status = allreduce_plan("ring", devices, count, &plan);   what it needs
 *     status = allreduce_add(g, "ring", count, &places);
 *     status = work_graph_prepare(g);
 *     status = work_graph_time(g, &seconds);                    every vector is now the sum of all
 *
 * Memory. Each device has a vector of allreduce_bytes(count), of which the first `count` floats are
 * data, and staging memory. Chunks are cut at multiples of DEV_KERNEL_ALIGN, which kernels require.
 * A vector with fewer such multiples than the schedule has chunks leaves chunks empty, and empty
 * messages are skipped. The padding between the last float and the end of the vector is sent along;
 * its contents are undefined.
 *
 * Copies. The sender writes into the receiver's memory with its own copy engine, so nobody waits
 * for a read to return over the link. Every range of a message is a copy. A message that is added
 * arrives in staging memory, at an address of its own, and the receiver's kernel reduce_add adds
 * it. A message that replaces arrives in its place in the vector. Messages on a second port have a
 * lane of their own.
 *
 * Order. A device sends all messages of a step from the state before it; when they have left, its
 * first lane receives. Nobody waits for a receiver, because a chunk is sent before it is replaced,
 * and the replacement contains its contribution. So nothing orders a run after the run before,
 * whose memory it reuses: wait for all devices in between, as work_graph_release() does, or build
 * the graph between a fork and a join.
 */
#ifndef GPUSIG_ALLREDUCE_GRAPH_H
#define GPUSIG_ALLREDUCE_GRAPH_H

#include "bench/graph/work_graph.h"

/* What a run is to do and needs, from the messages that the schedule lets each rank receive. */
struct allreduce_plan {
	uint64_t copies, bytes; /* of all devices */
	uint64_t staging_bytes; /* of the device that needs most; may be 0 */
};

/* Where a graph runs, by device; all are peers of each other. */
#define ALLREDUCE_PORTS 2u
struct allreduce_places {
	uint32_t devices;
	uint32_t lane[ALLREDUCE_PORTS][DEV_MAX];
	float *vector[DEV_MAX];
	void *staging[DEV_MAX];
};

/* The bytes of `count` floats, rounded up to a multiple of DEV_KERNEL_ALIGN. */
uint64_t allreduce_bytes(uint64_t count);

/* -EINVAL: no such algorithm; -ENOTSUP: it does not support this number of devices; -ENOMEM. Uses
 * SCHEDULE_RENAMED where that layout exists. May be slow. */
int allreduce_plan(const char *algorithm, uint32_t devices, uint64_t count,
		   struct allreduce_plan *plan_p);

/* Adds the nodes of one run. Errors are those of allreduce_plan(); the graph keeps those of its
 * nodes, such as -ENOENT without a kernel that adds. */
int allreduce_add(struct work_graph *g, const char *algorithm, uint64_t count,
		  const struct allreduce_places *places);

#endif
