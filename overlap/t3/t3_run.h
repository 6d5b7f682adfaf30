/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variants of overlap/t3, one timed run of each, and checks of what it left. Caches are emptied
 * first, the memory controllers are set, and the devices' own counters are read before and after.
 */
#ifndef GPUSIG_T3_RUN_H
#define GPUSIG_T3_RUN_H

#include "overlap/t3/t3_ring.h"

/* Identifier, name, what is checked, what runs (enum t3_work), units for communication alone (0:
 * all), whether memory controllers put computing first. Units are of T3's 80 (figure 6). */
#define T3_VARIANTS(V)                                                                             \
	V(GEMM_ALONE, "gemm_alone", gemms, T3_GEMMS, 0, false)                                     \
	V(RS_ALONE, "reduce_scatter_alone", scattered, T3_REDUCE, 0, false)                        \
	V(RS_ADDING, "reduce_scatter_adding", added, T3_ADD, 0, false)                             \
	V(AG_ALONE, "all_gather_alone", gathered, T3_GATHER, 0, false)                             \
	V(AR_ALONE, "all_reduce_alone", reduced, T3_REDUCE | T3_GATHER, 0, false)                  \
	V(SEQUENTIAL, "sequential", sums, T3_GEMMS | T3_REDUCE | T3_GATHER, 0, false)              \
	V(FUSED, "t3", fused, T3_FUSE | T3_GATHER, 0, false)                                       \
	V(FUSED_MCA, "t3_mca", fused, T3_FUSE | T3_GATHER, 0, true)                                \
	V(UNSTAGGERED, "t3_mca_unstaggered", fused, T3_FUSE | T3_FROM_0 | T3_GATHER, 0, true)      \
	V(AR_ON_8, "all_reduce_on_8", reduced, T3_REDUCE | T3_GATHER, 8, false)                    \
	V(GEMM_WITHOUT_8, "gemm_without_8", gemms, T3_GEMMS, 8, false)                             \
	V(AR_ON_16, "all_reduce_on_16", reduced, T3_REDUCE | T3_GATHER, 16, false)                 \
	V(GEMM_WITHOUT_16, "gemm_without_16", gemms, T3_GEMMS, 16, false)

#define T3_ENUM(id, ...) id,
enum { T3_VARIANTS(T3_ENUM) VARIANTS };
#undef T3_ENUM

/* Work of a variant; `arg` of its row is its place here and in struct t3_run. */
struct t3_plan {
	unsigned work;
	uint32_t units;
	bool computing_first;
};
extern const struct t3_plan t3_plans[VARIANTS];
extern const struct bench_variant t3_variants[];

/* Traffic of a run, of all devices together. */
struct t3_moved {
	struct dev_memory_bytes memory;
	struct dev_tracker_counts tracker;
};

/* The case's state. */
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

/* In setup; percent: the threshold, or 0: what t3_threshold() gives. */
int t3_run_open(struct bench_case *c, const struct shape *shape, enum dev_type type,
		uint32_t percent);

/* Callbacks of struct bench. The variants bring their checks: where the device has data, some
 * elements of the sums that every device holds, against products and sums of the host.
 * Reduce-scatter by kernels is right in f32 alone and not checked in other types; what is reduced
 * where it lies is checked after one run since t3_poison(). */
int t3_run_once(struct bench_case *c, long variant);
int t3_poison(struct bench_case *c, long variant);

/* In derive: gains, and bytes as the devices count them. All are values of a model
 * (bench_model_value()). */
int t3_derive(struct bench_case *c);

/* In verify_mechanism: the devices' memories counted as many bytes as the counting model of
 * overlap/trigger/t3_traffic.h has for reduce-scatter by kernels and with T3, and every tile was
 * sent once or stayed. */
int t3_verify_mechanism(struct bench_case *c);

/* The threshold for a GEMM that uses the part `intensity` of the memory's bandwidth and takes
 * gemm_s, when communication is to read and write `bytes` meanwhile: both parts together, rounded
 * up to a twentieth, at most 1. T3 chooses by the intensity of a kernel's first stage, in a way
 * that we do not know: the rule is ours. */
double t3_threshold(double intensity, double gemm_s, double bytes, double memory_bandwidth);

#endif
