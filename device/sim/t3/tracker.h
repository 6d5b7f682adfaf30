/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trackers of simulated devices.
 *
 * TRACKER, with tracker_entries of 1 or more. What a GEMM writes is counted when a block ends, by
 * the rows and columns of its tiles; what a copy or a forward writes, when it ends, by its bytes,
 * of which only whole elements count; by whichever device. A GEMM belongs to the tracker that is
 * armed for C when its launch_ns are over: C then must be part of the matrix, in the same type and
 * with rows of the same distance (else -EINVAL), and its blocks are simulated wave by wave.
 *
 *   arm, wait   take no time of their own. Streams that wait for the same tracker all go on. With
 *               `data = real` arming sets the rows of FORWARD and KEPT to 0
 *   entries     A tile takes one with its first write and gives it back when it is complete. If
 *               none is free it is counted as overflowed, and its writes are counted in memory, at
 *               no cost to them. It gets the entry that is free next, after those that overflowed
 *               before; but if it is complete before, its copy is ready J * memory_latency_ns
 *               later. No write ever waits, and nothing waits for an entry
 *   forward     J * tracker_ns after the tile is complete its copy is ready, but not before those
 *               of tiles that were complete earlier. It takes a free engine as a copy does that was
 *               ready then, and J * (peer + flow of the tile's bytes): read once, written once,
 *               with engine_bandwidth, engine_weight and `slow_down = engine`. J is one draw per
 *               tile. It bypasses all caches and is added as dev_copy_add() does; no fault of the
 *               model counts it. Then it is counted where it arrived
 *   AWAY        The blocks of this device's GEMMs write such rows to the target instead of C: as
 *               much of C's bytes as the tile has of such rows. `peer` of a block is 0 if all its
 *               rows stay. Without `adds` beta must be 0. To a tracked cache all of C stays
 *   too much    Writes beyond `updates` times a tile's elements are not counted, and fail who
 *               writes with -EINVAL: the stream, or of a forward the wait for its tracker
 */
#ifndef GPUSIG_SIM_TRACKER_H
#define GPUSIG_SIM_TRACKER_H

#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"

struct dev_tracker {
	struct sim_dev *dev;
	struct dev_tracker *next, *next_armed; /* of the device's */
	unsigned holders;                      /* the handle and operations */
	struct sim_redirect rows;              /* map.count ranges */
	uint64_t element_bytes;
	struct alloc *matrix;
	struct dev_tracker_map map;
	struct sim_tracked_tile *tiles;
	uint32_t tile_count, tiles_across;
	uint32_t incomplete, forwards;     /* tiles; copies that have not ended */
	uint32_t times_armed, times_ended; /* armed: they differ */
	uint64_t serial;                   /* of the operation that armed it */
	struct dev_stream *waiters;
	int failed; /* of a copy that it started */
	char failure[160];
};

/* ------------------------------------------------------------------ calls and devices */

/* A tracker of the device; it belongs to the device. */
int sim_tracker_make(struct sim_dev *d, const struct dev_tracker_map *map,
		     struct dev_tracker **t_p);
/* It is lost for those that hold it, and freed after them. */
void sim_tracker_close(struct dev_tracker *t);

int sim_trackers_open(struct sim_dev *d);
/* The device's own trackers end, and those of others that lead to its memory are lost. The work of
 * others that needs them was dropped. */
void sim_trackers_close(struct sim_dev *d, void (*forget)(const void *tracker));
/* True if it names memory of this device. */
bool sim_tracker_leads_to(const struct dev_tracker *t, const struct sim_dev *d);
/* An operation does not need its tracker any longer. */
void sim_tracker_release(struct op *op);

/* ------------------------------------------------------------------ operations of streams */

/* Arm it; a failure is the stream's. */
void sim_tracker_arm_now(struct op *op);
/* True if the operation still has to wait for tiles and copies; if not, the tracker is disarmed. A
 * failure is the stream's and ends the wait. */
bool sim_tracker_holds(struct op *op);

static inline bool sim_tracker_is_armed(const struct dev_tracker *t)
{
	return t->times_armed != t->times_ended;
}
/* Counts the bytes of copies when they have arrived. */
extern const struct op_tracking sim_tracking_of_copies;
/* For operations that arm or wait. */
extern const struct op_tracking sim_tracking_of_waits;

/* A GEMM is about to start its blocks. If its C is in the matrix of an armed tracker, it has that
 * tracker. An error is the stream's failure, too. */
int sim_tracker_begin_gemm(struct op *op);

#endif
