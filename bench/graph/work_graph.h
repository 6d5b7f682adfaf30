/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph of copies, GEMMs, kernels, collectives, fills, waits and marks on the streams of one or
 * more devices: the executor of everything that runs on several streams at once. The graph is built
 * once; work_graph_prepare() does everything that costs time, and work_graph_run() only enqueues.
 *
 *     lanes = bench_lanes(c);                     the case closes them (bench/graph/bench_graph.h)
 *     g = bench_graph(c, lanes);
 *     lane = work_lane(lanes, 0, priority);       a stream of device 0, for any number of graphs
 *     copy = work_graph_copy(g, other, to, from, bytes, 0);
 *     gemm = work_graph_gemm(g, lane, &dev_gemm);
 *     work_graph_edge(g, copy, gemm);             the GEMM starts after the copy
 *     status = bench_graph_prepare(c, g);
 *     ...
 *     status = work_graph_time(g, &seconds);      all at once, from one host write
 *
 * TIME. One rule for one and for several devices. Everything is enqueued while one gate
 * (bench/bench_gate.h) holds the lane of each device's first node, and one host write releases all
 * devices. Behind the gate each device records its begin event, for which its other lanes wait.
 * Every lane has an end event. Where time is not simulated, a stream that ended with a copy by an
 * engine, or is the caller's, and that begins with anything but such a copy, runs an empty kernel
 * before the gate, so that what ran before has no part in the run: a driver may queue the stream's
 * next events at that engine. A duration is the time between two events of the same device, because
 * the clocks of different devices need not agree; the time of a run is the longest duration from a
 * begin event to the end of a lane.
 *
 * Order.     Nodes of one lane run in the order in which they were added. Edges lead to later
 *            nodes; edges between lanes, also of different devices, become event records and
 *            waits. An edge that others imply, along whatever path, costs nothing.
 *
 * Errors.    They are sticky while lanes are added and a graph is built: work_graph_open() and
 *            work_graph_prepare() return the first one, so results before need no check. NULL
 *            does nothing until prepare, which is -EINVAL. A run that fails half-way leaves nothing
 * that waits for ever.
 *
 * Waiting.   work_graph_run() neither allocates nor waits, as long as the queues of the lanes hold
 *            work_graph_max_queued() entries, and the gate and its events; otherwise prepare
 *            returns -ENOTSUP. A run reuses the memory and the events of the run before, so the
 *            caller waits in between, also between graphs over the same lanes, with
 *            work_graph_release() or work_graph_sync(); or the graph has a fork and a join. Do the
 *            first run without a gate: a library may wait for the whole device in the first GEMM
 *            of a stream.
 *
 * Ownership. Lanes must outlive their graphs, devices their lanes. Peer access must be enabled
 *            where nodes reach from one device to another; memory belongs to the caller.
 */
#ifndef GPUSIG_WORK_GRAPH_H
#define GPUSIG_WORK_GRAPH_H

#include "device/dev.h"

struct work_lanes;
struct work_graph;

/* ------------------------------------------------------------------ lanes */

/* Needs DEV_CAP_WAIT_VALUE of all devices: -ENOTSUP. The gate lies in memory of the first one. */
int work_lanes_open(struct dev *const *devices, size_t count, struct work_lanes **l_p);
/* Waits for the lanes first. NULL is accepted. */
void work_lanes_close(struct work_lanes *l);

/* Waits for all lanes; returns the first error. */
int work_lanes_sync(struct work_lanes *l);

/* Opens a stream of a device (by its position in the list), with a priority as dev_stream_open()
 * takes it; work_lane_normal() with the device's normal priority. */
uint32_t work_lane(struct work_lanes *l, uint32_t device, int priority);
uint32_t work_lane_normal(struct work_lanes *l, uint32_t device);
/* A lane of a stream that the caller owns and closes after the lanes. */
uint32_t work_lane_of(struct work_lanes *l, uint32_t device, struct dev_stream *stream);
/* The stream of a lane, to enqueue something that is not a node; NULL after an error. */
struct dev_stream *work_lane_stream(const struct work_lanes *l, uint32_t lane);

