/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_lock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

/* Capacity for deferred wake-ups; further ones are issued under the lock. */
#define DEFERRED 256

/* Some microseconds of polling: a thread that sleeps here loses its core to work that becomes ready
 * meanwhile. */
#define SPINS 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct host_sleeper *to_wake[DEFERRED];
static size_t to_wake_count;

/* Volatile is enough: only this thread and its signal handlers read it. It is set before the lock
 * is taken and cleared after the lock is released. */
static _Thread_local volatile bool is_mine;

void host_lock(void)
{
	is_mine = true;
	for (int i = 0; i < SPINS; i++) {
		if (pthread_mutex_trylock(&lock) == 0)
			return;
		host_pause();
	}
	pthread_mutex_lock(&lock);
}

bool host_lock_is_mine(void) { return is_mine; }

void host_unlock(void)
{
	struct host_sleeper *mine[DEFERRED];
	const size_t count = to_wake_count;
	for (size_t i = 0; i < count; i++)
		mine[i] = to_wake[i];
	to_wake_count = 0;
	pthread_mutex_unlock(&lock);
	is_mine = false;
	if (count == 0)
		return;
	const int here = sched_getcpu();
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (mine[i]->core == here)
			mine[kept++] = mine[i];
		else
			sem_post(&mine[i]->sem);
	}
	for (size_t i = 0; i < kept; i++)
		sem_post(&mine[i]->sem);
}

void host_sleeper_init(struct host_sleeper *s, int core)
{
	s->asleep = false;
	s->core = core;
	sem_init(&s->sem, 0, 0);
}

void host_sleeper_destroy(struct host_sleeper *s) { sem_destroy(&s->sem); }

void host_sleep(struct host_sleeper *s)
{
	s->asleep = true;
	host_unlock();
	while (sem_wait(&s->sem) && errno == EINTR)
		;
}

void host_wake(struct host_sleeper *s)
{
	if (!s->asleep)
		return;
	s->asleep = false;
	if (to_wake_count < DEFERRED)
		to_wake[to_wake_count++] = s;
	else
		sem_post(&s->sem);
}
