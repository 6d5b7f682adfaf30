/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What gpu*.c share: a GPU as this backend keeps it.
 *
 * One lock guards the registry of allocations and the lists of every device; it is never held during a call into the driver
 * that may wait. What a caller must not race (two calls on one stream) is not guarded.
 *
 * Which queued work uses an allocation. Operations of a stream are numbered as they are enqueued. An allocation keeps the
 * number of the last operation of each stream that used it, a stream the number up to which all is known to be done:
 * raised by a sync, by a recorded event that was seen complete, or by asking the driver when it matters (dev_free()).
 *
 * Contexts. The driver wants a device's context to be current on the calling thread: gpu_enter() sees to it, and remembers.
 */
#ifndef GPUSIG_GPU_DEV_H
#define GPUSIG_GPU_DEV_H

#include "device/gpu.h"
#include "lib/err.h"

#define GPU_MAX_QUEUED 512u
#define GPU_KERNELS 40u

/* The device's timer as hold and stamp turn it into the host's time; an argument of theirs. */
struct gpu_clock_map {
	uint64_t tick, ns;
	double ns_per_tick;
};

struct gpu_use {
	struct dev_stream *stream;
	uint64_t op;
};

struct gpu_memory {
	char *start;
	uint64_t bytes;
	enum dev_mem kind;
	struct gpu_dev *owner;
	bool imported;    /* of another process */
	unsigned graphs;  /* that use it */
	struct gpu_use *uses;
	size_t use_count, use_room;
};

/* What an operation of a stream waits for: a value, or an operation of another stream. */
struct gpu_pending {
	uint64_t op;
	uint32_t *at;          /* or NULL */
	struct dev_stream *on; /* or NULL */
	uint64_t on_op;
};

struct gpu_waits {
	struct gpu_pending *at;
	size_t count, room;
};

struct dev_stream {
	struct gpu_dev *dev;
	struct dev_stream *next;
	void *handle;
	uint64_t queued, done; /* operations */
	bool closed;           /* by the caller, with work left; goes with the device */
	struct dev_graph *noting;
	struct gpu_waits waits; /* that may not have ended */
	void *workspace;       /* of the BLAS */
};

struct dev_event {
	struct gpu_dev *dev;
	struct dev_event *next;
	void *handle;
	bool recorded;
	struct dev_stream *stream; /* of the latest record; NULL when that was closed */
	uint64_t op;
};

struct dev_graph {
	struct gpu_dev *dev;
	struct dev_graph *next;
	void *handle;
	struct gpu_memory **uses;
	size_t use_count, use_room;
	struct gpu_waits waits; /* for values */
};

struct dev_kernel {
	const struct kernel_signature *signature;
	void *function;
	void *cached_function;      /* the same, preferring L1; NULL where nothing is divided */
	uint32_t resident;          /* blocks of GPU_BLOCK_THREADS without dynamic shared memory on a unit */
	uint64_t most_shared_bytes; /* dynamic, beside what the kernel has of its own */
	bool timed;                 /* takes the clock's map as its last argument */
};

/* An algorithm that was found fastest for a product. */
struct gpu_tuned;

struct gpu_dev {
	struct dev dev; /* first: a struct dev * is a struct gpu_dev * */
	const struct gpu_vendor *vendor;
	const struct gpu_driver *driver;
	unsigned ordinal; /* the driver's number of the device */
	uint64_t number;  /* of this open, in this process */
	void *context;
	bool started; /* the context is open */
	struct gpu_traits traits;
	struct gpu_dev *next; /* open devices */
	struct gpu_dev *peers[DEV_MAX];
	size_t peer_count;

	struct dev_stream *streams;
	struct dev_event *events;
	struct dev_graph *graphs;
	struct dev_stream *own; /* for what the backend itself runs: values, calibration, tuning */
	struct dev_event *own_from, *own_to;

	void *module;
	void *cached_module; /* loaded again, since what a function prefers is the function's; NULL where nothing is divided */
	bool kernels_are_ready_made; /* by the build, since no compiler here served */
	unsigned compiler_release;   /* else: which one did, as struct gpu_compiler numbers them */
	struct dev_kernel kernels[GPU_KERNELS];
	size_t kernel_count;
	void *clock_sync, *clock_sample, *timer_step, *gemm_f32, *gemm_f64;
	uint64_t gemm_f32_shared, gemm_f64_shared; /* of their own */

	struct gpu_clock_map clock, older; /* the calibration in use, and an earlier one, for the rate */
	double clock_error_ns, older_error_ns; /* of each: half of the shortest exchange */
	void *clock_memory;         /* PINNED */

