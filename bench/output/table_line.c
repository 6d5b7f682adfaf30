/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/output/table_line.h"
#include "bench/out.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void table_line_add(struct table_line *line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length =
		vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, args);
	va_end(args);
	assert(length >= 0 && (size_t)length < sizeof(line->text) - line->used);
	line->used += (size_t)length;
}

void table_line_add_label(struct table_line *line, int width, const char *label)
{
	if ((int)strlen(label) > width) {
		out_wrap("    ", "  %s", label);
		label = "";
	}
	table_line_add(line, "  %-*s", width, label);
}

void table_line_print(const struct table_line *line) { out_wrap("    ", "%s", line->text); }
