/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device: one contract for a GPU, for this CPU taken as a device, and for a simulated one.
 *
 * THE CONTRACT
 *
 * Errors. Every operation returns 0 or -errno, sets its outputs only on success and prints nothing.
 * It leaves the cause in words, a vendor's own message included, with err_note(); err_text() reads
 * it (lib/err.h).
 *
 * Queues. An operation that takes a stream ENQUEUES and returns. Work in one stream runs in order.
 * Work in different streams may run at the same time unless an event orders it. Nothing is complete
 * before dev_stream_sync(), a completed event, or an event wait.
 *
 * Waiting. Only dev_stream_sync() and dev_event_sync() wait. dev_open(), dev_close(), dev_alloc(),
 * dev_free(), dev_peer_enable(), dev_kernel_find(), dev_file_open() and dev_clock_rate() may take
 * any time and are never timed. They may wait for all work of the device, so do not call them while
 * something blocks that work. There are three exceptions. A read of a file: dev_file_read(). A full
 * queue: a stream takes props.max_queued operations without waiting; a program that enqueues more
 * must say that it measures the queue. The first GEMM of its kind in a stream, and the first
 * collective of its kind and size: a library may load code or connect devices for it and wait for
 * whole devices; a program runs one before it blocks anything.
 *
 * Failures. Work that fails after it was enqueued is reported once, as the result of the next
 * dev_stream_sync() on its stream. Until then later work of that stream is dropped. A dropped event
 * record still completes, so that nothing that waits for it hangs. After a failure that takes the
 * device with it (a fault ends a GPU's context) every later operation is -EIO with the first cause
 * as text; only closing is left.
 *
 * Memory. Pointers given to operations lie inside one live allocation of dev_alloc(), or of
 * dev_comm_alloc(), of this device or of another one after dev_peer_enable(). The host may read and
 * write PINNED and PAGEABLE memory directly, DEVICE memory only with DEV_CAP_HOST_ACCESS. PAGEABLE
 * memory is for dev_copy() alone. Copies of PAGEABLE memory, and copies from host memory to host
 * memory, are an exception to "Waiting": the call may return only when the copy is done, after all
 * that is queued before it. So never enqueue such a copy behind work that the same thread releases
 * later. With DEV_CAP_TIME_ONLY memory is address space that may be larger than the host's memory:
 * so touch no more of it than needed. Results do not exist. Copies and fills of at most 64 KiB,
 * what streams write and wait for, the words that kernels signal, stamp and count, and the counters
 * of a GEMM are real.
 *
 * Misuse. With DEV_CHECKED these are refused before anything is done; a simulated device always
 * refuses them. Without it they are undefined, for checks would be timed with the operation, though
 * a device may refuse some of them all the same:
 *
 * -EFAULT: memory of an operation is not as under "Memory"; what is freed is not an allocation of
 * the device.
 * -EBUSY: what is freed is used by queued work or by a graph.
 * -EINVAL: a stream, event or graph is not open, or is another device's (but waits,
 * queries and times take events of any device); a kernel was not found on the device; an argument
 * of a kernel is missing or not aligned, or a number is not the multiple that device/kernels.h asks
 * for; the ranges of a copy overlap, or those of a collective that is not in place; a value, or the
 * counters of a GEMM, are not aligned.
 *
 * A call that has no result and is given such a handle does nothing, and the device's next
 * operation returns the error. A stream that is closed with work left keeps the memory of that work
 * in use until its device is closed. All other errors of the contract are reported in either case.
 *
 * Ownership. What an open, alloc or find returned belongs to the caller until the matching close or
 * free. Closing a device closes everything still open on it. Kernels belong to the device.
 *
 * Threads. Any thread may call on a device; calls on one stream must not race each other.
 *
 * Units. Sizes are in bytes, times in nanoseconds of dev_clock_ns(), rates in hertz; the unit is in
 * the name. 0 means "unknown" in every numeric property unless stated otherwise.
 *
 * Optional. An operation that a backend lacks returns -ENOTSUP, and a capability bit says so
 * beforehand. Programs ask for capabilities, never for a backend's name.
 */
