/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_machine.h"
#include "lib/cgroup.h"
#include "lib/core_kinds.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/first_line.h"
#include "lib/processor.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The number in a file, or 0. Control groups write "max" for "no limit"; that is 0, too. */
static uint64_t read_number(const char *path)
{
	char line[64];
	return first_line_read(path, line, sizeof(line)) ? strtoull(line, NULL, 10) : 0;
}

/* ------------------------------------------------------------------ cores */

static bool list_has(const char *list, int cpu)
{
	while (*list) {
		char *end;
		long from = strtol(list, &end, 10), to = from;
		if (end == list)
			return false;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (cpu >= from && cpu <= to)
			return true;
		list = *end == ',' ? end + 1 : end + strlen(end);
	}
	return false;
}

int host_cores(const char *root, int cores[CORES_MAX], size_t *count_p)
{
	const char *kinds = getenv("GPUSIG_CORE_KINDS");
	size_t count = cores_allowed(cores);
	if (kinds && strcmp(kinds, "all") != 0)
		return err_note(-EINVAL, "unknown GPUSIG_CORE_KINDS '%s'; values: all", kinds);
	if (count == 0)
		return err_note(-ENODEV, "host: cannot read the affinity mask of this process");
	if (!kinds)
		count = core_kinds_keep_fastest(root, cores, count);
	*count_p = cores_at_once(root, cores, count, cores);
	return 0;
}

void host_cores_share(size_t total, unsigned index, unsigned count, size_t *first_p,
		      size_t *cores_p)
{
	const size_t each = total / count;
	*first_p = each ? index * each : index % total;
	*cores_p = each ? each : 1;
}

/* ------------------------------------------------------------------ caches */

static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);
	return *end == 'K'   ? value << 10
	       : *end == 'M' ? value << 20
	       : *end == 'G' ? value << 30
			     : value;
}

/* Bytes of one core's data cache of a level. `shared` gets the list of processors that share it. */
static uint64_t core_cache(const char *root, int cpu, unsigned level, char *shared, size_t capacity)
{
	for (unsigned i = 0; i < 16; i++) {
		char path[512], text[64];
		int folder =
			snprintf(path, sizeof(path),
				 "%s/sys/devices/system/cpu/cpu%d/cache/index%u/", root, cpu, i);
		if (folder < 0 || (size_t)folder + 32 > sizeof(path))
			return 0;
		char *name = path + folder;
		strcpy(name, "level");
		uint64_t here = read_number(path);
		if (here == 0)
			return 0;
		strcpy(name, "type");
		if (here != level || !first_line_read(path, text, sizeof(text)) ||
		    strcmp(text, "Instruction") == 0)
			continue;
		strcpy(name, "shared_cpu_list");
		if (!first_line_read(path, shared, capacity))
			snprintf(shared, capacity, "%d", cpu);
		strcpy(name, "size");
		return first_line_read(path, text, sizeof(text)) ? parse_size(text) : 0;
	}
	return 0;
}

uint64_t host_cache_bytes(const char *root, const int *cores, size_t count, unsigned level)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++) {
		char shared[4096] = "";
		bool counted = false;
		uint64_t bytes = core_cache(root, cores[i], level, shared, sizeof(shared));
		for (size_t j = 0; j < i && bytes && !counted; j++)
			counted = list_has(shared, cores[j]);
		if (!counted)
			total += bytes;
	}
	return total;
}

/* ------------------------------------------------------------------ memory */

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Names of a control group's files in the two versions of control groups. */
struct cgroup_version {
	const char *limit, *usage, *reclaimable; /* the last one is a line of memory.stat */
};
static const struct cgroup_version cgroup_v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
						"total_inactive_file "};
static const struct cgroup_version cgroup_v2 = {"memory.max", "memory.current", "inactive_file "};

/* The value of a line that begins with `name`, or 0. */
static uint64_t read_named(const char *path, const char *name, uint64_t unit)
{
	char line[256];
	uint64_t value = 0;
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	while (value == 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, 10);
	fclose(file);
	return value * unit;
}

/* Files in the page cache that nobody uses count as used, but make room. */
static void bound_free_bytes(const char *folder, int version, void *arg)
{
	const struct cgroup_version *v = version == 1 ? &cgroup_v1 : &cgroup_v2;
	uint64_t *capacity = arg;
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, v->limit);
	uint64_t limit = read_number(path);
	snprintf(path, sizeof(path), "%s/%s", folder, v->usage);
	uint64_t used = read_number(path);
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	used -= min_u64(read_named(path, v->reclaimable, 1), used);
	if (limit)
		*capacity = min_u64(*capacity, limit > used ? limit - used : 0);
}

uint64_t host_cgroup_free_bytes(const char *root)
{
	uint64_t capacity = UINT64_MAX;
	cgroup_each(root, "memory", bound_free_bytes, &capacity);
	return capacity;
}

uint64_t host_memory_available_bytes(const char *root)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	uint64_t available = read_named(path, "MemAvailable:", 1024);
	uint64_t granted = host_cgroup_free_bytes(root);
	if (granted == UINT64_MAX)
		return available;
	/* A group that is full leaves nothing, which is known. */
	granted = granted ? granted : 1;
	return available ? min_u64(available, granted) : granted;
}

/* ------------------------------------------------------------------ names */

void host_names(char *processor, size_t processor_capacity, char *kernel, size_t kernel_capacity)
{
	struct utsname names;
	struct text identity = {0};
	processor_identify("", &identity);
	text_fit(processor, processor_capacity, "%s",
		 identity.lost ? "unknown processor" : text_whole(&identity));
	text_free(&identity);
	if (uname(&names) == 0)
		text_fit(kernel, kernel_capacity, "%s %s", names.sysname, names.release);
}
