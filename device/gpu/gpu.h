/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs: one backend over a table of driver functions (struct gpu_driver), which each vendor fills.
 *
 *   cuda.c, hip.c     the vendor's driver table; cuda_driver.c and hip_driver.c open the library
 *   cuda_*.c, hip_*.c the vendor's other libraries: run-time compiler, BLAS, management, storage
 *   nccl.c            the vendors' collectives, NCCL and RCCL, which share one ABI
 *   *_abi.h           the part of a vendor's stable ABI that we use; tests/abi compares it with the
 *                     vendor's headers
 *   gpu.c             open, close, properties
 *   gpu_memory.c      allocations, and memory of other processes and devices
 *   gpu_queue.c       streams and events
 *   gpu_work.c        copies, fills, values, graphs
 *   gpu_kernels.c     compiling, finding and launching kernels; occupancy
 *   gpu_mma.c         which data types the matrix multiply-add kernels serve
 *   gpu_gemm.c        GEMM: by the vendor's library, and by our tiled kernels
 *   gpu_autotune.c    finds the fastest of the library's algorithms for a GEMM
 *   gpu_time.c        maps the device's timer to the host's clock; core clock; telemetry
 *   gpu_links.c       links, paths to other devices, errors of memory
 *   gpu_files.c       files that the device reads
 *   gpu_comm.c        communicators over the vendor's collectives
 *   kfd_topology.c    cache sizes of AMD GPUs, from the Linux kernel
 *   kernels.cu        device/kernels.h and the backend's own kernels, in CUDA C for both vendors
 *
 * Rules for a driver table. Every function returns 0 or -errno; on failure err_note() has the name
 * of the vendor's function and the vendor's error: "cuMemAlloc_v2: out of memory
 * (CUDA_ERROR_OUT_OF_MEMORY, 2)". -EAGAIN is "not ready", -ENOMEM out of memory, -ENOTSUP what the
 * device or driver lacks, -EIO every error after which the context is lost, -EINVAL an error of the
 * caller. The functions keep no state but the open libraries: no caches, no locks, no decisions.
 * Members that may be NULL say so. Every function needs the device's context to be current, unless
 * stated otherwise.
 *
 * Pointers and handles are the vendor's, passed as void *. Device pointers are too: with unified
 * addressing host and device share one address space, and a device without it is refused at open.
 */
#ifndef GPUSIG_GPU_H
#define GPUSIG_GPU_H

#include "device/dev.h"
#include "device/kernel_signature.h"

#include <pthread.h>
#include <stdatomic.h>

/* The most units that streams may keep to. */
#define GPU_UNITS_MAX 1024u

/* Threads per block where the caller gives none. */
#define GPU_BLOCK_THREADS 256u

/* Properties of a device as the driver reports them. Unknown values are 0, "", and -1 for
 * numa_node. */
struct gpu_traits {
	char name[96], bus[32], driver[64];
	char uuid[64];    /* as the vendor's tools print it: "GPU-...", of a slice "MIG-..." */
	char shares[256]; /* as in struct dev_props */
	char arch[32]; /* as the run-time compiler expects it: "sm_90", "gfx90a:sramecc+:xnack-" */
	uint32_t units, copy_engines, warp_threads;
	uint32_t threads_per_unit, blocks_per_unit, threads_per_block;
	uint32_t queues; /* as in struct dev_props */
	uint64_t memory_bytes, l2_bytes;
	uint64_t llc_bytes;  /* of the cache between the L2 and memory; 0: none, or unknown */
	double timer_hz;     /* rate of ticks() in kernels.cu */
	double clock_max_hz; /* of the units; 0: unknown */
	double memory_clock_hz, memory_bus_bits;
	double transfers_per_clock; /* of a bit of that bus; 0: unknown */
	uint32_t f64_divisor;       /* an f64 multiply-add takes as long as so many of f32 */
	int driver_version;         /* as in struct gpu_target */
	uint64_t shared_per_unit_bytes;
	uint64_t shared_per_block_bytes; /* dynamic, after opting in */
	uint64_t shared_reserved_bytes, shared_granularity_bytes;
	int numa_node;
	int priority_lowest, priority_highest; /* in the vendor's numbers: lowest >= highest */
	bool unified_addressing, wait_value, ipc;
	bool copy_batch;       /* the driver has a function for batches of copies */
	bool kernels_time_out; /* the system stops a kernel that runs for seconds: a display */
	bool is_slice;         /* of a board that others use too: what the management library reads
				  is of the whole board */
	bool coherent_host;    /* as in struct dev_links */
	enum dev_dma_buf dma_buf;
	bool adds_to_host;     /* kernels add reals to pinned memory atomically, among all devices
				  that do */
	bool value_takes_slot; /* streams wait for values and write them by one-thread kernels */
	uint32_t unit_step; /* streams keep to units that begin and end at multiples of it, or end
			       with the last unit; 0: they keep to none */
};

