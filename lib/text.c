/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/text.h"
#include "lib/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char dots[] = "...";

void text_add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	size_t needed = t->length + (length > 0 ? (size_t)length : 0) + 1;
	while (!t->lost && t->capacity < needed) {
		char *grown = vec_grow(t->bytes, t->capacity, &t->capacity, 1);
		t->lost = !grown;
		t->bytes = grown ? grown : t->bytes;
	}
	if (t->lost || length < 0)
		return;
	va_start(args, format);
	vsnprintf(t->bytes + t->length, t->capacity - t->length, format, args);
	va_end(args);
	t->length = needed - 1;
}

const char *text_whole(const struct text *t) { return t->lost ? NULL : t->bytes ? t->bytes : ""; }

void text_free(struct text *t)
{
	free(t->bytes);
	*t = (struct text){0};
}

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