#ifndef GPUSIG_DEV_H
#define GPUSIG_DEV_H

#include "device/dev_collectives.h"
#include "device/dev_gemm.h"
#include "device/dev_links.h"
#include "device/dev_lists.h"
#include "device/dev_numa.h"
#include "device/dev_telemetry.h"
#include "device/dev_tracking.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dev_mem {
	DEV_MEM_DEVICE,   /* nearest to the units */
	DEV_MEM_PINNED,   /* host memory that engines and kernels reach directly */
	DEV_MEM_PAGEABLE, /* ordinary host memory; needs DEV_CAP_PAGEABLE */
};

/* Rates as the data sheet states them, for shares: dense, of all units. The clock is the one that
 * the data sheet's rate is of, where it is known to be another than the highest one that the driver
 * tells. 0: unknown. */
struct dev_nominal {
	/* flop/s by type, of integers op/s, of the units that multiply matrices of it: matrix
	 * units, or those of kernels fma_* */
	double gemm_flops[DEV_TYPES];
	double fma_flops_f32, fma_flops_f64; /* of kernels fma_*: without matrix units */
	double memory_bandwidth;             /* byte/s, of reads and writes together */
	/* The units may run at a higher clock than the data sheet's, so that a higher rate than
	 * those of flops is not an error. Memory does not. */
	bool clock_varies;
	char unknown[160]; /* why a rate is unknown, or "" */
};

/* Stream priorities lie between low and high; a larger number is more urgent. Numbers of blocks
 * are those of a kernel that needs few registers (blocking_kernel), with block_threads threads and
 * no shared memory; for any other kernel see dev_occupancy() and dev_wave_blocks(). */
struct dev_props {
	char name[256]; /* as the platform calls it */
	/* Name of a model and a hash of its contents, both without what a spec changes; or "" */
	char model[64], model_contents[20];
	char bus[32];     /* PCI address, or "" */
	char driver[128]; /* driver or library version, or "" */
	char arch[32];    /* what kernels are compiled for: "sm_90", "gfx90a", or "" */
	char blas[512];   /* BLAS library, version and kernel set in use, or "" */
	char shares[512]; /* what this device shares with others or with the harness, or "" */
	uint32_t caps;    /* DEV_CAP_* that are usable now */
	uint32_t units;   /* SMs, CUs, or cores with a worker */
	uint32_t slots_per_unit; /* max blocks resident on one unit */
	uint32_t copy_engines;   /* 0: dev_copy() runs on the units */
	uint32_t block_threads;  /* a good block size; 1 where blocks have one thread */
	uint32_t busy_blocks;    /* min blocks that keep every unit busy; as the grid of another
				    kernel they may be more than one wave */
	uint32_t max_queued;     /* operations that a stream takes without waiting */
	uint32_t queues;         /* most hardware queues that streams share; 0: unknown, or none */
	uint64_t memory_bytes;   /* DEVICE memory that may be allocated now */
	uint64_t shared_per_unit_bytes;    /* pool that resident blocks divide */
	uint64_t shared_per_block_bytes;   /* max that one block may claim */
	uint64_t shared_granularity_bytes; /* a claim is rounded up to a multiple; at least 1 */
	uint64_t shared_reserved_bytes;    /* added to every claim before rounding */
	/* Per unit; 0 if there is none or it is unknown. An L2 that several units share counts in
	 * equal parts. With DEV_CAP_CARVEOUT l1_bytes is the
	 * whole memory that the unit divides: inferred, as no driver tells it, and more than any
	 * kernel has as cache. */
	uint64_t l1_bytes, l2_bytes;
	uint64_t llc_bytes; /* last-level cache, all that the device has of it: a footprint of
			       several times as much comes from memory */
	int priority_low, priority_normal, priority_high;
	/* Bit sets of 1u << enum dev_type: */
	uint32_t gemm_types;         /* dev_gemm() by the library */
	uint32_t gemm_tiled_types;   /* dev_gemm() with `tiled` */
	bool scale_tiles;            /* dev_scale_index() */
	uint32_t gemm_fast_types;    /* dev_gemm() with `fast_accumulation` */
	uint32_t gemm_adding_types;  /* dev_gemm() with `tiled` and `adds` */
	uint32_t gemm_grouped_types; /* dev_gemm() with `groups`; none that has scales */
	uint32_t fma_peak_types; /* those of gemm_types whose GEMMs are multiplied by the units of
				    kernel fma_*, so that its rate bounds theirs. No API says so:
				    a GPU with GEMMs of narrow types is assumed to have matrix
				    units and to use them for every type */
	uint32_t mma_types;      /* kernels mma_* (device/kernels.h) */
	uint32_t wgmma_types;    /* kernels wgmma_* */
	uint32_t mma_peak_types; /* those of mma_types that are known to reach the units' peak;
				    all of wgmma_types do */
	struct dev_nominal nominal;
	/* A rough rate in flop/s of f32 and of f64 without matrix units, of counts and the highest
	 * clock, which every GPU has. For choosing sizes, as a measured rate would choose another
	 * size in another run. */
	double sizing_flops, sizing_flops_f64;
	double launch_limit_s; /* the system stops a kernel that runs for longer; 0: it does not */
	uint32_t gemm_tile_rows; /* rows of C in a block of a tiled GEMM; done_rows is a multiple */
	uint32_t pass_block_bytes; /* of dev_pass_blocks(), for a block; 0: a wave is as fast */
};

