/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_numa.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(const char *path, char *line, size_t capacity)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool read = fgets(line, (int)capacity, file) != NULL;
	fclose(file);
	return read;
}

int gpu_numa_node(const struct gpu_traits *traits)
{
	char path[96] = "", line[32];
	if (traits->numa_node >= 0)
		return traits->numa_node;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.31s/numa_node", traits->bus);
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	/* The kernel writes -1 where it does not know. */
	return traits->bus[0] && read_line(path, line, sizeof(line)) ? (int)strtol(line, NULL, 10)
								     : -1;
}

/* The format of /sys/devices/system/node: "0-7,16-23". */
static void parse_list(const char *list, cpu_set_t *cpus)
{
	CPU_ZERO(cpus);
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, cpus);
		list = *end == ',' ? end + 1 : end;
	}
}

/* The mask that the process had before any thread of it was pinned here. */
static cpu_set_t at_first;
static void remember_mask(void)
{
	if (sched_getaffinity(0, sizeof(at_first), &at_first))
		CPU_ZERO(&at_first);
}

static bool read_processors(int node, cpu_set_t *cpus)
{
	const char *root = getenv("GPUSIG_NUMA_TOPOLOGY");
	char path[256], list[4096];
	snprintf(path, sizeof(path), "%.200s/node%d/cpulist",
		 root ? root : "/sys/devices/system/node", node);
	if (!read_line(path, list, sizeof(list)))
		return false;
	parse_list(list, cpus);
	return true;
}

static bool has_some_of(const cpu_set_t *cpus, const cpu_set_t *mask, cpu_set_t *both)
{
	CPU_AND(both, cpus, mask);
	return CPU_COUNT(both) > 0;
}

bool gpu_numa_pin_thread(int node)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cpu_set_t near, may, both;
	pthread_once(&once, remember_mask);
	if (node < 0 || !read_processors(node, &near) || sched_getaffinity(0, sizeof(may), &may))
		return true;
	if (!has_some_of(&near, &may, &both))
		return !has_some_of(&near, &at_first, &both);
	sched_setaffinity(0, sizeof(both), &both);
	return true;
}
