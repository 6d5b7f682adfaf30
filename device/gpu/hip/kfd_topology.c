/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/hip/kfd_topology.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* HSA_CACHE_TYPE_DATA and HSA_CACHE_TYPE_HSACU; the latter excludes caches of a processor on the
 * same die. */
#define DATA_CACHE 0x1u
#define GPU_CACHE 0x8u
/* Bus and device in location_id. The driver chooses the function bits, and the upper bits count
 * partitions. */
#define PCI_MASK 0xfff8u

struct field {
	const char *name;
	uint64_t value; /* unchanged where the file has no such line */
};

/* False also for a node that the process may not see: its file opens but cannot be read. */
static bool read_fields(const char *path, struct field *fields, size_t count)
{
	char line[1024], name[64];
	uint64_t value;
	bool any = false;
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %" SCNu64, name, &value) != 2)
			continue;
		any = true;
		for (size_t i = 0; i < count; i++)
			if (strcmp(name, fields[i].name) == 0)
				fields[i].value = value;
	}
	fclose(file);
	return any;
}

static uint64_t llc_bytes_of_node(const char *root, unsigned node, uint64_t dies)
{
	uint64_t last = 1, bytes = 0;
	for (unsigned i = 0;; i++) {
		struct field f[] = {{"level", 0}, {"size", 0}, {"type", 0}}; /* size in KiB */
		char path[4096];
		snprintf(path, sizeof(path), "%s/nodes/%u/caches/%u/properties", root, node, i);
		if (access(path, F_OK))
			return last == 2 ? bytes * dies : bytes;
		if (!read_fields(path, f, 3) || !(f[2].value & DATA_CACHE) ||
		    !(f[2].value & GPU_CACHE) || f[0].value < last || f[0].value < 2)
			continue;
		bytes = f[1].value * 1024 + (f[0].value == last ? bytes : 0);
		last = f[0].value;
	}
}

int kfd_llc_bytes(const char *root, const char *bus, uint64_t *bytes_p)
{
	unsigned domain, on, device;
	if (sscanf(bus, "%x:%x:%x.", &domain, &on, &device) != 3 || on > 0xff || device > 0x1f)
		return err_note(-EINVAL, "'%.31s' is not a PCI address", bus);
	for (unsigned node = 0;; node++) {
		struct field f[] = {
			{"domain", 0}, {"location_id", 0}, {"num_xcc", 1}, {"simd_count", 0}};
		char path[4096];
		snprintf(path, sizeof(path), "%s/nodes/%u/properties", root, node);
		if (access(path, F_OK))
			return err_note(-ENOENT, "%s has no GPU at %.31s", root, bus);
		if (!read_fields(path, f, 4) || f[3].value == 0)
			continue;
		if (f[0].value != domain || (f[1].value & PCI_MASK) != (on << 8 | device << 3))
			continue;
		uint64_t bytes = llc_bytes_of_node(root, node, f[2].value);
		if (bytes == 0)
			return err_note(-ENOENT,
					"%s lists no cache behind the first level of %.31s", root,
					bus);
		*bytes_p = bytes;
		return 0;
	}
}