/* Takes the value of a model's key: `word`, or `number` where that is NULL. */
typedef void dev_model_put(void *context, const char *key, const char *word, double number);

struct dev;
struct dev_stream;
struct dev_event;
struct dev_kernel;
struct dev_graph;

/* A kernel's grid and arguments. args[i] points at the i-th argument as device/kernels.h lists
 * them; they are copied before dev_launch() returns. */
struct dev_launch {
	uint32_t grid;         /* blocks, at least 1 */
	uint32_t block;        /* threads in a block; 0: props.block_threads */
	uint64_t shared_bytes; /* dynamic shared memory per block; above the limit is -EINVAL */
	const void *const *args;
	/* With DEV_CAP_CARVEOUT: first-level cache and shared memory share one memory. true: all of
	 * it that the blocks do not claim is to be cache; false: as much as possible is to be
	 * shared memory. A hint, ignored without the capability. A unit may have to end blocks of
	 * one setting before it takes blocks of the other, so give launches that are to run at the
	 * same time the same setting. */
	bool prefer_cache;
};

/* A handle that another process may import; its bytes have no meaning to the caller. */
struct dev_ipc {
	unsigned char bytes[64];
};

/* ------------------------------------------------------------------ devices */

/* A list of devices as users write it: NAME, NAME:I, NAME:I,J or NAME:I-J. NAME is a backend
 * ("host", "sim", ...). A backend may take a model in between: "sim:MODEL:0-3". A model ends at its
 * first colon, or if it has a '?', at the last one that only indices follow.
 * host divides this machine's cores evenly among the devices listed: "host:0,1" is two devices of
 * half the cores each. Its indices must be 0..n-1. */
#define DEV_MAX 64

/* A bit of `want`, beside DEV_CAP_*: check for "Misuse". For tests, and to find a program's
 * mistake; never while something is measured. Devices that share memory are all opened with it or
 * all without. */
#define DEV_CHECKED (UINT32_C(1) << 31)

/* Bits that programs add to `want`: DEV_CHECKED in a build with a sanitizer or for debugging, else
 * 0. */
extern const uint32_t dev_want_by_build;

