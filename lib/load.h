/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who else used our cores? Read from the kernel's counters around a stretch of work.
 */
#ifndef GPUSIG_LOAD_H
#define GPUSIG_LOAD_H

#include <stdbool.h>

struct load_mark {
	double busy_s, stolen_s; /* sums over the cores this process may use */
	double own_s;            /* CPU time of this process */
	double wall_s;
	unsigned cores;
	bool known; /* false where /proc/stat can't be read */
};

struct load_mark load_now(void);

/* Shares of the cores' time between two marks, in 0..1: taken by other processes, and by the hypervisor.
 * Counters tick in hundredths of a second, so a stretch under 0.2 s returns false and leaves the outputs alone. */
bool load_between(const struct load_mark *from, const struct load_mark *to, double *others_p, double *stolen_p);

#endif
