/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests that call devices: what a call has to return, and a GEMM in a line.
 */
#ifndef GPUSIG_TESTS_CALLS_H
#define GPUSIG_TESTS_CALLS_H

#include "device/dev.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdint.h>

#define ok(call)                                                                                   \
	do {                                                                                       \
		int ok_status = (call);                                                            \
		if (ok_status)                                                                     \
			printf("# %s: %d: %s\n", #call, ok_status, err_text());                    \
		require(ok_status == 0);                                                           \
	} while (0)

#define expect_status(call, wanted)                                                                \
	do {                                                                                       \
		err_clear();                                                                       \
		int expect_got = (call);                                                           \
		if (expect_got != (wanted))                                                        \
			printf("# %s is %d, not %d: %s\n", #call, expect_got, (wanted),            \
			       err_text());                                                        \
		expect(expect_got == (wanted));                                                    \
	} while (0)

/* Expects an error with a message. */
#define expect_error(call, wanted)                                                                 \
	do {                                                                                       \
		expect_status(call, wanted);                                                       \
		expect(err_text()[0] != '\0');                                                     \
	} while (0)

/* A struct dev_gemm whose rows have no gaps; alpha is 1, and what else is to be set follows. */
#define PACKED_GEMM(rows, columns, depth, ...)                                                     \
	{                                                                                          \
		.m = (rows), .n = (columns), .k = (depth), .alpha = 1, .lda = (depth),             \
		.ldb = (columns), .ldc = (columns), __VA_ARGS__                                    \
	}

#endif
