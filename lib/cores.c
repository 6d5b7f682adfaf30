/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cores.h"
#include "lib/cgroup.h"
#include "lib/first_line.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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

void cores_parse_list(const char *list, bool in_list[CORES_MAX])
{
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long core = from; core <= to && core < CORES_MAX; core++)
			in_list[core] = true;
		list = *end == ',' ? end + 1 : end;
	}
}

bool cores_read_list(const char *path, bool in_list[CORES_MAX])
{
	FILE *file = fopen(path, "re");
	char *list = NULL;
	size_t capacity = 0;
	const bool read = file && getline(&list, &capacity, file) > 0;
	if (read)
		cores_parse_list(list, in_list);
	if (file)
		fclose(file);
	free(list);
	return read;
}

size_t cores_online(const char *root, int processors[CORES_MAX])
{
	char path[512];
	bool online[CORES_MAX] = {false};
	size_t count = 0;
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", root);
	cores_read_list(path, online);
	for (int i = 0; i < CORES_MAX; i++)
		if (online[i])
			processors[count++] = i;
	return count;
}

void cores_add_threads(const char *root, const int *processors, size_t count,
		       bool in_list[CORES_MAX])
{
	for (size_t i = 0; i < count; i++) {
		char path[512];
		snprintf(path, sizeof(path),
			 "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root,
			 processors[i]);
		in_list[processors[i]] = true;
		cores_read_list(path, in_list);
	}
}

size_t cores_apart(const char *root, const int *processors, size_t count, int cores[CORES_MAX])
{
	bool taken[CORES_MAX] = {false};
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		if (taken[processors[i]])
			continue;
		cores_add_threads(root, &processors[i], 1, taken);
		cores[found++] = processors[i];
	}
	return found;
}

/* "150000 100000", of which the first may be "max", in version 2; in version 1 each has a file of
 * its own, and the first may be -1. */
static void keep_smallest_quota(const char *folder, int version, void *arg)
{
	double *smallest = arg, quota_us, period_us;
	char path[4096], line[2][64], *end;
	snprintf(path, sizeof(path), "%s/%s", folder,
		 version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (!first_line_read(path, line[0], sizeof(line[0])))
		return;
	quota_us = strtod(line[0], &end);
	if (version == 1) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
		end = first_line_read(path, line[1], sizeof(line[1])) ? line[1] : end;
	}
	period_us = strtod(end, NULL);
	if (quota_us > 0.0 && period_us > 0.0)
		*smallest = fmin(*smallest, quota_us / period_us);
}

double cores_quota(const char *root)
{
	double smallest = INFINITY;
	cgroup_each(root, "cpu", keep_smallest_quota, &smallest);
	return smallest;
}

size_t cores_at_once(const char *root, const int *processors, size_t count, int cores[CORES_MAX])
{
	const size_t apart = cores_apart(root, processors, count, cores);
	const double granted = fmax(1.0, floor(cores_quota(root)));
	return granted < (double)apart ? (size_t)granted : apart;
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
