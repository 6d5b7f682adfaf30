/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder in place of "/": what the kernel of another machine says in /proc and /sys.
 *
 *     mkdtemp(root); write_under_root("0::/a", "proc/self/cgroup"); ...; forget_machine();
 */
#ifndef GPUSIG_RECORDED_MACHINE_H
#define GPUSIG_RECORDED_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/gpusig_machine_XXXXXX";

static inline void write_under_root(const char *text, const char *name)
{
	char path[512], folder[512];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(at - path), path);
		mkdir(folder, 0700);
	}
	FILE *file = fopen(path, "w");
	if (!file)
		return;
	fprintf(file, "%s\n", text);
	fclose(file);
}

static inline void write_sysfs(const char *text, const char *format, int cpu, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), format, cpu, name);
	write_under_root(text, path);
}

static inline void forget_machine(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", root);
	if (system(command))
		printf("# %s stays behind\n", root);
}

#endif
