/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State of a GPU in this backend, which the files gpu*.c share.
 *
 * One lock guards the table of allocations and the lists of every device. It is never held during a
 * call into the driver that may wait. Calls that a caller must not make at the same time (two on
 * one stream) are not guarded, and a launch takes no lock.
 *
 * Queued work. A stream numbers its operations as they are enqueued. It keeps the number up to
 * which all operations are known to be done: a sync raises it, and so does a recorded event that is
 * seen complete. So it is known what a stream still waits for when its device is closed.
 *
 * Contexts. The driver works on the context that is current on the calling thread: gpu_ctx_use()
 * makes the device's context current, and remembers which one it was.
 */
#ifndef GPUSIG_GPU_DEV_H
#define GPUSIG_GPU_DEV_H

#include "device/gpu/gpu.h"
#include "lib/err.h"

#define GPU_MAX_QUEUED 512u

/* Words by which the first block of a blocking_kernel tells the others that its flag is set; a
 * launch takes the next one. */
#define GPU_RELEASED 1024u

/* Converts the device's timer to the host's clock. */
struct gpu_clock_map {
	uint64_t tick, ns;
	double ns_per_tick;
};

/* The last argument of kernels that are timed, as in kernels_time.inc. */
struct gpu_timed {
	struct gpu_clock_map clock;
	uint32_t *released;
	uint32_t launch;
};

struct gpu_memory {
	char *start;
	void *given; /* by the driver: at or before the start */
	uint64_t bytes;
	enum dev_mem kind;
	struct gpu_dev *owner;
	bool imported;              /* imported from another process */
	bool of_comm;               /* a communicator's, which frees it */
	const struct nccl *library; /* that gave it and frees it; NULL: the driver does */
	bool takes_files;           /* it was opened for reads of files */
	bool mapped;                /* pages that were mapped here and then pinned */
};

/* Dependency of a stream's operation: a value, or an operation of another stream. */
struct gpu_pending {
	uint64_t op;
	uint32_t *value;           /* or NULL */
	struct dev_stream *stream; /* or NULL, with its operation */
	uint64_t stream_op;
};

struct gpu_waits {
	struct gpu_pending *list;
	size_t count, capacity;
};

struct dev_stream {
	struct gpu_dev *dev;
	struct dev_stream *next;
	void *handle;
	int priority; /* in the vendor's numbers */
	/* Operations. `queued` is written by the thread that enqueues, without the lock. */
	_Atomic uint64_t queued;
	uint64_t done;
	bool closed; /* closed by the caller with work left; freed with the device */
	struct dev_graph *capturing; /* NULL: the stream is not being captured */
	struct gpu_waits waits;      /* that may still hold the stream up */
	void *workspace;             /* workspace of the BLAS */
	void *blas_state;            /* see struct gpu_blas */
};

struct dev_event {
	struct gpu_dev *dev;
	struct dev_event *next;
	void *handle;
	bool recorded;
	struct dev_stream *stream; /* of the latest record; NULL once that stream is closed */
	uint64_t op;
};

struct dev_graph {
	struct gpu_dev *dev;
	struct dev_graph *next;
	void *handle;
	struct gpu_waits waits; /* for values */
};

struct dev_kernel {
	const struct kernel_signature *signature;
	void *function;
	void *cached_function; /* the same kernel with the carveout set to L1; NULL where L1 and
				  shared memory are separate */
	uint32_t resident;     /* resident blocks per unit, of GPU_BLOCK_THREADS and without dynamic
				  shared memory */
	uint64_t max_shared_bytes; /* dynamic, in addition to the kernel's static shared memory */
};

/* The algorithm found fastest for a GEMM. */
struct gpu_tuned;

/* The kernels of tiled GEMMs. */
enum gpu_tiled {
	GPU_TILED_F32,
	GPU_TILED_F64,
	GPU_TILED_TEXTBOOK_32,
	GPU_TILED_TEXTBOOK_64,
	GPU_TILED_ADDING_F32,
	GPU_TILED_ADDING_F64,
	GPU_TILED_KERNELS
};

struct gpu_dev {
	struct dev dev; /* must be first: a struct dev * is cast to struct gpu_dev * */
	const struct gpu_vendor *vendor;
	const struct gpu_driver *driver;
	unsigned ordinal; /* the driver's index of the device */
	uint64_t number;  /* unique among the opens of this process */
	void *context;
	bool context_is_open;
	struct gpu_traits traits;
	struct gpu_dev *next; /* next open device */
	/* NUMA node for pinned memory while this thread is pinned to another device's node; -1: the
	 * driver's own choice is local. */
	int far_node;
	char far_why[ERR_TEXT]; /* why it cannot be placed there, or "" */
	uint64_t copied_to; /* devices by ordinal that a first copy has reached; guarded by the lock
			     */
	uint64_t adds_to; /* devices by ordinal to whose memory kernels add; guarded by the lock */

