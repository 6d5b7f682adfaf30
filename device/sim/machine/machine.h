/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of the simulator, shared by its folders. model.h says what is simulated.
 *
 *   model/    models: keys, files, and those that are built in
 *   time/     the clock, what takes time, and how flows share
 *   machine/  units, memory, caches, links, copy engines, kernels and GEMMs
 *   t3/       trackers and the memory controller
 *   device/   the contract: devices, streams, events, the queue, handles
 *
 * One lock protects everything below; devices.c takes it in every operation.
 */
#ifndef GPUSIG_SIM_MACHINE_H
#define GPUSIG_SIM_MACHINE_H

#include "device/dev.h"
#include "device/kernel_signature.h"
#include "device/sim/machine/gemm.h"
#include "device/sim/machine/links.h"
#include "device/sim/model/model.h"
#include "device/sim/t3/memory_control.h"
#include "device/sim/time/share.h"
#include "lib/rng.h"

#include <stdbool.h>

struct sim_dev;
struct op;
struct dev_tracker;
struct sim_tracked_tile;
struct sim_trackers;

/* ------------------------------------------------------------------ devices */

/* Handles that are open (handles.c): -ENOMEM without a text; NULL: it is none. */
int sim_handle_add(const struct sim_dev *d, const void *at);
void sim_handle_remove(const void *at);
const struct sim_dev *sim_handle_owner(const void *at);

/* ------------------------------------------------------------------ memory (memory.c) */

struct alloc {
	char *base;
	uint64_t bytes;
	enum dev_mem kind;
	uint32_t node; /* of pinned memory */
	struct sim_dev *dev;
	uint32_t users;    /* queued operations that use it */
	uint32_t trackers; /* open ones that name it */
	uint64_t version;  /* changes when it is written; no two allocations have the same */
};

/* The allocation that holds all of [at, at + bytes) and that `d` may use; NULL after err_note(). */
struct alloc *sim_memory_find(struct sim_dev *d, const void *at, uint64_t bytes, const char *what);
int sim_memory_alloc(struct sim_dev *d, enum dev_mem kind, uint32_t node, uint64_t bytes,
		     void **ptr_p);
/* The NUMA node next to the device. */
uint32_t sim_near_node(const struct sim_dev *d);
/* Queued operations, of any device, that use its memory. */
uint32_t sim_memory_users(const struct sim_dev *d);
/* True if copies and fills of this size move data. */
bool sim_memory_moves(const struct sim_dev *d, uint64_t bytes);
/* An allocation was written; or the memory that an operation uses may have been, except for A and B
 * of a GEMM. */
void sim_memory_changed(struct alloc *a);
void sim_memory_changed_by(const struct op *op);
/* dst[i] += src[i], each sum rounded to the type, which is that of some GEMM's C. */
void sim_memory_add(enum dev_type type, void *dst, const void *src, uint64_t elements);
int sim_memory_free(struct sim_dev *d, void *ptr);
void sim_memory_free_all(struct sim_dev *d);

/* ------------------------------------------------------------------ operations */

enum op_kind {
	OP_COPY,
	OP_FILL,
	OP_LAUNCH,
	OP_RECORD,
	OP_WAIT,
	OP_WAIT_VALUE,
	OP_WRITE_VALUE,
	OP_ARM,       /* a tracker */
	OP_WAIT_TILES /* of a tracker */
};

/* The stamp of one dev_event_record(). Waiters keep it when the event is recorded again or closed.
 */
struct event_stamp {
	unsigned holders;
	bool done;
	uint64_t epoch_ns; /* of the clock, and the time since then */
	double at_ns;
	struct dev_stream *stream;
	struct dev_stream *waiters;
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

struct kernel_type;
struct sim_gemm_result;

struct sim_range {
	const char *at;
	uint64_t bytes;
};

struct sim_cached {
	const char *at;
	uint64_t bytes;
	bool dirty; /* memory does not have it yet */
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
	struct op_traffic traffic[]; /* of the whole operation: OP_TRAFFIC of a launch, else
					OP_TRANSFER_TRAFFIC */
};

struct op {
	enum op_kind kind;
	bool started, has_engine;
	bool fails, corrupts, adds;
	struct dev_stream *stream;
	struct op *next;       /* in the stream */
	struct op *ready_next; /* among the pending launches or copies of the device */
	uint64_t ready_number; /* in the order in which they became ready */
	uint64_t serial;       /* counts operations of the device */
	double stretch;        /* factor of all its durations */
	double slow_down;      /* factor of its flow */
	struct op_work *work;
	unsigned uses, traffics;

	/* copy, fill, values */
	char *dst;
	const char *src;
	uint64_t bytes;
	uint32_t value;        /* the byte of a fill */
	enum dev_type element; /* of a copy that adds */
	struct event_stamp *stamp;