/* ------------------------------------------------------------------ building */

int work_graph_open(struct work_lanes *lanes, struct work_graph **g_p);
/* Waits for the lanes first. NULL is accepted. */
void work_graph_close(struct work_graph *g);

/* Nodes; each function returns the node's number. Copies the bytes by the device's copy engine
 * (`blocks` 0), or by this many blocks of the kernel copy_nt. */
uint32_t work_graph_copy(struct work_graph *g, uint32_t lane, void *to, const void *from,
			 uint64_t bytes, uint32_t blocks);
/* A kernel that takes (to, from, bytes, reps), once over the bytes: copy, copy_nt or reduce_add.
 * `blocks` 0: one wave, or fewer blocks so that each has 4096 bytes. Kernels take multiples of
 * DEV_KERNEL_ALIGN: -EINVAL. */
uint32_t work_graph_pass(struct work_graph *g, uint32_t lane, const char *kernel, void *to,
			 const void *from, uint64_t bytes, uint32_t blocks);
/* Any kernel; args as in struct dev_launch, copied at once. `grid` 0: one wave. */
uint32_t work_graph_kernel(struct work_graph *g, uint32_t lane, const char *kernel, uint32_t grid,
			   const void *const *args);
/* work_graph_prepare() also calls dev_gemm_prepare() for it, which needs an idle device. */
uint32_t work_graph_gemm(struct work_graph *g, uint32_t lane, const struct dev_gemm *gemm);
uint32_t work_graph_fill(struct work_graph *g, uint32_t lane, void *to, uint8_t byte,
			 uint64_t bytes);
/* Waits until *at >= value, as dev_wait_value() does; a value that nothing reaches ends a sync with
 * -EPROTO (gate_guard()). work_graph_set_value() changes the value for later runs, in a prepared
 * graph too. */
uint32_t work_graph_wait_value(struct work_graph *g, uint32_t lane, uint32_t *at, uint32_t value);
void work_graph_set_value(struct work_graph *g, uint32_t node, uint32_t value);
/* A collective of the vendor's: a node in lanes[i] of each device i of the communicator, the rest
 * as dev_collective() takes it. Returns the first; the others follow it by one.
 * work_graph_prepare() also runs it once, which needs idle devices and changes what it writes. */
uint32_t work_graph_collective(struct work_graph *g, struct dev_comm *comm,
			       enum dev_collective what, const uint32_t *lanes, float *const *from,
			       float *const *to, uint64_t count);
/* Operations of device/dev_tracking.h: a copy that the target's memory adds to its contents, of
 * elements of `type`; arming a tracker, and waiting for it. A graph with a tracker works on the
 * tracker's memory, whatever set rotates. The tracker must outlive the graph. */
uint32_t work_graph_copy_add(struct work_graph *g, uint32_t lane, void *to, const void *from,
			     uint64_t bytes, enum dev_type type);
uint32_t work_graph_arm(struct work_graph *g, uint32_t lane, struct dev_tracker *tracker);
uint32_t work_graph_tracked(struct work_graph *g, uint32_t lane, struct dev_tracker *tracker);
/* No work: waits for its edges, and later nodes may wait for it. */
uint32_t work_graph_mark(struct work_graph *g, uint32_t lane);

/* `to` starts after `from`, and must have been added after it: else -EINVAL. */
void work_graph_edge(struct work_graph *g, uint32_t from, uint32_t to);

/* Marks that make a graph part of what is queued in `lane`: it starts after earlier work of the
 * lane, and later work of the lane waits for all of it. So runs may be queued behind each other.
 * The fork is the first node, the join, in the same lane, the last one. */
uint32_t work_graph_fork(struct work_graph *g, uint32_t lane);
uint32_t work_graph_join(struct work_graph *g);

/* Records an event at the end of this node, for work_graph_seconds(). */
void work_graph_stamp_end(struct work_graph *g, uint32_t node);

/* Nodes that are added from now on belong to the next turn: where buffers rotate, they use another
 * set. */
void work_graph_turn(struct work_graph *g);

/* Opens events, prepares GEMMs and runs collectives once. Nothing can be added afterwards. May take
 * long. */
