/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of streams: what they are, the memory that they use and what they move.
 *
 * An operation belongs to its stream from sim_stream_enqueue() until op_end() (streams.h).
 */
#ifndef GPUSIG_SIM_OP_H
#define GPUSIG_SIM_OP_H

#include "device/dev.h"
#include "device/kernel_signature.h"

struct alloc;
struct dev_stream;
struct dev_tracker;
struct event_stamp;
struct kernel_type;
struct op;
struct sim_dev;
struct sim_engine;
struct sim_gemm_result;
struct sim_redirect;
struct sim_tracked_tile;

enum op_kind {
	OP_COPY,
	OP_FILL,
	OP_FILE_READ,
	OP_LAUNCH,
	OP_RECORD,
	OP_WAIT,
	OP_WAIT_VALUE,
	OP_WRITE_VALUE,
	OP_ARM,       /* a tracker */
	OP_WAIT_TILES /* of a tracker */
};

#define OP_USES DEV_KERNEL_MAX_ARGS
/* For every array: read, read again, written, and both ways between its cache and its memory. */
#define OP_TRAFFIC 25
#define OP_TRANSFER_TRAFFIC 8

/* Paths of traffic. The cache and the memory are those of the device whose memory it is. */
enum path {
	PATH_MEMORY, /* unit or engine, links, memory */
	PATH_CACHE,  /* unit or engine, links, last-level cache; of device memory alone */
	PATH_REFILL, /* between that cache and its memory */
	PATH_L1,     /* the first-level cache of the unit; of its own device's memory, as PATH_L2 */
	PATH_L2,     /* unit */
};

struct sim_range {
	const char *at;
	uint64_t bytes;
};

struct op_traffic {
	struct alloc *at;
	unsigned use; /* of which it is */
	double volume;
	bool write;
	bool adds;  /* in that memory, past its cache */
	bool stays; /* the read of an addition at the far end: it passes no unit and no link */
	enum path path;
};

/* Operands of an operation; waits and records have none. A simulated run may queue a million of
 * those, so they are small. */
struct op_work {
	struct alloc *use[OP_USES];
	struct sim_range range[OP_USES]; /* of each use */
	union kernel_arg arg[DEV_KERNEL_MAX_ARGS];
	struct dev_gemm gemm;
	int file; /* that is read from `offset` on */
	uint64_t offset;
	struct op_traffic traffic[]; /* of the whole operation: OP_TRAFFIC of a launch, else
					OP_TRANSFER_TRAFFIC */
};

/* Work of trackers (t3/) with an operation. Each function may be NULL, but all copies with any have
 * `end`. */
struct op_tracking {
	void (*begin)(const struct op *op); /* a copy has its engine */
	void (*move)(const struct op *op);  /* instead of copying bytes */
	void (*end_block)(struct op *op, uint32_t block);
	void (*end)(struct op *op); /* all is written */
	void (*release)(struct op *op);
};

struct op {
	enum op_kind kind;
	bool started;
	bool fails, corrupts, adds;
	bool follows; /* an earlier copy of its batch */
	struct dev_stream *stream;
	struct op *next;           /* in the stream */
	struct op *ready_next;     /* among the pending launches or copies of the device */
	struct sim_engine *engine; /* of a copy that has one */
	uint64_t ready_number;     /* in the order in which they became ready */
	uint64_t serial;           /* counts operations of the device */
	double stretch;            /* factor of all its durations */
	double slow_down;          /* factor of its flow */
	struct op_work *work;
	unsigned uses, traffics;

	/* copy, fill, read of a file, values */
	char *dst;
	const char *src;
	uint64_t bytes;
	uint32_t value;        /* the byte of a fill */
	enum dev_type element; /* of a copy that adds */
	struct event_stamp *stamp;

	struct dev_tracker *tracker; /* armed or waited for; that starts this copy; of a GEMM's C */
	const struct op_tracking *tracking;
	const struct sim_redirect *redirect; /* of some rows of a GEMM's C; NULL: none */
	struct sim_tracked_tile *forward;    /* that is copied without a call */

	/* launch */
	const struct kernel_type *type;
	struct sim_gemm_result *gemm_result;
	uint32_t tile_rows, tile_columns, tiles; /* of a GEMM; block i has tiles i, i + grid, ... */
	uint32_t first_tile;                     /* row-major, is number 0 */
	uint32_t grid, next_block, blocks_left;
	uint64_t claim_bytes, register_bytes, l1_bytes;
	double block_flops, peak_flops; /* of a block, of a GEMM's tile; of one unit, per ns */
	double first_block_ns;          /* block 0 takes at least so long */
	uint32_t until; /* blocking_kernel and await end when *arg[0] is at least this */
};

/* NULL: out of memory. */
struct op *sim_op_alloc(enum op_kind kind);
/* Apply `slow_down = WHAT` of the model. */
void sim_op_slow_down(const struct sim_dev *d, struct op *op, const char *what);
/* Add `bytes` at `at` to the memory that the operation uses; add traffic of a use. */
int op_use(struct sim_dev *d, struct op *op, const void *at, uint64_t bytes, const char *what);
void op_traffic(struct op *op, unsigned use, double volume, bool write, enum path path);

/* The factor that all durations of a device have now: that of its opening, and drift. */
double sim_slowness(const struct sim_dev *d);
/* Random factor of an operation's durations, with slowness; of something else by the number of its
 * draw: an operation's serial in the upper half, and not 0 in the lower one. */
double op_stretch(struct sim_dev *d, uint64_t serial);
double op_stretch_of_draw(struct sim_dev *d, uint64_t draw);
double sim_block_stretch(const struct op *op, uint32_t block);

#endif
