/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Number and kinds of cores that compute at once, on machines unlike this one.
 */
#include "device/gpu/gpu_numa.h"
#include "device/host/host_machine.h"
#include "lib/core_kinds.h"
#include "lib/cores.h"
#include "lib/first_line.h"
#include "lib/text.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>

#define TOPOLOGY "sys/devices/system/cpu/cpu%d/topology/%s"
#define CPU "sys/devices/system/cpu/cpu%d/%s"

static int cores[CORES_MAX];
static const int eight[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* A kernel for 8192 processors refuses masks that are shorter than its own. */
static bool kernel_is_large;
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask)
{
	if (kernel_is_large && bytes < CORES_MAX / 8) {
		errno = EINVAL;
		return -1;
	}
	memset(mask, 0, bytes);
	return syscall(SYS_sched_getaffinity, process, bytes, mask) < 0 ? -1 : 0;
}

/* Four cores of two threads numbered n and n+4. */
static void record_threads(void)
{
	for (int cpu = 0; cpu < 8; cpu++) {
		char threads[32];
		snprintf(threads, sizeof(threads), "%d,%d", cpu % 4, cpu % 4 + 4);
		write_sysfs(threads, TOPOLOGY, cpu, "thread_siblings_list");
	}
}

static void forget_groups(void) { write_under_root("", "proc/self/cgroup"); }

static void threads_of_a_core_count_once(void)
{
	const int some[] = {1, 3, 5, 6}, one_core[] = {2, 6};
	require(cores_apart(root, eight, 8, cores) == 4);
	expect(cores[0] == 0 && cores[3] == 3);
	require(cores_apart(root, some, 4, cores) == 3);
	expect(cores[0] == 1 && cores[1] == 3 && cores[2] == 6);
	expect(cores_at_once(root, one_core, 2, cores) == 1);
	bool all[CORES_MAX] = {false};
	cores_add_threads(root, some, 2, all);
	for (int processor = 0; processor < CORES_MAX; processor++)
		expect(all[processor] == (processor < 8 && processor % 2));
}

static void without_topology_every_processor_is_a_core(void)
{
	const int all[] = {4, 9};
	expect(cores_apart("/dev/null/none", all, 2, cores) == 2);
}

