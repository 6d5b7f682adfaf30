/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This machine: cores, caches, memory, names. Read from the kernel's own files, as hwloc does, so
 * that a program needs no library but libc.
 */
#ifndef GPUSIG_HOST_MACHINE_H
#define GPUSIG_HOST_MACHINE_H

#include "lib/cores.h"

#include <stddef.h>
#include <stdint.h>

/* Cores for units of this process: of the processors in its affinity mask the fastest kind, one a
 * physical core, and not more than its CPU quota grants (lib/cores.h, lib/core_kinds.h).
 * GPUSIG_CORE_KINDS=all takes cores of every kind. `root` is "" for this machine; a test passes a
 * folder that holds a recorded sys/ and proc/. -EINVAL: GPUSIG_CORE_KINDS is something else;
 * -ENODEV: the affinity mask cannot be read. */
int host_cores(const char *root, int cores[CORES_MAX], size_t *count_p);

/* The part of `total` cores that device `index` of `count` gets. All get the same number and the
 * remainder stays idle. With fewer cores than devices, device i gets core i modulo total. */
void host_cores_share(size_t total, unsigned index, unsigned count, size_t *first_p,
		      size_t *cores_p);

/* Bytes of the data caches of `level` that serve `cores`, each cache counted once; 0 if there is
 * none. */
uint64_t host_cache_bytes(const char *root, const int *cores, size_t count, unsigned level);

/* Memory that can be touched without swapping and within the limits of the process's control group.
 * 0 if unknown, at least 1 else. `root` as above. */
uint64_t host_memory_available_bytes(const char *root);

/* Memory that the process's control groups leave, by either version and on all levels. UINT64_MAX:
 * unlimited. `root` as above. */
uint64_t host_cgroup_free_bytes(const char *root);

/* Name of the processor (lib/processor.h), and the kernel's release. */
void host_names(char *processor, size_t processor_capacity, char *kernel, size_t kernel_capacity);

#endif
