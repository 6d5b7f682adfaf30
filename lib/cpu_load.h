/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CPU time of other processes on the cores that this process may use: time that the kernel says was
 * not idle, minus what this process ran. Waiting times say less, because the threads of one process
 * also wait for each other.
 */
#ifndef GPUSIG_CPU_LOAD_H
#define GPUSIG_CPU_LOAD_H

#include <stdbool.h>
#include <stddef.h>

struct cpu_load {
	double idle_s, busy_s, stolen_s; /* sums over the cores */
	double own_s;                    /* CPU time of this process, or of its job's */
	double held_back_s; /* stopped by the CPU quota of a control group; sum over cores */
	double wall_s;
	unsigned cores;
	bool known; /* false where /proc/stat can't be read or has none of these cores */
};

/* Load of the cores that this process may use; of these cores, ascending, where own_s is the CPU
 * time of the processes that are not others. */
struct cpu_load cpu_load_now(void);
struct cpu_load cpu_load_mark(const int *cores, size_t count, double own_s);

/* CPU time of this process so far, of its children that have ended, and of the one that
 * cpu_load_count_process() named; 0: none. */
double cpu_load_own_s(void);
void cpu_load_count_process(int pid);

/* The account of these cores, ascending, in ROOT/proc/stat, and of the control groups; wall_s and
 * own_s are 0.
 */
struct cpu_load cpu_load_of(const char *root, const int *cores, size_t count);

struct cpu_share {
	/* Shares of the cores' time, in 0..1: run by other processes; given to other machines by
	 * the hypervisor although a core had work. */
	double others, stolen;
	/* Error of either, because the account ticks in hundredths of a second. */
	double error;
	unsigned cores;
	double held_back; /* of the cores' time, by the quota of a control group */
};

/* Between two marks. False, and the output left alone: they are less than 0.05 s apart, or the
 * account is unknown or does not add up to the time that passed, as where a container makes its
 * own. */
bool cpu_load_between(const struct cpu_load *from, const struct cpu_load *to,
		      struct cpu_share *share_p);

/* True if others certainly ran for more than 4 % of one core's time: enough to delay threads of
 * this process that waited for a core. */
bool cpu_load_was_shared(const struct cpu_share *share);

#endif
