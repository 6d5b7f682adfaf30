/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts that are never cut in silence: one grows, the other ends in "..." where it had no room.
 */
#ifndef GPUSIG_TEXT_H
#define GPUSIG_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Grows. Zeroed: empty. */
struct text {
	char *bytes; /* NULL while it is empty */
	size_t length, capacity;
	bool lost; /* memory ran out: a part is missing */
};

void text_add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole text, valid until it grows; NULL where a part is missing. */
const char *text_whole(const struct text *t);

/* Empty again. */
void text_free(struct text *t);

/* As snprintf(), but what does not fit ends in "...", not within a character of UTF-8. `capacity`
 * is 4 or more; the arguments must not overlap `to`. */
void text_fit(char *to, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void text_vfit(char *to, size_t capacity, const char *format, va_list args);

/* text_fit() behind the text that is in `to`. */
void text_fit_more(char *to, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
