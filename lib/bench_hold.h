/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Holding units: blocks that sit in their slots until told to go. With them a program shows what is left for
 * others: how many blocks are resident, whether an engine copies while no unit is free, who comes first.
 *
 * No stream may wait for a value or write one meanwhile where that takes a slot (no DEV_CAP_VALUE_IN_QUEUE): it would be
 * counted as missing, or never run. The blocks themselves look at PINNED memory, which the host writes without a slot.
 */
#ifndef GPUSIG_BENCH_HOLD_H
#define GPUSIG_BENCH_HOLD_H

#include "lib/bench.h"

struct hold {
	struct dev *dev;
	struct dev_stream *stream; /* its own, of normal priority */
	struct dev_kernel *kernel;
	uint32_t *flag, *arrived;  /* PINNED; arrived[1] counts blocks that timed out */
	uint64_t *start_ns;        /* PINNED; when each block started */
	uint32_t most;
};

/* Room for grids of at most `most_blocks` on the case's device; the case owns it (lib/bench_own.h). May take long. */
int hold_open(struct hold *h, struct bench_case *c, uint32_t most_blocks);

/* Launch `grid` blocks that each claim `shared_bytes`, and leave by themselves after `timeout_ns`. */
int hold_start(struct hold *h, uint32_t grid, uint64_t shared_bytes, uint64_t timeout_ns);

/* Wait until `expected` blocks are resident or `patience_ns` is over, then as long again as that took (at least
 * 200 us) for any that should not be; gives how many arrived. The caller's thread polls. */
int hold_settle(struct hold *h, uint32_t expected, uint64_t patience_ns, uint32_t *arrived_p);

/* Let all go and wait for them. timed_out_p: blocks that had left before. */
int hold_release(struct hold *h, uint32_t *timed_out_p);

/* In prove: an engine is what copies while no unit is free. Every slot is held, a copy on c->stream completes, and the
 * holders are still there: the mechanism "engine_copies_while_units_are_held" of the variants in `uses` (bit mask), which
 * are invalid without it: many devices copy within their own memory by a kernel. Nothing where the device has no engine. */
int hold_prove_engine(struct bench_case *c, uint64_t uses, void *to, const void *from, uint64_t bytes);

#endif