/* The number in an environment variable; 0: there is none. */
uint32_t gpu_queue_limit(const char *variable);

/* Direction of a copy. A vendor may have a function, or a hint, for each. */
enum gpu_copy_direction {
	GPU_COPY_UP,
	GPU_COPY_DOWN,
	GPU_COPY_LOCAL,
	GPU_COPY_PEER,
	GPU_COPY_WITHIN_HOST
};

/* Some of a device's units. */
struct gpu_part {
	uint32_t first, count, units;
};

struct gpu_driver {
	/* Open the driver's library and start the driver, once in a process; later calls return
	 * the same result. Needs no context. -ENODEV with a text that says which: no library, a
	 * library without a device, a missing function (named), or a driver that is too old (its
	 * version and the oldest supported one). */
	int (*load)(void);
	int (*count)(unsigned *count_p); /* needs no context */
	int (*traits)(unsigned index, struct gpu_traits *traits_p);
	/* Needs no context. There is one context per device, shared by all opens. */
	int (*context_open)(unsigned index, void **context_p);
	void (*context_close)(unsigned index, void *context);
	/* Make the context current on the calling thread. */
	int (*context_use)(unsigned index, void *context);

	int (*memory_free_bytes)(uint64_t *bytes_p);
	int (*alloc)(uint64_t bytes, void **ptr_p);
	int (*free)(void *ptr);
	int (*alloc_pinned)(uint64_t bytes, void **ptr_p); /* accessible from every device */
	int (*free_pinned)(void *ptr);
	/* The same of memory that the caller has mapped and touched; -ENOTSUP: kernels would see it
	 * at another address. */
	int (*pin)(void *ptr, uint64_t bytes);
	int (*unpin)(void *ptr);

	/* The priority is in the vendor's numbers. The stream does not wait for the default stream.
	 */
	int (*stream_open)(int priority, void **stream_p);
	/* The same on units [first, first + count) of so many alone; the caller knows unit_step.
	 * -ENOTSUP: not with this priority, or not there. NULL: never. */
	int (*stream_open_on)(unsigned index, int priority, const struct gpu_part *part,
			      void **stream_p);
	int (*stream_close)(void *stream); /* queued work continues */
	int (*stream_sync)(void *stream);
	int (*stream_query)(void *stream); /* -EAGAIN: not idle */
	int (*stream_wait)(void *stream, void *event);
	int (*event_open)(void **event_p);
	int (*event_close)(void *event);
	int (*event_record)(void *stream, void *event);
	int (*event_query)(void *event);
	int (*event_sync)(void *event);
	int (*event_elapsed_ms)(void *from, void *to, float *ms_p);

	/* GPU_COPY_LOCAL and GPU_COPY_PEER request a copy engine where the vendor has a way to do
	 * so; in a stream that is `captured` none has. GPU_COPY_WITHIN_HOST may wait for the stream
	 * and copy before it returns. */
	int (*copy)(void *stream, void *dst, const void *src, uint64_t bytes,
		    enum gpu_copy_direction direction, bool captured);
	/* With traits.copy_batch: as dev_copy_batch(), with the sizes as the vendors take them. The
	 * vendor only reads the arrays, and not after the call. */
	int (*copy_batch)(void *stream, size_t count, void *const *dsts, const void *const *srcs,
			  size_t *bytes);
	int (*fill)(void *stream, void *dst, uint8_t byte, uint64_t bytes);
	/* The stream waits until *at >= value, unsigned. */
	int (*wait_value)(void *stream, uint32_t *at, uint32_t value);
	int (*write_value)(void *stream, uint32_t *at, uint32_t value);

