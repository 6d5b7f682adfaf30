/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine of the fake drivers: GPUs whose streams, units and copy engines are those of the host
 * backend.
 *
 *   engine.c           devices and their contexts, the registry of live objects
 *   engine_memory.c    device memory, pinned memory, handles for other processes
 *   engine_queue.c     hardware queues, streams and events
 *   engine_ops.c       what streams run: copies, values, launches
 *   engine_graphs.c    stream capture and graph launches
 *   engine_kernels.c   images, functions, occupancy, blocks
 *   engine_registers.c registers of each kernel
 *   faults.c           FAKE_FAIL
 *   fibers.c           the threads of a block
 *
 * Results are those of enum fake_result; CUDA and HIP use the same numbers for them. A `struct
 * fake_gpu
 * *` is the device of the current context. Handles are checked against the registry, so a destroyed
 * or foreign one is an error and not a crash. Every function takes the engine's lock unless its
 * comment says otherwise; none waits while it holds the lock.
 */
#ifndef FAKES_ENGINE_H
#define FAKES_ENGINE_H

#include "device/dev.h"
#include "device/host/host_kernels.h"
#include "tests/fakes/enqueue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_result {
	FAKE_OK = 0,
	FAKE_INVALID_VALUE = 1,
	FAKE_OUT_OF_MEMORY = 2,
	FAKE_NOT_INITIALIZED = 3,
	FAKE_DEVICE_UNAVAILABLE = 46,
	FAKE_NO_DEVICE = 100,
	FAKE_INVALID_DEVICE = 101,
	FAKE_INVALID_IMAGE = 200,
	FAKE_INVALID_CONTEXT = 201,
	FAKE_NO_BINARY = 209,
	FAKE_PEER_UNSUPPORTED = 217,
	FAKE_UNSUPPORTED_PTX = 222,
	FAKE_INVALID_HANDLE = 400,
	FAKE_ILLEGAL_STATE = 401,
	FAKE_NOT_FOUND = 500,
	FAKE_NOT_READY = 600,
	FAKE_ILLEGAL_ADDRESS = 700,
	FAKE_OUT_OF_RESOURCES = 701,
	FAKE_PEER_ALREADY_ENABLED = 704,
	FAKE_PEER_NOT_ENABLED = 705,
	FAKE_CONTEXT_IS_DESTROYED = 709,
	FAKE_ALREADY_PINNED = 712,
	FAKE_NOT_PINNED = 713,
	FAKE_LAUNCH_FAILED = 719,
	FAKE_NOT_SUPPORTED = 801,
	FAKE_CAPTURE_UNSUPPORTED = 900,
	FAKE_CAPTURE_INVALIDATED = 901,
	FAKE_CAPTURE_ISOLATION = 905,
	FAKE_CAPTURED_EVENT = 907,
	FAKE_CAPTURE_WRONG_THREAD = 908,
	FAKE_UNKNOWN = 999,
};

#define FAKE_GPUS_MAX 8u
#define FAKE_THREADS_PER_UNIT 2048u
#define FAKE_THREADS_PER_BLOCK 1024u
#define FAKE_ARGUMENT_BYTES 512u
#define FAKE_IPC_BYTES 64u
#define FAKE_POLL_US 50u

/* Properties of a vendor's fake. */
struct fake_result_name {
	int code;
	const char *name, *text;
};

struct fake_model {
	const char *device_name;
	const char *(*arch)(void);
	uint32_t warp_threads;
	double timer_hz;
	uint64_t shared_per_unit_bytes, shared_reserved_bytes, shared_granularity_bytes;
	uint64_t shared_default_bytes; /* per block, unless the function allows more */
	uint64_t shared_max_bytes;
	int priority_min, priority_greatest;
	bool values_take_slots;    /* value waits and writes are blocks of one thread, and are not
				      captured */
	bool engines_stay;         /* an engine goes on with the copies of one stream while they
				      are ready, whatever priority others have */
	bool engine_affinity;      /* streams have engines of their own while there are some */
	bool events_follow_engine; /* an event recorded after a copy up or down of its stream also
				      follows other streams' copies that way */
	unsigned (*queues)(void);  /* hardware queues of the streams of one priority */
	const struct fake_result_name *results; /* ends with a row without a name */
};
extern const struct fake_model fake_model;

/* ------------------------------------------------------------------ devices */