struct dev_set {
	size_t count;
	struct dev *dev[DEV_MAX];
	struct dev_comm *comm[DEV_COMM_POLICIES];    /* of dev_comm_find() */
	struct err_first no_comm[DEV_COMM_POLICIES]; /* why there is none */
};

/* Open every device of `spec`, each warm and ready. `want` holds the DEV_CAP_* that the caller will
 * use, and DEV_CHECKED: a backend may skip preparing others (opening a BLAS takes long). A wanted
 * capability that is missing does not fail the open; its bit is not set in props.caps, and
 * dev_lack_reason() may tell why. -EINVAL: malformed spec or unknown backend. -ENODEV: the backend
 * has no such device here; the text lists what there is. Blocking. */
int dev_open(const char *spec, uint32_t want, struct dev_set *set_p);

/* A file that a device reads; the caller's, of dev_file_open(). */
struct dev_file {
	int file;
	void *handle; /* the backend's */
	char how[96]; /* what reads it: "cuFile 1.14 with nvidia-fs 2.26", or "" */
};

/* Work may still be queued: it ends first. Waits for values that block it are released, also those
 * of another open device whose streams block this one's. */
void dev_close(struct dev_set *set);

/* One entry per built-in backend, for messages and `--list`: name, number of devices usable now,
 * and why there is none. Fills at most `capacity` and returns how many there are. */
struct dev_backend_info {
	const char *name;
	unsigned devices;
	char why[ERR_TEXT]; /* "" when devices > 0 */
};
size_t dev_backends(struct dev_backend_info *info, size_t capacity);

/* The models that specs of a backend may name: "default, quiet, ..."; NULL: it takes none. */
const char *dev_backend_models(const char *backend);

/* ------------------------------------------------------------------ the table a backend fills
 *
 * Programs never touch it; they call the functions below. */
struct dev_ops {
	const char *name;
	bool always_checked; /* its operations check for misuse, with DEV_CHECKED or without */
	const char *models;  /* that a spec may name, for messages; NULL: it takes none */
	/* int f(void) of MPI libraries: 1 where messages may be in DEVICE memory. Or NULL. */
	const char *const *mpi_queries;
	/* The environment variable by which the driver selects the devices of a process, or parts
	 * of devices; NULL: there is none. */
	const char *selecting_variable;
	/* Files of dev_peer_memory_file(), NULL behind the last one; NULL: there are none. */
	const char *const *peer_memory_files;

	/* Required. */
	/* Number of devices usable now; if 0, returns success with the reason in err_text(). */
	int (*probe)(unsigned *count_p);
	/* Open device `index`; the spec lists `count` devices. `model` is the text between the
	 * colons, or NULL. The devices of one dev_set are opened in order. */
	int (*open)(const char *model, unsigned index, unsigned count, uint32_t want,
		    struct dev **dev_p);
	void (*close)(struct dev *dev);
	uint64_t (*clock_ns)(struct dev *dev);
	int (*alloc)(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p);
	int (*free)(struct dev *dev, void *ptr);
	int (*copy)(struct dev *dev, struct dev_stream *s, void *dst, const void *src,
		    uint64_t bytes);
	int (*fill)(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes);
	int (*stream_open)(struct dev *dev, int priority, struct dev_stream **s_p);
	void (*stream_close)(struct dev *dev, struct dev_stream *s);
	int (*stream_sync)(struct dev *dev, struct dev_stream *s);
	/* -EAGAIN: work is left in the stream, or it is being captured. Does not wait. */
	int (*stream_query)(struct dev *dev, struct dev_stream *s);
	int (*stream_wait)(struct dev *dev, struct dev_stream *s, struct dev_event *e);
	int (*event_open)(struct dev *dev, struct dev_event **e_p);
	void (*event_close)(struct dev *dev, struct dev_event *e);
	int (*event_record)(struct dev *dev, struct dev_stream *s, struct dev_event *e);
	int (*event_query)(struct dev *dev, struct dev_event *e);
	int (*event_sync)(struct dev *dev, struct dev_event *e);
	int (*event_elapsed_ns)(struct dev *dev, struct dev_event *from, struct dev_event *to,
				double *ns_p);
	int (*kernel_find)(struct dev *dev, const char *name, struct dev_kernel **k_p);
	int (*occupancy)(struct dev *dev, struct dev_kernel *k, uint32_t block,
			 uint64_t shared_bytes, uint32_t *blocks_p);
	int (*launch)(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
		      const struct dev_launch *l);

