/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/numa.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_NODES 1024
#define LONG_BITS (8 * sizeof(unsigned long))
#define PAGE_BYTES UINT64_C(4096)

size_t numa_parse_list(const char *list, uint32_t *numbers, size_t capacity)
{
	size_t count = 0;
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long i = from; i <= to && i < MAX_NODES; i++, count++)
			if (count < capacity)
				numbers[count] = (uint32_t)i;
		list = *end == ',' ? end + 1 : end;
	}
	return count;
}

/* The list in the first line of a file that begins with `key`; 0: there is none. */
static size_t read_list(const char *path, const char *key, uint32_t numbers[MAX_NODES])
{
	char line[4096];
	size_t count = 0;
	FILE *file = fopen(path, "re");
	while (file && count == 0 && fgets(line, sizeof(line), file)) {
		const char *list = line + strlen(key);
		if (strncmp(line, key, strlen(key)) == 0)
			count = numa_parse_list(list + strspn(list, " \t"), numbers, MAX_NODES);
	}
	if (file)
		fclose(file);
	return count < MAX_NODES ? count : MAX_NODES;
}

static bool has_number(const uint32_t *numbers, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

size_t numa_nodes(uint32_t *nodes, size_t capacity)
{
	uint32_t there[MAX_NODES], allowed[MAX_NODES];
	size_t count = 0,
	       there_count = read_list("/sys/devices/system/node/has_normal_memory", "", there),
	       allowed_count = read_list("/proc/self/status", "Mems_allowed_list:", allowed);
	for (size_t i = 0; i < there_count; i++) {
		if (allowed_count && !has_number(allowed, allowed_count, there[i]))
			continue;
		if (count < capacity)
			nodes[count] = there[i];
		count++;
	}
	if (count == 0 && capacity)
		nodes[0] = 0;
	return count ? count : 1;
}

/* Not to be allowed to choose is no loss where there is no choice. */
static int note_refused(const char *what, uint32_t node)
{
	int error = errno;
	if ((error == EPERM || error == ENOSYS) && numa_nodes(NULL, 0) == 1)
		return 0;
	return err_note(error == EPERM || error == ENOSYS ? -ENOTSUP : -error,
			"%s of NUMA node %u: %s", what, node, strerror(error));
}

int numa_bind(void *start, uint64_t bytes, uint32_t node)
{
	unsigned long mask[MAX_NODES / LONG_BITS] = {0};
	if (node >= MAX_NODES)
		return err_note(-ENODEV, "there is no NUMA node %u", node);
	mask[node / LONG_BITS] = 1ul << node % LONG_BITS;
	/* The kernel takes one bit less than it is told. */
	if (syscall(SYS_mbind, start, bytes, MPOL_BIND, mask, (unsigned long)MAX_NODES + 1, 0u))
		return note_refused("memory", node);
	return 0;
}

int numa_verify(void *start, uint64_t bytes, uint32_t node)
{
	const uint64_t at[] = {0, bytes / 2, bytes - 1};
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		int found = -1;
		char *page = (char *)start + at[i] / PAGE_BYTES * PAGE_BYTES;
		if (syscall(SYS_get_mempolicy, &found, NULL, 0ul, page,
			    (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)))
			return note_refused("the place", node);
		if (found != (int)node)
			return err_note(-ENOMEM, "memory for NUMA node %u is on node %d", node,
					found);
	}
	return 0;
}