	int (*module_load)(const void *image, void **module_p);
	int (*module_unload)(void *module);
	int (*function)(void *module, const char *name, void **function_p);
	/* Let blocks use this much dynamic shared memory, and set the unit's carveout to shared
	 * memory rather than L1. */
	int (*function_allow_shared)(void *function, uint64_t bytes);
	/* Set the carveout to L1, less the shared memory that blocks use. Called after
	 * function_allow_shared(). NULL where L1 and shared memory are separate. */
	int (*function_prefer_cache)(void *function);
	int (*function_static_shared)(void *function, uint64_t *bytes_p);
	int (*occupancy)(void *function, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p);
	int (*launch)(void *stream, void *function, uint32_t grid, uint32_t block,
		      uint64_t shared_bytes, void **args);

	/* The four functions of graphs may be NULL. */
	int (*capture_begin)(void *stream);
	int (*capture_end)(void *stream, void **graph_p); /* ready to launch */
	int (*graph_launch)(void *stream, void *graph);
	int (*graph_close)(void *graph);

	int (*peer_can)(unsigned index, unsigned other, bool *can_p); /* needs no context */
	/* Gives the current context access to the other device; twice is not an error. */
	int (*peer_enable)(unsigned other, void *other_context);
	/* Sets *adds_p if kernels add reals to the other device's memory atomically, also with that
	 * device itself; needs no context. NULL: never. */
	int (*peer_adds)(unsigned index, unsigned other, bool *adds_p);
	/* The three functions of IPC may be NULL. */
	int (*ipc_export)(void *ptr, struct dev_ipc *handle_p);
	int (*ipc_import)(const struct dev_ipc *handle, void **ptr_p);
	int (*ipc_close)(void *ptr);
};

/* The target of a compilation. */
struct gpu_target {
	const char *arch;   /* as in struct gpu_traits */
	int driver_version; /* the driver's CUDA version, 1000 * major + 10 * minor; 0: the driver
			       accepts every image */
};

/* A vendor's run-time compiler. It needs no device, so it can be tested anywhere. */
struct gpu_compiler {
	/* Compile CUDA C into an image for module_load(); the caller frees it with free(). Tries
	 * the installed releases of the library from number *release_p on, newest first, without
	 * those too new for the driver, and sets *release_p to the one that succeeded;
	 * *release_p + 1 continues after it. -ENODEV: no library, or no further release.
	 * -EINVAL: the source does not compile, the compiler does not know the architecture, or
	 * the compiler is too new; the text is the first error of the first release. */
	int (*compile)(const char *source, const struct gpu_target *target, unsigned *release_p,
		       void **image_p, size_t *bytes_p);
	/* "NVRTC 13.0": the version of that release or of the next installed one. */
	int (*version)(unsigned release, char *text, size_t capacity);
};

/* A GEMM as a library sees it: column-major, C' = B' A'. */
struct gpu_gemm_problem {
	enum dev_type type;
	bool first_transposed; /* the first operand is stored transposed */
	bool fast_accumulation;
	uint64_t m, n, k; /* C is m x n column-major */
	const void *first, *second;
	void *c;
	uint64_t ld_first, ld_second, ld_c;
	double alpha, beta;
	const void *first_scales, *second_scales; /* of types that have them */
	void *workspace;
	uint64_t workspace_bytes;
	void *stream_state; /* of stream_open(), for the stream that run() gets */
};

/* A grouped GEMM as a library sees it: `count` GEMMs as `each`, but for their columns n and their
 * pointers, which are in the device's memory and the host's: all of first, then of second, then of
 * c. */
struct gpu_grouped_problem {
	struct gpu_gemm_problem each;
	uint32_t count;
	int n[DEV_GEMM_GROUPS];
	void *pointers;
	const void *const *host_pointers;
};