	struct dev_tracker *tracker; /* armed or waited for; that starts this copy; of a GEMM's C */
	struct sim_tracked_tile *forward; /* that is copied without a call */

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

/* ------------------------------------------------------------------ kernels (kernels.c,
 * gemm.c) */

struct kernel_type {
	const char *name;
	const struct kernel_signature *signature; /* NULL: gemm, or a copy on the units */
	/* Add the cost that the signature does not describe; NULL: none. */
	int (*prepare)(struct sim_dev *d, struct op *op);
	void (*start)(struct op *op, uint32_t block, uint64_t now_ns);
	void (*finish)(struct op *op, uint32_t block);
	bool holds;   /* occupies its slot until it is released, or for arg[3] ns */
	bool signals; /* what it writes is real without data, too */
};

struct dev_kernel {
	const struct kernel_type *type;
};

/* Fills in those that sim has, of KERNELS; returns how many. Without data, kernels that only move
 * or compute have nothing to finish. */
size_t kernels_fill(struct dev_kernel *kernels, bool with_data);
int kernel_prepare(struct sim_dev *d, struct op *op, const void *const *args);
/* Tiles of a GEMM that this block computes; 1 for any other kernel. */
uint32_t kernel_block_tiles(const struct op *op, uint32_t block);
/* Fraction of the launch's traffic that is this block's. */
double kernel_part(const struct op *op, uint32_t block);
/* Number of blocks from this one on, itself included, with the same time and part. */
uint32_t kernel_blocks_alike(const struct op *op, uint32_t block);
bool kernel_is_released(const struct op *op); /* of a kernel that holds */
void kernel_corrupt(struct op *op);
extern const struct kernel_type kernel_copy_type;

/* cache.c: where the model tracks the cache. Choose the paths of an operation that starts, add
 * what passes between caches and their memories, and change what the caches hold. */
void sim_cache_start(struct op *op);
/* The cache loses a range, without a write-back. */
void sim_cache_forget(struct sim_dev *d, const char *at, uint64_t bytes);

/* Device memory of `d` itself. */
static inline bool sim_is_own(const struct sim_dev *d, const struct alloc *a)
{
	return a->dev == d && a->kind == DEV_MEM_DEVICE;
}

/* Add `bytes` at `at` to the memory that the operation uses; add traffic of a use. */
int op_use(struct sim_dev *d, struct op *op, const void *at, uint64_t bytes, const char *what,
	   struct alloc **a_p);
void op_traffic(struct op *op, unsigned use, double volume, bool write, enum path path);

/* ------------------------------------------------------------------ the engine (engine.c) */

#define UNIT_WORDS (SIM_UNITS / 64)
struct unit_set {
	uint64_t word[UNIT_WORDS];
};

struct unit_load {
	uint32_t residents;
	uint64_t shared_bytes, register_bytes;
};

/* Units that hold the same blocks. */
struct unit_class {
	struct unit_class *next;
	struct sim_dev *dev;
	struct unit_set set;
	uint32_t units;
	struct unit_load load;                   /* of each unit */
	struct resource compute, load_store, l1; /* of each unit */
	struct sim_task *groups;
};

/* A part of an operation that takes time: a fixed delay, or a flow whose rate changes. */
struct sim_task {
	struct op *op;
	void (*then)(struct sim_task *task);
	struct sim_task *next_of_stream, *previous_of_stream;
	size_t at;       /* in the heap; SIZE_MAX: not there */
	uint64_t number; /* of tasks that finish together, the one that began first ends first */
	double since_ns, finish_ns;
	bool is_flow;
	double left, rate; /* of a flow */
	double stretch;
	/* A group of blocks: `per_unit` on each of `units` units of a class, and so in every round.
	 */
	struct unit_class *class;
	struct sim_task *next_of_class, *next_held;
	uint32_t block, units, per_unit, rounds;
	double part; /* of the launch's traffic that is one block's */
	bool has_later_rounds;
	double pause_ns; /* before each round, where there are several */
	bool held;       /* a group of `blocking_kernel` or `await` that has not ended */
	struct flow flow;
};

struct dev_stream {
	struct sim_dev *dev;
	struct dev_stream *next;
	uint32_t number; /* in the order of opening, from 0 */
	int priority;
	bool is_masked;        /* by `units` */
	struct unit_set units; /* that its blocks start on */
	enum dev_traffic_class traffic;
	struct op *head, *tail;
	uint32_t queued;
	struct sim_task task;   /* of its first operation, but for blocks */
	struct sim_task *tasks; /* of its first operation */
	uint64_t order;         /* among all streams */
	uint64_t pass;          /* in which it is looked at, if it is ready */
	bool ready, waits;
	struct dev_stream *waits_next;
	int failed;
	char failure[ERR_TEXT];
};

struct dev_event {
	struct sim_dev *dev;
	struct dev_event *next, *previous;
	struct event_stamp *latest;
};

#define SIM_PEERS 128
#define SIM_QUARANTINE 64
#define SIM_CACHED 512
/* An operation may cut a range twice to write back what it reads, once to forget what it writes. */
#define SIM_CACHED_SPARE (3 * OP_USES)

struct sim_dev {
	struct dev base; /* first */
	struct sim_dev *next;
	struct dev_stream *streams; /* open ones */
	struct op *launches_ready, *copies_ready;
	uint64_t ready_numbers;
	uint32_t engines_busy, engines_up, engines_down; /* all; up and down, where limited */
	bool changed; /* engines or units may be free, or work for them is ready */
	bool launch_arrived;
	uint32_t groups_with_rounds, groups_since_launch;

