/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last level of cache, from trees of files as the kernel writes them (kfd_topology.c of amdkfd): lines "name value", sizes
 * in KiB, and a list behind sibling_map.
 */
#include "device/kfd_topology.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define MIB (UINT64_C(1) << 20)

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/gpusig-kfd-XXXXXX");
	require(mkdtemp(root));
}

static void remove_root(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	expect(system(command) == 0);
}

/* The file of these lines, with the folders above it. */
static void put(const char *lines, const char *format, ...)
{
	char path[256];
	va_list rest;
	int used = snprintf(path, sizeof(path), "%s/", root);
	va_start(rest, format);
	vsnprintf(path + used, sizeof(path) - (size_t)used, format, rest);
	va_end(rest);
	for (char *c = path + used; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	FILE *file = fopen(path, "we");
	require(file);
	fputs(lines, file);
	fclose(file);
}

static void put_cache(unsigned node, unsigned index, unsigned level, unsigned kib, unsigned type)
{
	char lines[512];
	snprintf(lines, sizeof(lines),
	         "processor_id_low 2147487744\nlevel %u\nsize %u\ncache_line_size 128\ncache_lines_per_tag 1\nassociation 16\n"
	         "latency 1\ntype %u\nsibling_map 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n",
	         level, kib, type);
	put(lines, "nodes/%u/caches/%u/properties", node, index);
}

/* A processor, with caches larger than any GPU's. */
static void put_processor(void)
{
	put("cpu_cores_count 96\nsimd_count 0\nmem_banks_count 1\ncaches_count 2\nlocation_id 0\ndomain 0\n", "nodes/0/properties");
	put_cache(0, 0, 2, 98304, 5);
	put_cache(0, 1, 3, 1u << 20, 5);
}

/* MI300X at 0000:c1:00.0: the list has the L1 of every unit, the L2 of one of eight dies, and the Infinity Cache. */
static void put_mi300x(unsigned node, const char *place, bool l3)
{
	char lines[256];
	snprintf(lines, sizeof(lines), "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\n%s\nnum_xcc 8\n", place);
	put(lines, "nodes/%u/properties", node);
	put_cache(node, 0, 1, 32, 9);
	put_cache(node, 1, 1, 64, 10);
	put_cache(node, 2, 1, 16, 9);
	put_cache(node, 3, 2, 4096, 9);
	if (l3)
		put_cache(node, 4, 3, 262144, 9);
}

static void gives(const char *bus, uint64_t wanted)
{
	uint64_t bytes = 0;
	int rc = kfd_last_level(root, bus, &bytes);
	if (rc || bytes != wanted)
		printf("# %s: %d, %llu bytes\n", bus, rc, (unsigned long long)bytes);
	expect(rc == 0 && bytes == wanted);
}

static void fails(const char *bus, int wanted)
{
	uint64_t bytes = 7;
	expect(kfd_last_level(root, bus, &bytes) == wanted && bytes == 7);
}

static void the_infinity_cache_is_the_last_level(void)
{
	make_root();
	put_processor();
	put_mi300x(1, "location_id 49408\ndomain 0", true);
	gives("0000:c1:00.0", 256 * MIB);
	gives("0000:C1:00.0", 256 * MIB);
	remove_root();
}

static void without_it_every_die_has_an_l2(void)
{
	make_root();
	put_processor();
	put_mi300x(1, "location_id 49408\ndomain 0", false);
	gives("0000:c1:00.0", 32 * MIB);
	remove_root();
}

static void caches_of_one_level_are_added_up(void)
{
	make_root();
	put_mi300x(0, "location_id 49408\ndomain 0", true);
	put_cache(0, 5, 3, 262144, 9);
	put_cache(0, 6, 2, 4096, 9);
	put_cache(0, 7, 4, 1u << 20, 5); /* the processor's, on the same die */
	gives("0000:c1:00.0", 512 * MIB);
	remove_root();
}

static void a_gpu_is_found_by_its_address(void)
{
	make_root();
	put_processor();
	put_mi300x(1, "location_id 768\ndomain 1", false);
	put("simd_count 440\nlocation_id 768\ndomain 0\nnum_xcc 1\n", "nodes/2/properties");
	put_cache(2, 0, 2, 8192, 9); /* one die of MI250X */
	/* A partition of a GPU: its number stands above the address. */
	put_mi300x(3, "location_id 536872448\ndomain 2", true);
	gives("0000:03:00.0", 8 * MIB);
	gives("0001:03:00.0", 32 * MIB);
	gives("0002:06:00.0", 256 * MIB);
	gives("0002:06:00.2", 256 * MIB);
	fails("0000:04:00.0", -ENOENT);
	fails("0003:03:00.0", -ENOENT);
	fails("0000:00:00.0", -ENOENT); /* the processor's node is no GPU */
	remove_root();
}

static void what_is_not_told_is_unknown(void)
{
	make_root();
	fails("0000:c1:00.0", -ENOENT);
	put("", "nodes/0/properties"); /* of a GPU that the process may not see */
	put("simd_count 256\nlocation_id 49408\n", "nodes/1/properties");
	put_cache(1, 0, 1, 16, 9); /* older kernels list the first level alone */
	fails("0000:c1:00.0", -ENOENT);
	put_cache(1, 1, 2, 8192, 9); /* a kernel without domains, and of one die */
	put("", "nodes/1/caches/2/properties");
	put_cache(1, 3, 2, 8192, 9);
	gives("0000:c1:00.0", 16 * MIB);
	fails("", -EINVAL);
	fails("0000:100:00.0", -EINVAL);
	remove_root();
	fails("0000:c1:00.0", -ENOENT);
}

int main(void)
{
	test(the_infinity_cache_is_the_last_level);
	test(without_it_every_die_has_an_l2);
	test(caches_of_one_level_are_added_up);
	test(a_gpu_is_found_by_its_address);
	test(what_is_not_told_is_unknown);
	return test_done();
}