/* A vendor's BLAS. */
struct gpu_blas {
	/* -ENODEV: no library. types_p: 1u << enum dev_type, of the supported types. */
	int (*open)(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		    size_t capacity);
	/* `usable`: whether the device still is. The library may end the process where it is not,
	 * so its handles are then left to the end of the process. */
	void (*close)(void *blas, bool usable);
	/* True if GEMMs of a type need a state per stream. The three are NULL where none does. */
	bool (*needs_state)(void *blas, enum dev_type type);
	/* Called before the stream's first such GEMM; may allocate and wait for the device. */
	int (*stream_open)(void *blas, void **state_p);
	void (*stream_close)(void *blas, void *state);
	/* The library's algorithms for the GEMM: at most `capacity` opaque entries of
	 * algorithm_bytes each, written to `algorithms`. First its first choice, then others by its
	 * own estimate, then, from hipBLASLt, any that can run. */
	int (*algorithms)(void *blas, const struct gpu_gemm_problem *p, void *algorithms,
			  size_t capacity, size_t *count_p);
	/* `algorithm` is an entry of algorithms(), or NULL for the library's first choice. */
	int (*run)(void *blas, void *stream, const struct gpu_gemm_problem *p,
		   const void *algorithm);
	/* Describes the algorithm in the library's terms. */
	void (*describe)(const void *algorithm, char *text, size_t capacity);
	size_t algorithm_bytes, max_algorithms; /* max: how many are worth asking for */
	bool scale_tiles;                       /* dev_scale_index() */
	uint32_t fast_types; /* 1u << enum dev_type: types that also support fast_accumulation */
	uint64_t workspace_bytes; /* of every stream */
	/* Grouped GEMMs. The text of an error is why there are none, and no error of the device;
	 * `text` is what multiplies them. The three are NULL where the vendor has none. */
	int (*grouped_open)(void **grouped_p, uint32_t *types_p, char *text, size_t capacity);
	void (*grouped_close)(void *grouped, bool usable);
	/* Any thread may call it. -EINVAL: the operands are not aligned as the library needs. */
	int (*run_grouped)(void *grouped, void *stream, const struct gpu_grouped_problem *p);
};

/* A vendor's management library: telemetry, links and memory errors of the board. Needs no context.
 */
struct gpu_management {
	/* Append samples of the device at this PCI address after the first *count_p. A value
	 * that cannot be read is appended with its reason; without a library that is every
	 * value. */
	int (*read)(const char *bus, struct dev_telemetry *samples, size_t capacity,
		    size_t *count_p);
	/* As device/dev_links.h states, of zeroed results; NUMA nodes are not theirs. What cannot
	 * be read is unknown with its reason; without a library that is everything. */
	void (*links)(const char *bus, struct dev_links *links);
	void (*path)(const char *bus, const char *other_bus, struct dev_path *path);
	void (*health)(const char *bus, struct dev_telemetry *samples, size_t capacity,
		       size_t *count_p);
};

/* A vendor's way from storage to the memory of a device, past the host's. A function may change the
 * current context. Errors are no errors of the device. */
struct gpu_storage {
	/* Needs no context. -ENODEV: no library; -ENOTSUP: none that is used. The others come after
	 * it. */
	int (*load)(void);
	/* Starts the library at the first call. A file that is open for direct reads; `text` is
	 * what reads it. -ENOTSUP: not past the host's memory. */
	int (*file_open)(int file, void **handle_p, char *text, size_t capacity);
	void (*file_close)(void *handle);
	/* Before the first read into memory of the device, and before that is freed. */
	int (*memory_open)(void *start, uint64_t bytes);
	int (*memory_close)(void *start);
	/* Read from `offset` of the file to `at` of such memory, and wait for it. Any thread, with
	 * the device's context current. -EIO: the file ends before. -ENOTSUP: as of file_open(). */
	int (*read)(void *handle, void *start, uint64_t bytes, uint64_t offset, uint64_t at);
};

struct nccl;

struct gpu_vendor {
	const char *name; /* "cuda" */
	const struct dev_ops *ops;
	const struct gpu_driver *driver;
	const struct gpu_compiler *compiler;
	/* Kernels compiled by the build, for machines without a run-time compiler; NULL or "":
	 * none. */
	const char *prebuilt_image;
	const struct gpu_blas *blas;
	const struct gpu_management *management;
	const struct nccl *collectives; /* device/gpu/nccl.h */
	const struct gpu_storage *storage;
};

extern const struct gpu_vendor cuda_vendor, hip_vendor;

/* device/gpu/kernels/kernels.cu as text, embedded by device/gpu/gpu_source.c. */
extern const char gpu_kernels_source[];

#endif
