/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device: one contract for a GPU, for this CPU taken as a device, and for a simulated one.
 *
 * THE CONTRACT
 *
 * Errors.    Every operation returns 0 or -errno, sets its outputs only on success and prints
 *            nothing. The cause in words (a vendor's own message included) is left with
 *            err_note() and read with err_text() (lib/err.h).
 * Queues.    An operation that takes a stream ENQUEUES and returns. Work in one stream runs in
 *            order; work in different streams may run at the same time unless an event orders it.
 *            Nothing is complete before dev_stream_sync(), a completed event, or an event wait.
 * Waiting.   Only dev_stream_sync() and dev_event_sync() wait. dev_open(), dev_close(), dev_alloc(),
 *            dev_free(), dev_kernel_find(), dev_clock_rate() may take any time and are never timed; they may wait for
 *            all that the device was given, so nobody calls them while something holds it back.
 *            Two exceptions. A full queue: props.max_queued operations fit into a stream without
 *            waiting; a program that enqueues more must say that it measures the queue. And the first
 *            product of its kind in a stream, for which a library may load code and wait for the whole
 *            device: a program runs one before it holds anything back.
 * Failures.  Work that fails after it was enqueued is reported once, as the result of the next
 *            dev_stream_sync() on its stream; later work of that stream is dropped until then. A dropped
 *            event record still completes, so that nothing that waits for it hangs. A failure that takes the
 *            device with it (a GPU's context after a fault) makes every later operation on it -EIO, with the
 *            first cause as text; only closing is left.
 * Memory.    Pointers given to operations lie inside one live allocation of dev_alloc() (of this
 *            device, or of another one after dev_peer_enable()); anything else is -EFAULT. The host may
 *            read and write PINNED and PAGEABLE memory directly; DEVICE memory only on a device with
 *            DEV_CAP_HOST_ACCESS. PAGEABLE memory is for dev_copy() alone. Copies of PAGEABLE memory, and those from
 *            host memory to host memory, are the exception to "Waiting": the call may return only when the copy
 *            is done, after all that is queued before it. So no such copy stands behind what its own thread lets go later.
 * Ownership. What an open, alloc or find returned belongs to the caller until the matching close or
 *            free. Closing a device closes everything still open on it. Kernels belong to the device.
 * Threads.   Any thread may call on a device; calls on one stream must not race each other.
 * Units.     Sizes in bytes, times in nanoseconds of dev_clock_ns(), rates in hertz; the unit is in
 *            the name. 0 means "unknown" in every numeric property unless stated otherwise.
 * Optional.  An operation that a backend lacks returns -ENOTSUP. Capability bits say so beforehand;
 *            programs ask for capabilities, never for a backend's name.
 */
#ifndef GPUSIG_DEV_H
#define GPUSIG_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dev_cap {
	DEV_CAP_GEMM = 1u << 0,         /* dev_gemm() through the platform's BLAS */
	DEV_CAP_COPY_ENGINE = 1u << 1,  /* dev_copy() progresses while every unit is busy */
	DEV_CAP_PRIORITY = 1u << 2,     /* more than one stream priority exists */
	DEV_CAP_WAIT_VALUE = 1u << 3,   /* dev_wait_value(), dev_write_value() */
	DEV_CAP_OCCUPANCY = 1u << 4,    /* shared memory per block limits resident blocks */
	DEV_CAP_PEER = 1u << 5,         /* dev_peer_enable() between devices of this backend */
	DEV_CAP_CLOCK_RATE = 1u << 6,   /* dev_clock_rate() */
	DEV_CAP_HOST_ACCESS = 1u << 7,  /* the host may touch DEVICE memory directly */
	DEV_CAP_VIRTUAL_TIME = 1u << 8, /* dev_clock_ns() is simulated: no result is a measurement */
	DEV_CAP_PAGEABLE = 1u << 9,     /* DEV_MEM_PAGEABLE */
	DEV_CAP_GRAPH = 1u << 10,       /* dev_graph_begin() and its kin */
	DEV_CAP_GEMM_TILED = 1u << 11,  /* dev_gemm.tiled: blocks that can be shaped and that count what they finish */
	DEV_CAP_CREW = 1u << 12,        /* dev_crew_open(): the vendor's collectives */
	DEV_CAP_IPC = 1u << 13,         /* dev_ipc_export(), dev_ipc_import() */
	DEV_CAP_VALUE_IN_QUEUE = 1u << 14, /* dev_wait_value() and dev_write_value() take no slot of a unit */
	DEV_CAP_CARVEOUT = 1u << 15,    /* dev_launch.prefer_cache: a unit divides memory between L1 and shared memory */
};

enum dev_mem {
	DEV_MEM_DEVICE, /* nearest to the units */
	DEV_MEM_PINNED, /* host memory that engines and kernels reach directly */
	DEV_MEM_PAGEABLE, /* ordinary host memory; needs DEV_CAP_PAGEABLE */
};

/* Element types of matrix products: how A and B are stored, and how units multiply. Sums are kept in f32, of f64 in f64.
 * C has the type of A and B, but bf16 where they are f8. */
enum dev_type {
	DEV_F32,
	DEV_F64,
	DEV_TF32, /* stored as f32, multiplied with 10 bits of mantissa */
	DEV_F16,
	DEV_BF16,
	DEV_F8, /* e4m3, as OCP defines it; B must be given transposed, and all sizes be multiples of 16: else -EINVAL */
	DEV_TYPES
};

/* Bytes of an element of A and B, and of C. */
uint32_t dev_type_bytes(enum dev_type type);
uint32_t dev_type_result_bytes(enum dev_type type);

/* One stream priority is `normal`; larger numbers are more urgent. */
struct dev_props {
	char name[96];      /* as the platform calls it */
	char bus[32];       /* PCI address, or "" */
	char driver[64];    /* driver or library version, or "" */
	char arch[32];      /* what kernels are compiled for: "sm_90", "gfx90a", or "" */
	char blas[96];      /* BLAS library, version and kernel set in use, or "" */
	char shares[128];   /* what this device shares with others or with the harness, or "" */
	uint32_t caps;      /* DEV_CAP_* that are usable now */
	uint32_t units;     /* SMs, CUs, or cores with a worker */
	uint32_t slots_per_unit;           /* most blocks of block_threads resident on one unit, of a kernel that needs few
	                                      registers (hold); of another, see dev_occupancy() */
	uint32_t copy_engines;             /* 0: dev_copy() runs on the units */
	uint32_t block_threads;            /* a good block size; 1 where blocks have one thread */
	uint32_t busy_blocks;              /* least blocks that keep every unit busy, of such a kernel; as the grid of another
	                                      it may be a wave and a part of one: take dev_wave_blocks() */
	uint32_t max_queued;               /* operations a stream takes without waiting */
	uint64_t memory_bytes;             /* DEVICE memory that may be allocated now */
	uint64_t shared_per_unit_bytes;    /* pool that resident blocks divide */
	uint64_t shared_per_block_bytes;   /* most that one block may claim */
	uint64_t shared_granularity_bytes; /* a block's claim is rounded up to this; at least 1 */
	uint64_t shared_reserved_bytes;    /* what the platform adds to every block's claim before rounding */
	uint64_t l1_bytes, l2_bytes;       /* per unit; 0 if there is none or it is unknown */
	uint64_t llc_bytes;                /* last level in front of memory, all of it that the device has: a footprint of
	                                      several times as much comes from memory */
	int priority_low, priority_normal, priority_high;
	uint32_t gemm_types;               /* 1u << enum dev_type, of dev_gemm() as the library does it */
	uint32_t gemm_tiled_types;         /* the same with `tiled` */
	uint32_t gemm_fast_types;          /* the same with `fast_accumulation` */
	uint32_t mma_types;                /* 1u << enum dev_type, of the kernels mma_* (kernels.h) */
	uint32_t wgmma_types;              /* the same of wgmma_* */
	uint32_t mma_peak_types;           /* those of mma_* that are known to reach what the units can do; wgmma_* are */
	uint32_t gemm_tile_rows;           /* rows of C in a block of a tiled product; done_rows is a multiple of it */
};

struct dev;
struct dev_stream;
struct dev_event;
struct dev_kernel;
struct dev_graph;
struct dev_crew;

/* C := alpha*A*B + beta*C, row-major, leading dimensions in elements.
 * A is m x k, B is k x n, C is m x n. The device cuts C into blocks that its units run.
 *
 * A library's blocks are its own affair. With `tiled` (DEV_CAP_GEMM_TILED) the blocks are the device's: the same arithmetic
 * whatever they claim, so that shaping changes nothing but residency, and they can tell what is finished. Where both are
 * the same (host, whose blocks are calls of the library; sim), the fields below may be used without it; elsewhere shared_bytes
 * and `done` without it are -ENOTSUP. */
struct dev_gemm {
	enum dev_type type;
	uint32_t m, n, k;
	double alpha, beta;
	const void *a, *b;
	void *c;
	uint32_t lda, ldb, ldc;
	bool b_transposed;     /* B is given as n x k: element (i, j) of B at b[j*ldb + i]; -ENOTSUP where a type lacks it */
	bool tiled;
	bool fast_accumulation; /* sums may be kept with fewer bits than f32 has, where that is faster; -ENOTSUP where
	                           gemm_fast_types lacks the type. What is lost is the library's affair: lib/bench_product.h
	                           has what is known of f8 */
	uint32_t blocks;       /* cut C into so many blocks at least, as far as the device's tiles allow; 0: it chooses */
	uint64_t shared_bytes; /* shared memory claimed by each block beyond the product's own need;
	                          not 0 is -ENOTSUP where the blocks can't be shaped, -EINVAL where it doesn't fit */
	/* NULL, or one counter for every done_rows rows of C, in DEVICE or PINNED memory. A block that has written its part of
	 * C adds the number of its elements to the counters of its rows; whoever sees the sum (dev_wait_value(), a kernel)
	 * sees the elements. So rows [i*done_rows, ...) are finished when done[i] has grown by their elements; the caller keeps
	 * it at or below DEV_VALUE_MAX. */
	uint32_t *done;
	uint32_t done_rows;
};

/* The algorithm that a device takes for GEMMs of a kind, and how it was found. */
struct dev_gemm_choice {
	char algorithm[192];  /* in the library's own terms */
	uint32_t offered;     /* algorithms that the library named for this GEMM */
	uint32_t tried;       /* of those, timed: the others were refused when run, or time was up; 0 where there was one */
	double first_ratio;   /* time of the library's first choice / time of this one; NaN where that was not timed */
};

/* A kernel's place and arguments. args[i] points at the i-th argument as device/kernels.h lists them;
 * they are copied before dev_launch() returns. */
struct dev_launch {
	uint32_t grid;         /* blocks, at least 1 */
	uint32_t block;        /* threads in a block; 0: props.block_threads */
	uint64_t shared_bytes; /* dynamic shared memory per block; above the limit is -EINVAL */
	const void *const *args;
	/* With DEV_CAP_CARVEOUT: of the memory that is first-level cache or shared memory, as much is to be cache as the claims of
	 * the blocks leave; without, all that can be is shared memory. A wish, and ignored without the capability. A unit that
	 * holds blocks of one kind may have to end them before it takes those of the other: launches that are to run at
	 * the same time wish the same. */
	bool prefer_cache;
};

/* Something the device says of itself: either a number with its unit, or a text, or why it is not known. */
struct dev_reading {
	char name[40];   /* "sm_clock", "power", "throttle", ...; once in a list */
	char unit[16];   /* "Hz", "W", ...; "" for texts and counts */
	double number;   /* NaN: `text` holds it, or it is unknown */
	char text[128];  /* "" with NaN: unknown */
	char why[128];   /* why it is unknown; else "" */
};
#define DEV_READINGS 32

/* A handle that another process may import; bytes without meaning. */
struct dev_ipc {
	unsigned char bytes[64];
};

/* ------------------------------------------------------------------ devices */

/* A list of devices as users write it: NAME, NAME:I, NAME:I,J or NAME:I-J, where NAME is a backend
 * ("host", "sim", ...) and backends may take a model between: "sim:MODEL:0-3".
 * host divides this machine's cores evenly among the devices listed, so "host:0,1" is two devices of
 * half the cores each, and its indices must be 0..n-1. */
#define DEV_MAX 64
struct dev_set {
	size_t count;
	struct dev *dev[DEV_MAX];
};

/* Open every device of `spec`, each warm and ready. `want` holds the DEV_CAP_* that the caller will use:
 * a backend may skip preparing others (opening a BLAS takes long); a wanted capability that is not there
 * does not fail the open, its bit is just missing in props.caps.
 * -EINVAL: malformed spec or unknown backend. -ENODEV: the backend has no such device here; the text lists
 * what there is. Blocking. */
int dev_open(const char *spec, uint32_t want, struct dev_set *set_p);

/* Also with work queued: it ends first, and waits for values that hold it up are let go, those of another open device too
 * where its streams hold up this one's. */
void dev_close(struct dev_set *set);

/* One line per backend built in: name, number of devices usable now, and why there is none. The text is
 * valid until the next call. For messages and `--list`. */
struct dev_backend_info {
	const char *name;
	unsigned devices;
	char why[160]; /* "" when devices > 0 */
};
size_t dev_backends(struct dev_backend_info *info, size_t room);

/* ------------------------------------------------------------------ the table a backend fills
 *
 * Programs never touch it; they call the wrappers below. Slots marked [optional] may be NULL. */
struct dev_ops {
	const char *name;
	/* Number of devices usable now; 0 with success and a reason in err_text() when there are none. */
	int (*probe)(unsigned *count_p);
	/* Open device `index` of the `count` devices that the spec lists. `model` is the text between the
	 * colons, or NULL. All devices of one dev_set are opened in order. */
	int (*open)(const char *model, unsigned index, unsigned count, uint32_t want, struct dev **dev_p);
	void (*close)(struct dev *dev);
	uint64_t (*clock_ns)(struct dev *dev);
	int (*clock_rate)(struct dev *dev, double *hz_p); /* [optional] */
	int (*alloc)(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p);
	int (*free)(struct dev *dev, void *ptr);
	int (*copy)(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes);
	int (*fill)(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes);
	int (*stream_open)(struct dev *dev, int priority, struct dev_stream **s_p);
	void (*stream_close)(struct dev *dev, struct dev_stream *s);
	int (*stream_sync)(struct dev *dev, struct dev_stream *s);
	int (*stream_wait)(struct dev *dev, struct dev_stream *s, struct dev_event *e);
	int (*event_open)(struct dev *dev, struct dev_event **e_p);
	void (*event_close)(struct dev *dev, struct dev_event *e);
	int (*event_record)(struct dev *dev, struct dev_stream *s, struct dev_event *e);
	int (*event_query)(struct dev *dev, struct dev_event *e);
	int (*event_sync)(struct dev *dev, struct dev_event *e);
	int (*event_elapsed_ns)(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p);
	int (*wait_value)(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);  /* [optional] */
	int (*write_value)(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value); /* [optional] */
	int (*post_value)(struct dev *dev, uint32_t *at, uint32_t value);                        /* [optional] */
	int (*kernel_find)(struct dev *dev, const char *name, struct dev_kernel **k_p);
	int (*occupancy)(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
	                 uint32_t *blocks_p);
	int (*launch)(struct dev *dev, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l);
	int (*gemm)(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g); /* [optional] */
	int (*gemm_prepare)(struct dev *dev, const struct dev_gemm *g);               /* [optional] */
	int (*gemm_chosen)(struct dev *dev, const struct dev_gemm *g, struct dev_gemm_choice *choice_p); /* [optional] */
	int (*peer_enable)(struct dev *dev, struct dev *other);                       /* [optional] */
	int (*graph_begin)(struct dev *dev, struct dev_stream *s);                         /* [optional] */
	int (*graph_end)(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p);   /* [optional] */
	int (*graph_launch)(struct dev *dev, struct dev_stream *s, struct dev_graph *g);   /* [optional] */
	void (*graph_close)(struct dev *dev, struct dev_graph *g);                         /* [optional] */
	int (*crew_open)(struct dev *const *devs, size_t count, struct dev_crew **crew_p); /* [optional] */
	void (*crew_close)(struct dev_crew *crew);                                         /* [optional] */
	int (*allreduce)(struct dev_crew *crew, struct dev_stream *const *streams, float *const *buffers,
	                 uint64_t count);                                                  /* [optional] */
	int (*ipc_export)(struct dev *dev, void *ptr, struct dev_ipc *handle_p);           /* [optional] */
	int (*ipc_import)(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p); /* [optional] */
	int (*read_state)(struct dev *dev, struct dev_reading *readings, size_t *count_p); /* [optional] */
};

/* First member of every backend's own device struct. */
struct dev {
	const struct dev_ops *ops;
	unsigned index;
	struct dev_props props;
};

/* First member of what a backend returns from crew_open. */
struct dev_crew {
	const struct dev_ops *ops;
	size_t count;     /* of devices */
	char library[64]; /* "NCCL 2.28.9" */
};

/* ------------------------------------------------------------------ wrappers: what programs call */

static inline const struct dev_props *dev_props(const struct dev *d) { return &d->props; }
static inline bool dev_can(const struct dev *d, uint32_t caps) { return (d->props.caps & caps) == caps; }

/* Now, on the clock that events are stamped with. Monotonic; virtual on a simulated device. */
static inline uint64_t dev_clock_ns(struct dev *d) { return d->ops->clock_ns(d); }

/* The core clock achieved at this moment on a unit that is kept busy for about a millisecond. [optional] */
int dev_clock_rate(struct dev *d, double *hz_p);

/* What the device and its driver say of the present: clocks, power, temperature, why it is throttled, ECC, link, memory node.
 * Fills at most DEV_READINGS and says how many. What can't be had is in the list, with the reason. Takes up to some
 * milliseconds; waits for nothing queued. Without the operation: 0 readings. */
int dev_read_state(struct dev *d, struct dev_reading *readings, size_t *count_p);

/* Contents undefined, aligned to at least 256 bytes. -ENOMEM: not enough memory. bytes 0 is -EINVAL, a kind that the device
 * lacks -ENOTSUP. */
int dev_alloc(struct dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p);

/* NULL is accepted. The caller has synchronised; memory that queued work still uses is -EBUSY. */
/* The parentheses keep a macro called free, such as a simulator's, away from the slot. */
static inline int dev_free(struct dev *d, void *ptr) { return (d->ops->free)(d, ptr); }

/* Enqueue a copy on a copy engine; the direction follows from the addresses. Ranges must not overlap. */
static inline int dev_copy(struct dev *d, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	return d->ops->copy(d, s, dst, src, bytes);
}

static inline int dev_fill(struct dev *d, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes)
{
	return d->ops->fill(d, s, dst, byte, bytes);
}

/* Copy between ordinary host memory and device memory, through a pinned buffer; waits. For setup and
 * checks only, never timed. */
int dev_upload(struct dev *d, void *dst, const void *src, uint64_t bytes);
int dev_download(struct dev *d, void *dst, const void *src, uint64_t bytes);

/* A new stream without any implicit order to others. A priority outside the device's range is -EINVAL. */
static inline int dev_stream_open(struct dev *d, int priority, struct dev_stream **s_p)
{
	return d->ops->stream_open(d, priority, s_p);
}

/* NULL is accepted. The caller has synchronised. */
static inline void dev_stream_close(struct dev *d, struct dev_stream *s)
{
	if (s)
		d->ops->stream_close(d, s);
}

/* Wait until all work of the stream is done; returns its first failure since the last sync. */
static inline int dev_stream_sync(struct dev *d, struct dev_stream *s) { return d->ops->stream_sync(d, s); }

/* Later work of the stream starts after the event's latest record, as of this call; the host does not wait.
 * An event never recorded counts as complete. */
static inline int dev_stream_wait(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	return d->ops->stream_wait(d, s, e);
}

static inline int dev_event_open(struct dev *d, struct dev_event **e_p) { return d->ops->event_open(d, e_p); }
static inline void dev_event_close(struct dev *d, struct dev_event *e)
{
	if (e)
		d->ops->event_close(d, e);
}

/* Enqueue a time stamp: taken when everything before it in the stream is done. Recording again replaces it. */
static inline int dev_event_record(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	return d->ops->event_record(d, s, e);
}

/* 0 when the latest record is complete, -EAGAIN when not yet. Does not wait. Never recorded: -EINVAL. */
static inline int dev_event_query(struct dev *d, struct dev_event *e) { return d->ops->event_query(d, e); }

/* Wait for the latest record. Never recorded: -EINVAL. */
static inline int dev_event_sync(struct dev *d, struct dev_event *e) { return d->ops->event_sync(d, e); }

/* Device time between two completed records; -EAGAIN when one is not complete, -EINVAL when never recorded. */
static inline int dev_event_elapsed_ns(struct dev *d, struct dev_event *from, struct dev_event *to, double *ns_p)
{
	return d->ops->event_elapsed_ns(d, from, to, ns_p);
}

/* Later work of the stream starts once *at >= value. `at` lies in PINNED or DEVICE memory and is written only by
 * dev_write_value(), dev_post_value(), or a kernel or product (seen at the latest when its block ends); a PINNED word also by the
 * host itself, unless the device has DEV_CAP_HOST_ACCESS or virtual time: for who must not call a driver. Values, here and in the
 * next two, are at most DEV_VALUE_MAX, else -EINVAL: vendors compare above it in different ways. [optional] */
#define DEV_VALUE_MAX UINT32_C(0x7fffffff)
int dev_wait_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value);

