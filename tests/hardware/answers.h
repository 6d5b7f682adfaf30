/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line an answer: name, answer, unit, remark, with tabs between them.
 */
#ifndef GPUSIG_HARDWARE_ANSWERS_H
#define GPUSIG_HARDWARE_ANSWERS_H

#include <errno.h>
#include <stdio.h>

#include "lib/err.h"

/* 1 once a device was lost. */
static int answers_failed;

static inline void answer(const char *name, const char *value, const char *unit, const char *remark)
{
	printf("%s\t%s\t%s\t%s\n", name, value, unit, remark);
	fflush(stdout);
}

static inline void answer_number(const char *name, double value, const char *unit, const char *remark)
{
	char text[32];
	snprintf(text, sizeof(text), "%.6g", value);
	answer(name, text, unit, remark);
}

/* After a call that returned rc, with the cause that it left. */
static inline void no_answer(const char *name, int rc)
{
	answers_failed |= rc == -EIO;
	answer(name, "none", rc == -ENOTSUP ? "not supported" : "error", err_text());
}

#endif
