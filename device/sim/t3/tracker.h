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

#include "device/sim/machine/machine.h"

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

struct sim_tracked_range {
	struct dev_tracked_rows rows;
	struct alloc *target; /* that holds rows.to; NULL: none */
	struct sim_tracked_tile *tiles;
};

struct dev_tracker {
	struct sim_dev *dev;
	struct dev_tracker *next, *next_armed; /* of the device's */
	unsigned holders;                      /* the handle and operations */
	char *at;
	uint64_t bytes, element_bytes, row_bytes;
	struct alloc *matrix;
	struct dev_tracker_map map;
	struct sim_tracked_range *ranges; /* map.count */
	struct sim_tracked_tile *tiles;
	uint32_t tile_count, tiles_across;
	uint32_t incomplete, forwards;     /* tiles; copies that have not ended */
	uint32_t times_armed, times_ended; /* armed: they differ */
	uint64_t serial;                   /* of the operation that armed it */
	struct dev_stream *waiters;
	bool lost;  /* memory that it names was closed with its device */
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

/* Functions of dev_tracking_ops. */
int sim_tracker_open(struct dev *dev, const struct dev_tracker_map *map, struct dev_tracker **t_p);
void sim_tracker_close(struct dev *dev, struct dev_tracker *t);
int sim_tracker_arm(struct dev *dev, struct dev_stream *s, struct dev_tracker *t);
int sim_tracker_wait(struct dev *dev, struct dev_stream *s, struct dev_tracker *t);
int sim_tracker_read_counts(struct dev *dev, struct dev_tracker_counts *counts_p);

int sim_trackers_open(struct sim_dev *d);
/* The device's own trackers end, and those of others that lead to its memory are lost. The work of
 * others that needs them was dropped. */
void sim_trackers_close(struct sim_dev *d);
/* True if it names memory of this device. */
bool sim_tracker_leads_to(const struct dev_tracker *t, const struct sim_dev *d);
/* An operation does not need it any longer; NULL is accepted. */
void sim_tracker_release(struct dev_tracker *t);

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
/* The bytes that a copy wrote have arrived. */
void sim_tracker_count_copy(struct op *op);

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
/* Its copy has an engine; has passed, and adds what it moved; has ended. */
void sim_tracker_begin_forward(const struct op *op);
void sim_tracker_move_tile(const struct op *op);
void sim_tracker_end_forward(const struct op *op);
/* Forget those of one tracker. */
void sim_tracker_drop_forwards(struct dev_tracker *t);

/* ------------------------------------------------------------------ GEMMs */

/* A GEMM is about to start its blocks. If its C is in the matrix of an armed tracker, it has that
 * tracker. An error is the stream's failure, too. */
int sim_tracker_begin_gemm(struct op *op);

/* Rows of C that go to the same place. */
struct sim_rows {
	uint32_t end;
	void *c;            /* where all of C would begin if all of it went there */
	struct alloc *away; /* NULL: C itself */
};
/* Those from this row on, at most up to `end`. */
struct sim_rows sim_tracker_rows(const struct op *op, uint32_t row, uint32_t end);

/* Part of a block's traffic of C that goes to C itself; demands of the rest, whose bytes are
 * returned; and the largest latency there. */
double sim_tracker_c_part(const struct op *op, uint32_t block);
double sim_tracker_need_away(struct flow *f, const struct op *op, uint32_t block);
/* Count the bytes of a whole GEMM that go away; returns how many rows of C do not. */
uint32_t sim_tracker_count_away(const struct op *op);
double sim_tracker_latency_ns(const struct op *op, uint32_t block);
/* Number of blocks from this one on, out of `most` that are otherwise alike, that write alike. */
uint32_t sim_tracker_blocks_alike(const struct op *op, uint32_t block, uint32_t most);
/* A block has ended. */
void sim_tracker_count_block(struct op *op, uint32_t block);

#endif
