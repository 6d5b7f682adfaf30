/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cores that this process may use, and the one of the thread that drives a device. Where the
 * scheduler chose that one, it shared a core now with this worker and now with another, and a small
 * copy took 1 or 25 us.
 */
#ifndef GPUSIG_CORES_H
#define GPUSIG_CORES_H

#include <pthread.h>
#include <stddef.h>

/* Numbers of cores are below. */
#define CORES_MAX 8192

/* The numbers of the cores in the affinity mask of the calling thread, ascending; where
 * cores_stay_on() bound it, of its mask before that. How many there are; 0: unknown. */
size_t cores_allowed(int cores[CORES_MAX]);

/* Bind the calling thread to one of these cores until it calls cores_roam(). Threads that it starts
 * meanwhile are bound with it, unless they get a mask of their own. 0 or -errno; -EBUSY: it, or
 * another thread, is bound. cores_roam() does nothing where nothing is bound. */
int cores_stay_on(int core);
void cores_roam(void);

/* Start a thread that runs only on these cores and handles no signals of the process. 0 or -errno.
 */
int cores_thread_start(pthread_t *thread_p, const int *cores, size_t count, void *(*run)(void *),
		       void *arg);

#endif
