/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes of the hardware that device/dev_tracking.h describes.
 */
#include "bench/graph/work_internals.h"

uint32_t work_graph_copy_add(struct work_graph *g, uint32_t lane, void *to, const void *from,
			     uint64_t bytes, enum dev_type type)
{
	const struct node node = {.kind = NODE_COPY_ADD,
				  .lane = lane,
				  .to = to,
				  .from = from,
				  .bytes = bytes,
				  .type = type};
	return work_node_add(g, &node);
}

uint32_t work_graph_arm(struct work_graph *g, uint32_t lane, struct dev_tracker *tracker)
{
	const struct node node = {.kind = NODE_ARM, .lane = lane, .tracker = tracker};
	return work_node_add(g, &node);
}

uint32_t work_graph_tracked(struct work_graph *g, uint32_t lane, struct dev_tracker *tracker)
{
	const struct node node = {.kind = NODE_TRACKED, .lane = lane, .tracker = tracker};
	return work_node_add(g, &node);
}

int work_enqueue_tracking(struct dev *dev, struct dev_stream *stream, const struct node *n)
{
	if (n->kind == NODE_COPY_ADD)
		return dev_copy_add(dev, stream, n->to, n->from, n->bytes, n->type);
	return n->kind == NODE_ARM ? dev_tracker_arm(dev, stream, n->tracker)
				   : dev_tracker_wait(dev, stream, n->tracker);
}
