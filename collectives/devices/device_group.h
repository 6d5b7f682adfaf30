/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stream on each device of a set. The host releases all streams at once and measures how long
 * each device takes.
 *
 *     device_group_hold(g);                       every stream waits, then records its begin event
 *     status = ...                                enqueue on g->stream[0..count)
 *     device_group_release(g, status, &round);    records end events, releases, waits for all
 *
 * All streams wait for one word in the first device's memory, so one write of the host releases
 * them. A duration is the time between two events of the same device, because the clocks of
 * different devices need not agree. The time of a round is the longest of these durations.
 */
#ifndef GPUSIG_DEVICE_GROUP_H
#define GPUSIG_DEVICE_GROUP_H

#include "bench/bench_gate.h"

struct device_group {
	const struct dev_set *set;
	struct dev_stream *stream[DEV_MAX];
	struct dev_event *begin[DEV_MAX], *end[DEV_MAX];
	struct gate *gate;
};

struct device_group_round {
	double longest_s; /* of the devices' durations */
	double host_s;    /* from the host's release until its wait for the last device returns */
};

/* Makes all devices peers. -ENOTSUP without DEV_CAP_PEER and DEV_CAP_WAIT_VALUE on each. After an
 * error call device_group_close(), too. */
int device_group_open(struct device_group *g, const struct dev_set *set);

/* Synchronises first. Accepts a group of all zeroes. */
void device_group_close(struct device_group *g);

int device_group_hold(struct device_group *g);

/* Releases the streams and waits for them, also when `status` is an error. Returns the first error.
 * Sets the result only without an error. */
int device_group_release(struct device_group *g, int status, struct device_group_round *round_p);

/* Waits for all streams, also when `status` is an error. Returns `status` when it is not 0, else
 * the first error. */
int device_group_sync(struct device_group *g, int status);

#endif
