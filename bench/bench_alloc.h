/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resources of a case: memory, streams, events, gates and work graphs that the harness closes when
 * the case ends, whatever went wrong. A program that opens everything here needs no teardown.
 *
 *     s->fma = bench_kernel(c, "fma_f32");
 *     s->other = bench_stream(c, dev_props(c->dev)->priority_normal);
 *     s->out = bench_alloc(c, DEV_MEM_DEVICE, bytes);
 *     return c->status;
 *
 * Errors.    Sticky: after one has failed, the later calls of the case do nothing and return NULL.
 *            c->status is the first error; its cause is in err_text(). So a setup is a
 *            flat list of calls with one check at the end; without that check it fails all the
 *            same. NULL may be passed on to other bench_ functions, but code that uses a result at
 *            once (a loop over the memory) must ask c->status first.
 * When.      In any callback but model and admit, from the thread that called it. Not in timed
 *            code: a body that opens something in every round times that, and keeps all of it
 *            until the case ends.
 * Ownership. The case's. The program may not close or free anything.
 * Order.     At the end of a case, also after a partial setup or a failed body, every stream is
 *            synchronised first (so no body may leave one waiting for ever), then teardown runs,
 *            then resources are closed in reverse order of opening. The first failure among these
 *            fails the case.
 * Limits.    Memory only: -ENOMEM with a text.
 */
#ifndef GPUSIG_BENCH_ALLOC_H
#define GPUSIG_BENCH_ALLOC_H

#include "bench/bench.h"
#include "bench/bench_gate.h"

/* As dev_alloc(), on the case's device or another one. */
void *bench_alloc(struct bench_case *c, enum dev_mem kind, uint64_t bytes);
void *bench_alloc_on(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes);

/* As dev_alloc_on_node(). */
void *bench_alloc_on_node(struct bench_case *c, struct dev *dev, uint32_t node, uint64_t bytes);

/* As dev_comm_alloc(), one allocation on every device of the communicator. Returns its status too:
 * -ENOTSUP and -ENOMEM are no errors of the case, so that the variants that need it can be skipped.
 */
int bench_comm_alloc(struct bench_case *c, struct dev_comm *comm, uint64_t bytes, void **ptrs);

/* An allocation by one of these calls, on one device. */
struct bench_memory {
	struct dev *dev;
	enum dev_mem kind;
	char *start;
	uint64_t bytes;
};

/* The allocation of the case that holds this address. False: none does. */
bool bench_memory_find(const struct bench_case *c, const void *at, struct bench_memory *m_p);

/* True if both addresses are in the same device's memory, or in its pinned memory. */
bool bench_same_memory(const struct bench_case *c, const void *a, const void *b);

/* Ordinary host memory, contents undefined: for what a check compares with. */
void *bench_alloc_host(struct bench_case *c, uint64_t bytes);

/* As dev_stream_open(), dev_event_open() and dev_kernel_find() on the case's device. */
struct dev_stream *bench_stream(struct bench_case *c, int priority);
struct dev_stream *bench_stream_on(struct bench_case *c, struct dev *dev, int priority);
struct dev_event *bench_event(struct bench_case *c);
struct dev_event *bench_event_on(struct bench_case *c, struct dev *dev);
struct dev_kernel *bench_kernel(struct bench_case *c, const char *name);
/* As dev_tracker_open(). The memory of the map is allocated before. */
struct dev_tracker *bench_tracker_on(struct bench_case *c, struct dev *dev,
				     const struct dev_tracker_map *map);
/* As gate_open(). */
struct gate *bench_gate(struct bench_case *c, uint64_t limit_ns);

#endif
