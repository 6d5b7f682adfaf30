/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of advice from texts.
 */
#ifndef GPUSIG_ADVISE_FILE_H
#define GPUSIG_ADVISE_FILE_H

#include "advise/advise.h"
#include "tests/unit/test.h"

#include <unistd.h>

/* A file that is written again and again. */
static char advise_path[] = "/tmp/gpusig-advice-XXXXXX";
static int advise_fd = -1;

static inline void open_file(void)
{
	advise_fd = mkstemp(advise_path);
	if (advise_fd < 0)
		abort();
}

static inline void close_file(void)
{
	close(advise_fd);
	unlink(advise_path);
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
