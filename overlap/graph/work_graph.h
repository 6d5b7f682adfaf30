/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of operations over the devices of a run, put on streams: the executor of overlap/. What is to be done is data, laid
 * down once; what costs time happens in work_graph_prepare(), and work_graph_run() only enqueues.
 *
 *     work_lanes_open(devices, count, &lanes);
 *     lane = work_lane(lanes, 0, priority);          a stream of device 0, for as many graphs as there are
 *     work_graph_open(lanes, &g);
 *     copy = work_graph_copy(g, other, to, from, bytes, 0);
 *     gemm = work_graph_gemm(g, lane, &product);
 *     work_graph_edge(g, copy, gemm);                the product starts after the copy
 *     status = work_graph_prepare(g);
 *     ...
 *     status = work_graph_hold(g);                   optional: every lane waits for one write of the host
 *     status = work_graph_release(g, work_graph_run(g), &seconds);
 *
 * Order.     Nodes of one lane follow each other as they were added. Edges go from nodes to later ones; those between lanes, also
 *            of different devices, become event records and waits. An edge that others of the same two lanes imply costs nothing.
 * Errors.    Sticky while lanes are added and a graph is laid down: work_graph_open() and work_graph_prepare() give the first
 *            error, nothing before need be looked at. A run that fails half-way leaves nothing that waits for ever.
 * Waiting.   work_graph_run() neither allocates nor waits, as long as the lanes' queues take what work_graph_most_queued() says:
 *            -ENOTSUP from prepare when they don't. A run reuses the memory and the events of the one before: the caller waits
 *            in between, with work_graph_release() or work_graph_sync(), also between graphs over the same lanes. The first
 *            run is one without a gate: a library may wait for the whole device in a stream's first product.
 * Time.      From the gate on: each device stamps its beginning on its first lane with work, on which its other lanes wait, and
 *            the end of every lane. Durations are between stamps of one device; the longest counts.
 * Ownership. The lanes outlive their graphs, the devices their lanes. Devices are peers of each other where nodes reach from
 *            one to another; memory is the caller's.
 */
#ifndef GPUSIG_OVERLAP_WORK_GRAPH_H
#define GPUSIG_OVERLAP_WORK_GRAPH_H

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

/* Nodes; each gives its number. `blocks` 0: by the device's engine; else so many blocks of the kernel copy_nt, which wants
 * multiples of DEV_KERNEL_ALIGN: -EINVAL. */
uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from, uint64_t bytes, uint32_t blocks);
uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm);
/* to[i] += from[i] by so many blocks of the kernel reduce_add. */
uint32_t work_graph_add(struct work_graph *g, uint32_t lane, float *to, const float *from, uint64_t bytes, uint32_t blocks);
/* The kernel `empty`, of one block: what an executor costs. */
uint32_t work_graph_empty(struct work_graph *g, uint32_t lane);

/* `to` was added after `from`, else -EINVAL. */
void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to);

/* Opens events and finds kernels. Nothing can be added afterwards. */
int work_graph_prepare(struct work_graph *g);

/* Of a prepared graph: the most operations that a run with its gate and stamps enqueues on one lane; waits of all lanes. */
uint32_t work_graph_most_queued(const struct work_graph *g);
uint32_t work_graph_waits(const struct work_graph *g);
/* Lanes that there were when it was prepared, with or without work. */
uint32_t work_graph_lanes(const struct work_graph *g);

int work_graph_hold(struct work_graph *g);
int work_graph_run(struct work_graph *g);

/* Stamp the ends, open the gate, wait for all. Whatever `status` says, the lanes are let go; gives the first error. */
int work_graph_release(struct work_graph *g, int status, double *seconds_p);

/* From its device's beginning to the lane's end, in the latest release. -ENOENT: the lane has no work in this graph. */
int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p);

/* Wait for all lanes, whatever became of enqueueing; `status` when it is not 0, else the first error. */
int work_graph_sync(struct work_graph *g, int status);

#endif
