/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last level of cache, from files as the Linux kernel writes them (kfd_topology.c of amdkfd):
 * lines "name value", sizes in KiB, and a list after sibling_map.
 */
#include "device/gpu/hip/kfd_topology.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Writes the file, with the folders above it. */
static void write_file(const char *lines, const char *format, ...)
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

static void write_cache(unsigned node, unsigned index, unsigned level, unsigned kib, unsigned type)
{
	char lines[512];
	snprintf(lines, sizeof(lines),
		 "processor_id_low 2147487744\nlevel %u\nsize %u\ncache_line_size "
		 "128\ncache_lines_per_tag 1\nassociation 16\n"
		 "latency 1\ntype %u\nsibling_map "
		 "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n",
		 level, kib, type);
	write_file(lines, "nodes/%u/caches/%u/properties", node, index);
}

/* A CPU, with caches larger than any GPU's. */
static void write_processor(void)
{
	write_file(
		"cpu_cores_count 96\nsimd_count 0\nmem_banks_count 1\ncaches_count 2\nlocation_id "
		"0\ndomain 0\n",
		"nodes/0/properties");
	write_cache(0, 0, 2, 98304, 5);
	write_cache(0, 1, 3, 1u << 20, 5);
}

/* MI300X at 0000:c1:00.0: the list has the L1 of every unit, the L2 of one of eight dies, and the
 * Infinity Cache. */
static void write_mi300x(unsigned node, const char *location, bool l3)
{
	char lines[256];
	snprintf(lines, sizeof(lines),
		 "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\n%s\nnum_xcc 8\n",
		 location);
	write_file(lines, "nodes/%u/properties", node);
	write_cache(node, 0, 1, 32, 9);
	write_cache(node, 1, 1, 64, 10);
	write_cache(node, 2, 1, 16, 9);
	write_cache(node, 3, 2, 4096, 9);
	if (l3)
		write_cache(node, 4, 3, 262144, 9);
}

static void expect_bytes(const char *bus, uint64_t wanted)
{
	uint64_t bytes = 0;
	int status = kfd_llc_bytes(root, bus, &bytes);
	if (status || bytes != wanted)
		printf("# %s: %d, %llu bytes\n", bus, status, (unsigned long long)bytes);
	expect(status == 0 && bytes == wanted);
}

static void expect_failure(const char *bus, int wanted)
{
	uint64_t bytes = 7;
	expect(kfd_llc_bytes(root, bus, &bytes) == wanted && bytes == 7);
}

static void the_infinity_cache_is_the_last_level(void)
{
	make_root();
	write_processor();
	write_mi300x(1, "location_id 49408\ndomain 0", true);
	expect_bytes("0000:c1:00.0", 256 * MIB);
	expect_bytes("0000:C1:00.0", 256 * MIB);
	remove_root();
}

static void without_it_every_die_has_an_l2(void)
{
	make_root();
	write_processor();
	write_mi300x(1, "location_id 49408\ndomain 0", false);
	expect_bytes("0000:c1:00.0", 32 * MIB);
	remove_root();
}

static void caches_of_one_level_are_added_up(void)
{
	make_root();
	write_mi300x(0, "location_id 49408\ndomain 0", true);
	write_cache(0, 5, 3, 262144, 9);
	write_cache(0, 6, 2, 4096, 9);
	write_cache(0, 7, 4, 1u << 20, 5); /* the CPU's, on the same die */
	expect_bytes("0000:c1:00.0", 512 * MIB);
	remove_root();
}

static void a_gpu_is_found_by_its_address(void)
{
	make_root();
	write_processor();
	write_mi300x(1, "location_id 768\ndomain 1", false);
	write_file("simd_count 440\nlocation_id 768\ndomain 0\nnum_xcc 1\n", "nodes/2/properties");
	write_cache(2, 0, 2, 8192, 9); /* one die of MI250X */
	/* A partition of a GPU: its number is in the bits above the address. */
	write_mi300x(3, "location_id 536872448\ndomain 2", true);
	expect_bytes("0000:03:00.0", 8 * MIB);
	expect_bytes("0001:03:00.0", 32 * MIB);
	expect_bytes("0002:06:00.0", 256 * MIB);
	expect_bytes("0002:06:00.2", 256 * MIB);
	expect_failure("0000:04:00.0", -ENOENT);
	expect_failure("0003:03:00.0", -ENOENT);
	expect_failure("0000:00:00.0", -ENOENT); /* the CPU's node is not a GPU */
	remove_root();
}

static void missing_information_is_enoent(void)
{
	make_root();
	expect_failure("0000:c1:00.0", -ENOENT);
	write_file("", "nodes/0/properties"); /* a GPU that the process may not see */
	write_file("simd_count 256\nlocation_id 49408\n", "nodes/1/properties");
	write_cache(1, 0, 1, 16, 9); /* older kernels list only the first level */
	expect_failure("0000:c1:00.0", -ENOENT);
	write_cache(1, 1, 2, 8192, 9); /* a kernel without domains; one die */
	write_file("", "nodes/1/caches/2/properties");
	write_cache(1, 3, 2, 8192, 9);
	expect_bytes("0000:c1:00.0", 16 * MIB);
	expect_failure("", -EINVAL);
	expect_failure("0000:100:00.0", -EINVAL);
	remove_root();
	expect_failure("0000:c1:00.0", -ENOENT);
}

int main(void)
{
	test(the_infinity_cache_is_the_last_level);
	test(without_it_every_die_has_an_l2);
	test(caches_of_one_level_are_added_up);
	test(a_gpu_is_found_by_its_address);
	test(missing_information_is_enoent);
	return test_done();
}
