/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The symbolic executor: runs a schedule on sets of contributions instead of numbers.
 */
#ifndef GPUSIG_VERIFY_H
#define GPUSIG_VERIFY_H

#include "collectives/schedules/schedule.h"

/* Over all ranks and parts of a right schedule. */
struct verify_counts {
	uint64_t least_sent, most_sent; /* blocks that a rank sends in a part, over all steps */
	unsigned most_sends;            /* messages that a rank sends in a part at one step */
	unsigned most_on_port;          /* the same, through one port; receives count alike */
	uint64_t messages, ranges;      /* in all */
};

/* 0 when every message has its counterpart with the same blocks, no contribution is added twice, and in the end every
 * rank has all contributions to all blocks (to its own, for a reduce-scatter); -EBADMSG with rank, block and step
 * otherwise. Memory: p^3 / 8 bytes for p ranks. */
int verify_schedule(const struct schedule *s, enum schedule_kind kind, struct verify_counts *counts_p);

#endif
