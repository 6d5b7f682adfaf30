/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of advice from texts.
 */
#ifndef GPUSIG_ADVISE_FILE_H
#define GPUSIG_ADVISE_FILE_H

#include "advise/advise.h"
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <unistd.h>

/* A file in memory that is written again and again. */
static char advise_path[32];
static int advise_fd = -1;

static inline void open_file(void)
{
	advise_fd = memfd_create("advice", MFD_CLOEXEC);
	if (advise_fd < 0)
		abort();
	snprintf(advise_path, sizeof(advise_path), "/proc/self/fd/%d", advise_fd);
}

static inline int read_bytes(const char *bytes, size_t count, struct advise_table **table_p)
{
	if (ftruncate(advise_fd, 0) || pwrite(advise_fd, bytes, count, 0) != (ssize_t)count)
		abort();
	return advise_read(advise_path, table_p);
}

static inline struct advise_table *table_of(const char *text)
{
	struct advise_table *t = NULL;
	require(read_bytes(text, strlen(text), &t) == 0);
	return t;
}

#endif
