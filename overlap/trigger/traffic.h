/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a ring reduce-scatter behind a product moves through each GPU's memory, counted chunk by chunk: a MODEL of T3's hardware
 * (arXiv 2401.16677), which no device here has, beside the sequential way. Nothing of it is measured.
 *
 * N GPUs each make n bytes of partial sums in N chunks; GPU i hands on to i-1, and chunk i of the sum ends at GPU i.
 *   sequential  the product is written, then N-1 steps: the sender reads its chunk, and from the second step on also what came
 *               in, the receiver writes what comes; the owner reads both and writes the sum.
 *   T3          GPU i starts with chunk i+1 (stagger), whose stores go straight to its neighbour; later chunks are stored at
 *               home. Memory adds what is written to what is there. A chunk that has its two updates, its own and the
 *               neighbour's, is handed on by DMA, which reads it once; the last one stays.
 * In units of n: reads (2N-1)/N and (N-2)/N, writes 2 and 2(N-1)/N.
 */
#ifndef GPUSIG_TRAFFIC_H
#define GPUSIG_TRAFFIC_H

#include "lib/rng.h"

#include <stdbool.h>

#define TRAFFIC_MOST_GPUS 64u

enum traffic_way { TRAFFIC_SEQUENTIAL, TRAFFIC_T3 };

/* In chunks, of one GPU. */
struct traffic {
	uint32_t reads, writes;       /* of its memory, by whomever */
	uint32_t by_store, by_dma;    /* handed on by the product's own stores, and by a copy */
	uint32_t kept;                /* complete here at the end: every GPU's part exactly once */
	uint32_t crossed;             /* the link to the next GPU */
	uint32_t early, again;        /* chunks handed on before they had all updates, or more than once: always 0 */
};

/* Play it through in an order that `rng` draws among all that could happen next. count[gpus] is set. 2 to TRAFFIC_MOST_GPUS:
 * else -EINVAL. */
int traffic_count(enum traffic_way way, uint32_t gpus, struct rng *rng, struct traffic *count);

#endif
