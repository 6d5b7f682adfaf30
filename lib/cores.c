/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cores.h"

#include <errno.h>
#include <sched.h>
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
