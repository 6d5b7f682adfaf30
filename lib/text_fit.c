/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of lib/text.h that allocates nothing.
 */
#include "lib/text.h"

#include <stdio.h>
#include <string.h>

static const char dots[] = "...";

static void write_fitting(char *to, size_t used, size_t capacity, const char *format, va_list args)
{
	int length = vsnprintf(to + used, capacity - used, format, args);
	if (length < 0 || used + (size_t)length < capacity)
		return;
	char *end = to + capacity - sizeof(dots);
	while (end > to && (*end & 0xc0) == 0x80)
		end--;
	memcpy(end, dots, sizeof(dots));
}

void text_vfit(char *to, size_t capacity, const char *format, va_list args)
{
	write_fitting(to, 0, capacity, format, args);
}

void text_fit(char *to, size_t capacity, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	write_fitting(to, 0, capacity, format, args);
	va_end(args);
}

void text_fit_more(char *to, size_t capacity, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	write_fitting(to, strlen(to), capacity, format, args);
	va_end(args);
}
