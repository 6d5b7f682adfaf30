/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of operations on the streams of one or more devices: the executor of overlap/. The graph
 * is built once; work_graph_prepare() does everything that costs time, and work_graph_run() only
 * enqueues.
 *
 *     work_lanes_open(devices, count, &lanes);
 *     lane = work_lane(lanes, 0, priority);       a stream of device 0, for any number of graphs
 *     work_graph_open(lanes, &g);
 *     copy = work_graph_copy(g, other, to, from, bytes, 0);
 *     gemm = work_graph_gemm(g, lane, &dev_gemm);
 *     work_graph_edge(g, copy, gemm);             the GEMM starts after the copy
 *     status = work_graph_prepare(g);
 *     ...
 *     status = work_graph_hold(g);                optional: every lane waits for one host write
 *     status = work_graph_release(g, work_graph_run(g), &seconds);
 *
 * Order.     Nodes of one lane run in the order in which they were added. Edges lead to later
 *            nodes; edges between lanes, also of different devices, become event records and
 *            waits. An edge that other edges between the same two lanes imply costs nothing.
 *
 * Errors.    They are sticky while lanes are added and a graph is built: work_graph_open() and
 *            work_graph_prepare() return the first one, so results before need no check. A run
 *            that fails half-way leaves nothing that waits for ever.
 *
 * Waiting.   work_graph_run() neither allocates nor waits, as long as the queues of the lanes hold
 *            work_graph_max_queued() entries; otherwise prepare returns -ENOTSUP. A run reuses the
 *            memory and the events of the run before, so the caller waits in between, with
 *            work_graph_release() or work_graph_sync(), also between graphs over the same lanes.
 *            Do the first run without a gate: a library may wait for the whole device in the
 *            first GEMM of a stream.
 *
 * Time.      From the gate on: each device records a begin event on its first lane with work, for
 *            which its other lanes wait, and an end event on every lane. A duration is between
 *            events of one device; the longest counts.
 *
 * Ownership. Lanes must outlive their graphs, devices their lanes. Peer access must be enabled
 *            where nodes reach from one device to another; memory belongs to the caller.
 */
#ifndef GPUSIG_WORK_GRAPH_H
#define GPUSIG_WORK_GRAPH_H

#include "device/dev.h"

struct work_lanes;
struct work_graph;

/* Needs DEV_CAP_WAIT_VALUE of all devices: -ENOTSUP. The gate lies in memory of the first one. */
int work_lanes_open(struct dev *const *devices, size_t count, struct work_lanes **l_p);
/* Waits for the lanes first. NULL is accepted. */
void work_lanes_close(struct work_lanes *l);

/* Opens a stream of a device, with a priority as dev_stream_open() takes it. */
uint32_t work_lane(struct work_lanes *l, uint32_t device, int priority);

int work_graph_open(struct work_lanes *lanes, struct work_graph **g_p);
/* Waits for the lanes first. NULL is accepted. */
void work_graph_close(struct work_graph *g);

/* Nodes; each function returns the node's number. `blocks` 0: by the device's copy engine; else by
 * this many blocks of the kernel copy_nt, which needs multiples of DEV_KERNEL_ALIGN: -EINVAL. */
uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from,
			 uint64_t bytes, uint32_t blocks);
uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm);
/* to[i] += from[i] by this many blocks of the kernel reduce_add. */
uint32_t work_graph_add(struct work_graph *g, uint32_t lane, float *to, const float *from,
			uint64_t bytes, uint32_t blocks);
/* The kernel `empty`, with one block: measures the cost of the executor. */
uint32_t work_graph_empty(struct work_graph *g, uint32_t lane);

/* `to` starts after `from`, and must have been added after it: else -EINVAL. */
void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to);

/* Opens events and finds kernels. Nothing can be added afterwards. */
int work_graph_prepare(struct work_graph *g);

/* Of a prepared graph: the maximum queue entries of one lane in a run with its gate and events; the
 * number of waits on all lanes. */
uint32_t work_graph_max_queued(const struct work_graph *g);
uint32_t work_graph_waits(const struct work_graph *g);
/* Number of lanes when the graph was prepared, with or without work. */
uint32_t work_graph_lanes(const struct work_graph *g);

/* Blocks the lanes until work_graph_release(). */
int work_graph_hold(struct work_graph *g);
/* Enqueues all nodes. */
int work_graph_run(struct work_graph *g);

/* Records the end events, opens the gate and waits for all lanes. Opens the gate also when `status`
 * is an error; returns the first error. */
int work_graph_release(struct work_graph *g, int status, double *seconds_p);

/* Seconds from the device's begin event to the lane's end event, in the latest release. -ENOENT:
 * the lane has no work in this graph. */
int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p);

/* Waits for all lanes, also after an error of enqueueing; returns `status` if it is not 0, else the
 * first error. */
int work_graph_sync(struct work_graph *g, int status);

#endif
