/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control groups of this process, of either version. Each of them limits it, its own one and
 * all above; inside a container only the topmost one may be visible.
 */
#ifndef GPUSIG_CGROUP_H
#define GPUSIG_CGROUP_H

/* For each group with this controller ("memory", "cpu"), the process's own first: the folder that
 * would hold its files, which need not be there, and the version, 1 or 2, which decides what they
 * are called. `root` is "" for this machine; a test passes a folder that holds proc/ and sys/. */
void cgroup_each(const char *root, const char *controller,
		 void (*visit)(const char *folder, int version, void *arg), void *arg);

#endif
