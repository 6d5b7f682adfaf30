/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stdout: the output that the user asked for. A failed write (closed pipe, full disk) is remembered
 * and returned by out_status(); nothing is printed after it.
 */
#ifndef GPUSIG_OUT_H
#define GPUSIG_OUT_H

#include <stddef.h>

/* To be called first. A closed standard file would be the next file that is opened, and output
 * would land in it: closed ones are opened as /dev/null, read-only, so that writing to them stays
 * an error. */
void out_open(void);

void out_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines for people have at most so many characters, on a terminal of any width and in a pipe. */
enum { OUT_COLUMNS = 80 };

/* Print a line that ends by itself, cut into lines of at most OUT_COLUMNS characters of UTF-8 where
 * there are blanks, or else behind a comma, a semicolon or a slash, or else anywhere: nothing is
 * left out. Each but the first begins with `hang`, none ends with blanks, and a line feed in the
 * text begins another one. */
void out_wrap(const char *hang, const char *format, ...) __attribute__((format(printf, 2, 3)));

void out_write(const char *bytes, size_t count);

/* Flush; 0 or the first error since the start. */
int out_status(void);

#endif
