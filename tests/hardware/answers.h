/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints an answer as a line: name, answer, unit, remark, separated by tabs.
 */
#ifndef GPUSIG_HARDWARE_ANSWERS_H
#define GPUSIG_HARDWARE_ANSWERS_H

#include "lib/err.h"

#include <errno.h>
#include <stdio.h>

/* 1 after a device was lost. */
static int answers_failed;

static inline void print_answer(const char *name, const char *value, const char *unit,
				const char *remark)
{
	printf("%s\t%s\t%s\t%s\n", name, value, unit, remark);
	fflush(stdout);
}

static inline void answer_number(const char *name, double value, const char *unit,
				 const char *remark)
{
	char text[32];
	snprintf(text, sizeof(text), "%.6g", value);
	print_answer(name, text, unit, remark);
}

/* After a call that failed with `status`, with its err_text(). */
static inline void no_answer(const char *name, int status)
{
	answers_failed |= status == -EIO;
	print_answer(name, "none", status == -ENOTSUP ? "not supported" : "error", err_text());
}

#endif
