/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory traffic of a ring reduce-scatter after a GEMM, for each GPU, counted chunk by chunk: a
 * MODEL of T3's hardware (arXiv 2401.16677), which no device here has, and of the sequential
 * design. Nothing of it is measured.
 *
 * N GPUs each compute n bytes of partial sums in N chunks; GPU i forwards to GPU i-1, and the sum
 * of chunk i ends at GPU i.
 *
 *     sequential  The GEMM is written, then N-1 steps follow. The sender reads its own chunk, and
 *                 from the second step on also what it received; the receiver writes what it
 *                 receives; the owner reads both and writes the sum.
 *     T3          GPU i starts with chunk i+1 (stagger), whose stores go directly to its
 *                 neighbour; later chunks are stored locally. Memory adds what is written to what
 *                 it holds. A chunk with both updates, its own and the neighbour's, is forwarded
 *                 by DMA, which reads it once; the last chunk stays.
 *
 * In units of n: reads (2N-1)/N and (N-2)/N, writes 2 and 2(N-1)/N.
 */
#ifndef GPUSIG_T3_TRAFFIC_H
#define GPUSIG_T3_TRAFFIC_H

#include "lib/rng.h"

#include <stdbool.h>

#define T3_TRAFFIC_MAX_GPUS 64u

enum t3_traffic_design { T3_TRAFFIC_SEQUENTIAL, T3_TRAFFIC_T3 };

/* Counts of chunks, for one GPU. */
struct t3_traffic {
	uint32_t reads, writes;    /* of its memory, by any GPU */
	uint32_t by_store, by_dma; /* forwarded by the GEMM's stores, and by a copy */
	uint32_t kept;            /* complete here at the end, with every GPU's part exactly once */
	uint32_t over_link;       /* sent over the link to the next GPU */
	uint32_t early, repeated; /* forwarded before all updates, or more than once: always 0 */
};

/* Simulates the ring; `rng` chooses the next event among all possible ones. Sets count[gpus]. gpus
 * must be 2 to T3_TRAFFIC_MAX_GPUS, else -EINVAL. */
int t3_traffic_count(enum t3_traffic_design design, uint32_t gpus, struct rng *rng,
		     struct t3_traffic *count);

#endif
