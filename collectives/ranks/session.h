/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One case of a collective, as every rank has it open: the vectors, in host memory or in that of the rank's device, and for every
 * variant the schedule and its exchange.
 * Ranks do what orders say; the functions below are for the leader, after an order.
 */
#ifndef GPUSIG_SESSION_H
#define GPUSIG_SESSION_H

#include "collectives/ranks/crew.h"
#include "collectives/ranks/data.h"
#include "collectives/schedules/schedule.h"
#include "lib/bench.h"

/* MPI counts elements with an int: of the smallest type, so much. */
#define SESSION_MOST_BYTES (UINT64_C(4) * INT32_MAX)

/* The name of the variant that is MPI's own collective. */
#define SESSION_LIBRARY "library"

enum session_order {
	SESSION_DEVICE, /* devices: from now on vectors live in the memory of every rank's own */
	SESSION_OPEN,  /* bytes, seed, type, op, ports, kind, shape, variants, dry */
	SESSION_RUN,   /* variant, iterations: each after a barrier, and timed */
	SESSION_SPOIL, /* make the output wrong */
	SESSION_CHECK, /* variant; -EBADMSG with the element and both values */
	SESSION_CLOSE,
};

/* What crew_start() needs: how a rank carries out orders of this program. */
int (*session_act(const struct bench *b))(const struct order *o);

/* The schedule of a variant: in the layout that its param names, else indexed. The library has none: NULL. -ENOTSUP with a
 * text when the algorithm can't. */
int session_schedule(const struct bench_variant *v, const struct grid *grid, enum schedule_ports ports,
                     enum schedule_kind kind, struct schedule **s_p);

/* After SESSION_OPEN: could this variant not be opened? And why one of them could not. */
bool session_refusal(unsigned variant);
const char *session_any_refusal(void);

/* Of the last SESSION_RUN: seconds of all iterations together, each the slowest rank's. Of a variant's last run: median entry
 * skew of its iterations. */
double session_seconds(void);
double session_skew(unsigned variant);

/* What the leader has sent for a variant since it was opened. False for the library. */
struct session_traffic {
	const char *algorithm; /* of the schedule that ran */
	uint64_t runs, messages, bytes;
	uint64_t planned_messages, planned_bytes; /* of one run */
};
bool session_traffic(unsigned variant, struct session_traffic *t);

#endif