enum fake_kind {
	FAKE_STREAM,
	FAKE_EVENT,
	FAKE_MODULE,
	FAKE_FUNCTION,
	FAKE_GRAPH,
	FAKE_GRAPH_EXEC,
	FAKE_RESOURCE_DESC,
	FAKE_GREEN
};

struct fake_gpu;

/* First member of every object that has a handle. */
struct fake_object {
	enum fake_kind kind;
	struct fake_gpu *gpu;
	struct fake_object *next;
};

struct fake_region;
struct fake_wait;
struct fake_launch;
struct fake_queue;

struct fake_gpu {
	unsigned index;
	unsigned references; /* the context is open while this is not 0 */
	struct dev *host;
	atomic_int fault; /* sticky: calls return it until the context is destroyed */
	atomic_bool lost; /* stays set when the context is destroyed */
	bool peers[FAKE_GPUS_MAX];
	struct fake_object *objects;
	struct fake_queue *queues;
	struct fake_launch *launches; /* queued or running */
	struct fake_region *regions;  /* of the arena, sorted by address */
	struct fake_region *pinned, *imported;
	struct fake_region *registered; /* memory of the caller that is pinned */
	char *arena;
	uint64_t arena_bytes;
	int arena_file;
	struct fake_value_wait *waits;
	unsigned queue_waiters; /* calls that wait for capacity in a queue */
};

/* The engine's lock. */
void fake_lock(void);
void fake_unlock(void);

/* Devices (FAKE_GPUS), memory of each (FAKE_MEMORY_BYTES). */
unsigned fake_gpu_count(void);
uint64_t fake_memory_bytes(void);
uint64_t fake_queue_max(void); /* operations a stream can queue: FAKE_QUEUE */

struct fake_gpu *fake_gpu_at(unsigned index); /* NULL: no such device */
uint32_t fake_units(const struct fake_gpu *g);
int fake_peer_enable(struct fake_gpu *g, const struct fake_gpu *other);

/* Counts references to a device's context. The last release destroys all objects of the context,
 * even with work queued. */
int fake_context_retain(struct fake_gpu *g);
int fake_context_release(struct fake_gpu *g);

/* Opens the context if it is not open; it is never released. */
int fake_context_retain_once(struct fake_gpu *g);

/* FAKE_OK, or the result of a context that failed or was destroyed. Waits while another call waits
 * for capacity in a queue. */
int fake_context_status(struct fake_gpu *g);

/* Marks the context as failed with this result; FAKE_UNKNOWN also loses the device. */
void fake_context_fail(struct fake_gpu *g, int result);

/* Creates an object in its device's registry; removes and frees it. Lock held. */
void *fake_object_new(struct fake_gpu *g, enum fake_kind kind, size_t bytes);
void fake_object_delete(struct fake_object *object);

/* The object of this handle, or NULL. Lock held. */
void *fake_object_find(const void *handle, enum fake_kind kind);

const struct fake_result_name *fake_result_name(int code); /* NULL: unknown */
int fake_result_by_name(const char *name);                 /* by name or number; -1: unknown */

/* ------------------------------------------------------------------ memory */

enum fake_memory_kind {
	FAKE_PAGEABLE_MEMORY,
	FAKE_PINNED_MEMORY,
	FAKE_DEVICE_MEMORY,
	FAKE_UNALLOCATED /* outside of any allocation, at least in part */
};

/* Allocating and freeing waits for the device, as drivers may do. */
int fake_alloc(struct fake_gpu *g, uint64_t bytes, void **ptr_p);
int fake_free(struct fake_gpu *g, void *ptr);
int fake_alloc_pinned(struct fake_gpu *g, uint64_t bytes, void **ptr_p);
int fake_free_pinned(struct fake_gpu *g, void *ptr);
/* Whole mapped pages of the caller; no part may be pinned already. */
int fake_pin(struct fake_gpu *g, void *ptr, uint64_t bytes);
int fake_unpin(struct fake_gpu *g, void *ptr);
int fake_pinned_address(void *ptr); /* FAKE_INVALID_VALUE unless it is in pinned memory */
int fake_memory_info(struct fake_gpu *g, uint64_t *free_p, uint64_t *total_p);
enum fake_memory_kind fake_memory_kind_of(const void *ptr, uint64_t bytes); /* lock held */
/* The device in whose memory this is; NULL: host memory. */
const struct fake_gpu *fake_memory_owner(const void *ptr);
int fake_ipc_export(struct fake_gpu *g, void *ptr, void *handle);
int fake_ipc_import(struct fake_gpu *g, const void *handle, void **ptr_p);
int fake_ipc_close(struct fake_gpu *g, void *ptr);
int fake_arena_open(struct fake_gpu *g); /* lock held, also for the next */
void fake_arena_close(struct fake_gpu *g);

