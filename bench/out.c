/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/out.h"
#include "lib/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int failure;

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