	/* Optional: NULL where the backend lacks the operation. */
	void (*reseed)(struct dev *dev, uint64_t seed);
	int (*copy_batch)(struct dev *dev, struct dev_stream *s, size_t count, void *const *dsts,
			  const void *const *srcs, const uint64_t *bytes);
	/* NULL where a file needs nothing but to be open. */
	int (*file_open)(struct dev *dev, struct dev_file *f);
	void (*file_close)(struct dev *dev, struct dev_file *f);
	int (*file_read)(struct dev *dev, struct dev_stream *s, const struct dev_file *f,
			 uint64_t offset, void *dst, uint64_t bytes);
	int (*clock_rate)(struct dev *dev, double *hz_p);
	int (*stream_units)(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count);
	int (*wait_value)(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
	int (*write_value)(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
	int (*post_value)(struct dev *dev, uint32_t *at, uint32_t value);
	int (*gemm)(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g);
	int (*gemm_occupancy)(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p);
	int (*gemm_prepare)(struct dev *dev, const struct dev_gemm *g);
	int (*gemm_chosen)(struct dev *dev, const struct dev_gemm *g,
			   struct dev_gemm_choice *choice_p);
	int (*peer_enable)(struct dev *dev, struct dev *other);
	int (*graph_begin)(struct dev *dev, struct dev_stream *s);
	int (*graph_end)(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p);
	int (*graph_launch)(struct dev *dev, struct dev_stream *s, struct dev_graph *g);
	void (*graph_close)(struct dev *dev, struct dev_graph *g);
	/* These five go together. */
	int (*comm_open)(struct dev *const *devs, size_t count, enum dev_comm_policy policy,
			 struct dev_comm **comm_p);
	void (*comm_close)(struct dev_comm *comm);
	int (*comm_alloc)(struct dev_comm *comm, uint64_t bytes, void **ptrs);
	int (*comm_free)(struct dev_comm *comm, void *const *ptrs);
	int (*collective)(struct dev_comm *comm, enum dev_collective what,
			  struct dev_stream *const *streams, float *const *from, float *const *to,
			  uint64_t count);
	int (*ipc_export)(struct dev *dev, void *ptr, struct dev_ipc *handle_p);
	int (*ipc_import)(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes,
			  void **ptr_p);
	int (*telemetry_read)(struct dev *dev, struct dev_telemetry *samples, size_t *count_p);
	/* These two go together. */
	size_t (*numa_nodes)(struct dev *dev, uint32_t *nodes, size_t capacity);
	int (*alloc_on_node)(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p);
	int (*links_read)(struct dev *dev, struct dev_links *links);
	int (*path_read)(struct dev *dev, struct dev *other, struct dev_path *path);
	int (*health_read)(struct dev *dev, struct dev_telemetry *samples, size_t *count_p);
	/* Give `put` every key of a model, as the spec changes it. */
	void (*model_read)(struct dev *dev, dev_model_put *put, void *context);
	const struct dev_tracking_ops *tracking; /* where a capability of its is set */
};

/* First member of every backend's own device struct. */
struct dev {
	const struct dev_ops *ops;
	struct dev_checks *checks; /* of device/dev_checked.c; NULL without DEV_CHECKED */
	unsigned index;
	struct dev_props props;
	char lacks[DEV_CAP_COUNT][ERR_TEXT]; /* of dev_lack_reason() */
};

/* ------------------------------------------------------------------ what programs call
 *
 * An operation marked [optional] is -ENOTSUP where the backend lacks it. */

static inline const struct dev_props *dev_props(const struct dev *d) { return &d->props; }
static inline bool dev_can(const struct dev *d, uint32_t caps)
{
	return (d->props.caps & caps) == caps;
}

/* Reason why the device lacks a capability that was wanted when it was opened; "" if the backend
 * gives none. */
static inline const char *dev_lack_reason(const struct dev *d, enum dev_cap_bit bit)
{
	return d->lacks[bit];
}

/* The present time on the clock of event stamps. Monotonic; virtual on a simulated device. */
static inline uint64_t dev_clock_ns(struct dev *d) { return d->ops->clock_ns(d); }

/* In virtual time, make the times of later operations, their random part included, depend on `seed`
 * and on later calls alone. Idle devices only. No effect elsewhere. */
static inline void dev_reseed(struct dev *d, uint64_t seed)
{
	if (d->ops->reseed)
		d->ops->reseed(d, seed);
}

/* The core clock achieved at this moment on a unit that is kept busy for about a millisecond.
 * [optional] */
int dev_clock_rate(struct dev *d, double *hz_p);

/* Allocate memory, aligned to at least 256 bytes, with undefined contents. -ENOMEM: not enough
 * memory. -EINVAL: 0 bytes. -ENOTSUP: the device lacks this kind of memory. */
int dev_alloc(struct dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p);

/* NULL is accepted. The caller has synchronised: no queued work and no graph uses the memory.
 * The parentheses protect the slot from a macro called free, such as a simulator's. */
static inline int dev_free(struct dev *d, void *ptr) { return (d->ops->free)(d, ptr); }

/* Enqueue a copy on a copy engine; the direction follows from the addresses. Ranges must not
 * overlap. */
static inline int dev_copy(struct dev *d, struct dev_stream *s, void *dst, const void *src,
			   uint64_t bytes)
{
	return d->ops->copy(d, s, dst, src, bytes);
}

/* Enqueue `count` copies, 1 to DEV_BATCH_MAX of at least one byte each, by one call: as dev_copy()
 * each, but in any order, and in any number of queue entries up to `count`. What one writes no
 * other reads or writes. -EINVAL: such a count or size, or ranges that overlap; then nothing is
 * enqueued. -ENOTSUP: while the stream is captured. [optional]
 *
 * DEV_BATCH_MAX is ours: AMD's runtime of 7.15 faults on more than 8192 copies. */
#define DEV_BATCH_MAX 256
int dev_copy_batch(struct dev *d, struct dev_stream *s, size_t count, void *const *dsts,
		   const void *const *srcs, const uint64_t *bytes);

/* Enqueue a fill of DEVICE or PINNED memory that the device reaches, by what the backend fills
 * with; one queue entry. */
static inline int dev_fill(struct dev *d, struct dev_stream *s, void *dst, uint8_t byte,
			   uint64_t bytes)
{
	return d->ops->fill(d, s, dst, byte, bytes);
}

/* `file` is open for direct reads (O_DIRECT) and stays so until dev_file_close(), which comes
 * before dev_close(). May take any time. -ENOTSUP: the device cannot read it past the host's
 * memory; the text says why. [optional] */
int dev_file_open(struct dev *d, int file, struct dev_file *f);
/* After all reads. Nothing if it was not opened. */
void dev_file_close(struct dev *d, struct dev_file *f);

/* Enqueue a read of `bytes` of the file from `offset` on into DEVICE memory, past the page cache
 * and the host's memory; one queue entry. A file that ends before is -EIO of the next sync. A
 * backend may wait for all that is queued in the stream, and read before it returns; -EIO, or what
 * failed in the stream, is then the result of this call. So reads at once take a thread and a
 * stream each, and the first read into an allocation may take any time. In virtual time it may be
 * PINNED memory, elsewhere that is -ENOTSUP. -EINVAL: 0 bytes. [optional] */
int dev_file_read(struct dev *d, struct dev_stream *s, const struct dev_file *f, uint64_t offset,
		  void *dst, uint64_t bytes);

/* Copy between ordinary host memory and device memory through a pinned buffer, and wait. For setup
 * and checks only, never timed. */
int dev_upload(struct dev *d, void *dst, const void *src, uint64_t bytes);
int dev_download(struct dev *d, void *dst, const void *src, uint64_t bytes);

/* A new stream without any implicit order to others. A priority outside the device's range is
 * -EINVAL. */
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
static inline int dev_stream_sync(struct dev *d, struct dev_stream *s)
{
	return d->ops->stream_sync(d, s);
}

/* Blocks of later launches and GEMMs of the stream start on units [first, first + count) alone,
 * beside those of other streams; on all units, as at first, where these are all. A library does not
 * know: it cuts a GEMM as for the whole device. Idle streams only: else -EBUSY. May take any time.
 * -EINVAL: there are no such units. -ENOTSUP: the device cannot divide its units there, and the
 * text says where it can. Which units of the hardware these are is up to the device, but the same
 * numbers are always the same units. DEV_CAP_UNIT_MASK. [optional] */
int dev_stream_units(struct dev *d, struct dev_stream *s, uint32_t first, uint32_t count);

/* Later work of the stream starts after the record that is the event's latest at this call; the
 * host does not wait. An event that was never recorded counts as complete. */
static inline int dev_stream_wait(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	return d->ops->stream_wait(d, s, e);
}

static inline int dev_event_open(struct dev *d, struct dev_event **e_p)
{
	return d->ops->event_open(d, e_p);
}
static inline void dev_event_close(struct dev *d, struct dev_event *e)
{
	if (e)
		d->ops->event_close(d, e);
}

/* Enqueue a time stamp, taken when everything before it in the stream is done. Recording again
 * replaces it. */
static inline int dev_event_record(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	return d->ops->event_record(d, s, e);
}

/* 0 when the latest record is complete, -EAGAIN when not yet. Does not wait. Never recorded:
 * -EINVAL. */
static inline int dev_event_query(struct dev *d, struct dev_event *e)
{
	return d->ops->event_query(d, e);
}

/* Wait for the latest record. Never recorded: -EINVAL. */
static inline int dev_event_sync(struct dev *d, struct dev_event *e)
{
	return d->ops->event_sync(d, e);
}

/* Device time between two completed records; -EAGAIN when one is not complete, -EINVAL when never
 * recorded. */
static inline int dev_event_elapsed_ns(struct dev *d, struct dev_event *from, struct dev_event *to,
				       double *ns_p)
{
	return d->ops->event_elapsed_ns(d, from, to, ns_p);
}

/* Later work of the stream starts once *at >= value. `at` lies in PINNED or DEVICE memory and is
 * written only by dev_write_value(), dev_post_value(), or a kernel or GEMM (seen at the latest when
 * its block ends). The host itself may also write a PINNED word where it must not call a driver,
 * unless the device has DEV_CAP_HOST_ACCESS or virtual time. In this call and the next two, values
 * above DEV_VALUE_MAX are -EINVAL: vendors compare them in different ways. [optional] */
#define DEV_VALUE_MAX UINT32_C(0x7fffffff)
int dev_wait_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value);

/* Enqueue *at = value, after all earlier work of the stream is visible. [optional] */
int dev_write_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value);

