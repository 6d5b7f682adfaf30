/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run-time compiler that compiles nothing, since the fake driver contains the kernels. It checks
 * options as the vendors' compilers do, and refuses a source whose braces do not match.
 */
#ifndef FAKES_RTC_H
#define FAKES_RTC_H

#include "tests/fakes/image.h"

#include <stddef.h>

enum rtc_result {
	FAKE_RTC_OK = 0,
	FAKE_RTC_OUT_OF_MEMORY = 1,
	FAKE_RTC_INVALID_INPUT = 3,
	FAKE_RTC_INVALID_PROGRAM = 4,
	FAKE_RTC_INVALID_OPTION = 5,
	FAKE_RTC_COMPILATION = 6,
	FAKE_RTC_INTERNAL_ERROR = 11,
};

struct fake_program {
	char *source;
	char name[64], log[256];
	struct fake_image image; /* its arch is "" before compilation */
};

/* Applies FAKE_FAIL: 0, or the result to return. */
int rtc_enter(const char *function);
int rtc_create(struct fake_program **program, const char *source, const char *name);
int rtc_destroy(struct fake_program **program);

/* `arch_options` are the prefixes of options that name an architecture, NULL past the last;
 * `arch_is_known` is called with the text that follows the prefix. */
int rtc_compile(struct fake_program *program, int count, const char *const *options,
		const char *const *arch_options, int (*arch_is_known)(const char *arch));
int rtc_image(const struct fake_program *program, char *image);
int rtc_image_bytes(const struct fake_program *program, size_t *bytes);
int rtc_log(const struct fake_program *program, char *log);
int rtc_log_bytes(const struct fake_program *program, size_t *bytes);
const char *rtc_error(const char *prefix, int result);

#endif
