/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cores that this process may use, how many of them compute at once, and the one of the thread
 * that drives a device. Where the scheduler chose that one, it shared a core now with this worker
 * and now with another, and a small copy took 1 or 25 us.
 *
 * `root` is "" for this machine; a test passes a folder that holds proc/ and sys/.
 */
#ifndef GPUSIG_CORES_H
#define GPUSIG_CORES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers of cores are below. */
#define CORES_MAX 8192

/* The numbers of the cores in the affinity mask of the calling thread, ascending; where
 * cores_stay_on() bound it, of its mask before that. How many there are; 0: unknown. */
size_t cores_allowed(int cores[CORES_MAX]);

/* A set of processors' numbers as the kernel writes it, "0-3,8": those below CORES_MAX are set to
 * true, the others stay as they are. */
void cores_parse_list(const char *list, bool in_list[CORES_MAX]);

/* Those of the first line of a file, as the kernel has it. False: it cannot be read. */
bool cores_read_list(const char *path, bool in_list[CORES_MAX]);

/* The processors that the kernel uses, ascending. How many; 0: unknown. */
size_t cores_online(const char *root, int processors[CORES_MAX]);

/* Set to true these processors and those that are threads of the same cores. */
void cores_add_threads(const char *root, const int *processors, size_t count,
		       bool in_list[CORES_MAX]);

/* Keep the first processor of each physical core, because threads of a core share its arithmetic
 * units and caches. `processors` ascend; `cores` may be `processors`. Return the count. */
size_t cores_apart(const char *root, const int *processors, size_t count, int cores[CORES_MAX]);

/* CPU time per second that the control groups of this process grant at most: 1.5 is one and a half
 * processors. INFINITY: no limit. */
double cores_quota(const char *root);

/* As cores_apart(), but at most the whole processors in the quota, and at least one if there is
 * one: the number of threads that compute at once. */
size_t cores_at_once(const char *root, const int *processors, size_t count, int cores[CORES_MAX]);

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
