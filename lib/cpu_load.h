/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of our cores other processes used, from the kernel's counters before and after the work.
 */
#ifndef GPUSIG_CPU_LOAD_H
#define GPUSIG_CPU_LOAD_H

#include <stdbool.h>

struct cpu_load {
	double busy_s, stolen_s; /* sums over the cores that this process may use */
	double own_s;            /* CPU time of this process */
	double wall_s;
	unsigned cores;
	bool known; /* false where /proc/stat can't be read */
};

struct cpu_load cpu_load_now(void);

/* Shares of the cores' time between two marks, in 0..1: taken by other processes, and by the
 * hypervisor. The counters tick in hundredths of a second, so less than 0.2 s between the marks
 * returns false and leaves the outputs alone. */
bool cpu_load_between(const struct cpu_load *from, const struct cpu_load *to, double *others_p,
		      double *stolen_p);

#endif
