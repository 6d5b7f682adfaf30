/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule carried out by the devices of one process: allreduce by streams, copies between peers and a kernel that adds.
 * Device i of a set is rank i.
 *
 * Memory.    Each device has a vector of executor_bytes(count), of which the first `count` floats count, and staging memory of
 *            executor_staging_bytes(). Blocks are cut at multiples of DEV_KERNEL_ALIGN, which kernels ask for: a vector of
 *            fewer such pieces than the schedule has blocks leaves blocks empty, and messages that would carry nothing are
 *            left out. What lies between the end of the floats and the end of the vector travels along and is rubbish.
 * Copies.    The sender writes, with its own engine, into the receiver's memory: nobody waits for a read to come back over the
 *            link. A message that is added arrives in staging memory, in a place of its own in each run, and is added there
 *            by the receiver's kernel reduce_add; one that replaces arrives where it belongs. Messages on a second port
 *            have a stream of their own.
 * Order.     All of it is enqueued at once and ordered by events; no host waits. A receiver waits for the copy, nobody for
 *            the receiver: a block that is replaced was sent before, and what replaces it contains it. A run starts
 *            to write into a peer's memory when that peer's latest run of the same executor is over. Other users of the
 *            memory, executors included, are the caller's to order.
 * Queues.    No stream takes more than executor_most_queued() operations a run; the caller sees to it that they fit when
 *            something holds the streams.
 */
#ifndef GPUSIG_EXECUTOR_H
#define GPUSIG_EXECUTOR_H

#include "collectives/schedules/schedule.h"
#include "device/dev.h"

struct executor;

/* Of one run, by device. */
struct executor_memory {
	struct dev_stream *stream[DEV_MAX];
	float *vector[DEV_MAX];
	void *staging[DEV_MAX];
};

/* `count` floats with what makes them whole pieces of DEV_KERNEL_ALIGN. */
uint64_t executor_bytes(uint64_t count);

/* An allreduce among the devices of the set, which are peers of each other and outlive it, as a line with one port. Blocks are
 * so numbered that a message is one range where that exists. -EINVAL: no such algorithm; -ENOTSUP: not among so many;
 * -ENOENT: no kernel that adds; -ENOMEM. May take long. */
int executor_open(const char *algorithm, const struct dev_set *set, uint64_t count, struct executor **x_p);
void executor_close(struct executor *x); /* NULL is accepted; the caller has synchronised */

uint64_t executor_staging_bytes(const struct executor *x);
uint32_t executor_most_queued(const struct executor *x);

/* Enqueue one run behind what the streams hold: every vector becomes the sum of all, floats added in the schedule's order.
 * A run that fails half-way leaves nothing that waits for ever. Wait for all the streams before the memory is looked at. */
int executor_enqueue(struct executor *x, const struct executor_memory *m);

/* What all devices send in one run by the schedule; and what has been enqueued since executor_open(). */
void executor_planned(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p);
void executor_sent(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p);

#endif