/* Write *at = value from the host, at once and visible to waiting streams and polling kernels.
 * [optional]
 *
 * Without DEV_CAP_VALUE_IN_QUEUE a stream that waits for a value is a block of one thread, which
 * holds a slot and polls. A stream's write, and a post to DEVICE memory, are such blocks too. Each
 * starts once a slot is free, and the post returns then. So a program that holds slots leaves one
 * free for every stream that waits or writes meanwhile, counts on one slot less next to a waiting
 * stream, and posts to PINNED memory, which never takes a slot. */
int dev_post_value(struct dev *d, uint32_t *at, uint32_t value);

/* A kernel of device/kernels.h by name. -ENOENT: the backend has no kernel of that name, or this
 * device lacks it. */
static inline int dev_kernel_find(struct dev *d, const char *name, struct dev_kernel **k_p)
{
	return d->ops->kernel_find(d, name, k_p);
}

/* Blocks of this kernel that one unit holds at once: the minimum of slots_per_unit, what the
 * kernel's registers allow, and floor(shared_per_unit / claim). The claim is shared_reserved +
 * shared_bytes, rounded up to the granularity. More than shared_per_block_bytes is -EINVAL. Never
 * increases with shared_bytes. */
static inline int dev_occupancy(struct dev *d, struct dev_kernel *k, uint32_t block,
				uint64_t shared_bytes, uint32_t *blocks_p)
{
	return d->ops->occupancy(d, k, block, shared_bytes, blocks_p);
}

