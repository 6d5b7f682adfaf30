/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Executes a schedule on the devices of one process: allreduce by streams, peer copies and a kernel
 * that adds. Device i of a set is rank i.
 *
 * Memory. Each device has a vector of executor_bytes(count), of which the first `count` floats are
 * data, and staging memory of executor_staging_bytes(). Chunks are cut at multiples of
 * DEV_KERNEL_ALIGN, which kernels require. A vector with fewer such multiples than the schedule has
 * chunks leaves chunks empty, and empty messages are skipped. The padding between the last float
 * and the end of the vector is sent along; its contents are undefined.
 *
 * Copies. The sender writes into the receiver's memory with its own copy engine, so nobody waits
 * for a read to return over the link. A message that is added arrives in staging memory, at an
 * address of its own, and the receiver's kernel reduce_add adds it. A message that replaces arrives
 * in its place in the vector. Messages on a second port have a stream of their own.
 *
 * Order. A run is enqueued at once and ordered by events; the host never waits. A receiver waits
 * for the copy; nobody waits for the receiver, because a chunk is sent before it is replaced, and
 * the replacement contains its contribution. A run writes into a peer's memory only after that
 * peer's previous run of the same executor has ended. The caller orders all other users of the
 * memory, including other executors.
 *
 * Queues. No stream needs more than executor_max_queued() queue entries per run. The caller must
 * check that they fit when a gate holds the streams.
 */
#ifndef GPUSIG_EXECUTOR_H
#define GPUSIG_EXECUTOR_H

#include "collectives/schedules/schedule.h"
#include "device/dev.h"

struct executor;

/* The streams and memory of one run, by device. */
struct executor_memory {
	struct dev_stream *stream[DEV_MAX];
	float *vector[DEV_MAX];
	void *staging[DEV_MAX];
};

/* The bytes of `count` floats, rounded up to a multiple of DEV_KERNEL_ALIGN. */
uint64_t executor_bytes(uint64_t count);

/* An allreduce among the devices of the set, as a line with one port. They must be peers of each
 * other and outlive the executor. Uses SCHEDULE_RENAMED where that layout exists. -EINVAL: no such
 * algorithm; -ENOTSUP: the algorithm does not support this number of devices; -ENOENT: no kernel
 * that adds; -ENOMEM. May be slow. */
int executor_open(const char *algorithm, const struct dev_set *set, uint64_t count,
		  struct executor **x_p);
void executor_close(struct executor *x); /* accepts NULL; the caller has synchronised */

uint64_t executor_staging_bytes(const struct executor *x);
uint32_t executor_max_queued(const struct executor *x);

/* Enqueues one run on the streams: every vector becomes the sum of all vectors, added in the
 * schedule's order. After an error nothing that was enqueued waits for ever. Synchronise all the
 * streams before reading the memory. */
int executor_enqueue(struct executor *x, const struct executor_memory *memory);

/* What all devices send in one run according to the schedule, and what has been enqueued since
 * executor_open(). */
void executor_planned(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p);
void executor_sent(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p);

#endif
