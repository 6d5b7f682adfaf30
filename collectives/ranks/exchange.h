/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Executes a schedule on MPI ranks: this rank's messages, step by step.
 *
 * The vector of `elements` is cut into schedule_parts() parts and each part into schedule_chunks()
 * chunks, as evenly as whole elements allow. Chunks may be empty. Both ends skip empty messages.
 *
 * Before and after. An allreduce reads `in` and writes the result to `out`. A reduce-scatter reads
 * `in` and writes this rank's chunk to its place in `out`; the rest of `out` is undefined. An
 * all-gather reads this rank's chunk from its place in `in`. So all vectors have the full length,
 * and no rank needs another rank's layout.
 *
 * Cost besides the messages. A message of more than one range is packed and unpacked ("indexed").
 * Data that is added is received in scratch memory and added by MPI_Reduce_local(), the MPI
 * library's own operator.
 *
 * Vectors in device memory. Where MPI takes it (device_vectors.h), messages of one range are sent
 * from the vectors and received in them, or, to be added, in scratch memory of the device; others
 * are packed and unpacked by copies within the device. Elsewhere every message goes through pinned
 * host memory: a copy engine copies all data that a step sends to the host, MPI moves it, and a
 * copy engine copies the received data to the device. Packing is part of the copies. A kernel adds
 * floats, in multiples of DEV_KERNEL_ALIGN bytes. Where it adds, chunks are cut at such multiples,
 * and short vectors have empty chunks. Before MPI gets a step's data the device has finished it.
 */
#ifndef GPUSIG_EXCHANGE_H
#define GPUSIG_EXCHANGE_H

#include "collectives/ranks/data.h"
#include "collectives/ranks/device_vectors.h"
#include "collectives/schedules/placement.h"

#include <stddef.h>

struct exchange;

/* For this rank. The schedule and `device` (NULL: vectors in host memory) must outlive it. -ENOMEM;
 * -EOVERFLOW when a message has more than INT_MAX elements. */
int exchange_open(const struct schedule *s, enum schedule_kind kind, uint32_t rank,
		  uint64_t elements, enum data_type type, enum data_op op,
		  struct device_vectors *device, struct exchange **x_p);
void exchange_close(struct exchange *x);

/* A collective call: all ranks call it. `dry`: sends and receives, but neither packs nor adds, for
 * a simulator that moves no bytes. An MPI error ends the job. On a device `in` and `out` are device
 * memory. When the device fails, the messages are still exchanged, and device_vectors_result()
 * returns the error. */
void exchange_run(struct exchange *x, const void *in, void *out, bool dry);

/* Messages and bytes that this rank sends in one run by the schedule, and what it has sent since
 * exchange_open(), counted at the sends. */
struct exchange_traffic {
	uint64_t planned_messages, planned_bytes, runs, messages, bytes;
};
const struct exchange_traffic *exchange_traffic(const struct exchange *x);

/* Elements per grain. */
uint64_t exchange_grain(enum schedule_kind kind, enum data_type type, bool on_device);

/* This rank's chunk of a part between the halves; count 0 for a rank that has none. */
struct schedule_span exchange_chunk(const struct exchange *x, unsigned part);

#endif