/* One wave of this kernel, with block_threads and without shared memory: the blocks that keep every
 * unit busy and are all resident at once, units * dev_occupancy() but at most busy_blocks. 0, with
 * err_text(), if the device cannot tell; no launch accepts a grid of 0. Cheap enough for timed
 * code.
 */
uint32_t dev_wave_blocks(struct dev *d, struct dev_kernel *k);

/* The grid of kernels *_once (device/kernels.h) with which they go over arrays of so many bytes in
 * memory faster than one wave of other kernels does: one vector a thread, unless that were more
 * threads than 32 bits count. 0: a wave is as fast on this device. */
uint32_t dev_pass_blocks(const struct dev *d, uint64_t bytes);

/* Enqueue a kernel. Pending blocks of a higher-priority stream start before pending blocks of a
 * lower one; running blocks are never interrupted. Within one priority the device chooses the order
 * among streams: host and sim start first what became ready first; no vendor promises it. */
static inline int dev_launch(struct dev *d, struct dev_stream *s, struct dev_kernel *k,
			     const struct dev_launch *l)
{
	return d->ops->launch(d, s, k, l);
}

/* Let operations of each of the two devices use memory of the other. May be repeated. The first
 * call for two devices may copy a little between them, and allocates for that. -EIO: such a copy
 * hangs; both devices are then lost. [optional] */
