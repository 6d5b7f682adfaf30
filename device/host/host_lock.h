/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one lock of the host backend, and sleeping threads.
 *
 * One lock covers all devices, because events, peers and values cross them. It is held for tens of
 * nanoseconds and never around work. Wake-ups requested under the lock are issued after its
 * release: the woken thread may be pinned to the waker's own core and run there at once, and a
 * waker that is preempted while it holds the lock would stop every core.
 */
#ifndef GPUSIG_HOST_LOCK_H
#define GPUSIG_HOST_LOCK_H

#include <semaphore.h>
#include <stdbool.h>

/* A place where one thread sleeps. Each sleep consumes exactly one wake-up, so a sleeper may live
 * on the stack. */
struct host_sleeper {
	sem_t sem;
	bool asleep;
	int core; /* that the thread is pinned to, or -1 */
};

void host_lock(void);

/* Release the lock, then issue the wake-ups requested since host_lock() in their order, but those
 * for the caller's own core last: a thread that wakes up there may run at once, and the caller
 * continues only in its next time slice. */
void host_unlock(void);

/* True if the calling thread holds the lock or waits for it. Safe in signal handlers. */
bool host_lock_is_mine(void);

void host_sleeper_init(struct host_sleeper *s, int core);
void host_sleeper_destroy(struct host_sleeper *s);

/* Call with the lock held: release it and sleep until host_wake(). Returns without the lock. */
void host_sleep(struct host_sleeper *s);

/* Call with the lock held: wake the sleeper if it sleeps. */
void host_wake(struct host_sleeper *s);

/* Give the core's other hardware threads more of its resources during a polling loop. */
static inline void host_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

#endif
