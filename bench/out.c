/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/out.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failure;

void out_open(void)
{
	int fd;
	/* Each takes the lowest number that is free. */
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void note_failure(int failed)
{
	if (failed && !failure)
		failure = err_note(errno ? -errno : -EIO, "write to stdout: %s",
				   strerror(errno ? errno : EIO));
}

void out_print(const char *format, ...)
{
	va_list args;
	if (failure)
		return;
	va_start(args, format);
	note_failure(vprintf(format, args) < 0);
	va_end(args);
}

void out_write(const char *bytes, size_t count)
{
	if (!failure)
		note_failure(fwrite(bytes, 1, count, stdout) != count);
}

int out_status(void)
{
	if (!failure)
		note_failure(fflush(stdout) != 0);
	return failure;
}