static void the_smallest_quota_holds(void)
{
	expect(isinf(cores_quota("/dev/null/none")));
	write_under_root("0::/a/b", "proc/self/cgroup");
	expect(isinf(cores_quota(root)));
	write_under_root("max 100000", "sys/fs/cgroup/a/b/cpu.max");
	expect(isinf(cores_quota(root)));
	write_under_root("250000 100000", "sys/fs/cgroup/a/cpu.max");
	expect_near(cores_quota(root), 2.5, 1e-12);
	write_under_root("600000 200000", "sys/fs/cgroup/a/b/cpu.max");
	expect_near(cores_quota(root), 2.5, 1e-12);
	write_under_root("3:cpuacct,cpu:/y\n0::/", "proc/self/cgroup");
	write_under_root("150000", "sys/fs/cgroup/cpuacct,cpu/y/cpu.cfs_quota_us");
	write_under_root("100000", "sys/fs/cgroup/cpuacct,cpu/y/cpu.cfs_period_us");
	expect_near(cores_quota(root), 1.5, 1e-9);
	write_under_root("3:cpu,cpuacct:/x\n0::/", "proc/self/cgroup");
	write_under_root("-1", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us");
	write_under_root("100000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us");
	expect(isinf(cores_quota(root)));
	write_under_root("50000", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us");
	expect_near(cores_quota(root), 0.5, 1e-12);
	forget_groups();
}

static void no_more_compute_at_once_than_the_quota_grants(void)
{
	expect(cores_at_once(root, eight, 8, cores) == 4);
	write_under_root("0::/q", "proc/self/cgroup");
	write_under_root("399000 100000", "sys/fs/cgroup/q/cpu.max");
	expect(cores_at_once(root, eight, 8, cores) == 3);
	write_under_root("10000 100000", "sys/fs/cgroup/q/cpu.max");
	expect(cores_at_once(root, eight, 8, cores) == 1);
	write_under_root("900000 100000", "sys/fs/cgroup/q/cpu.max");
	expect(cores_at_once(root, eight, 8, cores) == 4);
	expect(cores_at_once(root, eight, 0, cores) == 0);
	forget_groups();
}

/* The number of cores that are left, and the first of them. */
static void expect_fastest(size_t count, int first)
{
	int left[8];
	memcpy(left, eight, sizeof(left));
	expect(core_kinds_keep_fastest(root, left, 8) == count);
	expect(left[0] == first);
}

static void expect_kinds(const char *wanted)
{
	char *text = core_kinds_text(root);
	expect_str(text ? text : "one kind", wanted);
	free(text);
}

static void kinds_are_told_apart_by_capacity_then_register_then_counters(void)
{
	char name[CORE_KIND_BYTES];
	write_under_root("0-7", "sys/devices/system/cpu/online");
	expect_fastest(8, 0);
	expect_kinds("one kind");
	for (int cpu = 0; cpu < 8; cpu++)
		write_sysfs(cpu < 5 ? "446" : "1024", CPU, cpu, "cpu_capacity");
	expect_fastest(3, 5);
	expect_kinds("capacity 446 0-4; capacity 1024 5-7");
	for (int cpu = 0; cpu < 8; cpu++) {
		char capacity[8];
		snprintf(capacity, sizeof(capacity), "%d", 1003 + 3 * (cpu * 5 % 8));
		write_sysfs(capacity, CPU, cpu, "cpu_capacity");
	}
	expect_fastest(8, 0);
	expect_kinds("one kind");
	for (int cpu = 0; cpu < 3; cpu++)
		write_sysfs(cpu == 1 ? "431" : "446", CPU, cpu, "cpu_capacity");
	expect_fastest(5, 3);
	expect_kinds("capacity 446 0-2; capacity 1024 3-7");
	/* Two parts, of which one has two clocks and two revisions. */
	for (int cpu = 0; cpu < 8; cpu++) {
		write_sysfs(cpu % 4 == 0 ? "0x00000000410fd871"
			    : cpu < 4    ? "0x00000000411fd850"
					 : "0x00000000410fd851",
			    CPU, cpu, "regs/identification/midr_el1");
		write_sysfs(cpu % 4 == 0 ? "718"
			    : cpu < 4    ? "997"
					 : "1024",
			    CPU, cpu, "cpu_capacity");
	}
	expect_fastest(6, 1);
	core_kind_name(root, 1, name);
	expect_str(name, "implementer 0x41 part 0xd85");
	expect_kinds("implementer 0x41 part 0xd87 0,4; implementer 0x41 part 0xd85 1-3,5-7");
	write_under_root("2-3", "sys/devices/cpu_core/cpus");
	write_under_root("0-1,4-7", "sys/devices/cpu_atom/cpus");
	for (int cpu = 0; cpu < 8; cpu++) {
		write_sysfs("1024", CPU, cpu, "cpu_capacity");
		write_sysfs(cpu == 2 || cpu == 3 ? "5100000" : "3800000", CPU, cpu,
			    "cpufreq/cpuinfo_max_freq");
	}
	expect_fastest(2, 2);
	expect_kinds("cpu_atom 0-1,4-7; cpu_core 2-3");
}

/* The units of a device, of two processors that this process may use. */
static void units_are_of_one_kind_unless_asked(void)
{
	int allowed[CORES_MAX];
	size_t count = 0;
	char first[16];
	if (cores_allowed(allowed) < 2)
		skip("one processor");
	forget_machine();
	require(mkdir(root, 0700) == 0);
	snprintf(first, sizeof(first), "%d", allowed[0]);
	write_under_root(first, "sys/devices/cpu_core/cpus");
	require(host_cores(root, cores, &count) == 0);
	expect(count == 1 && cores[0] == allowed[0]);
	setenv("GPUSIG_CORE_KINDS", "all", 1);
	require(host_cores(root, cores, &count) == 0);
	unsetenv("GPUSIG_CORE_KINDS");
	expect(count == cores_allowed(allowed));
}

static void masks_are_read_from_large_kernels(void)
{
	char name[64], processor[16];
	const int last = cores[cores_allowed(cores) - 1];
	snprintf(name, sizeof(name), "node0/cpulist");
	snprintf(processor, sizeof(processor), "%d,8000", last);
	write_under_root(processor, name);
	setenv("GPUSIG_NUMA_TOPOLOGY", root, 1);
	kernel_is_large = true;
	expect(gpu_numa_pin_thread(0));
	expect(cores_allowed(cores) == 1 && cores[0] == last);
	kernel_is_large = false;
	unsetenv("GPUSIG_NUMA_TOPOLOGY");
}

/* Every other of 8192 processors, which no range joins. */
static void the_longest_list_of_processors_is_whole(void)
{
	char path[128];
	struct text list = {0};
	for (int processor = 0; processor < CORES_MAX; processor += 2)
		text_add(&list, "%s%d", processor ? "," : "Cpus_allowed_list:\t", processor);
	require(text_whole(&list));
	write_under_root(list.bytes, "proc/self/status");
	snprintf(path, sizeof(path), "%s/proc/self/status", root);
	char *found = first_field_read(path, "Cpus_allowed_list", ':');
	require(found);
	expect(strcmp(found, strchr(list.bytes, '\t') + 1) == 0);
	free(found);
	text_free(&list);
	expect(!first_field_read(path, "Cpus", ';') && !first_field_read("/dev/null", "a", ':'));
}

int main(void)
{
	if (!mkdtemp(root))
		return 77;
	record_threads();
	test(threads_of_a_core_count_once);
	test(without_topology_every_processor_is_a_core);
	test(the_smallest_quota_holds);
	test(no_more_compute_at_once_than_the_quota_grants);
	test(kinds_are_told_apart_by_capacity_then_register_then_counters);
	test(units_are_of_one_kind_unless_asked);
	test(masks_are_read_from_large_kernels);
	test(the_longest_list_of_processors_is_whole);
	forget_machine();
	return test_done();
}