	void *blas;
	char blas_why[200]; /* there is none */
	struct gpu_tuned *tuned;

	atomic_bool lost;
	char lost_why[200];
};

static inline struct gpu_dev *gpu_of(struct dev *dev) { return (struct gpu_dev *)dev; }

void gpu_lock(void);
void gpu_unlock(void);

/* Open devices of all vendors, by their `next`. Lock held. */
struct gpu_dev *gpu_open_devices(void);

/* Begin an operation: 0 with the context current, or -EIO when the device is lost. */
int gpu_enter(struct gpu_dev *d);

/* The same without the question whether it is lost; any thread, with the lock or without. The driver's answer. */
int gpu_context_use(struct gpu_dev *d);

/* Some library may have changed what is current on this thread. */
void gpu_leave(void);

/* The driver's answer, on its way to the caller: -EIO marks the device as lost. */
int gpu_answer(struct gpu_dev *d, int rc);

/* ---- gpu_memory.c. All called with the lock held unless stated otherwise. */

/* The allocation that holds all of [ptr, ptr+bytes), if the device may use it; else NULL with a text for -EFAULT. PAGEABLE memory
 * only where `pageable`. */
struct gpu_memory *gpu_memory_find(struct gpu_dev *d, const void *ptr, uint64_t bytes, bool pageable);

/* The next operation of the stream, s->queued + 1, uses it. -ENOMEM. */
int gpu_memory_use(struct gpu_memory *m, struct dev_stream *s);

/* A stream is gone: nothing of it is in use. */
void gpu_memory_forget(const struct dev_stream *s);

/* Lock NOT held. */
int gpu_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p);
int gpu_free(struct dev *dev, void *ptr);
int gpu_ipc_export(struct dev *dev, void *ptr, struct dev_ipc *handle_p);
int gpu_ipc_import(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p);
int gpu_peer_enable(struct dev *dev, struct dev *other);
void gpu_memory_close(struct gpu_dev *d);

/* ---- gpu_queue.c */

/* What an operation touches. */
struct gpu_range {
	const void *ptr;
	uint64_t bytes;
	bool pageable;                  /* may be */
	const struct gpu_memory *found; /* where it lies: set by gpu_enqueue() */
};

/* Begin to enqueue an operation of the stream that touches the ranges: checks the device, the stream and the ranges and
 * counts it. The caller then calls the driver and returns gpu_answer(). */
int gpu_enqueue(struct gpu_dev *d, struct dev_stream *s, struct gpu_range *ranges, size_t count);

/* What was enqueued, or noted, last waits for this value, or for those of a graph. -ENOMEM. */
int gpu_remember_value(struct dev_stream *s, uint32_t *at);
int gpu_remember_graph(struct dev_stream *s, const struct dev_graph *g);

/* All the caller's streams are known to be done. Lock NOT held. */
bool gpu_idle(struct gpu_dev *d);

int gpu_stream_open(struct dev *dev, int priority, struct dev_stream **s_p);
void gpu_stream_close(struct dev *dev, struct dev_stream *s);
int gpu_stream_sync(struct dev *dev, struct dev_stream *s);
int gpu_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int gpu_event_open(struct dev *dev, struct dev_event **e_p);
void gpu_event_close(struct dev *dev, struct dev_event *e);
int gpu_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int gpu_event_query(struct dev *dev, struct dev_event *e);
int gpu_event_sync(struct dev *dev, struct dev_event *e);
int gpu_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p);
void gpu_queue_close(struct gpu_dev *d);

/* ---- gpu_work.c */
int gpu_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes);
int gpu_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes);
int gpu_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int gpu_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int gpu_post_value(struct dev *dev, uint32_t *at, uint32_t value);
int gpu_graph_begin(struct dev *dev, struct dev_stream *s);
int gpu_graph_end(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p);
int gpu_graph_launch(struct dev *dev, struct dev_stream *s, struct dev_graph *g);
void gpu_graph_close(struct dev *dev, struct dev_graph *g);
void gpu_graphs_close(struct gpu_dev *d);
/* The stream goes; what was being noted is for nobody. Lock NOT held. */
void gpu_graph_abandon(struct dev_stream *s);

/* ---- gpu_kernels.c */
int gpu_kernels_open(struct gpu_dev *d);
void gpu_kernels_close(struct gpu_dev *d);
int gpu_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p);
int gpu_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p);
int gpu_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l);

