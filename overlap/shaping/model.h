/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model of the pipeline GEMM_i -> comm_i: its scenarios and bounds, and the metrics that follow
 * from when its parts ran (resource-aware overlap, arXiv 2606.09200). Pure functions; none fails.
 */
#ifndef GPUSIG_MODEL_H
#define GPUSIG_MODEL_H

#include "bench/shape.h"

#include <stdbool.h>

/* More than fit into the queue of a GPU. */
enum { SHAPING_ITERATIONS_MAX = 128 };

/* The paper's GEMMs: compute-bound 8192^3, memory-bound 8192 x 57344 x 8192. Both are divided by
 * the smallest power of two (512 at most) for which the memory-bound one has 2MNK <= max_flops; 0:
 * not divided.
 * A collective's message in either scenario is as long as the result of the memory-bound one: 1792
 * MiB at full size, and 896 MiB in the paper, whose elements have two bytes. */
struct shape shaping_gemm(bool memory_bound, double max_flops);

/* Blocks that fit in a unit's shared memory: floor(pool / claim), where the claim is what a block
 * requests plus what the platform adds, rounded up to the granularity. UINT64_MAX if a block claims
 * nothing. */
uint64_t shaping_residents(uint64_t pool_bytes, uint64_t reserved_bytes, uint64_t granularity_bytes,
			   uint64_t claim_bytes);

/* The minimum of overlapped time / serial time, from the times g and c of one GEMM and one
 * communication alone: (g + (i-1) max(g, c) + c) / (i (g + c)) for i iterations, which falls to
 * max(g, c) / (g + c). */
double shaping_ratio_pipelined(unsigned iterations, double gemm_s, double comm_s);

/* The overlap rate of that pipeline: (i-1) min(g, c) / (g + (i-1) max(g, c) + c). With equal times
 * it is (i-1)/(i+1). */
double shaping_rate_pipelined(unsigned iterations, double gemm_s, double comm_s);

/* When a GEMM or a communication ran, in any unit of time. */
struct shaping_span {
	double begin, end;
};

/* The share of the pipeline's time, from its first begin to its last end, in which a GEMM and a
 * communication both ran. */
double shaping_overlap_rate(const struct shaping_span *gemm, const struct shaping_span *comm,
			    unsigned iterations);

/* The paper's limit of it, (i-1)/i: no GEMM is concurrent with the last communication. */
double shaping_rate_max(unsigned iterations);

/* Did every communication begin after the end of its GEMM, and every GEMM after the end of the
 * communication that used its buffer two iterations before? */
bool shaping_in_order(const struct shaping_span *gemm, const struct shaping_span *comm,
		      unsigned iterations);

#endif