	struct dev_stream *streams;
	struct dev_event *events;
	struct dev_graph *graphs;
	/* For the backend's own work: values, calibration, tuning. */
	struct dev_stream *internal_stream;
	struct dev_event *tuning_start, *tuning_end;

	void *module;
	void *cached_module; /* a second copy, since the carveout is a property of a function; NULL
				where L1 and shared memory are separate */
	bool kernels_are_ready_made; /* by the build, since no run-time compiler succeeded */
	unsigned compiler_release;   /* otherwise the compiler's release, numbered as in struct
					gpu_compiler */
	struct dev_kernel kernels[KERNELS];
	size_t kernel_count;
	void *clock_sync, *clock_sample, *timer_step;
	uint32_t *released; /* GPU_RELEASED words of device memory */
	atomic_uint timed_launches;
	struct gpu_tiled_kernel {
		void *function;
		uint64_t own_bytes; /* static shared memory */
	} tiled[GPU_TILED_KERNELS];

	/* The calibration in use, and an older one to compute the rate from. An error is half of
	 * the shortest exchange. */
	struct gpu_clock_map clock, older_clock;
	double clock_error_ns, older_clock_error_ns;
	void *clock_memory; /* pinned, for struct exchange of gpu_time.c */

	void *blas, *grouped;
	struct gpu_tuned *tuned;
	struct gpu_pointers *pointers; /* of grouped GEMMs; guarded by the lock */

	atomic_bool lost;
	char lost_why[ERR_TEXT];
	bool hangs; /* a copy does not end: closing anything would wait for it */
};

static inline struct gpu_dev *gpu_of(struct dev *dev) { return (struct gpu_dev *)dev; }

void gpu_lock(void);
void gpu_unlock(void);

/* Open devices of all vendors, linked by `next`. Lock held. */
struct gpu_dev *gpu_open_devices(void);

/* Make the device's context current: 0, or -EIO when the device is lost. */
int gpu_ctx_use(struct gpu_dev *d);

/* The same without the check for a lost device. Any thread, with or without the lock. Returns
 * the driver's result. */
int gpu_ctx_make_current(struct gpu_dev *d);

/* Call after a library that may have changed this thread's current context. */
void gpu_ctx_forget(void);

/* Passes a driver's result on to the caller; -EIO marks the device as lost. */
int gpu_check(struct gpu_dev *d, int status);

/* ---- gpu_memory.c. The lock is held unless stated otherwise. */

/* The allocation that contains all of [ptr, ptr+bytes), else NULL with a text for -EFAULT. */
struct gpu_memory *gpu_memory_find(const struct gpu_dev *d, const void *ptr, uint64_t bytes);

/* Lock NOT held. */
int gpu_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p);
size_t gpu_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity);
int gpu_alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p);
int gpu_free(struct dev *dev, void *ptr);
/* A communicator's DEVICE memory, which gpu_free() refuses, from its library, or, where that is
 * NULL, from the driver. */
int gpu_alloc_for_comm(struct gpu_dev *d, const struct nccl *library, uint64_t bytes, void **ptr_p);
int gpu_free_for_comm(struct gpu_dev *d, void *ptr);
int gpu_ipc_export(struct dev *dev, void *ptr, struct dev_ipc *handle_p);
int gpu_ipc_import(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p);
int gpu_peer_enable(struct dev *dev, struct dev *other);
void gpu_memory_close(struct gpu_dev *d);

/* ---- gpu_queue.c */

/* Begin an operation of the stream: make the context current and number the operation. The caller
 * then calls the driver and returns gpu_check(). */
int gpu_enqueue(struct gpu_dev *d, struct dev_stream *s);

/* -ENOTSUP while the stream is captured, else 0. */
int gpu_refuse_capture(const struct dev_stream *s, const char *what);

/* Note that the operation enqueued or captured last waits for this value, or for all values of a
 * graph. -ENOMEM. */
int gpu_record_value_wait(struct dev_stream *s, uint32_t *at);
int gpu_record_graph_waits(struct dev_stream *s, const struct dev_graph *g);

/* True if all work on the device's streams is known to be done. Lock NOT held. */
bool gpu_idle(struct gpu_dev *d);

