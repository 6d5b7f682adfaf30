/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cpu_load.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/cores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHORTEST_S 0.05
/* Difference of idle + busy + stolen time from the cores' time, as a share of it, beyond which the
 * account is not of these cores. */
#define ADDS_UP_WITHIN 0.1
/* Share of one core. */
#define SHARED_ABOVE 0.04

static double tick_s(void) { return 1.0 / (double)sysconf(_SC_CLK_TCK); }

static int counted_process;

void cpu_load_count_process(int pid) { counted_process = pid; }

/* 0: it is not there. */
static double process_s(int pid)
{
	char path[64];
	unsigned long long user = 0, system_ = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *stat = pid ? fopen(path, "re") : NULL;
	/* The name in parentheses may have anything in it, but this process's own has not. */
	if (stat &&
	    fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		   &user, &system_) != 2)
		user = system_ = 0;
	if (stat)
		fclose(stat);
	return tick_s() * (double)(user + system_);
}

static double used_s(int whose)
{
	struct rusage use;
	getrusage(whose, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

double cpu_load_own_s(void)
{
	return used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN) + process_s(counted_process);
}

/* The group that was stopped longest: those above it are stopped with it, or stop it. */
static void keep_longest_stop(const char *folder, int version, void *arg)
{
	const char *name = version == 1 ? "throttled_time %llu" : "throttled_usec %llu";
	const double unit_s = version == 1 ? 1e-9 : 1e-6;
	double *longest_s = arg;
	char path[4096], line[128];
	snprintf(path, sizeof(path), "%s/cpu.stat", folder);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long stopped;
		if (sscanf(line, name, &stopped) == 1)
			*longest_s = fmax(*longest_s, unit_s * (double)stopped);
	}
	if (file)
		fclose(file);
}

static int compare_cores(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static bool has_core(const int *cores, size_t count, int core)
{
	return bsearch(&core, cores, count, sizeof(core), compare_cores) != NULL;
}

struct cpu_load cpu_load_of(const char *root, const int *cores, size_t count)
{
	struct cpu_load mark = {0};
	char path[512], line[512];
	snprintf(path, sizeof(path), "%s/proc/stat", root);
	FILE *stat = fopen(path, "re");
	if (!stat)
		return mark;
	const double tick = tick_s();
	while (fgets(line, sizeof(line), stat)) {
		unsigned cpu;
		unsigned long long user, nice_, system_, idle, iowait, irq, softirq, steal;
		/* The first line is of all cores, and its first number would pass for a core's. */
		if (strncmp(line, "cpu ", 4) == 0 ||
		    sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			   &nice_, &system_, &idle, &iowait, &irq, &softirq, &steal) != 9 ||
		    !has_core(cores, count, (int)cpu))
			continue;
		mark.cores++;
		mark.idle_s += tick * (double)(idle + iowait);
		mark.busy_s += tick * (double)(user + nice_ + system_ + irq + softirq);
		mark.stolen_s += tick * (double)steal;
	}
	fclose(stat);
	mark.known = mark.cores > 0;
	cgroup_each(root, "cpu", keep_longest_stop, &mark.held_back_s);
	return mark;
}

struct cpu_load cpu_load_mark(const int *cores, size_t count, double own_s)
{
	struct cpu_load mark = cpu_load_of("", cores, count);
	mark.wall_s = 1e-9 * (double)clock_ns();
	mark.own_s = own_s;
	return mark;
}

struct cpu_load cpu_load_now(void)
{
	int cores[CORES_MAX];
	const double own_s = cpu_load_own_s();
	return cpu_load_mark(cores, cores_allowed(cores), own_s);
}

/* Idle time is counted by a clock and only shown in ticks, while busy time is counted by the
 * ticks, which work of a millisecond may always miss or always meet. So others ran for what is
 * left when idle and own time are taken off. */
bool cpu_load_between(const struct cpu_load *from, const struct cpu_load *to,
		      struct cpu_share *share_p)
{
	const double wall = to->wall_s - from->wall_s;
	if (!from->known || !to->known || to->cores != from->cores || wall < SHORTEST_S)
		return false;
	const double cores_s = wall * (double)to->cores;
	const double idle = to->idle_s - from->idle_s, stolen = to->stolen_s - from->stolen_s;
	const double counted = idle + stolen + to->busy_s - from->busy_s;
	/* A tick more or less for each core and column. */
	const double rounding = 2 * tick_s() * (double)to->cores;
	if (fabs(counted - cores_s) > ADDS_UP_WITHIN * cores_s + rounding)
		return false;
	const double others = cores_s - idle - stolen - (to->own_s - from->own_s);
	*share_p = (struct cpu_share){
		.others = others > 0.0 ? others / cores_s : 0.0,
		.stolen = stolen / cores_s,
		/* Two standard deviations of idle and stolen time: a difference of two numbers
		 * that are cut to a tick has one of a tick / sqrt(6). */
		.error = 2 * tick_s() * sqrt((double)to->cores / 3) / cores_s,
		.cores = to->cores,
		.held_back = fmax(0.0, to->held_back_s - from->held_back_s) / cores_s,
	};
	return true;
}

bool cpu_load_was_shared(const struct cpu_share *share)
{
	return (share->others - share->error) * share->cores > SHARED_ABOVE;
}
