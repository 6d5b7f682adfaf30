/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Verifies a schedule: runs it on sets of contributors instead of numbers.
 */
#ifndef GPUSIG_VERIFY_H
#define GPUSIG_VERIFY_H

#include "collectives/schedules/schedule.h"

/* Over all ranks and parts. */
struct verify_counts {
	uint64_t min_sent, max_sent; /* chunks that a rank sends in a part, over all steps */
	unsigned max_sends;          /* messages that a rank sends in a part at one step */
	unsigned max_on_port;        /* the same through one port; also the most receives */
	uint64_t messages, ranges;   /* totals */
};

/* 0 when every send has a receive with the same chunks, no contribution is added twice, and every
 * rank ends with all contributions to all chunks (a reduce-scatter: to its own chunk). Otherwise
 * -EBADMSG with rank, chunk and step. Memory: p^3 / 8 bytes for p ranks. */
int verify_schedule(const struct schedule *s, enum schedule_kind kind,
		    struct verify_counts *counts_p);

#endif