int gpu_stream_open(struct dev *dev, int priority, struct dev_stream **s_p);
void gpu_stream_close(struct dev *dev, struct dev_stream *s);
int gpu_stream_sync(struct dev *dev, struct dev_stream *s);
int gpu_stream_query(struct dev *dev, struct dev_stream *s);
int gpu_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count);
int gpu_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int gpu_event_open(struct dev *dev, struct dev_event **e_p);
void gpu_event_close(struct dev *dev, struct dev_event *e);
int gpu_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int gpu_event_query(struct dev *dev, struct dev_event *e);
int gpu_event_sync(struct dev *dev, struct dev_event *e);
int gpu_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			 double *ns_p);
/* Before a device closes: satisfy all waits for values, which nobody will write any more, also on
 * other devices that this one waits for; then wait for its streams, and discard what they capture.
 */
void gpu_queue_release(struct gpu_dev *d);
void gpu_queue_drain(struct gpu_dev *d);
void gpu_queue_close(struct gpu_dev *d);

/* ---- gpu_work.c */
int gpu_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes);
int gpu_copy_batch(struct dev *dev, struct dev_stream *s, size_t count, void *const *dsts,
		   const void *const *srcs, const uint64_t *bytes);
int gpu_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes);
int gpu_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int gpu_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int gpu_post_value(struct dev *dev, uint32_t *at, uint32_t value);
int gpu_graph_begin(struct dev *dev, struct dev_stream *s);
int gpu_graph_end(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p);
int gpu_graph_launch(struct dev *dev, struct dev_stream *s, struct dev_graph *g);
void gpu_graph_close(struct dev *dev, struct dev_graph *g);
void gpu_graphs_close(struct gpu_dev *d);
/* Discards an unfinished capture of the stream. Lock NOT held. */
void gpu_capture_discard(struct dev_stream *s);

/* ---- gpu_kernels.c */
int gpu_kernels_open(struct gpu_dev *d);
int gpu_released_open(struct gpu_dev *d); /* needs the internal stream */
void gpu_kernels_close(struct gpu_dev *d);
int gpu_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p);
int gpu_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
		  uint32_t *blocks_p);
int gpu_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
	       const struct dev_launch *l);

/* ---- gpu_mma.c: sets the types of the matrix multiply-add kernels, once the kernels are
 * loaded. */
void gpu_mma_describe(struct gpu_dev *d);

/* ---- gpu_time.c */
int gpu_time_open(struct gpu_dev *d);
void gpu_time_close(struct gpu_dev *d);
/* Calibrate the clock again if the last calibration is old and the device is idle. */
void gpu_time_refresh(struct gpu_dev *d);
uint64_t gpu_clock_ns(struct dev *dev);
struct gpu_clock_map gpu_clock_map(struct gpu_dev *d);
int gpu_clock_rate(struct dev *dev, double *hz_p);
int gpu_telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p);

/* ---- gpu_links.c */
int gpu_links_read(struct dev *dev, struct dev_links *links);
int gpu_path_read(struct dev *dev, struct dev *other, struct dev_path *path);
int gpu_health_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p);

/* ---- gpu_gemm.c */
void gpu_gemm_open(struct gpu_dev *d, uint32_t want);
void gpu_gemm_close(struct gpu_dev *d);
int gpu_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g);
int gpu_gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p);
int gpu_gemm_prepare(struct dev *dev, const struct dev_gemm *g);
int gpu_gemm_chosen(struct dev *dev, const struct dev_gemm *g, struct dev_gemm_choice *choice_p);
/* The GEMM as the library sees it; its stream's workspace and state. */
struct gpu_gemm_problem gpu_gemm_problem(const struct dev_gemm *g);
int gpu_gemm_prepare_stream(struct gpu_dev *d, struct dev_stream *s, enum dev_type type);

/* ---- gpu_grouped.c */
void gpu_grouped_open(struct gpu_dev *d);
void gpu_grouped_close(struct gpu_dev *d, bool usable);
/* A GEMM with groups, which the library has in this type. */
int gpu_grouped(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g);

/* ---- gpu_autotune.c */

/* Tuned choice for such a GEMM, or NULL; and its algorithm, as the vendor's BLAS expects it. Both
 * live as long as the device. */
const struct gpu_tuned *gpu_tuned_find(struct gpu_dev *d, const struct gpu_gemm_problem *p);
const void *gpu_tuned_algorithm(const struct gpu_tuned *tuned);
void gpu_tuned_choice(const struct gpu_dev *d, const struct gpu_tuned *tuned,
		      struct dev_gemm_choice *choice_p);