/* ---- gpu_mma.c: with the kernels there, for which types a loop of matrix multiply-adds is among them. */
void gpu_mma_describe(struct gpu_dev *d);

/* ---- gpu_time.c */
int gpu_time_open(struct gpu_dev *d);
void gpu_time_close(struct gpu_dev *d);
/* Look at both clocks again, if the last time is long ago and the device is idle. */
void gpu_time_refresh(struct gpu_dev *d);
uint64_t gpu_clock_ns(struct dev *dev);
struct gpu_clock_map gpu_clock_map(struct gpu_dev *d);
int gpu_clock_rate(struct dev *dev, double *hz_p);
int gpu_read_state(struct dev *dev, struct dev_reading *readings, size_t *count_p);

/* ---- gpu_gemm.c */
void gpu_gemm_open(struct gpu_dev *d, uint32_t want);
void gpu_gemm_close(struct gpu_dev *d);
int gpu_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g);
int gpu_gemm_prepare(struct dev *dev, const struct dev_gemm *g);
int gpu_gemm_chosen(struct dev *dev, const struct dev_gemm *g, struct dev_gemm_choice *choice_p);

/* ---- gpu_autotune.c */

/* What was chosen for such a product, or NULL; and its algorithm, as the vendor's BLAS takes it. Both live as long as the
 * device. */
const struct gpu_tuned *gpu_tuned_find(struct gpu_dev *d, const struct gpu_product *p);
const void *gpu_tuned_way(const struct gpu_tuned *tuned);
void gpu_tuned_tell(const struct gpu_dev *d, const struct gpu_tuned *tuned, struct dev_gemm_choice *choice_p);
void gpu_tuned_close(struct gpu_dev *d);

/* Time the library's algorithms for the product, whose operands and result are memory that nobody else uses, and keep the
 * fastest. None that can be run is no error: nothing is kept then. Waits. */
int gpu_autotune(struct gpu_dev *d, const struct gpu_product *p);

/* Fill with seeded random reals in [-1, 1) of the type: a block of at most 1 MiB, repeated. Waits. */
int gpu_fill_random(struct gpu_dev *d, enum dev_type type, uint64_t lane, void *memory, uint64_t bytes);

/* ---- gpu_crew.c */
bool gpu_crew_able(const struct gpu_dev *d, unsigned count, uint32_t want);
int gpu_crew_open(struct dev *const *devs, size_t count, struct dev_crew **crew_p);
void gpu_crew_close(struct dev_crew *crew);
int gpu_allreduce(struct dev_crew *crew, struct dev_stream *const *streams, float *const *buffers, uint64_t count);

/* ---- gpu.c */
int gpu_probe(const struct gpu_vendor *vendor, unsigned *count_p);
int gpu_open(const struct gpu_vendor *vendor, const char *model, unsigned index, uint32_t want, struct dev **dev_p);
void gpu_close(struct dev *dev);

/* A vendor's table: its own probe and open, which call the above, and these. */
#define GPU_SLOTS                                                                                                     \
	.close = gpu_close, .clock_ns = gpu_clock_ns, .clock_rate = gpu_clock_rate, .alloc = gpu_alloc, .free = gpu_free, \
	.copy = gpu_copy, .fill = gpu_fill, .stream_open = gpu_stream_open, .stream_close = gpu_stream_close,         \
	.stream_sync = gpu_stream_sync, .stream_wait = gpu_stream_wait, .event_open = gpu_event_open,                 \
	.event_close = gpu_event_close, .event_record = gpu_event_record, .event_query = gpu_event_query,             \
	.event_sync = gpu_event_sync, .event_elapsed_ns = gpu_event_elapsed_ns, .wait_value = gpu_wait_value,         \
	.write_value = gpu_write_value, .post_value = gpu_post_value, .kernel_find = gpu_kernel_find,                 \
	.occupancy = gpu_occupancy, .launch = gpu_launch, .gemm = gpu_gemm, .gemm_prepare = gpu_gemm_prepare,         \
	.gemm_chosen = gpu_gemm_chosen,                                                                               \
	.peer_enable = gpu_peer_enable, .graph_begin = gpu_graph_begin, .graph_end = gpu_graph_end,                   \
	.graph_launch = gpu_graph_launch, .graph_close = gpu_graph_close, .crew_open = gpu_crew_open,                 \
	.crew_close = gpu_crew_close, .allreduce = gpu_allreduce, .ipc_export = gpu_ipc_export,                       \
	.ipc_import = gpu_ipc_import, .read_state = gpu_read_state

#endif
