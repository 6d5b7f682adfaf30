/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/text.h"
#include "lib/vec.h"

#include <stdio.h>
#include <stdlib.h>

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
