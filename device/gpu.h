/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs: one backend over a table of driver functions, which a vendor's dialect fills.
 *
 *   cuda.c, hip.c      the dialects: the driver's own functions, opened with dlopen, behind struct gpu_driver
 *   cuda_*.c, hip_*.c  the vendor's other libraries, one each: run-time compiler, BLAS, management, collectives
 *   *_abi.h            the declarations of a vendor's stable ABI that we use; tests/abi holds them against the real headers
 *   gpu.c              open, close, properties
 *   gpu_memory.c       allocations, and which queued work uses which
 *   gpu_queue.c        streams and events
 *   gpu_work.c         copies, fills, values, graphs
 *   gpu_kernels.c      compiling, finding and launching kernels; occupancy
 *   gpu_mma.c          what the loops of matrix multiply-adds are good for
 *   gpu_gemm.c         matrix products: the vendor's library, and our tiles
 *   gpu_autotune.c     which of the library's algorithms is the fastest for a product
 *   gpu_time.c         the device's timer on the host's clock; the core clock; readings
 *   gpu_crew.c         the vendor's collectives
 *   kfd_topology.c     the caches of AMD's GPUs, as the kernel tells
 *   kernels.cu         device/kernels.h, and what the backend itself runs, in CUDA C for both vendors
 *
 * The rules of a dialect. Every function returns 0 or -errno, and leaves with err_note() which of the vendor's functions
 * failed and what the vendor calls the error: "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)". -EAGAIN is "not
 * ready", -ENOMEM out of memory, -ENOTSUP what the device or driver lacks, -EIO everything after which the context is lost,
 * -EINVAL what the caller got wrong. It keeps no state but the open libraries: no caching, no locks, no decisions. Functions
 * that may be NULL say so. All are called with the device's context current, unless stated otherwise.
 *
 * Pointers and handles are the vendor's own, passed through as void *; device pointers too, since the host's address space is
 * the device's (unified addressing), and a device without it is refused at open.
 */
#ifndef GPUSIG_GPU_H
#define GPUSIG_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/dev.h"
#include "device/kernel_signature.h"

/* Threads of a block where the caller leaves the choice to us. */
#define GPU_BLOCK_THREADS 256u

/* What a driver says of a device. 0, "" and -1 for numa_node: it does not say. */
struct gpu_traits {
	char name[96], bus[32], driver[64];
	char arch[32]; /* as the run-time compiler takes it: "sm_90", "gfx90a:sramecc+:xnack-" */
	uint32_t units, copy_engines, warp_threads;
	uint32_t threads_per_unit, blocks_per_unit, threads_per_block;
	uint64_t memory_bytes, l2_bytes;
	uint64_t llc_bytes; /* what lies behind the L2 in front of memory; 0: nothing, or it is unknown */
	double timer_hz; /* of ticks() in kernels.cu */
	int driver_version; /* as struct gpu_target has it */
	uint64_t shared_per_unit_bytes;
	uint64_t shared_per_block_bytes; /* dynamic, after opting in */
	uint64_t shared_reserved_bytes, shared_granularity_bytes;
	int numa_node;
	int priority_least, priority_greatest; /* as the vendor counts: least >= greatest */
	bool unified_addressing, wait_value, ipc;
	bool value_takes_slot; /* streams wait for and write values by blocks of one thread */
};

/* From where to where a copy goes; a vendor may have a function, or a hint, for each. */
enum gpu_direction { GPU_UP, GPU_DOWN, GPU_LOCAL, GPU_PEER, GPU_WITHIN_HOST };

struct gpu_driver {
	/* Open the driver's libraries and start the driver; once in a process, later calls repeat the answer. Needs no context.
	 * -ENODEV with a text that tells apart: no library; a library without a device; a function missing (which); a
	 * driver that is too old (its version and the least we take). */
	int (*load)(void);
	int (*count)(unsigned *count_p);                               /* no context */
	int (*traits)(unsigned index, struct gpu_traits *traits_p);
	int (*context_open)(unsigned index, void **context_p);         /* no context; shared by all opens of a device */
	void (*context_close)(unsigned index, void *context);
	int (*context_use)(unsigned index, void *context);             /* make it the calling thread's */

	int (*memory_free_bytes)(uint64_t *bytes_p);
	int (*alloc)(uint64_t bytes, void **ptr_p);
	int (*free)(void *ptr);
	int (*alloc_pinned)(uint64_t bytes, void **ptr_p);             /* mapped for every device */
	int (*free_pinned)(void *ptr);

	int (*stream_open)(int priority, void **stream_p);             /* the vendor's number; no order with a default stream */
	int (*stream_close)(void *stream);                             /* what is queued goes on */
	int (*stream_sync)(void *stream);
	int (*stream_query)(void *stream);                             /* -EAGAIN: not idle */
	int (*stream_wait)(void *stream, void *event);
	int (*event_open)(void **event_p);
	int (*event_close)(void *event);
	int (*event_record)(void *stream, void *event);
	int (*event_query)(void *event);
	int (*event_sync)(void *event);
	int (*event_elapsed_ms)(void *from, void *to, float *ms_p);

