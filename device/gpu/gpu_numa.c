/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_numa.h"
#include "lib/cores.h"
#include "lib/first_line.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gpu_numa_node(const struct gpu_traits *traits)
{
	char path[96] = "", line[32];
	if (traits->numa_node >= 0)
		return traits->numa_node;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/numa_node", traits->bus);
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	/* The kernel writes -1 where it does not know. */
	return traits->bus[0] && first_line_read(path, line, sizeof(line))
		       ? (int)strtol(line, NULL, 10)
		       : -1;
}

/* A machine may have more processors than a cpu_set_t. */
struct mask {
	cpu_set_t sets[CORES_MAX / CPU_SETSIZE];
};

/* The mask that the process had before any thread of it was pinned here. */
static struct mask at_first;
static void remember_mask(void)
{
	if (sched_getaffinity(0, sizeof(at_first), at_first.sets))
		at_first = (struct mask){0};
}

static bool read_processors(int node, struct mask *processors)
{
	const char *root = getenv("GPUSIG_NUMA_TOPOLOGY");
	char path[256];
	bool near[CORES_MAX] = {false};
	snprintf(path, sizeof(path), "%.200s/node%d/cpulist",
		 root ? root : "/sys/devices/system/node", node);
	if (!cores_read_list(path, near))
		return false;
	*processors = (struct mask){0};
	for (size_t i = 0; i < CORES_MAX; i++)
		if (near[i])
			CPU_SET_S(i, sizeof(*processors), processors->sets);
	return true;
}

static bool has_some_of(const struct mask *processors, const struct mask *mask, struct mask *both)
{
	CPU_AND_S(sizeof(*both), both->sets, processors->sets, mask->sets);
	return CPU_COUNT_S(sizeof(*both), both->sets) > 0;
}

bool gpu_numa_pin_thread(int node)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct mask near, may, both;
	pthread_once(&once, remember_mask);
	if (node < 0 || !read_processors(node, &near) ||
	    sched_getaffinity(0, sizeof(may), may.sets))
		return true;
	if (!has_some_of(&near, &may, &both))
		return !has_some_of(&near, &at_first, &both);
	sched_setaffinity(0, sizeof(both), both.sets);
	return true;
}
