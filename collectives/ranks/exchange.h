/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A schedule carried out by real ranks: this rank's messages, step by step, over MPI.
 *
 * The vector of `elements` is cut into schedule_parts() parts and each part into schedule_blocks() blocks, as evenly as
 * whole elements allow; blocks may be empty, and messages that would carry nothing are left out by both ends.
 *
 * Before and after. An allreduce takes `in` and leaves the result in `out`. A reduce-scatter takes `in` and leaves this
 * rank's block where it belongs in `out`; what else is in `out` is rubbish. An all-gather takes this rank's block from where
 * it belongs in `in`. So all vectors have the full length, and no rank needs another's layout.
 *
 * What a message costs beside the message: more than one range is packed and unpacked ("indexed"); what is added arrives in
 * scratch memory first and is added by MPI_Reduce_local(), the library's own operator.
 *
 * Vectors in a device's memory. Every message goes through pinned host memory: a copy engine fetches all that a step sends, MPI
 * moves it, a copy engine brings what came, and a kernel adds. Packing is part of the copies. The kernel adds floats, and whole
 * DEV_KERNEL_ALIGN bytes: where it adds, blocks are cut at such multiples, and short vectors leave blocks empty.
 */
#ifndef GPUSIG_EXCHANGE_H
#define GPUSIG_EXCHANGE_H

#include "collectives/ranks/data.h"
#include "collectives/ranks/device_vectors.h"
#include "collectives/schedules/schedule.h"

#include <stddef.h>

struct exchange;

/* For this rank. The schedule must outlive it, and so must `device` (NULL: vectors in host memory). -ENOMEM; -EOVERFLOW when a
 * message has more elements than an int counts. */
int exchange_open(const struct schedule *s, enum schedule_kind kind, uint32_t rank, uint64_t elements, enum data_type type,
                  enum data_op op, struct device_vectors *device, struct exchange **x_p);
void exchange_close(struct exchange *x);

/* All ranks at once. `dry`: send and receive, but neither pack nor add: for a simulator that moves no bytes. An MPI error ends
 * the job. On a device `in` and `out` are its memory; messages go their way whatever fails there, and
 * device_vectors_result() tells. */
void exchange_run(struct exchange *x, const void *in, void *out, bool dry);

/* What this rank sends in one run by the schedule; and what it has sent since exchange_open(), counted where it is sent. */
void exchange_planned(const struct exchange *x, uint64_t *messages_p, uint64_t *bytes_p);
void exchange_sent(const struct exchange *x, uint64_t *messages_p, uint64_t *bytes_p);

/* Where piece `index` begins when `total` elements are cut into `parts` as evenly as whole grains of `grain` elements allow. */
uint64_t exchange_cut(uint64_t total, uint64_t parts, uint64_t index, uint64_t grain);

/* Elements of a grain. */
uint64_t exchange_grain(enum schedule_kind kind, enum data_type type, bool on_device);

/* This rank's block of a part between the halves, as elements of the whole vector; count 0 for a rank that has none. */
struct span {
	uint64_t first, count;
};
struct span exchange_block(const struct exchange *x, unsigned part);

#endif
