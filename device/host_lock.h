/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one lock of the host backend, and sleeping threads.
 *
 * One lock covers all devices, since events, peers and values cross them. It is held for tens of
 * nanoseconds and never around work. Wake-ups asked for under the lock are issued after its release: the
 * woken thread may be pinned to the waker's own core and run there at once, and a waker that sleeps with
 * the lock in hand would stop every core.
 */
#ifndef GPUSIG_HOST_LOCK_H
#define GPUSIG_HOST_LOCK_H

#include <semaphore.h>
#include <stdbool.h>

/* Where one thread sleeps. Each sleep takes exactly one wake-up, so a sleeper may live on the stack. */
struct host_sleeper {
	sem_t sem;
	bool asleep;
	int core; /* that it is pinned to, or -1 */
};

void host_lock(void);

/* Release the lock, then issue the wake-ups asked for since host_lock(), in their order, those for the caller's own core last:
 * whoever wakes up there may run at once, and the caller not before its next turn. */
void host_unlock(void);

/* Does the calling thread have the lock, or wait for it? Also for signal handlers. */
bool host_lock_is_mine(void);

void host_sleeper_init(struct host_sleeper *s, int core);
void host_sleeper_destroy(struct host_sleeper *s);

/* Called with the lock held: release it and sleep until host_wake(). Returns without the lock. */
void host_sleep(struct host_sleeper *s);

/* Called with the lock held: wake the sleeper if it sleeps. */
void host_wake(struct host_sleeper *s);

/* Ease a polling loop for the other threads of the core. */
static inline void host_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

#endif