/* Enqueue *at = value, after all earlier work of the stream is visible. [optional] */
int dev_write_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value);

/* Write *at = value from the host, at once and visibly to waiting streams and polling kernels. [optional]
 *
 * Without DEV_CAP_VALUE_IN_QUEUE a stream that waits for a value is a block of one thread, which holds a slot and polls, and a
 * stream's write is such a block, too, as is a post to DEVICE memory: each starts once a slot is free, and the post returns
 * then. So whoever holds slots leaves one for every stream that waits or writes meanwhile, counts with one less beside a
 * waiting stream, and posts to PINNED memory, which takes no slot anywhere. */
int dev_post_value(struct dev *d, uint32_t *at, uint32_t value);

/* A kernel of device/kernels.h by name; -ENOENT when this backend has none of that name, or this device lacks it. */
static inline int dev_kernel_find(struct dev *d, const char *name, struct dev_kernel **k_p)
{
	return d->ops->kernel_find(d, name, k_p);
}

/* Blocks of this kernel that one unit holds at once: at most slots_per_unit, what its registers allow, and
 * floor(shared_per_unit / claim) where the claim is shared_reserved + shared_bytes rounded up to the granularity.
 * More than shared_per_block_bytes is -EINVAL. Non-increasing in shared_bytes. */
