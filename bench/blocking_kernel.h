/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A blocking kernel: its blocks stay in their slots until the host releases them. With it a program
 * shows what is left for others: how many blocks are resident, whether a copy engine copies while
 * no unit is free, which kernel is scheduled first.
 *
 * While it runs, no stream may wait for a value or write one where that takes a slot (no
 * DEV_CAP_VALUE_IN_QUEUE): its block would be missing from the count, or the wait would never run.
 * The blocks poll PINNED memory, which the host writes without a slot.
 */
#ifndef GPUSIG_BLOCKING_KERNEL_H
#define GPUSIG_BLOCKING_KERNEL_H

#include "bench/bench.h"

struct blocking_kernel {
	struct dev *dev;
	struct dev_stream *stream; /* its own, of low priority: such streams have other queues */
	struct dev_kernel *kernel;
	uint32_t *flag, *arrived; /* PINNED; arrived[1] counts blocks that timed out */
	uint64_t *start_ns;       /* PINNED; when each block started */
	uint32_t max_blocks;
};

/* Prepare for grids of at most `max_blocks` on the case's device; the case owns it
 * (bench/bench_alloc.h). May take long. */
int blocking_kernel_open(struct blocking_kernel *h, struct bench_case *c, uint32_t max_blocks);

/* The same on another device of the case. */
int blocking_kernel_open_on(struct blocking_kernel *h, struct bench_case *c, struct dev *dev,
			    uint32_t max_blocks);

/* Launch `grid` blocks that each claim `shared_bytes`; they exit by themselves after
 * `timeout_ns`. */
int blocking_kernel_start(struct blocking_kernel *h, uint32_t grid, uint64_t shared_bytes,
			  uint64_t timeout_ns);

/* Wait until `expected` blocks are resident or `patience_ns` has passed, then the same time
 * again (at least 200 us) for blocks that should not be resident; returns how many arrived. The
 * calling thread polls. */
int blocking_kernel_settle(struct blocking_kernel *h, uint32_t expected, uint64_t patience_ns,
			   uint32_t *arrived_p);

/* Release all blocks and wait for them. timed_out_p: blocks that had timed out before. */
int blocking_kernel_release(struct blocking_kernel *h, uint32_t *timed_out_p);

/* In setup: the variants in `uses` (bit mask) are about a copy engine: bench_variants_skip() on a
 * device without any. */
int blocking_kernel_need_engine(struct bench_case *c, uint64_t uses);

/* In setup: the same where no engine copies within this device. That is so where both ends are
 * memory of the case's device, every slot was blocked, and a copy on c->stream, of as many bytes
 * as the largest of the variants (below), was done only when blocks had timed out, twice. All else,
 * and virtual time, skips nothing: the mechanism tells. Takes up to 1.2 s on a device without such
 * an engine; leaves what was copied at `to`. */
int blocking_kernel_need_local_engine(struct bench_case *c, uint64_t uses, void *to,
				      const void *from, uint64_t bytes);

/* In verify_mechanism: a copy engine copies while no unit is free. Every slot is blocked, a copy
 * on c->stream completes, and the blocking kernel is still resident: the mechanism
 * "engine_copies_while_units_are_held" of the variants in `uses` (bit mask), which are invalid
 * without it, for a device may copy by a kernel. Not asked where all of them are off. Not observed
 * where the device has no copy engine, or lacks what the proof takes (DEV_CAP_WAIT_VALUE). `bytes`:
 * as many as one copy of the variants has, because a runtime may choose by size who copies; at most
 * 64 MiB of them are copied. */
int blocking_kernel_verify_engine(struct bench_case *c, uint64_t uses, void *to, const void *from,
				  uint64_t bytes);

/* The same of a second copy, such as the one back: "engine_copies_back_while_units_are_held". */
int blocking_kernel_verify_back(struct bench_case *c, uint64_t uses, void *to, const void *from,
				uint64_t bytes);

/* Either of them, of a copy by any device of the case, or of what `enqueue` puts into the stream in
 * its place, whole. */
struct blocking_copy {
	struct dev *dev;
	struct dev_stream *stream; /* of `dev` */
	void *to;
	const void *from;
	uint64_t bytes;
	int (*enqueue)(struct bench_case *c); /* NULL: a copy */
};
int blocking_kernel_verify_copy(struct bench_case *c, const struct blocking_copy *copy,
				uint64_t uses, bool back);

#endif
