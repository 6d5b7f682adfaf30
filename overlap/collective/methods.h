/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective by several methods, each alone, behind a GEMM and beside it, on the same memory:
 *
 *     engine   every message straight to its receiver, all at once, by copy engines
 *     kernel   the same messages by blocks of a copy kernel
 *     library  the vendor's collective; library-efficiency and library-zero-cta with these policies
 *              (device/dev_collectives.h), on memory that its communicator knows
 *
 * What the first two send is "direct" of collectives/schedules, for all-to-all "spread-out"
 * (collectives/devices). Sums are by the kernel reduce_add: a wave of it after engines, as many
 * blocks as copy after kernels.
 *
 * Each device has a lane for its GEMM and lanes for the collective. Where both run at once the
 * collective goes first: the GEMM waits for the device's begin event, as every lane but the
 * collective's first does, and then records three more events, because further messages start after
 * an event of the first lane. The GEMM's own time begins at the last of them, the collective's at
 * the begin event: as alone, at the event before its work.
 */
#ifndef GPUSIG_METHODS_H
#define GPUSIG_METHODS_H

#include "bench/bench_gemm.h"
#include "collectives/devices/collective_graph.h"
#include "lib/err.h"

#define METHOD_TABLE(METHOD)                                                                       \
	METHOD(ENGINE, "engine", DEV_CAP_COPY_ENGINE)                                              \
	METHOD(KERNEL, "kernel", 0)                                                                \
	METHOD(LIBRARY, "library", DEV_CAP_COLLECTIVES)                                            \
	METHOD(LIBRARY_EFFICIENCY, "library-efficiency", DEV_CAP_COLLECTIVES)                      \
	METHOD(LIBRARY_ZERO_CTA, "library-zero-cta", DEV_CAP_COLLECTIVES)

#define METHOD_ENUM(id, ...) METHOD_##id,
enum { METHOD_TABLE(METHOD_ENUM) METHODS };

/* Variants: the GEMM alone, then those of each method. */
#define METHOD_VARIANTS(id, ...) id##_BOTH, id##_SERIAL, id##_ALONE, GEMM_IN_##id, SIDE_IN_##id,
enum { GEMM_ALONE, METHOD_TABLE(METHOD_VARIANTS) METHOD_VARIANTS_ALL };

struct methods;
struct method {
	const char *name;
	/* Variants; the last two are the GEMM and the collective, each beside the other. */
	unsigned both, serial, alone, gemm_in, side_in;
	int (*add)(const struct methods *s, const struct method *m, struct work_graph *g);
	bool by_library;
	enum dev_comm_policy policy;
};
extern const struct method methods[METHODS];

/* The variants of a method, as a bit mask. */
uint64_t method_variants(const struct method *m);
bool method_is_on(const struct bench_case *c, const struct method *m);

/* The case's state. */
struct methods {
	enum dev_collective what;
	uint64_t bytes; /* of the whole vector */
	/* The kernel's, of a message and of all messages of a device together. */
	uint32_t message_blocks, copy_blocks;
	uint64_t staging_bytes;
	struct vectors vectors[DEV_COMM_POLICIES]; /* the first one is of the other methods, too */
	struct vectors *of[METHOD_VARIANTS_ALL];
	struct bench_gemm gemm[DEV_MAX];
	uint32_t compute[DEV_MAX];                         /* lanes */
	struct work_graph *graph[METHOD_VARIANTS_ALL];     /* the last two of a method share one */
	uint32_t gemm_start[METHOD_VARIANTS_ALL][DEV_MAX]; /* the event before it, of GEMM_IN_* */
	struct dev_comm *comm[DEV_COMM_POLICIES];
};

/* c->arg. By collective: the reason of an earlier case, where the library takes units although it
 * must not; later ones do not wait for that again. "": not found. */
struct methods_known {
	char takes_units[DEV_COLLECTIVES][ERR_TEXT];
};

/* Bytes of the case's vector: its size, in equal parts of whole DEV_KERNEL_ALIGN. */
uint64_t methods_bytes(const struct bench_case *c);

/* In setup. Turns off what is not asked for, and, with the reason, what is not possible here. */
int methods_open(struct bench_case *c);

/* Callbacks of variants, whose `arg` is the variant: to the end of all lanes, of those of the
 * GEMM, of those of the collective. Vectors are restored before each, not timed. */
int methods_time(struct bench_case *c, long variant);
int methods_time_gemm(struct bench_case *c, long variant);
int methods_time_collective(struct bench_case *c, long variant);

#endif
