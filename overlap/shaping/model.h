/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the loop GEMM_i -> comm_i before anything is measured, and what follows from when its parts ran
 * (resource-aware overlap, arXiv 2606.09200). Pure functions; nothing here fails.
 */
#ifndef GPUSIG_SHAPING_MODEL_H
#define GPUSIG_SHAPING_MODEL_H

#include "lib/shape.h"

#include <stdbool.h>

enum { SHAPING_ITERATIONS_MOST = 8 };

/* The paper's products, both divided by the smallest power of two (512 at most) that brings 2MNK of the memory-bound one to at
 * most the flops: compute-bound 8192^3, memory-bound 8192 x 57344 x 8192. */
struct shape shaping_compute_bound(double most_flops);
struct shape shaping_memory_bound(double most_flops);

/* A collective's message in either scenario: the memory-bound result, 896 MiB of two-byte elements where nothing is divided. */
uint64_t shaping_message_bytes(double most_flops, uint64_t element_bytes);

/* Blocks that a unit's shared memory holds: floor(pool / claim), where the claim is what a block asks for and what the platform
 * adds, rounded up to the granularity. UINT64_MAX where a block claims nothing. */
uint64_t shaping_residents(uint64_t pool_bytes, uint64_t reserved_bytes, uint64_t granularity_bytes, uint64_t claim_bytes);

/* The least time of overlapped iterations over that of serial ones, from the isolated times of one product and one
 * communication: of ever so many iterations max / (sum), of so many as there are (g + (i-1) max + c) / (i (g + c)). */
double shaping_ratio_least(double gemm_s, double comm_s);
double shaping_ratio_pipelined(unsigned iterations, double gemm_s, double comm_s);

/* When something ran, in any unit. */
struct shaping_span {
	double begin, end;
};

/* The share of the loop's time, from its first beginning to its last end, in which a product and a communication both ran. */
double shaping_overlap_rate(const struct shaping_span *gemm, const struct shaping_span *comm, unsigned iterations);

/* The paper's limit of it, (i-1)/i: the last communication has no product beside it. */
double shaping_rate_most(unsigned iterations);

/* Did every communication begin after its product had ended, and every product after the communication that used its result
 * two iterations before? */
bool shaping_in_order(const struct shaping_span *gemm, const struct shaping_span *comm, unsigned iterations);

#endif