int dev_peer_enable(struct dev *d, struct dev *other);

/* Capture a graph: what is enqueued on `s` between begin and end is captured and not run. Meanwhile
 * no call on the device is allowed but those that enqueue on `s`. A launch runs the whole graph as
 * one operation; a graph may be launched any number of times. Memory that it uses is freed after
 * it is closed. Copies of PAGEABLE memory, batches and events cannot be captured, values only
 * with DEV_CAP_VALUE_IN_QUEUE. An operation that fails is not captured. -EINVAL: begin during a
 * capture, or end without one. The caller has synchronised before dev_graph_close(). [optional] */
int dev_graph_begin(struct dev *d, struct dev_stream *s);
int dev_graph_end(struct dev *d, struct dev_stream *s, struct dev_graph **g_p);
int dev_graph_launch(struct dev *d, struct dev_stream *s, struct dev_graph *g);
void dev_graph_close(struct dev *d, struct dev_graph *g); /* NULL is accepted */

/* Share an allocation of DEVICE memory, from its beginning, with another process that has the same
 * device open. The importing device treats it as its own memory; give it back with dev_free(). The
 * exporter frees it last. A handle of no live allocation is an error. [optional] */
int dev_ipc_export(struct dev *d, void *ptr, struct dev_ipc *handle_p);
int dev_ipc_import(struct dev *d, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p);

#endif
