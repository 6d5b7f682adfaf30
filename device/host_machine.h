/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this machine is: cores, caches, memory, names. Read from the kernel's own files, which is where
 * hwloc reads them too, so that a program needs libc alone.
 */
#ifndef GPUSIG_HOST_MACHINE_H
#define GPUSIG_HOST_MACHINE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MAX_CORES 1024
#define HOST_MOST_CORE (8 * HOST_MAX_CORES) /* numbers of cores are below */

/* Processors of this process, one per physical core: the first of each core's hardware threads in the
 * affinity mask, ascending. `root` is "" for this machine; a test gives a folder that holds a recorded
 * sys/. `allowed` are the processors in the affinity mask. Returns how many were found: at least 1 when
 * allowed_count is. */
size_t host_cores_of(const char *root, const int *allowed, size_t allowed_count, int *cores);

/* host_cores_of() this machine and this process. 0 when the affinity mask can't be read. */
size_t host_cores(int cores[HOST_MAX_CORES]);

/* The part of `total` cores that device `index` of `count` gets: equal shares, the remainder stays idle;
 * when there are fewer cores than devices, device i has core i modulo total. */
void host_cores_share(size_t total, unsigned index, unsigned count, size_t *first_p, size_t *cores_p);

/* Bytes of the data cache of `level` in front of `cores`, each cache once; 0 if there is none. With one
 * core it is that core's cache. */
uint64_t host_cache_bytes(const char *root, const int *cores, size_t count, unsigned level);

/* Memory that can be touched without swapping or meeting a limit of the process's control group. 0 if unknown. */
uint64_t host_memory_available_bytes(void);

/* Start a thread that runs only on these cores and takes no signals of the process. 0 or -errno. */
int host_thread_start(pthread_t *thread_p, const int *cores, size_t count, void *(*run)(void *), void *arg);

/* The processor as /proc/cpuinfo calls it, and the kernel's release. */
void host_names(char *processor, size_t processor_room, char *kernel, size_t kernel_room);

#endif
