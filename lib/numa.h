/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NUMA nodes of this machine, and memory on one of them.
 *
 * Where the kernel does not tell there is one node, 0. Errors have a text (lib/err.h).
 */
#ifndef GPUSIG_NUMA_H
#define GPUSIG_NUMA_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of a list as the kernel writes it, "0-7,16-23": fills at most `capacity`, returns how
 * many there are. Stops at the first character that is none of a list. */
size_t numa_parse_list(const char *list, uint32_t *numbers, size_t capacity);

/* The nodes, ascending, with memory that can be pinned and that this process may use; at least
 * one. Memory of devices and other memory that the kernel may move away is on no such node. */
size_t numa_nodes(uint32_t *nodes, size_t capacity);

/* Let untouched pages of the mapping come from this node alone. -ENOTSUP: the kernel refuses to
 * choose, as in some containers; with one node that is not an error. */
int numa_bind(void *start, uint64_t bytes, uint32_t node);

/* Check the touched pages at the start, in the middle and at the end: 0, or -ENOMEM if one is on
 * another node. -ENOTSUP as above. */
int numa_verify(void *start, uint64_t bytes, uint32_t node);

#endif
