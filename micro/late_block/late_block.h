/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wait of a late block: one that arrives while the device is full of other work, and waits for a
 * slot. It is an empty kernel of one block in a stream of its own. Its wait is the time between two
 * event stamps of that stream, before and after the block, so host and device clocks are never
 * compared. It includes the start and the end of an empty kernel, which is the wait on an idle
 * device.
 *
 * The stream is filled beforehand and waits at a gate, which the host opens once the other work
 * runs. Where a stream that waits takes a slot (no DEV_CAP_VALUE_IN_QUEUE) that slot would become
 * free for the late block. There the host enqueues stamp, block and stamp at that moment, and its
 * calls are part of the wait; the fact "wait_begins" of the record tells which.
 *
 * A wait counts only if the other work was still running when the stream was released, by the
 * device's stamps; else it is measured again.
 */
#ifndef GPUSIG_LATE_BLOCK_H
#define GPUSIG_LATE_BLOCK_H

#include "bench/bench_alloc.h"

struct late_block {
	struct dev_stream *stream;
	struct dev_kernel *empty;
	struct gate *gate; /* NULL: the host enqueues the block late */
	struct dev_event *work_begun, *work_done, *released, *done;
	unsigned waits, repeated, missed;
};

/* Enqueues the other work on c->stream, which holds the device for longer than the host takes to
 * notice that it runs. */
typedef int (*late_block_work)(struct bench_case *c, long unused);

/* In setup; the case owns what this opens (bench/bench_alloc.h). */
int late_block_open(struct late_block *b, struct bench_case *c, int priority);

/* A body of BENCH_SELF: so many waits next to `work`, or on the idle device if that is NULL. */
int late_block_waits(struct late_block *b, struct bench_case *c, late_block_work work,
		     uint64_t iterations);

/* In verify_mechanism: "work_ran_when_the_block_came" of the variants in `uses` (bit mask), which
 * measured the waits of these blocks: none had to be given up because the work was over each time.
 * Also records the fact "wait_begins". */
void late_block_verify(const struct late_block *blocks, unsigned count, struct bench_case *c,
		       uint64_t uses);

#endif
