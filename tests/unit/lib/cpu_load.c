/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accounts of made machines of 2 to 256 cores.
 */
#include "lib/cpu_load.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64], stat_file[96];

static struct cpu_load load_of(unsigned count)
{
	int cores[512];
	for (unsigned core = 0; core < count; core++)
		cores[core] = (int)core;
	return cpu_load_of(root, cores, count);
}

/* One core's account, in ticks. */
struct ticks {
	unsigned user, idle, iowait, stolen;
};

/* A machine that has four cores more than the process may use. The first one's account differs. */
static struct cpu_load account_of(unsigned cores, struct ticks first, struct ticks other)
{
	FILE *file = fopen(stat_file, "w");
	require(file != NULL);
	fprintf(file, "cpu  1 2 3 4 5 6 7 8 9 10\n");
	for (unsigned core = 0; core < cores + 4; core++) {
		const struct ticks t = core ? other : first;
		fprintf(file, "cpu%u %u 0 0 %u %u 0 0 %u 0 0\n", core, t.user, t.idle, t.iowait,
			t.stolen);
	}
	fprintf(file, "intr 123\nctxt 5\n");
	fclose(file);
	return load_of(cores);
}

/* In the second after `from`, in which this process ran for so long itself. */
static bool second_after(struct cpu_load from, struct cpu_load to, double own_s,
			 struct cpu_share *share)
{
	to.wall_s = from.wall_s + 1.0;
	to.own_s = own_s;
	return cpu_load_between(&from, &to, share);
}

static void others_ran_what_is_neither_idle_nor_own(void)
{
	const unsigned sizes[] = {2, 8, 64, 256};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const unsigned cores = sizes[i];
		struct cpu_share share;
		const struct cpu_load from =
			account_of(cores, (struct ticks){0}, (struct ticks){0});
		require(from.known && from.cores == cores);
		/* All of them idle, but for half a second of our own on the first. */
		struct cpu_load to = account_of(cores, (struct ticks){.user = 50, .idle = 50},
						(struct ticks){.idle = 90, .iowait = 10});
		expect(second_after(from, to, 0.5, &share));
		expect_near(share.others, 0.0, 1e-9);
		expect(!cpu_load_was_shared(&share) && share.error > 0.0);
		/* The same account, of which nothing is our own. */
		expect(second_after(from, to, 0.0, &share));
		expect_near(share.others * cores, 0.5, 1e-9);
		expect(cpu_load_was_shared(&share));
		/* The first core was given to another machine. */
		to = account_of(cores, (struct ticks){.idle = 80, .stolen = 20},
				(struct ticks){.idle = 100});
		expect(second_after(from, to, 0.0, &share));
		expect_near(share.stolen * cores, 0.2, 1e-9);
		expect_near(share.others, 0.0, 1e-9);
	}
}

/* Work of a millisecond in ten, that no tick meets: idle time tells, busy time does not. */
static void short_work_between_ticks_is_seen(void)
{
	struct cpu_share share;
	const struct cpu_load from = account_of(2, (struct ticks){0}, (struct ticks){0}),
			      to = account_of(2, (struct ticks){.idle = 90},
					      (struct ticks){.idle = 100});
	expect(second_after(from, to, 0.0, &share));
	expect_near(share.others, 0.05, 1e-9);
	expect(cpu_load_was_shared(&share));
}

static void a_tick_of_rounding_is_nobody(void)
{
	struct cpu_share share;
	const struct cpu_load from = account_of(2, (struct ticks){0}, (struct ticks){0}),
			      to = account_of(2, (struct ticks){.idle = 99},
					      (struct ticks){.idle = 99});
	expect(second_after(from, to, 0.0, &share));
	expect(share.others > 0.0 && !cpu_load_was_shared(&share));
}

static void write_file(const char *name, const char *text)
{
	char path[192];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs(text, file);
	fclose(file);
}

