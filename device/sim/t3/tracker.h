/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trackers of simulated devices; model.h has their rules.
 *
 *   tracker_writes.c    which tracker counts a write; its entries; complete tiles
 *   tracker_calls.c     the calls; devices that open and close
 *   tracker_forwards.c  copies of complete tiles
 *   tracker_gemm.c      GEMMs whose C is in the matrix of an armed tracker
 */
#ifndef GPUSIG_SIM_TRACKER_H
#define GPUSIG_SIM_TRACKER_H

#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"

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

/* ------------------------------------------------------------------ counting */

static inline bool sim_tracker_is_armed(const struct dev_tracker *t)
{
	return t->times_armed != t->times_ended;
}
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
/* The failure of who wrote that. */
int sim_tracker_note_excess(const struct sim_tracked_tile *tile, char *text, size_t size);
/* Counts the bytes of copies when they have arrived. */
extern const struct op_tracking sim_tracking_of_copies;
/* For operations that arm or wait. */
extern const struct op_tracking sim_tracking_of_waits;

/* Wakes who waits if all is over. */
void sim_tracker_check_end(struct dev_tracker *t);
/* All tiles are as if nothing was ever written, and no copy is under way. Not from within a task.
 */
void sim_tracker_abandon(struct dev_tracker *t);

void sim_tile_append(struct sim_tile_list *list, struct sim_tracked_tile *tile);
struct sim_tracked_tile *sim_tile_take_first(struct sim_tile_list *list);
void sim_tile_remove(struct sim_tile_list *list, struct sim_tracked_tile *tile);

/* ------------------------------------------------------------------ forwards */

/* A tile of DEV_TRACKED_FORWARD is complete. */
void sim_tracker_forward(struct sim_tracked_tile *tile);
/* Forget those of one tracker. */
void sim_tracker_drop_forwards(struct dev_tracker *t);

/* ------------------------------------------------------------------ GEMMs */

/* A GEMM is about to start its blocks. If its C is in the matrix of an armed tracker, it has that
 * tracker. An error is the stream's failure, too. */
int sim_tracker_begin_gemm(struct op *op);

#endif