/* ------------------------------------------------------------------ queues */

/* NVIDIA's copies between host and device, by direction; the second uses the host backend's other
 * engine. */
enum fake_engine { FAKE_NO_ENGINE, FAKE_ENGINE_UP, FAKE_ENGINE_DOWN };

enum fake_op_kind { FAKE_OP_COPY, FAKE_OP_FILL, FAKE_OP_WAIT, FAKE_OP_WRITE, FAKE_OP_LAUNCH };

struct fake_kernel;

struct fake_work_item {
	const struct fake_kernel *kernel; /* or NULL: `work` runs */
	fake_work *work;
	uint32_t grid, threads;
	uint64_t claim_bytes; /* of a unit of the host backend */
	_Alignas(16) char arguments[FAKE_ARGUMENT_BYTES];
};

struct fake_op {
	enum fake_op_kind kind;
	union {
		struct {
			void *dst;
			const void *src;
			uint64_t bytes;
			uint8_t byte;
			enum fake_engine engine; /* of a copy up or down */
			bool by_kernel;
		} copy;
		struct {
			uint32_t *at, value;
		} value;
		struct fake_work_item launch;
	};
};

struct fake_graph {
	struct fake_object object;
	struct fake_op *ops;
	size_t count, capacity;
};

enum fake_capture_mode { FAKE_CAPTURE_GLOBAL, FAKE_CAPTURE_THREAD, FAKE_CAPTURE_RELAXED };

/* Streams of one priority that share a queue run in the order of their calls. */
struct fake_queue {
	struct fake_queue *next;
	struct dev_stream *host;
	int level;
	bool alone; /* of one stream, on some of the units */
	unsigned users;
	uint64_t queued;    /* upper bound of the operations that have not ended */
	uint64_t submitted; /* operations of the host backend, ever */
};

struct fake_stream {
	struct fake_object object;
	struct fake_queue *queue;
	uint64_t last; /* what `submitted` of the queue was after the stream's last operation */
	int priority;
	enum fake_engine engine;    /* that its latest work was for */
	uint32_t own_engine;        /* by affinity, from 1; 0: none yet */
	unsigned waiters;           /* calls that wait for this stream */
	bool closed;                /* destroyed while busy: freed when it is idle */
	struct fake_graph *capture; /* NULL: not capturing */
	enum fake_capture_mode capture_mode;
	pthread_t capture_thread;
	bool capture_broken;
	void *green; /* the green context that it is of */
};

/* A green context, or the description of one. */
struct fake_green {
	struct fake_object object;
	uint32_t first, count; /* units */
};

int fake_stream_open(struct fake_gpu *g, int priority, void **stream_p);
/* On units [first, first + count) alone, with a hardware queue of its own, which no other stream
 * joins. */
int fake_stream_open_on(struct fake_gpu *g, int priority, uint32_t first, uint32_t count,
			void **stream_p);
int fake_stream_close(struct fake_gpu *g, void *stream);
int fake_stream_sync(struct fake_gpu *g, void *stream);
int fake_stream_query(struct fake_gpu *g, void *stream);
int fake_stream_wait(struct fake_gpu *g, void *stream, void *event);
int fake_event_open(struct fake_gpu *g, bool timing, void **event_p);
int fake_event_close(struct fake_gpu *g, void *event);
int fake_event_record(struct fake_gpu *g, void *stream, void *event);
int fake_event_query(struct fake_gpu *g, void *event);
int fake_event_sync(struct fake_gpu *g, void *event);
int fake_event_elapsed_ms(struct fake_gpu *g, void *from, void *to, float *ms_p);

/* Waits until a stream's queue has capacity for one more operation and counts it. Lock held;
 * released while waiting. */
int fake_queue_wait(struct fake_stream *s);

/* Counts an operation that was submitted to the host backend for this stream. */
void fake_queue_count(struct fake_stream *s);

