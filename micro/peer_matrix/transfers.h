/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copies of a route, and of the same route in both directions at once: memory, streams and
 * graphs of them, by copy engines and by kernels.
 *
 * A device copies into the memory of others: its engine or its kernel writes there. To and from
 * host memory the device copies. A route between two ends moves `bytes`. Where several devices take
 * part, each has `bytes` to send and as much space to receive, divided evenly among the others.
 * Nothing else runs meanwhile, so every link carries the copies of the route alone.
 *
 * Every copy has contents of its own, so one that went elsewhere is found.
 */
#ifndef GPUSIG_PEER_TRANSFERS_H
#define GPUSIG_PEER_TRANSFERS_H

#include "bench/graph/bench_graph.h"
#include "micro/peer_matrix/route.h"

/* The smallest copy, from end to end. */
#define LATENCY_BYTES UINT64_C(4096)

struct transfer {
	struct dev *by;                    /* copies */
	struct dev *source_of, *target_of; /* the devices that the memory was allocated with */
	char *source, *target;
	uint64_t bytes;
	uint32_t lane; /* of `by` */
	uint32_t *contents;
};

struct transfers {
	struct bench_case *c;
	struct peer_route route;
	uint64_t bytes;
	struct work_lanes *lanes;
	uint32_t place_of[DEV_MAX]; /* of a device, in the list of the lanes */
	/* Twice the pattern, so contents may begin anywhere in the first one. */
	uint32_t *pattern;
	char *source[DEV_MAX], *target[DEV_MAX], *host_source, *host_target;
	struct transfer *transfer;
	size_t count, forward; /* those from `forward` on go the other way */
};

/* In setup: memory and lanes. Pairs and routes with host memory also go the other way. Returns
 * bench_status(). */
int transfers_open(struct transfers *t, struct bench_case *c, const struct peer_route *route,
		   uint64_t bytes);
bool transfers_both(const struct transfers *t);

/* In setup: all transfers at once, forward alone or both ways. */
struct work_graph *transfers_graph(struct transfers *t, bool both, bool engine);

/* In body: so many runs of a graph, as transfers_time_runs(); of each run the longest time counts.
 */
int transfers_time(const struct transfers *t, struct work_graph *g, uint64_t runs);

/* In body: so many times the first LATENCY_BYTES of the first transfer; each is waited for. */
int transfers_round_trip(const struct transfers *t, bool engine, uint64_t times);

/* The first `bytes` of every target, or of the forward ones: make them wrong; compare them with
 * what had to arrive. */
int transfers_poison(const struct transfers *t, bool both, uint64_t bytes);
int transfers_check(const struct transfers *t, bool both, uint64_t bytes);

/* Parts that a sweep shares with a route. In setup: twice a random pattern, and the place in it
 * where the contents of copy `nth` begin. In body: `runs` runs of a graph over lanes whose queues
 * have `queue` entries, back to back, with as few waits of the host as those allow; their time is
 * c->self_seconds. */
uint32_t *transfers_pattern(struct bench_case *c);
size_t transfers_contents(size_t nth);
int transfers_time_runs(struct bench_case *c, uint32_t queue, struct work_graph *g, uint64_t runs);

/* Bytes of one run. */
uint64_t transfers_bytes(const struct transfers *t, bool both);

#endif
