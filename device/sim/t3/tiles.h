/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of trackers: their writes are counted in the entries of a device's table, and complete ones
 * may be copied.
 */
#ifndef GPUSIG_SIM_TILES_H
#define GPUSIG_SIM_TILES_H

#include "device/sim/t3/tracker.h"

struct sim_tracked_tile {
	struct dev_tracker *tracker;
	struct sim_tracked_range *range;
	struct sim_tracked_tile *next, *previous; /* of the list that it is in */
	struct tile area;                         /* of the matrix */
	uint64_t writes;                          /* of elements; complete with `enough` */
	uint64_t enough;
	bool has_entry;         /* of a complete one: until it was */
	double stretch, due_ns; /* of its copy, and when that is ready */
	uint64_t ready_number;  /* of that copy */
};

struct sim_tile_list {
	struct sim_tracked_tile *first, *last;
};

/* Trackers of one device. A copy that waits for an engine and those that run have a stream each. */
struct sim_trackers {
	struct dev_tracker *open, *armed;
	struct dev_tracker_counts counts;
	uint32_t entries_used;
	struct sim_tile_list overflowed; /* incomplete ones without an entry, by first write */
	struct sim_tile_list triggered;  /* complete, but their copies are not ready */
	struct sim_tile_list ready;      /* whose copies wait for those before them */
	struct op *offered;              /* the first copy that is ready */
	size_t streams;                  /* the first is of `triggered` */
	struct dev_stream *stream;
	struct op trigger; /* whose task waits for the first of `triggered` */
};

/* ------------------------------------------------------------------ counting */

static inline bool sim_tracker_is_over(const struct dev_tracker *t)
{
	return !t->incomplete && !t->forwards;
}

/* The armed tracker of the device whose matrix has some of these bytes; NULL: there is none. */
struct dev_tracker *sim_tracker_armed_at(const struct sim_dev *d, const char *at, uint64_t bytes);

/* Rows of bytes that were written. */
struct sim_written {
	struct sim_dev *dev; /* whose memory it is */
	const char *at;
	uint64_t rows, bytes, stride_bytes;
};
/* Count in all armed trackers of the device. Returns a tile that was written more often than
 * expected, which is not counted, or NULL. */
const struct sim_tracked_tile *sim_tracker_count(const struct sim_written *w);
/* The same of what an operation wrote: an excess is a failure of its stream. */
void sim_tracker_count_of(struct op *op, const struct sim_written *w);
/* The failure of who wrote that. */
int sim_tracker_note_excess(const struct sim_tracked_tile *tile, char *text, size_t size);
/* Wakes who waits if all is over. */
void sim_tracker_check_end(struct dev_tracker *t);
/* All tiles are as if nothing was ever written, and no copy is under way. Not from within a task.
 */
void sim_tracker_abandon(struct dev_tracker *t);

void sim_tile_append(struct sim_tile_list *list, struct sim_tracked_tile *tile);
struct sim_tracked_tile *sim_tile_take_first(struct sim_tile_list *list);

/* ------------------------------------------------------------------ forwards */

/* A tile of DEV_TRACKED_FORWARD is complete. */
void sim_tracker_forward(struct sim_tracked_tile *tile);
/* Forget those of one tracker. */
void sim_tracker_drop_forwards(struct dev_tracker *t);

#endif