/* Waits for all streams of a device. */
int fake_gpu_sync(struct fake_gpu *g);

/* Closes all streams and events of a device. Lock held; released meanwhile. */
void fake_queues_close(struct fake_gpu *g);

/* Copies of pageable memory, and from host to host memory, are done when this returns, as both
 * vendors document. By a copy engine, or by blocks of a kernel. */
int fake_copy(struct fake_gpu *g, void *stream, void *dst, const void *src, uint64_t bytes);
int fake_copy_by_kernel(struct fake_gpu *g, void *stream, void *dst, const void *src,
			uint64_t bytes);
int fake_fill(struct fake_gpu *g, void *stream, void *dst, uint8_t byte, uint64_t bytes);
int fake_wait_value(struct fake_gpu *g, void *stream, uint32_t *at, uint32_t value);
int fake_write_value(struct fake_gpu *g, void *stream, uint32_t *at, uint32_t value);

/* Does a stream that waits for `value` go on? (int32_t)(*at - value) >= 0. */
bool fake_value_is_reached(uint32_t *at, uint32_t value);

/* The stream with this handle; NULL if there is none or it was destroyed. Lock held. */
struct fake_stream *fake_stream_find(const void *handle);

/* Enqueues an operation, or captures it if the stream is capturing. Lock held. */
int fake_submit(struct fake_stream *s, const struct fake_op *op);

int fake_capture_begin(struct fake_gpu *g, void *stream, int mode);
int fake_capture_end(struct fake_gpu *g, void *stream, void **graph_p);
int fake_graph_instantiate(struct fake_gpu *g, void *graph, void **exec_p);
int fake_graph_launch(struct fake_gpu *g, void *exec, void *stream);
int fake_graph_close(struct fake_gpu *g, void *graph, enum fake_kind kind);
void fake_graph_free(struct fake_graph *graph); /* lock held */

/* Is this a stream that is capturing? */
bool fake_stream_is_capturing(const void *stream);

/* For calls that are forbidden during captures: FAKE_OK, or the result, and the capture is
 * invalidated. Lock held. */
int fake_capture_refuses(void);

/* ------------------------------------------------------------------ kernels */

struct fake_function {
	struct fake_object object;
	struct fake_module *module;
	const struct fake_kernel *kernel;
	uint64_t dynamic_max_bytes;
	int carveout; /* percent of L1 for shared memory; -1: the driver chooses */
	struct fake_function *next;
};

int fake_module_load(struct fake_gpu *g, const void *image, void **module_p);
int fake_module_unload(struct fake_gpu *g, void *module);
int fake_module_function(struct fake_gpu *g, void *module, const char *name, void **function_p);
int fake_function_allow_shared(struct fake_gpu *g, void *function, int bytes);
int fake_function_set_carveout(struct fake_gpu *g, void *function, int percent);
int fake_function_shared(struct fake_gpu *g, void *function, uint64_t *static_p,
			 uint64_t *dynamic_max_p);
uint32_t fake_function_threads(void); /* most threads in a block of any kernel */
int fake_occupancy(struct fake_gpu *g, void *function, int threads, uint64_t shared_bytes,
		   int *blocks_p);
int fake_launch(struct fake_gpu *g, void *stream, void *function, uint32_t grid, uint32_t threads,
		uint64_t shared_bytes, void **arguments);

/* Most resident blocks per unit, by threads and by shared memory (static and dynamic).
 */
uint32_t fake_max_resident_blocks(uint32_t threads, uint64_t shared_bytes);

/* Most resident blocks per unit, by the kernel's registers. */
uint32_t fake_max_blocks_by_registers(const struct fake_kernel *k, uint32_t threads);

/* fake_launch_block() runs one block on the thread of its slot. */
struct fake_launch {
	struct fake_launch *next, **link;
	struct fake_gpu *gpu;
	int fault; /* not FAKE_OK: the launch fails with this result and does not run */
	atomic_uint ended_blocks;
	struct fake_work_item item;
};
int fake_launch_block(const struct host_block *b);

/* Converts a value wait or write to a launch of one block of one thread, which polls or stores; and
 * a copy to one of several blocks. */
void fake_value_block(struct fake_gpu *g, const struct fake_op *value, struct fake_op *launch);
void fake_copy_blocks(const struct fake_op *copy, struct fake_op *launch);
bool fake_is_drivers_own(const struct fake_work_item *item);

#endif
