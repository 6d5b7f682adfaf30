/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/core_kinds.h"
#include "lib/cores.h"
#include "lib/first_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any machine has. */
enum { KINDS_MAX = 8 };

struct kind {
	char name[CORE_KIND_BYTES];
	unsigned long long least,
		most; /* capacity of its cores; 0: they are told apart otherwise */
	int first;    /* of its cores */
};

static bool read_line(const char *root, const char *name, char *line, size_t capacity)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/sys/devices/%s", root, name);
	return first_line_read(path, line, capacity);
}

static unsigned long long read_of_core(const char *root, int core, const char *name)
{
	char path[128], line[64];
	snprintf(path, sizeof(path), "system/cpu/cpu%d/%s", core, name);
	return read_line(root, path, line, sizeof(line)) ? strtoull(line, NULL, 0) : 0;
}

static bool is_counted_by(const char *root, const char *unit, int core)
{
	char path[512];
	bool in_list[CORES_MAX] = {false};
	snprintf(path, sizeof(path), "%s/sys/devices/%s/cpus", root, unit);
	cores_read_list(path, in_list);
	return in_list[core];
}

unsigned long long core_kind_name(const char *root, int core, char name[CORE_KIND_BYTES])
{
	static const char *const units[] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (is_counted_by(root, units[i], core)) {
			snprintf(name, CORE_KIND_BYTES, "%s", units[i]);
			return 0;
		}
	}
	/* Variant and revision are of a part's making, not of its kind. */
	const unsigned long long midr = read_of_core(root, core, "regs/identification/midr_el1"),
				 capacity = read_of_core(root, core, "cpu_capacity");
	if (midr)
		snprintf(name, CORE_KIND_BYTES, "implementer 0x%02llx part 0x%03llx",
			 midr >> 24 & 0xff, midr >> 4 & 0xfff);
	else if (capacity)
		snprintf(name, CORE_KIND_BYTES, "capacity %llu", capacity);
	else
		name[0] = '\0';
	return midr ? 0 : capacity;
}

static bool is_faster(const char *root, int core, int than)
{
	static const char *const files[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const unsigned long long own = read_of_core(root, core, files[i]),
					 other = read_of_core(root, than, files[i]);
		if (own && other && own != other)
			return own > other;
	}
	return false;
}

static struct kind kind_of_core(const char *root, int core)
{
	struct kind k = {.first = core};
	k.least = k.most = core_kind_name(root, core, k.name);
	return k;
}

/* True if a core is of this kind; then widens the kind's range of capacity. */
static bool is_joined(struct kind *kind, const struct kind *core)
{
	const unsigned long long least = core->least < kind->least ? core->least : kind->least,
				 most = core->most > kind->most ? core->most : kind->most;
	if (least ? 10 * least < 9 * most : strcmp(kind->name, core->name) != 0)
		return false;
	kind->least = least;
	kind->most = most;
	return true;
}

/* The kinds of these cores, and the place of each core's kind among them. */
static size_t find_kinds(const char *root, const int *cores, size_t count,
			 struct kind kinds[KINDS_MAX], unsigned char *kind_of)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		const struct kind k = kind_of_core(root, cores[i]);
		size_t at = 0;
		while (at < found && !is_joined(&kinds[at], &k))
			at++;
		if (at == found && found < KINDS_MAX)
			kinds[found++] = k;
		kind_of[i] = (unsigned char)(at < KINDS_MAX ? at : KINDS_MAX - 1);
	}
	return found;
}

size_t core_kinds_keep_fastest(const char *root, int *cores, size_t count)
{
	struct kind kinds[KINDS_MAX];
	unsigned char kind_of[CORES_MAX];
	size_t kept = 0, fastest = 0;
	const size_t found = find_kinds(root, cores, count, kinds, kind_of);
	for (size_t k = 1; k < found; k++)
		if (is_faster(root, kinds[k].first, kinds[fastest].first))
			fastest = k;
	for (size_t i = 0; i < count; i++)
		if (kind_of[i] == fastest)
			cores[kept++] = cores[i];
	return kept;
}

/* Append " 0-3,8", the cores of a kind. */
static size_t put_list(char *text, size_t capacity, const int *cores, const unsigned char *kind_of,
		       size_t count, unsigned kind)
{
	const char *before = " ";
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		size_t last = i;
		if (kind_of[i] != kind)
			continue;
		while (last + 1 < count && kind_of[last + 1] == kind &&
		       cores[last + 1] == cores[last] + 1)
			last++;
		at += (size_t)snprintf(text + at, capacity - at, last > i ? "%s%d-%d" : "%s%d",
				       before, cores[i], cores[last]);
		before = ",";
		i = last;
	}
	return at;
}

char *core_kinds_text(const char *root)
{
	struct kind kinds[KINDS_MAX];
	unsigned char kind_of[CORES_MAX];
	int *cores = malloc(CORES_MAX * sizeof(*cores));
	size_t at = 0;
	const size_t count = cores ? cores_online(root, cores) : 0,
		     found = find_kinds(root, cores, count, kinds, kind_of);
	/* A core takes a blank or a comma and four digits at most. */
	const size_t capacity = 6 * count + KINDS_MAX * (CORE_KIND_BYTES + 4);
	char *text = found > 1 ? malloc(capacity) : NULL;
	for (unsigned k = 0; text && k < found; k++) {
		at += (size_t)snprintf(text + at, capacity - at, "%s%s", k ? "; " : "",
				       kinds[k].name[0] ? kinds[k].name : "unknown");
		at += put_list(text + at, capacity - at, cores, kind_of, count, k);
	}
	free(cores);
	return text;
}
