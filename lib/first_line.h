/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads files of /sys and /proc that hold one line.
 */
#ifndef LIB_FIRST_LINE_H
#define LIB_FIRST_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line of a file, without its end, and no more than fits. False: it cannot be read, or is
 * empty. */
bool first_line_read(const char *path, char *line, size_t capacity);

/* The value of the first line `name<separator>value` that begins with `name`, of whatever length,
 * without blanks and quotes around it; to be freed. NULL: there is none, or memory is out. */
char *first_field_read(const char *path, const char *name, char separator);

#endif
