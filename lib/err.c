/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/err.h"
#include "lib/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char text[ERR_TEXT];

int err_note(int code, const char *format, ...)
{
	/* Formatted into a second buffer, for the arguments may contain err_text() itself. */
	char fresh[sizeof(text)];
	va_list args;
	va_start(args, format);
	text_vfit(fresh, sizeof(fresh), format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s", fresh);
	return code;
}

const char *err_text(void) { return text; }

int err_keep(struct err_first *first, int status)
{
	if (status && !first->status) {
		first->status = status;
		snprintf(first->text, sizeof(first->text), "%s", text);
	}
	return first->status;
}

int err_kept(const struct err_first *first)
{
	return first->status ? err_note(first->status, "%s", first->text) : 0;
}

void err_clear(void) { text[0] = '\0'; }

void err_print(const char *format, ...)
{
	char line[2 * ERR_TEXT] = "gpusig: ";
	const size_t prefix = 8;
	va_list args;
	va_start(args, format);
	text_vfit(line + prefix, sizeof(line) - prefix - 1, format, args);
	va_end(args);
	size_t end = strlen(line);
	line[end] = '\n';
	/* A message that can't be written has nowhere else to go. */
	ssize_t ignored = write(STDERR_FILENO, line, end + 1);
	(void)ignored;
}
