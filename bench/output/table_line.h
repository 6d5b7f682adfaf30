/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line of a table: put together cell by cell, then printed by out_wrap().
 */
#ifndef GPUSIG_TABLE_LINE_H
#define GPUSIG_TABLE_LINE_H

#include <stddef.h>

/* Starts as {0}. Holds every line of the table, whose cells and names are of bounded length. */
struct table_line {
	char text[640];
	size_t used;
};

void table_line_add(struct table_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Begins a row of an empty line; a label longer than `width` is printed on a line of its own. */
void table_line_add_label(struct table_line *line, int width, const char *label);

/* Print the line; the part beyond OUT_COLUMNS goes on at column 4. */
void table_line_print(const struct table_line *line);

#endif
