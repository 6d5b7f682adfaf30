/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A test that runs on the fake drivers of its own build: it starts itself again with them where the
 * loader looks.
 */
#ifndef GPUSIG_WITH_FAKES_H
#define GPUSIG_WITH_FAKES_H

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fakes are next to this program's folder, as the Makefile builds them; the loader looks where
 * it was told at the start. */
static inline int start_with_fakes(char **argv)
{
	char own[4096] = "", fakes[4200];
	const char *path = getenv("LD_LIBRARY_PATH");
	if (readlink("/proc/self/exe", own, sizeof(own) - 1) <= 0)
		return -errno;
	snprintf(fakes, sizeof(fakes), "%s/fakes", dirname(dirname(dirname(own))));
	if (path && strcmp(path, fakes) == 0)
		return 0;
	setenv("LD_LIBRARY_PATH", fakes, 1);
	execv("/proc/self/exe", argv);
	return -errno;
}

#endif
