/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Identity of this machine's processors, from /proc/cpuinfo, which every family of processors
 * writes in its own way.
 */
#ifndef GPUSIG_PROCESSOR_H
#define GPUSIG_PROCESSOR_H

#include "lib/text.h"

#include <stdbool.h>

/* Append what tells this kind of processor from others: the model's name where the kernel has one,
 * else what its family is identified by ("CPU implementer 0x41, CPU part 0xd85/0xd87, ..." of two
 * kinds of cores). A family that is not known is its architecture and a hash of all lines but those
 * that count processors or change while it runs. It is the same on machines of the same processors,
 * whatever other software they have. `root` is "" for this machine; a test passes a folder that
 * holds a recorded proc/cpuinfo. True: there is a name in it. */
bool processor_identify(const char *root, struct text *identity);

/* 1: a virtual machine's; 0: not; -1: unknown, where the kernel lists no flags. */
int processor_is_virtual(void);

#endif