	/* GPU_LOCAL and GPU_PEER ask for a copy engine where the vendor lets one ask: in a stream that is `captured` none does.
	 * GPU_WITHIN_HOST may wait for the stream, and copy, before it returns. */
	int (*copy)(void *stream, void *dst, const void *src, uint64_t bytes, enum gpu_direction direction, bool captured);
	int (*fill)(void *stream, void *dst, uint8_t byte, uint64_t bytes);
	int (*wait_value)(void *stream, uint32_t *at, uint32_t value); /* until *at >= value, unsigned */
	int (*write_value)(void *stream, uint32_t *at, uint32_t value);

	int (*module_load)(const void *image, void **module_p);
	int (*module_unload)(void *module);
	int (*function)(void *module, const char *name, void **function_p);
	/* Let blocks claim this much dynamic shared memory, and prefer shared memory to L1 on the unit. */
	int (*function_allow_shared)(void *function, uint64_t bytes);
	/* NULL where nothing is divided. After function_allow_shared(): prefer L1, whatever blocks do not claim. */
	int (*function_prefer_cache)(void *function);
	int (*function_static_shared)(void *function, uint64_t *bytes_p);
	int (*occupancy)(void *function, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p);
	int (*launch)(void *stream, void *function, uint32_t grid, uint32_t block, uint64_t shared_bytes, void **args);

	int (*capture_begin)(void *stream);                            /* these four may be NULL */
	int (*capture_end)(void *stream, void **graph_p);              /* ready to launch */
	int (*graph_launch)(void *stream, void *graph);
	int (*graph_close)(void *graph);

	int (*peer_can)(unsigned index, unsigned other, bool *can_p);  /* no context */
	int (*peer_enable)(unsigned other, void *other_context);       /* from the current one; done before is no error */
	int (*ipc_export)(void *ptr, struct dev_ipc *handle_p);        /* these three may be NULL */
	int (*ipc_import)(const struct dev_ipc *handle, void **ptr_p);
	int (*ipc_close)(void *ptr);
};

/* What an image is compiled for. */
struct gpu_target {
	const char *arch;   /* as in struct gpu_traits */
	int driver_version; /* of CUDA that the driver is for, 1000 * major + 10 * minor; 0: the driver takes any */
};

/* A vendor's run-time compiler. Needs no device, so it can be tested anywhere. */
struct gpu_compiler {
	/* Compile CUDA C into an image for module_load(), to be freed with free(). Releases of the library that are here are tried
	 * from number *release_p on, newest first, without those too new for the driver; *release_p becomes the one that did it, so
	 * that with one more the next may be asked. -ENODEV: no library (any more). -EINVAL: it does not compile, or the compiler
	 * does not know the architecture, or is too new; the text is the first release's first complaint. */
	int (*compile)(const char *source, const struct gpu_target *target, unsigned *release_p, void **image_p, size_t *bytes_p);
	int (*version)(unsigned release, char *text, size_t room); /* "NVRTC 13.0", of that release or the first one after it */
};

/* A matrix product as a library sees it: column-major, C' = B' A'. */
struct gpu_product {
	enum dev_type type;
	bool first_transposed; /* the first operand is given with its columns as rows */
	bool fast_accumulation;
	uint64_t m, n, k;      /* C is m x n column-major */
	const void *first, *second;
	void *c;
	uint64_t ld_first, ld_second, ld_c;
	double alpha, beta;
	void *workspace;
	uint64_t workspace_bytes;
};

/* A vendor's BLAS. */
struct gpu_blas {
	/* -ENODEV: no library. types_p: 1u << enum dev_type, of what this device can do. */
	int (*open)(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text, size_t room);
	void (*close)(void *blas);
	/* The library's ways to do it, best first by its own guess, as opaque blocks of way_bytes at `ways`; at most `most`. */
	int (*ways)(void *blas, const struct gpu_product *p, void *ways, size_t most, size_t *count_p);
	int (*run)(void *blas, void *stream, const struct gpu_product *p, const void *way);
	void (*describe)(const void *way, char *text, size_t capacity); /* in the library's terms */
	size_t way_bytes;
	uint32_t fast_types;      /* 1u << enum dev_type: those it multiplies also with fast_accumulation */
	uint64_t workspace_bytes; /* of every stream */
};

/* A vendor's management library: what the driver says of the board. Needs no context. */
struct gpu_manager {
	/* Append readings of the device at this PCI address after the first *count_p; what can't be had is appended with its
	 * reason, and all of them where there is no library. */
	int (*read)(const char *bus, struct dev_reading *readings, size_t room, size_t *count_p);
};

/* A vendor's collectives. */
struct gpu_collectives {
	int (*load)(void); /* -ENODEV: no library */
	/* One communicator for each device, in order; -ENODEV: no library. */
	int (*open)(const unsigned *indices, size_t count, void **comms, char *text, size_t room);
	void (*close)(void **comms, size_t count);
	/* Several devices' calls are one operation between begin and end. */
	int (*begin)(void);
	int (*allreduce)(void *comm, void *stream, float *buffer, uint64_t count);
	int (*end)(void);
};

struct gpu_vendor {
	const char *name; /* "cuda" */
	const struct dev_ops *ops;
	const struct gpu_driver *driver;
	const struct gpu_compiler *compiler;
	const char *ready_image; /* of the kernels, made by the build for where there is no compiler; NULL or "": none */
	const struct gpu_blas *blas;
	const struct gpu_manager *manager;
	const struct gpu_collectives *collectives;
};

extern const struct gpu_vendor cuda_vendor, hip_vendor;

/* device/kernels.cu, as text; embedded by device/gpu_source.c. */
extern const char gpu_kernels_source[];

#endif