/* A container with one core's worth of two, in both versions of control groups. */
static void a_quota_is_not_others(void)
{
	static const struct {
		const char *groups, *file, *before, *after;
	} versions[] = {
		{"0::/a/b\n", "sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nthrottled_usec 1000000\n",
		 "usage_usec 9\nthrottled_usec 1500000\n"},
		{"4:cpuset:/\n3:cpu,cpuacct:/x\n0::/\n", "sys/fs/cgroup/cpu/x/cpu.stat",
		 "nr_throttled 7\nthrottled_time 1000000000\n",
		 "nr_throttled 8\nthrottled_time 1500000000\n"},
	};
	for (size_t i = 0; i < 2; i++) {
		struct cpu_share share;
		write_file("proc/self/cgroup", versions[i].groups);
		write_file(versions[i].file, versions[i].before);
		const struct cpu_load from = account_of(2, (struct ticks){0}, (struct ticks){0});
		write_file(versions[i].file, versions[i].after);
		const struct cpu_load to = account_of(2, (struct ticks){.user = 50, .idle = 50},
						      (struct ticks){.user = 50, .idle = 50});
		expect(second_after(from, to, 1.0, &share));
		expect_near(share.others, 0.0, 1e-9);
		expect_near(share.held_back, 0.25, 1e-9);
		write_file(versions[i].file, "");
	}
}

static void what_does_not_add_up_is_unknown(void)
{
	struct cpu_share share = {.others = -1.0};
	const struct cpu_load from = account_of(2, (struct ticks){0}, (struct ticks){0});
	struct cpu_load to = account_of(2, (struct ticks){.idle = 50}, (struct ticks){.idle = 100});
	expect(!second_after(from, to, 0.0, &share));   /* half a core is nowhere */
	expect(!second_after(from, from, 0.0, &share)); /* counters that stand still */
	to = account_of(3, (struct ticks){.idle = 100}, (struct ticks){.idle = 100});
	expect(!second_after(from, to, 0.0, &share)); /* a core more */
	to = account_of(2, (struct ticks){.idle = 100}, (struct ticks){.idle = 100});
	to.wall_s = 0.04;
	expect(!cpu_load_between(&from, &to, &share)); /* too short */
	unlink(stat_file);
	to = load_of(2);
	expect(!to.known && !second_after(from, to, 0.0, &share));
	expect(share.others == -1.0);
}

/* The folders of a made machine, each after the one that holds it. */
static const char *const folders[] = {
	"",
	"/proc",
	"/proc/self",
	"/sys",
	"/sys/fs",
	"/sys/fs/cgroup",
	"/sys/fs/cgroup/a",
	"/sys/fs/cgroup/cpu",
	"/sys/fs/cgroup/cpu/x",
};
static const char *const files[] = {
	"/proc/stat",
	"/proc/self/cgroup",
	"/sys/fs/cgroup/a/cpu.stat",
	"/sys/fs/cgroup/cpu/x/cpu.stat",
};

static void burn_time(double seconds)
{
	while (cpu_load_own_s() < seconds)
		;
}

/* While it runs, and after it was waited for. */
static void a_counted_process_is_own(void)
{
	const double before_s = cpu_load_own_s();
	const pid_t pid = fork();
	if (pid == 0) {
		burn_time(0.2);
		pause();
		_exit(0);
	}
	expect(cpu_load_own_s() < before_s + 0.1);
	cpu_load_count_process(pid);
	while (cpu_load_own_s() < before_s + 0.15)
		usleep(1000);
	kill(pid, SIGKILL);
	expect(waitpid(pid, NULL, 0) == pid);
	cpu_load_count_process(0);
	expect(cpu_load_own_s() > before_s + 0.15);
}

int main(void)
{
	const size_t folder_count = sizeof(folders) / sizeof(folders[0]);
	char path[192];
	snprintf(root, sizeof(root), "/tmp/gpusig-cpu-load-%d", (int)getpid());
	snprintf(stat_file, sizeof(stat_file), "%s/proc/stat", root);
	for (size_t i = 0; i < folder_count; i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		if (mkdir(path, 0700))
			return 1;
	}
	test(others_ran_what_is_neither_idle_nor_own);
	test(short_work_between_ticks_is_seen);
	test(a_tick_of_rounding_is_nobody);
	test(a_quota_is_not_others);
	test(what_does_not_add_up_is_unknown);
	test(a_counted_process_is_own);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		unlink(path);
	}
	for (size_t i = folder_count; i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		rmdir(path);
	}
	return test_done();
}