static inline int dev_occupancy(struct dev *d, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
                                uint32_t *blocks_p)
{
	return d->ops->occupancy(d, k, block, shared_bytes, blocks_p);
}

/* Blocks of this kernel that keep every unit busy and are all resident at once, of block_threads and without shared memory:
 * units * dev_occupancy(), and no more than busy_blocks. A grid of them is one wave. 0, with the text of an error, when the
 * device does not say; no launch takes that. Cheap enough for timed code. */
uint32_t dev_wave_blocks(struct dev *d, struct dev_kernel *k);

/* Enqueue a kernel. Pending blocks of a higher-priority stream start before pending blocks of a lower one;
 * running blocks are never interrupted. Within one priority the order among streams is the device's affair: host and sim start
 * first what became ready first, no vendor promises it. */
static inline int dev_launch(struct dev *d, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l)
{
	return d->ops->launch(d, s, k, l);
}

/* Enqueue a matrix product. A type that gemm_types (gemm_tiled_types) doesn't have is -ENOTSUP, a zero dimension -EINVAL.
 * The description is copied. [optional] */
int dev_gemm(struct dev *d, struct dev_stream *s, const struct dev_gemm *g);

/* Find the library's fastest algorithm for products of this type and these dimensions, by timing those it offers on memory of
 * its own with random data; later products like it go that way. Without, the library's first choice is taken. Takes about a
 * second at most, but a few algorithms are tried however long they take; wants an idle device; never timed. A product is checked
 * as dev_gemm() would, but its pointers aren't used. Where there is nothing to choose it does nothing and returns 0. */
