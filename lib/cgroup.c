/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Mount points of the two versions, by systemd and others. */
static const char *const mounts_v2[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

struct walk {
	const char *root;
	void (*visit)(const char *folder, int version, void *arg);
	void *arg;
};

static void walk_up(const struct walk *w, const char *mount, const char *group, int version)
{
	char folder[3072];
	int top = snprintf(folder, sizeof(folder), "%s%s", w->root, mount);
	snprintf(folder + top, sizeof(folder) - (size_t)top, "%s", group);
	w->visit(folder, version, w->arg);
	for (char *end; (end = strrchr(folder + top, '/')) != NULL;) {
		*end = '\0';
		w->visit(folder, version, w->arg);
	}
}

/* "cpu" is one of "cpu,cpuacct". */
static bool is_one_of(const char *controller, const char *list, const char *end)
{
	const size_t length = strlen(controller);
	while (list < end) {
		const size_t here = strcspn(list, ",:");
		if (here == length && strncmp(list, controller, length) == 0)
			return true;
		list += here + 1;
	}
	return false;
}

/* Version 1 is mounted by the names of its controllers, "cpu,cpuacct", and links of one name each
 * usually lie beside it. */
static void walk_version_1(const struct walk *w, const char *controller, const char *names,
			   const char *group)
{
	char path[512], mount[128];
	snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
	snprintf(path, sizeof(path), "%s%s", w->root, mount);
	if (access(path, F_OK) != 0)
		snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%.*s", (int)(group - names), names);
	walk_up(w, mount, group + 1, 1);
}

void cgroup_each(const char *root, const char *controller,
		 void (*visit)(const char *folder, int version, void *arg), void *arg)
{
	const struct walk w = {root, visit, arg};
	char line[2048], path[512];
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	FILE *file = fopen(path, "re");
	/* "5:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2. */
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		const char *names = strchr(line, ':'),
			   *group = names ? strchr(names + 1, ':') : NULL;
		if (!group || group[1] != '/')
			continue;
		if (strncmp(line, "0::", 3) == 0) {
			for (size_t i = 0; i < sizeof(mounts_v2) / sizeof(mounts_v2[0]); i++)
				walk_up(&w, mounts_v2[i], group + 1, 2);
		} else if (is_one_of(controller, names + 1, group)) {
			walk_version_1(&w, controller, names + 1, group);
		}
	}
	if (file)
		fclose(file);
}
