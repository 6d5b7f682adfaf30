/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time slices of threads that share a core of a host device.
 *
 * The kernel switches threads at its tick, every one to ten milliseconds. A copy of 100 us next to
 * a GEMM would then take one tick or none, by chance. Warps of two launches on a GPU alternate at
 * every instruction. To come nearer to that, a timer interrupts a thread whose work shares its core
 * (SIGURG, to this thread alone) when it has had HOST_TIMESLICE_NS of the core, and the thread lets
 * the next one run. A thread that has its core to itself is never interrupted. An interrupt costs
 * one or two microseconds, in a virtual machine 20; that bounds how short a time slice can be.
 *
 * Without timers, or in a process that handles SIGURG itself, the kernel's time slices remain.
 */
#ifndef GPUSIG_HOST_TIMESLICE_H
#define GPUSIG_HOST_TIMESLICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HOST_TIMESLICE_NS 500000u

/* Threads that are pinned to the same core. */
struct host_core_queue {
	atomic_uint handovers, waiting;
};

struct host_timeslice {
	struct host_core_queue *queue;
	bool (*is_shared)(void *context);
	void *context;
	timer_t timer;
	atomic_bool has_timer, armed;
	atomic_uint_fast64_t start_ns; /* of the work in progress; 0: none has started */
	/* CPU time of the thread when its time slice began. Read and written by the thread and its
	 * signal handler alone. */
	uint64_t start_cpu_ns;
};

/* From now on the calling thread shares the core with the others of its queue in time slices, as
 * long as is_shared(context) says that they have work, too. A signal handler calls is_shared(), so
 * it must only read atomics. Whoever changes its answer does so before host_timeslice_arm() or
 * host_timeslice_wake_next(); store and load are sequentially consistent, so that the thread sees
 * the new answer or the call sees what the thread stored before it asked. When the thread wakes up
 * it does not preempt the one that has the core. */
void host_timeslice_open(struct host_timeslice *t, struct host_core_queue *queue,
			 bool (*is_shared)(void *context), void *context);

/* The calling thread uses no time slices: when it wakes up it preempts the threads that do. */
void host_timeslice_opt_out(void);

/* Call on the same thread, before it ends. */
void host_timeslice_close(struct host_timeslice *t);

/* Call on the same thread, around each piece of its work. */
void host_timeslice_begin(struct host_timeslice *t);
void host_timeslice_end(struct host_timeslice *t);

/* Let the threads of this queue that gave up their time slice compete for the core again. Call it
 * also when a thread has no more work. */
void host_timeslice_wake_next(struct host_core_queue *queue);

/* Start the timer of a thread whose core is shared from now on. Any thread may call this. */
void host_timeslice_arm(struct host_timeslice *t);

/* Yield the core for a moment. True: another thread ran. A polling thread should then stop: the
 * kernel gives less time to threads that yield often. */
bool host_core_yield(void);

#endif
