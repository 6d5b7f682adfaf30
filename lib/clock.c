/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/clock.h"

#include <time.h>

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_ns(void) { return read_clock_ns(CLOCK_MONOTONIC); }

uint64_t clock_thread_cpu_ns(void) { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

uint64_t clock_resolution_ns(void)
{
	uint64_t smallest = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		uint64_t start = clock_ns(), next;
		do
			next = clock_ns();
		while (next == start);
		if (next - start < smallest)
			smallest = next - start;
	}
	return smallest;
}
