/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The devices of a set side by side: a stream on each, all released at once, and how long each of them took.
 *
 *     team_hold(t);                       every stream waits, then stamps its beginning
 *     status = ...                        enqueue on t->stream[0..count)
 *     team_release(t, status, &round);    stamps, opens, waits for all
 *
 * One word of the first device's memory holds all streams, so that one write of the host releases them. A duration is between
 * two stamps of the same device, for clocks of different devices need not agree; a round takes as long as the longest.
 */
#ifndef GPUSIG_TEAM_H
#define GPUSIG_TEAM_H

#include "lib/bench_gate.h"

struct team {
	const struct dev_set *set;
	struct dev_stream *stream[DEV_MAX];
	struct dev_event *begin[DEV_MAX], *end[DEV_MAX];
	struct gate *gate;
};

struct team_round {
	double longest_s; /* of the devices' durations */
	double seen_s;    /* from the host's release to its return from waiting for the last device */
};

/* Makes all devices peers. Needs DEV_CAP_PEER and DEV_CAP_WAIT_VALUE of each: -ENOTSUP. What was opened before an error is left
 * to team_close(). */
int team_open(struct team *t, const struct dev_set *set);

/* Waits for everything first. Accepts what is all zeroes. */
void team_close(struct team *t);

int team_hold(struct team *t);

/* Whatever `status` says, the streams are let go and waited for; gives the first error. */
int team_release(struct team *t, int status, struct team_round *round_p);

/* Wait for all streams, whatever became of enqueueing; `status` when it is not 0, else the first error. */
int team_sync(struct team *t, int status);

#endif
