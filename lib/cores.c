/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cores.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>

/* A mask of the kernel's may be longer than a cpu_set_t. */
enum { SETS = CORES_MAX / CPU_SETSIZE };

static cpu_set_t before[SETS];
static bool bound;

size_t cores_allowed(int cores[CORES_MAX])
{
	cpu_set_t now[SETS];
	size_t count = 0;
	if (!bound && sched_getaffinity(0, sizeof(now), now) != 0)
		return 0;
	for (size_t core = 0; core < CORES_MAX; core++)
		if (CPU_ISSET_S(core, sizeof(now), bound ? before : now))
			cores[count++] = (int)core;
	return count;
}

int cores_stay_on(int core)
{
	cpu_set_t one[SETS];
	if (bound)
		return -EBUSY;
	if (core < 0 || core >= CORES_MAX)
		return -EINVAL;
	CPU_ZERO_S(sizeof(one), one);
	CPU_SET_S((size_t)core, sizeof(one), one);
	if (sched_getaffinity(0, sizeof(before), before) != 0 ||
	    sched_setaffinity(0, sizeof(one), one) != 0)
		return -errno;
	bound = true;
	return 0;
}

void cores_roam(void)
{
	if (bound)
		sched_setaffinity(0, sizeof(before), before);
	bound = false;
}

int cores_thread_start(pthread_t *thread_p, const int *cores, size_t count, void *(*run)(void *),
		       void *arg)
{
	pthread_attr_t attr;
	sigset_t all, unblocked;
	cpu_set_t mask[SETS];
	CPU_ZERO_S(sizeof(mask), mask);
	for (size_t i = 0; i < count; i++)
		CPU_SET_S((size_t)cores[i], sizeof(mask), mask);
	sigfillset(&all);
	int status = pthread_attr_init(&attr);
	if (status)
		return -status;
	status = pthread_attr_setaffinity_np(&attr, sizeof(mask), mask);
	pthread_sigmask(SIG_SETMASK, &all, &unblocked);
	status = status ? status : pthread_create(thread_p, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &unblocked, NULL);
	pthread_attr_destroy(&attr);
	return -status;
}
