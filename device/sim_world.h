/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the simulator, shared by device/sim*.c. device/sim.h says what is simulated.
 *
 * Everything below is protected by one lock, which sim.c takes in every operation.
 *
 *     sim.c          the table of operations; devices       sim_queue.c  streams, events, what is queued
 *     sim_model.c    models                                 sim_memory.c allocations and who uses them
 *     sim_kernels.c  kernels: arguments, traffic, results   sim_gemm.c   the same for gemm
 *     sim_world.c    the event loop: time and streams       sim_work.c   copies and blocks on engines and units
 *     sim_share.c    max-min fair rates of the flows        sim_product.c products that were computed before
 */
#ifndef GPUSIG_SIM_WORLD_H
#define GPUSIG_SIM_WORLD_H

#include <stdbool.h>

#include "device/dev.h"
#include "device/kernels.h"
#include "device/sim.h"
#include "lib/rng.h"

struct sim_dev;
struct op;

/* ------------------------------------------------------------------ flows (sim_share.c) */

/* Something that flows pass: capacity in units (bytes, or seconds of a unit) per ns. */
struct resource {
	double capacity;
	bool measures;     /* counts for the level of a flow; others only limit it */
	double left, rise; /* scratch of share(), like `round` */
	uint64_t round;
};

#define FLOW_DEMANDS 16
struct flow {
	struct {
		struct resource *at;
		double amount;
	} demand[FLOW_DEMANDS];
	int demands;
	double least_ns; /* limits of its own: it takes at least so long */
	double weight;
	double rate;  /* set by share(): in 1/ns, in force until a flow starts or ends */
	double speed; /* scratch of share(), like `stops` */
	bool stops;
};

void flow_begin(struct flow *f);
void flow_need(struct flow *f, struct resource *at, double amount);
void share(struct flow *const *flows, size_t count);

/* ------------------------------------------------------------------ memory (sim_memory.c) */

struct alloc {
	char *base;
	uint64_t bytes;
	enum dev_mem kind;
	struct sim_dev *dev;
	uint32_t users; /* queued operations that use it */
};

/* The allocation that holds all of [at, at + bytes) and that `d` may use; NULL after err_note(). */
struct alloc *memory_find(struct sim_dev *d, const void *at, uint64_t bytes, const char *what);
int memory_alloc(struct sim_dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p);
int memory_free(struct sim_dev *d, void *ptr);
void memory_free_all(struct sim_dev *d);

/* ------------------------------------------------------------------ operations */

enum op_kind { OP_COPY, OP_FILL, OP_LAUNCH, OP_RECORD, OP_WAIT, OP_WAIT_VALUE, OP_WRITE_VALUE };

/* One record of an event: waiters keep it while the event is recorded again or closed. */
struct stamp {
	unsigned holders;
	bool done;
	double at_ns;
	struct dev_stream *stream;
};

union arg {
	void *pointer;
	uint64_t u64;
	uint32_t u32;
	float f32;
};

#define OP_USES 4
#define OP_TRAFFIC 8

/* Ways of traffic to own device memory. To other memory, the first two go over the links, the last one is 0. */
enum path {
	PATH_MEMORY, /* unit and memory */
	PATH_CACHE,  /* unit and last level cache */
	PATH_REFILL, /* memory alone, into the cache */
};

struct kernel_type;
struct product;

struct op {
	enum op_kind kind;
	bool started, has_engine;
	bool fails, corrupts;
	struct dev_stream *stream;
	struct op *next;       /* in the stream */
	struct op *ready_next; /* among the pending launches or copies of the device */
	uint64_t serial;       /* counts operations of the device */
	double stretch;        /* factor of all its durations */
	double slow_down;      /* factor of its flow */
	struct alloc *use[OP_USES];
	unsigned uses;

	/* copy, fill, values */
	char *dst;
	const char *src;
	uint64_t bytes;
	uint32_t value; /* the byte of a fill */
	struct stamp *stamp;

	/* launch */
	const struct kernel_type *type;
	union arg arg[DEV_KERNEL_MAX_ARGS];
	struct dev_gemm gemm;
	struct product *product;
	uint32_t tile_rows, tile_columns;
	uint32_t grid, next_block, blocks_left;
	uint64_t claim_bytes;
	/* what the whole launch moves, beside each block's flops */
	struct {
		struct alloc *at;
		double amount;
		bool write;
		enum path path;
	} traffic[OP_TRAFFIC];
	unsigned traffics;
	double block_flops, peak_flops; /* of one unit, per ns */
	double first_block_ns;          /* block 0 takes at least so long */
	uint32_t until;                 /* hold, await: they end when *arg[0] is at least this */
};

/* ------------------------------------------------------------------ kernels (sim_kernels.c, sim_gemm.c) */

struct kernel_type {
	const char *name;
	const char *args; /* one letter each: p pointer, q u64, u u32, f float */
	int (*prepare)(struct sim_dev *d, struct op *op);
	double (*part)(const struct op *op, uint32_t block); /* fraction of the traffic; NULL: equal parts */
	void (*start)(struct op *op, uint32_t block, uint64_t now_ns);
	void (*finish)(struct op *op, uint32_t block);
	bool holds; /* occupies its slot until it is released, or for arg[3] ns */
};

