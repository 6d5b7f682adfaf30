/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule (collectives/schedules) among the devices of one process as a work graph
 * (bench/graph/work_graph.h): its messages become peer copies and a kernel that adds. Device i is
 * rank i, on a line with one port; direct and multi-ring have as many as they need.
 *
 *     status = schedule_graph_plan(SCHEDULE_ALLREDUCE, "ring", devices, count, &plan);
 *     status = schedule_graph_add(g, SCHEDULE_ALLREDUCE, "ring", count, &places);
 *     status = work_graph_prepare(g);
 *     status = work_graph_time(g, &seconds);       every vector is now the sum of all
 *
 * The collective is in place: an allreduce leaves the sum of all vectors in every vector. In the
 * halves device i has part i of the vector, of equal parts where the vector is a multiple of so
 * many times what chunks are cut at: an all-gather copies each part from its device into all
 * vectors, a reduce-scatter leaves the sum of part i in device i and partial sums elsewhere.
 *
 * Memory. Each device has a vector of schedule_graph_bytes(count), of which the first `count`
 * floats are data, and staging memory. Chunks are cut at multiples of DEV_KERNEL_ALIGN, which
 * kernels require; of an all-gather, which adds nothing, at multiples of 16 bytes. A vector with
 * fewer such multiples than the schedule has chunks leaves chunks empty, and empty messages are
 * skipped. The padding between the last float and the end of the vector is sent along; its contents
 * are undefined.
 *
 * Copies. The sender writes into the receiver's memory with its own copy engine or kernel, so
 * nobody waits for a read to return over the link. Every range of a message is a copy. Kernels copy
 * ranges of whole DEV_KERNEL_ALIGN alone. A message that is added arrives in staging memory, at an
 * address of its own, and the receiver's kernel reduce_add adds it. A message that replaces arrives
 * in its place in the vector. Every port has a lane of its own.
 *
 * Order. In each part a device sends all messages of a step from the state before it; when they
 * have left, the part's first lane receives. Parts share nothing and run beside each other. Nobody
 * waits for a receiver, because a chunk is sent before it is replaced, and the replacement contains
 * its contribution. So nothing orders a run after the run before, whose memory it reuses: wait for
 * all devices in between, as work_graph_release() does, or build the graph between a fork and a
 * join.
 */
#ifndef GPUSIG_SCHEDULE_GRAPH_H
#define GPUSIG_SCHEDULE_GRAPH_H

#include "bench/graph/work_graph.h"
#include "collectives/schedules/placement.h"

/* Work and needs of a run, from the messages that the schedule lets each rank receive. */
struct schedule_graph_plan {
	uint64_t copies, bytes; /* of all devices */
	uint64_t staging_bytes; /* of the device that needs most; may be 0 */
};

/* Lanes and memory of a graph, by device; all are peers of each other. There are as many lanes of
 * each device as there are devices. */
struct schedule_graph_places {
	uint32_t devices;
	/* Blocks of the kernel that copies a range, 0: a copy engine does; of the kernel that adds,
	 * 0: a wave. */
	uint32_t copy_blocks, add_blocks;
	uint32_t lane[DEV_MAX][DEV_MAX]; /* by port, then device */
	float *vector[DEV_MAX];
	void *staging[DEV_MAX];
};

/* The bytes of `count` floats, rounded up to a multiple of DEV_KERNEL_ALIGN. */
uint64_t schedule_graph_bytes(uint64_t count);

/* -EINVAL: no such algorithm; -ENOTSUP: it does not support this kind or number of devices;
 * -ENOMEM. An allreduce has the layout SCHEDULE_RENAMED where that exists. May be slow. */
int schedule_graph_plan(enum schedule_kind kind, const char *algorithm, uint32_t devices,
			uint64_t count, struct schedule_graph_plan *plan_p);

/* Adds the nodes of one run. Errors are those of schedule_graph_plan(); the graph keeps those of
 * its nodes, such as -ENOENT without a kernel that adds. */
int schedule_graph_add(struct work_graph *g, enum schedule_kind kind, const char *algorithm,
		       uint64_t count, const struct schedule_graph_places *places);

#endif