int work_graph_prepare(struct work_graph *g);

/* For a prepared graph: queue entries that a run needs in the fullest lane at most, without gate
 * and begin and end events; the number of waits on all lanes. */
uint32_t work_graph_max_queued(const struct work_graph *g);
uint32_t work_graph_waits(const struct work_graph *g);
/* Number of lanes when the graph was prepared, with or without work; devices with work. */
uint32_t work_graph_lanes(const struct work_graph *g);
size_t work_graph_devices(const struct work_graph *g);

/* ------------------------------------------------------------------ operands */

/* Memory that a node reads or writes as data: matrices, and what copies, fills, collectives and
 * kernels over arrays touch; not counters that are waited for, nor words that kernels stamp. */
struct work_operand {
	void *at;
	uint64_t bytes;
	uint32_t turn;
	bool bypasses; /* copies, fills and kernels that stream may leave caches as they are */
};

/* All operands of a prepared graph, in the order of its nodes, as they were when it was built. The
 * first call allocates the list, which the graph owns: -ENOMEM. */
int work_graph_operands(struct work_graph *g, const struct work_operand **operands_p,
			size_t *count_p);
uint32_t work_graph_turns(const struct work_graph *g);

/* Called at the start of every run, with `arg`: takes sets for the run's turns and returns the
 * first; and gives the address of an operand in a set. */
struct work_rotation {
	uint32_t (*take)(void *arg, uint32_t turns);
	void *(*address)(const void *arg, uint32_t set, const void *home);
	void *arg;
};
/* After work_graph_operands(). Every later run uses the sets of `rotation`. */
void work_graph_rotate(struct work_graph *g, const struct work_rotation *rotation);

/* ------------------------------------------------------------------ running */

/* Enqueues all nodes. */
int work_graph_run(struct work_graph *g);

/* Waits for all lanes of the graph, also after an error of enqueueing; returns `status` if it is
 * not 0, else the first error. */
int work_graph_sync(struct work_graph *g, int status);

/* work_graph_run() and work_graph_sync(), for work that is not timed. */
int work_graph_complete(struct work_graph *g);

/* Blocks the lanes until work_graph_release(). Between the two the caller may enqueue other work on
 * their streams; it belongs to the time if it comes before work_graph_run(). */
int work_graph_hold(struct work_graph *g);

/* After hold: what was enqueued since is not timed, and the timed part starts when all of it, on
 * every device, is complete. Takes two queue entries of a lane, and one for each other lane. */
int work_graph_begin(struct work_graph *g);

/* Number of devices with a lane that has not ended. After hold and run. */
int work_graph_unfinished(struct work_graph *g, size_t *devices_p);

/* Records the end events, opens the gate and waits for the lanes. Opens the gate also when `status`
 * is an error; returns the first error. */
int work_graph_release(struct work_graph *g, int status, double *seconds_p);

/* Hold, run, release. */
int work_graph_time(struct work_graph *g, double *seconds_p);

/* Seconds in the latest release from the end of node `from`, or from the device's begin event, to
 * the end of node `to`: nodes of one device with work_graph_stamp_end(). */
#define WORK_GRAPH_BEGIN UINT32_MAX
int work_graph_seconds(const struct work_graph *g, uint32_t from, uint32_t to, double *seconds_p);
/* From the device's begin event to the end of a lane. -ENOENT: the lane has no work here. */
int work_graph_lane_seconds(const struct work_graph *g, uint32_t lane, double *seconds_p);
/* On the host's clock, from the write that releases to the end of the last wait. */
double work_graph_host_seconds(const struct work_graph *g);
/* The copies by copy engines one after another, as the latest run enqueued them; *at begins at 0.
 * False: there is no other. */
struct work_copy {
	struct dev *dev;
	struct dev_stream *stream;
	void *to;
	const void *from;
	uint64_t bytes;
};
bool work_graph_next_copy(const struct work_graph *g, size_t *at, struct work_copy *copy_p);

/* Copies that all runs have enqueued by copy engines, and their bytes. */
void work_graph_copied(const struct work_graph *g, uint64_t *copies_p, uint64_t *bytes_p);

#endif