void gpu_tuned_close(struct gpu_dev *d);

/* Time the library's algorithms for the GEMM and remember the fastest. Operands and result must
 * be memory that nobody else uses. When no algorithm runs nothing is remembered, which is no
 * error. Waits for the device. */
int gpu_autotune(struct gpu_dev *d, const struct gpu_gemm_problem *p);

/* Fill with seeded random reals in [-1, 1) of the type: a chunk of at most 1 MiB, repeated.
 * Waits for the device. */
int gpu_fill_random(struct gpu_dev *d, enum dev_type type, uint64_t lane, void *memory,
		    uint64_t bytes);

/* ---- gpu_files.c */
bool gpu_files_supported(struct gpu_dev *d, uint32_t want);
int gpu_file_open(struct dev *dev, struct dev_file *f);
void gpu_file_close(struct dev *dev, struct dev_file *f);
int gpu_file_read(struct dev *dev, struct dev_stream *s, const struct dev_file *f, uint64_t offset,
		  void *dst, uint64_t bytes);
/* Before memory that takes files is freed. Leaves the device's context current. */
int gpu_files_forget(const struct gpu_memory *m);

/* ---- gpu_comm.c */
bool gpu_comm_supported(struct gpu_dev *d, unsigned count, uint32_t want);
int gpu_comm_open(struct dev *const *devs, size_t count, enum dev_comm_policy policy,
		  struct dev_comm **comm_p);
void gpu_comm_close(struct dev_comm *comm);
int gpu_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs);
int gpu_comm_free(struct dev_comm *comm, void *const *ptrs);
int gpu_collective(struct dev_comm *comm, enum dev_collective what,
		   struct dev_stream *const *streams, float *const *from, float *const *to,
		   uint64_t count);

/* ---- gpu.c */
int gpu_probe(const struct gpu_vendor *vendor, unsigned *count_p);
int gpu_open(const struct gpu_vendor *vendor, const char *model, unsigned index, uint32_t want,
	     struct dev **dev_p);
void gpu_close(struct dev *dev);

/* Members of struct dev_ops that both vendors share; each adds its own probe and open. */
#define GPU_DEV_OPS                                                                                \
	.close = gpu_close, .clock_ns = gpu_clock_ns, .clock_rate = gpu_clock_rate,                \
	.alloc = gpu_alloc, .free = gpu_free, .copy = gpu_copy, .fill = gpu_fill,                  \
	.copy_batch = gpu_copy_batch, .file_open = gpu_file_open, .file_close = gpu_file_close,    \
	.file_read = gpu_file_read, .stream_open = gpu_stream_open,                                \
	.stream_close = gpu_stream_close, .stream_sync = gpu_stream_sync,                          \
	.stream_query = gpu_stream_query, .stream_units = gpu_stream_units,                        \
	.stream_wait = gpu_stream_wait, .event_open = gpu_event_open,                              \
	.event_close = gpu_event_close, .event_record = gpu_event_record,                          \
	.event_query = gpu_event_query, .event_sync = gpu_event_sync,                              \
	.event_elapsed_ns = gpu_event_elapsed_ns, .wait_value = gpu_wait_value,                    \
	.write_value = gpu_write_value, .post_value = gpu_post_value,                              \
	.kernel_find = gpu_kernel_find, .occupancy = gpu_occupancy, .launch = gpu_launch,          \
	.gemm = gpu_gemm, .gemm_occupancy = gpu_gemm_occupancy, .gemm_prepare = gpu_gemm_prepare,  \
	.gemm_chosen = gpu_gemm_chosen, .peer_enable = gpu_peer_enable,                            \
	.graph_begin = gpu_graph_begin, .graph_end = gpu_graph_end,                                \
	.graph_launch = gpu_graph_launch, .graph_close = gpu_graph_close,                          \
	.comm_open = gpu_comm_open, .comm_close = gpu_comm_close, .comm_alloc = gpu_comm_alloc,    \
	.comm_free = gpu_comm_free, .collective = gpu_collective, .ipc_export = gpu_ipc_export,    \
	.ipc_import = gpu_ipc_import, .numa_nodes = gpu_numa_nodes,                                \
	.alloc_on_node = gpu_alloc_on_node, .telemetry_read = gpu_telemetry_read,                  \
	.links_read = gpu_links_read, .path_read = gpu_path_read, .health_read = gpu_health_read

#endif
