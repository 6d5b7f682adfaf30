/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/run_time_compiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/kernel_cache.h"
#include "lib/err.h"

static int note(const struct run_time_compiler *c, const char *what, rtc_result result)
{
	const int code = result == RTC_OUT_OF_MEMORY ? -ENOMEM : -EIO;
	return err_note(code, "%s: %s: %s", c->title, what, c->error(result));
}

/* The first line that speaks of an error, else the first line at all. */
static const char *first_complaint(char *log)
{
	char *line = strstr(log, "error");
	while (line && line > log && line[-1] != '\n')
		line--;
	if (!line)
		line = log + strspn(log, " \n");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int complain(const struct run_time_compiler *c, rtc_program program, rtc_result result)
{
	size_t bytes = 0;
	if (result != RTC_COMPILATION && result != RTC_INVALID_OPTION && result != RTC_INVALID_INPUT)
		return note(c, "compile", result);
	char *log = c->log_bytes(program, &bytes) == RTC_SUCCESS ? calloc(bytes + 1, 1) : NULL;
	const char *complaint = log && c->log(program, log) == RTC_SUCCESS ? first_complaint(log) : "";
	const int rc = err_note(-EINVAL, "%s: %s", c->title, complaint[0] ? complaint : c->error(result));
	free(log);
	return rc;
}

static int take_code(const struct run_time_compiler *c, rtc_program program, const struct run_time_code *code, void **image_p,
                     size_t *bytes_p)
{
	size_t bytes = 0;
	rtc_result result = code->bytes(program, &bytes);
	if (result != RTC_SUCCESS)
		return note(c, "the size of the code", result);
	char *image = calloc(bytes + 1, 1);
	if (!image)
		return err_note(-ENOMEM, "%s: no memory for %zu bytes of code", c->title, bytes);
	result = code->get(program, image);
	if (result != RTC_SUCCESS) {
		free(image);
		return note(c, "the code", result);
	}
	*image_p = image;
	*bytes_p = bytes;
	return 0;
}

static int compile(const struct run_time_compiler *c, const char *source, const char *const *options, int count,
                   const struct run_time_code *code, void **image_p, size_t *bytes_p)
{
	rtc_program program;
	rtc_result result = c->create(&program, source, "kernels.cu", 0, NULL, NULL);
	if (result != RTC_SUCCESS)
		return note(c, "create a program", result);
	result = c->compile(program, count, options);
	const int rc = result == RTC_SUCCESS ? take_code(c, program, code, image_p, bytes_p) : complain(c, program, result);
	c->destroy(&program);
	return rc;
}

int run_time_compile(const struct run_time_compiler *c, const char *source, const char *const *options, int count,
                     const struct run_time_code *code, void **image_p, size_t *bytes_p)
{
	char compiler[64];
	const struct kernel_cache_key key = {
		.compiler = compiler, .options = options, .option_count = count, .source = source};
	int rc = run_time_version(c, compiler, sizeof(compiler));
	if (!rc && kernel_cache_find(&key, image_p, bytes_p))
		return 0;
	if (!rc)
		rc = compile(c, source, options, count, code, image_p, bytes_p);
	if (!rc)
		kernel_cache_keep(&key, *image_p, *bytes_p);
	return rc;
}

int run_time_version(const struct run_time_compiler *c, char *text, size_t room)
{
	int major = 0, minor = 0;
	const rtc_result result = c->version(&major, &minor);
	if (result != RTC_SUCCESS)
		return note(c, "version", result);
	snprintf(text, room, "%s %d.%d", c->title, major, minor);
	return 0;
}
