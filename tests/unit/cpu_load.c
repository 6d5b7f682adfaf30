/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accounts of made machines of 2 to 256 cores.
 */
#include "lib/cpu_load.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], stat_file[96];

static cpu_set_t cores_of(unsigned count)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	for (size_t core = 0; core < count; core++)
		CPU_SET(core, &set);
	return set;
}

/* One core's account, in ticks. */
struct ticks {
	unsigned user, idle, iowait, stolen;
};

/* A machine that has four cores more than the process may use. The first one's account differs. */
static struct cpu_load account_of(unsigned cores, struct ticks first, struct ticks other)
{
	const cpu_set_t ours = cores_of(cores);
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
	return cpu_load_of(root, &ours);
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
	const cpu_set_t two = cores_of(2);
	to = cpu_load_of(root, &two);
	expect(!to.known && !second_after(from, to, 0.0, &share));
	expect(share.others == -1.0);
}

int main(void)
{
	char folder[80];
	snprintf(root, sizeof(root), "/tmp/gpusig-cpu-load-%d", (int)getpid());
	snprintf(folder, sizeof(folder), "%s/proc", root);
	snprintf(stat_file, sizeof(stat_file), "%s/stat", folder);
	if (mkdir(root, 0700) || mkdir(folder, 0700))
		return 1;
	test(others_ran_what_is_neither_idle_nor_own);
	test(short_work_between_ticks_is_seen);
	test(a_tick_of_rounding_is_nobody);
	test(what_does_not_add_up_is_unknown);
	unlink(stat_file);
	rmdir(folder);
	rmdir(root);
	return test_done();
}
