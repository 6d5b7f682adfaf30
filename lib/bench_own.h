/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a case owns: memory, streams and events that the harness closes when the case ends, whatever went wrong. A
 * program that opens everything here needs no teardown.
 *
 *     s->fma = own_kernel(c, "fma_f32");
 *     s->other = own_stream(c, dev_props(c->dev)->priority_normal);
 *     s->out = own_memory(c, DEV_MEM_DEVICE, bytes);
 *     return own_status(c);
 *
 * Errors.    Sticky: after one has failed, the later ones of the case do nothing and return NULL, and own_status() is
 *            the first error, its cause in err_text(). So a set-up is a flat list and only the end is looked at. A
 *            set-up that forgets to look fails all the same. What is only passed on may be NULL until then; what is
 *            used at once (a loop over the memory) asks own_status() first.
 * When.      In any callback but model and admit, from the thread that called it. Nothing of it is for timed code:
 *            a body that opens something in every round times that, and keeps it all until the case ends.
 * Ownership. The case's. Nothing may be closed or freed by the program.
 * Order.     At the end of a case, also after a partial set-up or a failed body: first every stream is waited for (so
 *            no body may leave one that waits for something nobody will do), then teardown runs, then things are
 *            closed in reverse order of opening. A failure that nobody had seen before fails the case.
 * Limits.    None but memory: -ENOMEM with a text.
 */
#ifndef GPUSIG_BENCH_OWN_H
#define GPUSIG_BENCH_OWN_H

#include "lib/bench.h"
#include "lib/bench_gate.h"

/* As dev_alloc(), on the case's device or another one. */
void *own_memory(struct bench_case *c, enum dev_mem kind, uint64_t bytes);
void *own_memory_on(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes);

/* Ordinary memory of the host, contents undefined: for what a check compares with. */
void *own_host(struct bench_case *c, uint64_t bytes);

/* As dev_stream_open(), dev_event_open() and dev_kernel_find() on the case's device. */
struct dev_stream *own_stream(struct bench_case *c, int priority);
struct dev_stream *own_stream_on(struct bench_case *c, struct dev *dev, int priority);
struct dev_event *own_event(struct bench_case *c);
/* As gate_open(). */
struct gate *own_gate(struct bench_case *c, uint64_t limit_ns);
struct dev_kernel *own_kernel(struct bench_case *c, const char *name);

/* 0, or the first error of this case. */
int own_status(const struct bench_case *c);

/* Count another operation's result among them: `status` if it is the first error. Returns own_status(). */
int own_result(struct bench_case *c, int status);

#endif
