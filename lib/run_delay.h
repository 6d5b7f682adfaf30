/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Run delay: the time for which this process's threads were runnable but waited for a core, because
 * of other work or of each other, as the kernel accounts it (schedstat).
 */
#ifndef GPUSIG_RUN_DELAY_H
#define GPUSIG_RUN_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process with more threads is not followed: reading takes a microsecond a thread. */
#define RUN_DELAY_THREADS 256

struct run_delay {
	bool open;
	size_t threads; /* 0: how long they waited is not known */
	unsigned cores; /* that the process may use */
	int fd[RUN_DELAY_THREADS];
};

/* Follow the threads that there are now, until _close. Where the kernel keeps no account, or there
 * are more threads, only switches are known. */
void run_delay_open(struct run_delay *r);
void run_delay_close(struct run_delay *r);

struct run_delay_mark {
	/* own: CPU time of the process; waited: of all threads */
	uint64_t wall_ns, own_ns, waited_ns;
	uint64_t switches; /* how often the kernel took a core from a thread of the process */
};
/* All 0 before _open and after _close. */
struct run_delay_mark run_delay_now(const struct run_delay *r);

/* At most so much of the cores' time between two marks was lost to others, in ns: what the threads
 * waited for, but no more than what the process did not use itself. Threads that wait for each
 * other while another core idles count: whether others ran at all, lib/cpu_load.h tells. 0 where
 * nothing is known. */
uint64_t run_delay_between(const struct run_delay *r, const struct run_delay_mark *from,
			   const struct run_delay_mark *to);

#endif
