/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests in which another process is sure to disturb this one.
 */
#ifndef GPUSIG_ONE_CORE_H
#define GPUSIG_ONE_CORE_H

#include "tests/unit/test.h"

#include <sched.h>
#include <stdint.h>
#include <time.h>

/* This thread, and all that it starts, on one core. */
static inline void use_one_core(void)
{
	cpu_set_t all, one;
	require(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
		if (CPU_ISSET(core, &all))
			CPU_SET(core, &one);
	require(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/* CPU time of this process. */
static inline uint64_t own_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void work_for(uint64_t ns)
{
	for (const uint64_t until = own_ns() + ns; own_ns() < until;)
		continue;
}

#endif
