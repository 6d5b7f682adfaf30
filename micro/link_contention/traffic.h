/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of every device that start at one gate: between it and the host's memory next to it, and
 * in a ring, each device to the next one. By copy engines, which leave the units to others.
 *
 * A device has a stream for each of these. Where a graph repeats a copy, the copies of a stream
 * follow each other, and wait for no other stream.
 */
#ifndef GPUSIG_LINK_TRAFFIC_H
#define GPUSIG_LINK_TRAFFIC_H

#include "bench/graph/bench_graph.h"

enum traffic_kind { TRAFFIC_UP, TRAFFIC_DOWN, TRAFFIC_RING, TRAFFIC_KINDS };
/* Kinds are bit sets: `host` below, or the ring. */
#define TRAFFIC_BIT(kind) (1u << (kind))

struct traffic {
	struct bench_case *c;
	uint64_t bytes; /* of a copy */
	uint32_t devices;
	unsigned host; /* the kinds to and from the host that the case has */
	struct work_lanes *lanes;
	uint32_t lane[DEV_MAX][TRAFFIC_KINDS];
	struct traffic_copy {
		char *to, *from;
	} copy[DEV_MAX][TRAFFIC_KINDS];
};

/* In setup: memory and streams of the devices of the case. Copies of `kinds` leave their contents,
 * of each device another one, in every variant of that bit mask: what the harness checks. */
int traffic_open(struct traffic *t, struct bench_case *c, unsigned host, uint64_t bytes,
		 const uint64_t variants[TRAFFIC_KINDS]);

/* In setup: a graph of these kinds of copies of a device, `repeats` times each. */
void traffic_add(const struct traffic *t, struct work_graph *g, uint32_t device, unsigned kinds,
		 uint32_t repeats);
/* The same of all devices. */
void traffic_add_all(const struct traffic *t, struct work_graph *g, unsigned kinds,
		     uint32_t repeats);

/* In body: runs of the graph, back to back, with as few waits of the host as the queues allow.
 * Adds, device by device, how long the copies of the kinds `timed` took, from the gate to the last
 * one, to seconds[0] and on, and those of `partner` behind them. */
int traffic_time(const struct traffic *t, struct work_graph *g, uint64_t runs, unsigned timed,
		 unsigned partner, double *seconds);

#endif
