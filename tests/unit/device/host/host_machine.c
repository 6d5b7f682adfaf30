/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shares of cores, their caches and memory, also on recorded machines unlike this one.
 */
#include "device/host/host_machine.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#include <errno.h>

#define TOPOLOGY "sys/devices/system/cpu/cpu%d/topology/%s"
#define CACHE "sys/devices/system/cpu/cpu%d/cache/%s"

/* Four cores of two threads numbered n and n+4; a level 2 cache each, a level 3 cache for two. */
static void record_machine(void)
{
	for (int cpu = 0; cpu < 8; cpu++) {
		char threads[32], pair[32];
		snprintf(threads, sizeof(threads), "%d,%d", cpu % 4, cpu % 4 + 4);
		snprintf(pair, sizeof(pair), "%s", cpu % 4 < 2 ? "0-1,4-5" : "2-3,6-7");
		write_sysfs(threads, TOPOLOGY, cpu, "thread_siblings_list");
		write_sysfs("1", CACHE, cpu, "index0/level");
		write_sysfs("Instruction", CACHE, cpu, "index0/type");
		write_sysfs("64K", CACHE, cpu, "index0/size");
		write_sysfs("1", CACHE, cpu, "index1/level");
		write_sysfs("Data", CACHE, cpu, "index1/type");
		write_sysfs("48K", CACHE, cpu, "index1/size");
		write_sysfs(threads, CACHE, cpu, "index1/shared_cpu_list");
		write_sysfs("3", CACHE, cpu, "index2/level");
		write_sysfs("Unified", CACHE, cpu, "index2/type");
		write_sysfs("16M", CACHE, cpu, "index2/size");
		write_sysfs(pair, CACHE, cpu, "index2/shared_cpu_list");
	}
}

static void each_cache_counts_once(void)
{
	const int cores[] = {0, 1, 2};
	expect(host_cache_bytes(root, cores, 1, 1) == 48u << 10);
	expect(host_cache_bytes(root, cores, 3, 1) == 3 * (48u << 10));
	expect(host_cache_bytes(root, cores, 2, 3) == 16u << 20);
	expect(host_cache_bytes(root, cores, 3, 3) == 32u << 20);
	expect(host_cache_bytes(root, cores, 3, 2) == 0);
	expect(host_cache_bytes("/dev/null/none", cores, 3, 1) == 0);
}

static void shares_are_even(void)
{
	static const struct {
		size_t total;
		unsigned index, count;
		size_t first, cores;
	} rows[] = {
		{8, 0, 1, 0, 8}, {8, 1, 2, 4, 4}, {7, 2, 3, 4, 2}, {1, 0, 1, 0, 1},
		{1, 3, 4, 0, 1}, {2, 3, 4, 1, 1}, {2, 2, 4, 0, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t first, cores;
		host_cores_share(rows[i].total, rows[i].index, rows[i].count, &first, &cores);
		expect(first == rows[i].first && cores == rows[i].cores);
	}
}

static void this_machine_is_described(void)
{
	int cores[CORES_MAX];
	size_t count = 0;
	char processor[96] = "", kernel[64] = "";
	require(host_cores("", cores, &count) == 0);
	expect(count >= 1);
	setenv("GPUSIG_CORE_KINDS", "some", 1);
	expect(host_cores("", cores, &count) == -EINVAL);
	unsetenv("GPUSIG_CORE_KINDS");
	host_names(processor, sizeof(processor), kernel, sizeof(kernel));
	expect(processor[0] && kernel[0]);
	expect(host_memory_available_bytes("") > 0);
}

#define MB(n) ((uint64_t)(n) << 20)

static void write_group(const char *file, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "sys/fs/cgroup/%s", file);
	write_under_root(text, path);
}

static void control_groups_bound_memory(void)
{
	expect(host_cgroup_free_bytes("/dev/null/none") == UINT64_MAX);
	write_under_root("0::/a/b", "proc/self/cgroup");
	expect(host_cgroup_free_bytes(root) == UINT64_MAX);
	write_group("a/b/memory.max", "max");
	write_group("a/b/memory.current", "1048576");
	expect(host_cgroup_free_bytes(root) == UINT64_MAX);
	write_group("a/memory.max", "268435456");
	write_group("a/memory.current", "67108864");
	expect(host_cgroup_free_bytes(root) == MB(192));
	write_group("a/memory.stat", "file 9\ninactive_file 33554432\nactive_file 1");
	expect(host_cgroup_free_bytes(root) == MB(224));
	write_group("a/b/memory.max", "104857600");
	expect(host_cgroup_free_bytes(root) == MB(99));
	write_group("a/b/memory.current", "104857601");
	expect(host_cgroup_free_bytes(root) == 0);
	write_under_root("MemTotal: 9000 kB\nMemAvailable:    8000 kB", "proc/meminfo");
	expect(host_memory_available_bytes(root) == 1);
	write_group("a/b/memory.current", "104857500");
	expect(host_memory_available_bytes(root) == 100);
	write_group("a/b/memory.current", "0");
	expect(host_memory_available_bytes(root) == 8000 << 10);
	expect(host_memory_available_bytes("/dev/null/none") == 0);
}

static void version_1_groups_bound_memory(void)
{
	write_under_root("3:cpu,cpuacct:/x\n2:memory:/job/step\n0::/", "proc/self/cgroup");
	write_group("memory/memory.limit_in_bytes", "9223372036854771712");
	write_group("memory/memory.usage_in_bytes", "1000000");
	expect(host_cgroup_free_bytes(root) > MB(1 << 20));
	write_group("memory/job/memory.limit_in_bytes", "268435456");
	write_group("memory/job/memory.usage_in_bytes", "134217728");
	write_group("memory/job/step/memory.limit_in_bytes", "209715200");
	write_group("memory/job/step/memory.usage_in_bytes", "10485760");
	expect(host_cgroup_free_bytes(root) == MB(128));
	write_group("memory/job/memory.stat", "total_inactive_file 125829120");
	expect(host_cgroup_free_bytes(root) == MB(190));
}

int main(void)
{
	if (!mkdtemp(root))
		return 77;
	record_machine();
	test(each_cache_counts_once);
	test(control_groups_bound_memory);
	test(version_1_groups_bound_memory);
	test(shares_are_even);
	test(this_machine_is_described);
	forget_machine();
	return test_done();
}
