/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/clock.h"

#include <time.h>

uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

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