int dev_gemm_prepare(struct dev *d, const struct dev_gemm *g);

/* What dev_gemm_prepare() found for products of this kind; the pointers of `g` aren't used, and those of a product that goes
 * that way are aligned as dev_alloc() aligns. -ENOENT: it was not called for such a product, or no algorithm could be run.
 * [optional] */
int dev_gemm_chosen(struct dev *d, const struct dev_gemm *g, struct dev_gemm_choice *choice_p);

/* Let operations of `d` use memory of `other`, and the other way round. Repeating it is fine. [optional] */
int dev_peer_enable(struct dev *d, struct dev *other);

/* Between begin and end what is enqueued on `s` is noted and not run; no other call on the device may come in between but
 * those that enqueue on `s`. The graph runs it all in one operation, as often as it is launched; memory that it uses is -EBUSY
 * until it is closed. Copies of PAGEABLE memory and events can't be noted, values only with DEV_CAP_VALUE_IN_QUEUE. An
 * operation that is refused is not noted. To begin twice and to end what was not begun is -EINVAL. The caller has synchronised
 * before closing it. [optional] */
int dev_graph_begin(struct dev *d, struct dev_stream *s);
int dev_graph_end(struct dev *d, struct dev_stream *s, struct dev_graph **g_p);
int dev_graph_launch(struct dev *d, struct dev_stream *s, struct dev_graph *g);
void dev_graph_close(struct dev *d, struct dev_graph *g); /* NULL is accepted */

/* The vendor's collectives (NCCL, RCCL) among the devices of a set, one after the other as listed. May take seconds.
 * -ENOTSUP: no library. -ENODEV: fewer than two devices. The crew ends before its devices do. [optional] */
int dev_crew_open(const struct dev_set *set, struct dev_crew **crew_p);
void dev_crew_close(struct dev_crew *crew); /* NULL is accepted */

/* Enqueue on streams[i] of device i: every buffers[i], of `count` floats in DEVICE memory, becomes the sum of all. */
int dev_allreduce(struct dev_crew *crew, struct dev_stream *const *streams, float *const *buffers, uint64_t count);

/* Share an allocation of DEVICE memory, from its beginning, with another process that has the same device open. What was
 * imported is memory of the importing device, to be given back with dev_free(); the exporter frees it last. What is no handle
 * of an allocation that lives is an error. [optional] */
int dev_ipc_export(struct dev *d, void *ptr, struct dev_ipc *handle_p);
int dev_ipc_import(struct dev *d, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p);

#endif
