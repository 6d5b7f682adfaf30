/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of cores of a hybrid machine, such as performance and efficiency cores. Threads on cores of
 * two kinds end at different times, and a measurement on a mixture describes neither kind.
 *
 * The kernel tells kinds apart by the events that their cores count (Intel's cpu_core and cpu_atom,
 * from Linux 5.16), by their identification register (Arm), or, where it has neither, by their
 * capacity: those of one kind are within 10 % of each other. Cores of one kind may have different
 * clocks. `root` as in lib/cores.h.
 *
 * AMD's two kinds (Zen 5 beside Zen 5c) are taken for one. What CPUID says of a core is in no file
 * that everybody may read, and no file of /sys tells them apart surely: ranks of preferred cores
 * and highest clocks differ within a kind, and so does the L3 cache of two dies of one kind.
 */
#ifndef GPUSIG_CORE_KINDS_H
#define GPUSIG_CORE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

/* The kind of a core: "cpu_core", "implementer 0x41 part 0xd85", "capacity 446"; "" where the
 * kernel tells none. Returns the capacity where that alone tells the kind, else 0. */
#define CORE_KIND_BYTES 48
unsigned long long core_kind_name(const char *root, int core, char name[CORE_KIND_BYTES]);

/* Keep, of these cores, those of the fastest kind: of the largest capacity, then of the highest
 * clock, then the first. How many are left. */
size_t core_kinds_keep_fastest(const char *root, int *cores, size_t count);

/* Every kind of the machine's processors with its list of processors: "cpu_core 0-15; cpu_atom
 * 16-23". For the caller to free; NULL where there are not two kinds, or where memory is out. */
char *core_kinds_text(const char *root);

#endif
