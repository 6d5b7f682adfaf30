/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of work graphs, shared by the sources in this folder. The manual is work_graph.h.
 */
#ifndef GPUSIG_WORK_INTERNALS_H
#define GPUSIG_WORK_INTERNALS_H

#include "bench/bench_gate.h"
#include "bench/graph/work_graph.h"
#include "device/kernel_signature.h"
#include "lib/err.h"

struct lane {
	uint32_t device;
	bool adopted;   /* the stream is the caller's */
	bool on_engine; /* its latest work was a copy by an engine */
	struct dev_stream *stream;
	struct dev_event *begin, *end;
};

struct work_lanes {
	struct dev **devices;
	struct lane *lanes;
	size_t device_count, count, capacity;
	struct gate *gate;
	struct err_first error; /* of adding lanes */
};

enum node_kind {
	NODE_COPY,
	NODE_FILL,
	NODE_GEMM,
	NODE_KERNEL,
	NODE_WAIT_VALUE,
	NODE_COLLECTIVE,
	NODE_MARK,
	NODE_COPY_ADD,
	NODE_ARM,
	NODE_TRACKED
};

struct node {
	enum node_kind kind;
	uint32_t lane, turn;
	uint32_t first_wait, waits; /* in the graph's edges */
	struct dev_event *done;     /* NULL: nothing waits for it or reads its time */
	bool stamped;
	union {
		struct {
			void *to;
			const void *from;
			uint64_t bytes;
			uint8_t byte;       /* of a fill */
			enum dev_type type; /* of a copy that is added */
		};
		struct {
			uint32_t *at, value;
		};
		struct dev_gemm gemm;
		struct dev_tracker *tracker;
		struct {
			struct dev_comm *comm;
			enum dev_collective what;
			uint32_t rank;
			float *sent, *received;
			uint64_t count;
		};
		struct {
			struct dev_kernel *kernel;
			const struct kernel_signature *signature;
			uint32_t grid;
			union kernel_arg args[DEV_KERNEL_MAX_ARGS];
			const void *pointers[DEV_KERNEL_MAX_ARGS]; /* to `args`, from prepare on */
		};
	};
};

struct edge {
	uint32_t from, to;
};

/* Work of a graph on a lane. */
struct lane_work {
	uint32_t queued; /* 0: the lane has no work */
	uint32_t first_node, last_node;
	uint32_t first; /* the lane of the device's first node, which waits for the gate */
	bool waits_for_begin;
	bool begins_on_engine; /* its first work is a copy by an engine */
	struct dev_event *end; /* the last node's own, or the lane's, which release records */
};

struct work_graph {
	struct work_lanes *all;
	struct lane_work *work; /* by lane; only lanes that existed at prepare */
	size_t lane_count;
	struct node *nodes;
	struct edge *edges; /* after prepare: sorted by target, without implied ones */
	size_t node_count, node_capacity, edge_count, edge_capacity;
	bool forked, prepared;
	struct err_first error; /* of building */
	uint32_t turn;          /* of nodes that are added */
	/* NULL until work_graph_operands(): the operands, and where the nodes keep their addresses.
	 */
	struct work_operand *operands;
	void **kept_at;
	size_t operand_count;
	struct work_rotation rotation; /* `take` NULL: none */
	double host_s;
	uint64_t copies, copied_bytes;
};

struct dev *work_lane_device(const struct work_lanes *l, size_t lane);

/* Adds a node, and returns its number; after an error it does nothing. */
uint32_t work_node_add(struct work_graph *g, const struct node *node);

/* True if a node is neither an event nor a wait. */
bool work_node_works(const struct node *n);

/* work_tracking.c: enqueues a node of one of its kinds. */
int work_enqueue_tracking(struct dev *dev, struct dev_stream *stream, const struct node *n);

/* work_operands.c: moves the nodes' addresses to the sets of the run that starts. */
void work_rotate(struct work_graph *g);

/* work_plan.c: everything that work_graph_prepare() does after the graph is complete. */
int work_plan(struct work_graph *g);

#endif
