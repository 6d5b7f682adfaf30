/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GEMM on each of N devices and the ring collectives that follow it (T3, arXiv 2401.16677):
 * reduce-scatter of the results and all-gather of the sums, as kernels do them one after the other,
 * and as the hardware of device/dev_tracking.h does the first during the GEMM.
 *
 * Chunks.    The results have N chunks of rows. Device i forwards to device i - 1; the sum of chunk
 *            j starts at device j - 1 and ends at device j.
 * Kernels.   In step s of N - 1 device i adds what it received to its own chunk i + 1 + s, and
 *            stores the sum in the next device's buffer of that step; in the first step it sends
 *            its own chunk alone. The owner adds last. Kernels stream past the caches (copy_nt,
 *            triad_nt). They add f32 alone: of other types time is right, and results are not.
 * T3.        Device i begins with chunk i + 1 (stagger), whose stores go to device i - 1. Of each
 *            other chunk the tracker waits for two updates a tile, the device's own and the one of
 *            device i + 1, and forwards the tile by a copy that is added. Chunk i stays.
 * Adding.    Reduce-scatter alone, by copies that memory adds: in step s chunk i + 1 + s of C.
 * Order.     Before device i's GEMM starts, its own tracker and that of device i - 1 are armed.
 */
#ifndef GPUSIG_T3_RING_H
#define GPUSIG_T3_RING_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

/* Parts of a graph's work (bit mask), one after the other in this order. It begins on all devices
 * at once. */
enum t3_work {
	T3_GEMMS = 1,
	T3_REDUCE = 2,  /* reduce-scatter by kernels */
	T3_ADD = 4,     /* reduce-scatter by copies that memory adds */
	T3_FUSE = 8,    /* GEMMs with reduce-scatter in hardware */
	T3_FROM_0 = 16, /* every device's fused GEMM begins with chunk 0 */
	T3_GATHER = 32  /* all-gather by kernels */
};

struct t3_device {
	struct dev *dev;
	struct bench_gemm gemm;
	char *inbox;    /* of each step but the last: what the next device in the ring sends */
	char *sum;      /* the own chunk, complete, by kernels */
	char *gathered; /* all chunks */
	struct dev_tracker *tracker;
};

struct t3_ring {
	uint32_t count;
	struct shape shape; /* of each GEMM */
	enum dev_type type;
	uint64_t row_bytes; /* of C */
	struct work_lanes *lanes;
	struct t3_device device[DEV_MAX];
};

/* Tiles of a tracker: a workgroup's, as the paper's counts are by wavefront. */
#define T3_TILE 128u

/* In setup; the case owns everything (bench/bench_alloc.h). Returns its status. -ENOTSUP:
 * kernels take chunks of whole DEV_KERNEL_ALIGN alone, or the devices do not form a ring. */
int t3_ring_open(struct t3_ring *r, struct bench_case *c, const struct shape *shape,
		 enum dev_type type);

/* Rows of C before chunk j; bytes of chunk j. */
uint32_t t3_chunk_row(const struct t3_ring *r, uint32_t j);
uint64_t t3_chunk_bytes(const struct t3_ring *r, uint32_t j);

/* Lanes of one graph, a GEMM's and that of communication on each device. */
struct t3_lanes {
	uint32_t units; /* of each device for communication; 0: all, as for the GEMM */
	uint32_t gemm[DEV_MAX], communication[DEV_MAX];
};

/* New lanes. With units > 0 communication has the first `units` units of each device, and the GEMM
 * the rest. */
void t3_lanes_open(const struct t3_ring *r, struct bench_case *c, uint32_t units,
		   struct t3_lanes *lanes);

/* A prepared graph; NULL after an error of the case. The first one of a kind runs once, so the
 * trackers' memory holds anything. */
struct work_graph *t3_graph(const struct t3_ring *r, struct bench_case *c,
			    const struct t3_lanes *lanes, unsigned work);

#endif
