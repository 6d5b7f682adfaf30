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
	char name[24];                     /* "0>3" */
	struct dev *by;                    /* copies */
	struct dev *source_of, *target_of; /* the devices that the memory was allocated with */
	char *source, *target;
	uint64_t bytes, checked; /* the first `checked` bytes stay, and are compared */
	uint32_t *contents;
	uint32_t lane; /* of `by` */
	struct dev_stream *stream;
	struct dev_kernel *kernel; /* copies in the place of an engine */
};

struct transfers {
	struct bench_case *c;
	struct peer_route route;
	uint64_t bytes;
	struct work_lanes *lanes;
	uint32_t place_of[DEV_MAX]; /* of a device, in the list of the lanes */
	/* Twice the pattern, so contents may begin anywhere in the first one. */
	uint32_t *pattern;
	char *source[DEV_MAX], *target[DEV_MAX];
	struct transfer *transfer;
	size_t count, forward; /* those from `forward` on go the other way */
	uint32_t queue;        /* entries of the shortest one */
};

/* In setup: memory and lanes. Pairs and routes with host memory also go the other way. */
int transfers_open(struct transfers *t, struct bench_case *c, const struct peer_route *route,
		   uint64_t bytes);
bool transfers_both(const struct transfers *t);

/* Parts of it that a sweep has, too. In setup: without transfers; the memory at memory[place],
 * allocated if it is the first time; adds a transfer, with contents number `contents`, in the next
 * lane of a device of these lanes. */
void transfers_begin(struct transfers *t, struct bench_case *c, uint64_t bytes);
char *transfers_memory(struct transfers *t, char **memory, uint32_t place, uint64_t bytes);
void transfers_add(struct transfers *t, struct work_lanes *lanes, uint32_t lane, size_t contents,
		   struct transfer transfer);

/* In setup: `count` transfers from `first` on, all at once, by engines or by kernels. */
struct work_graph *transfers_graph(const struct transfers *t, struct work_lanes *lanes,
				   size_t first, size_t count, bool by_kernel);

/* In body: so many runs of a graph, back to back, with as few waits of the host as the queues
 * allow; of each run the longest time counts. The sum is c->self_seconds. */
int transfers_time(const struct transfers *t, struct work_graph *g, uint64_t runs);

/* In body: the first LATENCY_BYTES of the first transfer, and the wait for them. */
int transfers_round_trip(const struct transfers *t, bool by_kernel);

/* The first `bytes` of every target that are checked, or of the forward ones: make them wrong;
 * compare them with what had to arrive. */
int transfers_poison(const struct transfers *t, bool both, uint64_t bytes);
int transfers_check(const struct transfers *t, bool both, uint64_t bytes);

/* Transfers of one run, forward alone or both ways, and their bytes. */
size_t transfers_count(const struct transfers *t, bool both);
uint64_t transfers_bytes(const struct transfers *t, bool both);

#endif
