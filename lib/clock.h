/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's clock: CLOCK_MONOTONIC, which neither steps nor jumps; and a thread's CPU time.
 */
#ifndef GPUSIG_CLOCK_H
#define GPUSIG_CLOCK_H

#include <stdint.h>

/* Nanoseconds since an arbitrary fixed point. */
uint64_t clock_ns(void);

/* CPU time of the calling thread, in nanoseconds. A system call, at which the kernel may switch to
 * another thread. */
uint64_t clock_thread_cpu_ns(void);

/* The smallest step between two different readings, measured now (in well under a millisecond). */
uint64_t clock_resolution_ns(void);

#endif
