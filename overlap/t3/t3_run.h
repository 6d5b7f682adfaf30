/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of overlap/t3, and one timed run of each: caches are emptied first, the memory
 * controllers are set, and the devices' own counters are read before and after.
 */
#ifndef GPUSIG_T3_RUN_H
#define GPUSIG_T3_RUN_H

#include "overlap/t3/t3_ring.h"

/* Identifier, name, what runs, units for communication alone (0: all), whether memory controllers
 * put computing first. Units are of T3's 80 (figure 6). */
#define T3_VARIANTS(V)                                                                             \
	V(GEMM_ALONE, "gemm_alone", T3_GEMM, 0, false)                                             \
	V(RS_ALONE, "reduce_scatter_alone", T3_REDUCE_SCATTER, 0, false)                           \
	V(RS_ADDING, "reduce_scatter_adding", T3_REDUCE_SCATTER_ADDING, 0, false)                  \
	V(AG_ALONE, "all_gather_alone", T3_ALL_GATHER, 0, false)                                   \
	V(AR_ALONE, "all_reduce_alone", T3_ALL_REDUCE, 0, false)                                   \
	V(SEQUENTIAL, "sequential", T3_SEQUENTIAL, 0, false)                                       \
	V(FUSED, "t3", T3_FUSED, 0, false)                                                         \
	V(FUSED_MCA, "t3_mca", T3_FUSED, 0, true)                                                  \
	V(UNSTAGGERED, "t3_mca_unstaggered", T3_UNSTAGGERED, 0, true)                              \
	V(AR_ON_8, "all_reduce_on_8", T3_ALL_REDUCE, 8, false)                                     \
	V(GEMM_WITHOUT_8, "gemm_without_8", T3_GEMM, 8, false)                                     \
	V(AR_ON_16, "all_reduce_on_16", T3_ALL_REDUCE, 16, false)                                  \
	V(GEMM_WITHOUT_16, "gemm_without_16", T3_GEMM, 16, false)

#define T3_ENUM(id, ...) id,
enum { T3_VARIANTS(T3_ENUM) VARIANTS };
#undef T3_ENUM

extern const struct bench_variant t3_variants[];

/* Traffic of a run, of all devices together. */
struct t3_moved {
	struct dev_memory_bytes memory;
	struct dev_tracker_counts tracker;
};

struct t3_run {
	struct t3_ring ring;
	struct work_graph *graph[VARIANTS], *emptying;
	struct t3_moved moved[VARIANTS]; /* by the latest run */
	uint64_t runs_since_poison;
	double starvation;       /* the device's own */
	double threshold;        /* of variants that put computing first */
	double memory_bandwidth; /* of a device, as emptying its cache reads it */
	double intensity;        /* of the GEMM alone: part of memory_bandwidth */
};

enum t3_work t3_work_of(unsigned variant);

/* In setup; percent: the threshold, or 0: what t3_threshold() gives. Returns bench_status(). */
int t3_run_open(struct t3_run *r, struct bench_case *c, const struct shape *shape,
		enum dev_type type, uint32_t percent);

/* Seconds of one run. */
int t3_run_time(struct t3_run *r, unsigned variant, double *seconds_p);

/* The threshold for a GEMM that uses the part `intensity` of the memory's bandwidth and takes
 * gemm_s, when communication is to read and write `bytes` meanwhile: both parts together, rounded
 * up to a twentieth, at most 1. T3 chooses by the intensity of a kernel's first stage, in a way
 * that we do not know: the rule is ours. */
double t3_threshold(double intensity, double gemm_s, double bytes, double memory_bandwidth);

#endif
