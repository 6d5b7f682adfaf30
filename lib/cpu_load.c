/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cpu_load.h"
#include "lib/clock.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double timeval_seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

struct cpu_load cpu_load_now(void)
{
	struct cpu_load mark = {.wall_s = 1e-9 * (double)clock_ns()};
	struct rusage use;
	cpu_set_t ours;
	FILE *stat = fopen("/proc/stat", "re");
	if (!stat || sched_getaffinity(0, sizeof(ours), &ours) != 0 ||
	    getrusage(RUSAGE_SELF, &use) != 0) {
		if (stat)
			fclose(stat);
		return mark;
	}
	mark.own_s = timeval_seconds(use.ru_utime) + timeval_seconds(use.ru_stime);
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	char line[512];
	while (fgets(line, sizeof(line), stat)) {
		unsigned cpu;
		unsigned long long user, nice_, system_, idle, iowait, irq, softirq, steal;
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user,
			   &nice_, &system_, &idle, &iowait, &irq, &softirq, &steal) != 9 ||
		    cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &ours))
			continue;
		mark.cores++;
		mark.busy_s += tick * (double)(user + nice_ + system_ + irq + softirq);
		mark.stolen_s += tick * (double)steal;
	}
	fclose(stat);
	mark.known = mark.cores > 0;
	return mark;
}

bool cpu_load_between(const struct cpu_load *from, const struct cpu_load *to, double *others_p,
		      double *stolen_p)
{
	double wall = to->wall_s - from->wall_s;
	if (!from->known || !to->known || wall < 0.2)
		return false;
	double available_s = wall * (double)to->cores;
	double others = (to->busy_s - from->busy_s) - (to->own_s - from->own_s);
	*others_p = others > 0.0 ? others / available_s : 0.0;
	*stolen_p = (to->stolen_s - from->stolen_s) / available_s;
	return true;
}