	struct sim_model model;
	double open_factor;
	uint64_t seed; /* of all draws but that one */
	struct dev_event *events;
	struct sim_trackers *trackers; /* NULL: the device has no tracker */
	struct dev_stream *closed;     /* oldest first */
	size_t closed_streams;
	uint32_t streams_opened;
	struct sim_dev *peer[SIM_PEERS];
	unsigned peers;
	struct dev_kernel kernel[KERNELS];
	size_t kernels;
	uint64_t serial, allocs, launches, copies;
	uint64_t used_bytes, used_host_bytes;
	int violation;
	char violation_text[ERR_TEXT];

	struct sim_cached cached[SIM_CACHED + SIM_CACHED_SPARE]; /* oldest use first; cache.c */
	size_t cached_count;
	uint64_t cached_bytes;

	struct unit_class *unit_class; /* as many as units */
	struct unit_class *classes, *classes_idle;
	/* Groups: one for each slot, so that running never allocates. Pages that were never used
	 * cost nothing. */
	struct sim_task *tasks, **tasks_idle;
	size_t tasks_idle_count;
	struct sim_memory_control control;
	struct resource memory, llc, link_up, link_down, far_up, far_down, peer_in, peer_out;
	uint8_t way[DEV_MAX][DEV_MAX]; /* device on the way from one to another; or SIM_NO_WAY */
};

struct sim_engine {
	uint64_t epoch_ns;
	double now_ns; /* since then */
	struct sim_dev *devs;
	bool devs_changed;
	struct resource host_memory;
	/* As long as there can be tasks: one of each stream and each slot. */
	struct sim_task **heap, **finished;
	struct flow **flows;
	size_t running, reserved;
	uint64_t started;
	struct sim_task *held;
	/* Streams that may be able to go on, by pass and order. */
	struct dev_stream **ready;
	size_t ready_count;
	uint64_t streams_opened, pass, order;
	bool advancing;
	struct dev_stream *value_waiters;
	bool memory_written;
};
extern struct sim_engine sim_engine;

/* Process all events up to `until_ns` and set the clock to it. Returns when the next event is. */
double sim_engine_run(double until_ns);

/* Begin a new epoch, unless something is scheduled: what rounding does to times depends on how
 * large they are, and so on what was done before. */
void sim_engine_begin_epoch(void);

/* Process the next event. False: nothing is scheduled. */
bool sim_engine_step(void);

/* Put an operation at the end of its stream. */
void sim_engine_enqueue(struct op *op);

/* Drop all work of a stream, running or not. */
void sim_engine_cancel(struct dev_stream *s);

/* Engines or units of the device may be free, or work for them is ready. */
void sim_dev_changed(struct sim_dev *d);

/* Memory was written: end the blocks that it releases. */
void sim_engine_written(void);
/* A group holds its slots until memory is written; not any more. */
void sim_engine_hold(struct sim_task *group);
void sim_engine_let_go(struct sim_task *group);

void event_stamp_release(struct event_stamp *stamp);

/* The streams of a list need not wait any longer. */
void sim_engine_wake(struct dev_stream **waiters);

/* Remove an operation that is the first of its stream and is done or dropped. */
void op_end(struct op *op);

/* ------------------------------------------------------------------ tasks (task.c) */

/* Change the number of tasks that can be active. */
int sim_engine_reserve(size_t more);
void sim_engine_unreserve(size_t fewer);
int sim_tasks_open(struct sim_dev *d);
void sim_tasks_close(struct sim_dev *d);

/* A task of an operation lasts for a delay, or until its flow has passed. Then `then` continues or
 * ends it. */
struct sim_task *sim_task_begin(struct op *op);
struct sim_task *sim_task_begin_group(struct op *op); /* of blocks */
void sim_task_start_delay(struct sim_task *task, double ns, void (*then)(struct sim_task *task));
void sim_task_start_flow(struct sim_task *task, void (*then)(struct sim_task *task));
void sim_task_end(struct sim_task *task);

/* Stop a task that runs; it is still to be ended. */
void sim_task_stop(struct sim_task *task);
/* Not one that was stopped, or is about to be ended with others of the same moment. */
bool sim_task_is_running(const struct sim_task *task);
/* Change when a task that runs finishes. */
void sim_task_finish_at(struct sim_task *task, double finish_ns);
/* Bring what is left of a flow up to now. */
void sim_task_update_left(struct sim_task *task);
/* Give new rates to the flows that what joined or left concerns. */
void sim_task_set_rates(void);
/* When the next task finishes; INFINITY: none runs. */
double sim_task_next_ns(void);
/* Let the tasks that finish at this time go on, in the order in which they began. */
void sim_task_complete_at(double now_ns);

#endif