struct dev_kernel {
	const struct kernel_type *type;
};

size_t kernels_fill(struct dev_kernel *kernels, size_t room);
int kernel_prepare(struct sim_dev *d, struct op *op, const void *const *args);
bool kernel_is_released(const struct op *op); /* of a kernel that holds */
void kernel_corrupt(struct op *op);
int gemm_prepare(struct sim_dev *d, struct op *op, const struct dev_gemm *g);
extern const struct kernel_type kernel_copy_type;

/* alpha*A*B of a gemm: known when the same was computed before, else to be filled in, m x n without gaps; NULL when
 * there is no memory for it. `done`: all of it was filled in. */
struct product *product_begin(const struct dev_gemm *g);
bool product_known(const struct product *p);
void *product_values(struct product *p);
void product_end(struct product *p, const struct dev_gemm *g, bool done);
void product_forget_all(void);

/* Note that the operation uses `bytes` at `at`; note what a launch moves. */
int op_use(struct sim_dev *d, struct op *op, const void *at, uint64_t bytes, const char *what, struct alloc **a_p);
void op_traffic(struct op *op, struct alloc *a, double amount, bool write, enum path path);

/* ------------------------------------------------------------------ the world (sim_world.c) */

struct unit {
	uint32_t residents;
	uint64_t shared_used_bytes;
	struct resource compute, load_store;
};

/* What takes time now: a span of fixed length, or a flow whose rate changes. */
struct activity {
	struct op *op;
	void (*then)(struct activity *a);
	double since_ns, finish_ns;
	bool flows;
	double left, rate; /* of a flow */
	struct flow flow;
	struct unit *unit; /* of a block */
	uint32_t block;
	double stretch;
	bool held; /* a block of `hold` or `await` */
};

struct dev_stream {
	struct sim_dev *dev;
	struct dev_stream *next;
	bool closed;
	int priority;
	struct op *head, *tail;
	uint32_t queued;
	int failed;
	char failure[160];
};

struct dev_event {
	struct sim_dev *dev;
	struct dev_event *next;
	struct stamp *latest;
	bool closed;
};

#define SIM_PEERS 128
#define SIM_KERNELS 16
#define SIM_QUARANTINE 64

struct sim_dev {
	struct dev base; /* first */
	struct sim_dev *next;
	struct sim_model model;
	double open_factor;
	struct dev_stream *streams;
	struct dev_event *events;
	size_t closed_streams, closed_events;
	struct sim_dev *peer[SIM_PEERS];
	unsigned peers;
	struct dev_kernel kernel[SIM_KERNELS];
	size_t kernels;
	uint64_t serial, allocs, launches, copies;
	uint64_t used_bytes, used_host_bytes;
	int violation;
	char violation_text[160];

	struct unit *unit;
	struct op *launches_ready, *copies_ready;
	uint32_t engines_busy;
	struct resource memory, llc, link_up, link_down, peer_in, peer_out;
};

struct world {
	double now_ns;
	struct sim_dev *devs;
	struct resource host_memory;
	/* Every stream and every slot may be active once, so that running never needs memory. */
	struct activity **active, **finished, **idle;
	struct flow **flows;
	size_t actives, idles, reserved;
	bool flows_changed;
};
extern struct world sim_world;

/* Room for so many more activities, and for so many fewer. */
int world_reserve(size_t more);
void world_unreserve(size_t fewer);

/* Let everything happen that happens until `until_ns`, and be there. */
void world_run(double until_ns);

/* Let the next thing happen; false if nothing ever will. */
bool world_step(void);

/* Put an operation at the end of its stream. */
void world_enqueue(struct op *op);

/* Forget all work of a stream, running or not. */
void world_cancel(struct dev_stream *s);

/* Memory was written: end the blocks that hold on it. */
void world_written(void);

void stamp_release(struct stamp *stamp);

/* An activity of an operation: for a span, or until its flow has passed; then `then` takes it on or ends it. */
struct activity *activity_begin(struct op *op);
void activity_lasts(struct activity *a, double ns, void (*then)(struct activity *a));
void activity_flows(struct activity *a, void (*then)(struct activity *a));
void activity_end(struct activity *a);

/* The head of its stream is done, or dropped. */
void op_end(struct op *op);

/* ------------------------------------------------------------------ engines and units (sim_work.c) */

/* Random factor of an operation's durations. */
double op_stretch(struct sim_dev *d, uint64_t serial);

/* Put an operation among the pending ones of its device, and take it away. */
void work_ready(struct op **list, struct op *op);
void work_unready(struct op **list, const struct op *op);

/* Give free engines and slots to what is pending. */
void work_start_copies(struct sim_dev *d);
void work_start_blocks(struct sim_dev *d);

/* What follows the latency of a copy or fill, and of a launch. */
void work_move(struct activity *a);
void work_launch(struct activity *a);

#endif
