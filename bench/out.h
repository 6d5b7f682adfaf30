/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stdout: the output that the user asked for. A failed write (closed pipe, full disk) is remembered
 * and returned by out_status(); nothing is printed after it.
 */
#ifndef GPUSIG_OUT_H
#define GPUSIG_OUT_H

#include <stddef.h>

/* What a program calls first. A standard file that is closed would be the next one that is opened,
 * and what is printed would land in it: the closed ones are opened as /dev/null, for reading alone,
 * so that writing to them stays an error. */
void out_open(void);

void out_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void out_write(const char *bytes, size_t count);

/* Flush; 0 or the first error since the start. */
int out_status(void);

#endif
