/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/out.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool continues_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Bytes of the text that go on a line with this many columns left. */
static size_t length_of_line(const char *text, size_t columns)
{
	size_t used = 0, blank = 0, mark = 0, i = 0;
	bool any = false;
	for (; text[i] && text[i] != '\n'; i++) {
		if (!continues_character(text[i]) && used++ == columns)
			break;
		if (text[i] == ' ' && any)
			blank = i;
		any = any || text[i] != ' ';
		if (strchr(",;/", text[i]))
			mark = i + 1;
	}
	if (!text[i] || text[i] == '\n' || text[i] == ' ')
		return i;
	return blank ? blank : mark ? mark : i;
}

static void print_wrapped(const char *hang, const char *text)
{
	const size_t hanging = strlen(hang);
	for (bool first = true; *text || first; first = false) {
		size_t length = length_of_line(text, OUT_COLUMNS - (first ? 0 : hanging)),
		       kept = length;
		while (kept && text[kept - 1] == ' ')
			kept--;
		out_print("%s%.*s\n", first ? "" : hang, (int)kept, text);
		text += length;
		text += *text == '\n' ? 1 : strspn(text, " ");
	}
}

void out_wrap(const char *hang, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = length < 0 ? NULL : malloc((size_t)length + 1);
	if (!text) {
		errno = ENOMEM;
		note_failure(true);
		return;
	}
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	print_wrapped(hang, text);
	free(text);
}

int out_status(void)
{
	if (!failure)
		note_failure(fflush(stdout) != 0);
	return failure;
}
