/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/run_time_compiler.h"
#include "device/gpu/kernel_cache.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int note_result(const struct run_time_compiler *c, const char *what, rtc_result result)
{
	const int status = result == RTC_OUT_OF_MEMORY ? -ENOMEM : -EIO;
	return err_note(status, "%s: %s: %s", c->title, what, c->error(result));
}

/* The first line with the word "error", else the first line. */
static const char *first_error_line(char *log)
{
	char *line = strstr(log, "error");
	while (line && line > log && line[-1] != '\n')
		line--;
	if (!line)
		line = log + strspn(log, " \n");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int note_compile_error(const struct run_time_compiler *c, rtc_program program,
			      rtc_result result)
{
	size_t bytes = 0;
	if (result != RTC_COMPILATION && result != RTC_INVALID_OPTION &&
	    result != RTC_INVALID_INPUT)
		return note_result(c, "compile", result);
	char *log = c->log_bytes(program, &bytes) == RTC_SUCCESS ? calloc(bytes + 1, 1) : NULL;
	const char *complaint =
		log && c->log(program, log) == RTC_SUCCESS ? first_error_line(log) : "";
	const int status =
		err_note(-EINVAL, "%s: %s", c->title, complaint[0] ? complaint : c->error(result));
	free(log);
	return status;
}

static int take_code(const struct run_time_compiler *c, rtc_program program,
		     const struct run_time_code *code, void **image_p, size_t *bytes_p)
{
	size_t bytes = 0;
	rtc_result result = code->bytes(program, &bytes);
	if (result != RTC_SUCCESS)
		return note_result(c, "get the size of the code", result);
	char *image = calloc(bytes + 1, 1);
	if (!image)
		return err_note(-ENOMEM, "%s: out of memory for %zu bytes of code", c->title,
				bytes);
	result = code->get(program, image);
	if (result != RTC_SUCCESS) {
		free(image);
		return note_result(c, "get the code", result);
	}
	*image_p = image;
	*bytes_p = bytes;
	return 0;
}

static int compile_program(const struct run_time_compiler *c, const char *source,
			   const char *const *options, int count, const struct run_time_code *code,
			   void **image_p, size_t *bytes_p)
{
	rtc_program program;
	rtc_result result = c->create(&program, source, "kernels.cu", 0, NULL, NULL);
	if (result != RTC_SUCCESS)
		return note_result(c, "create a program", result);
	result = c->compile(program, count, options);
	const int status = result == RTC_SUCCESS ? take_code(c, program, code, image_p, bytes_p)
						 : note_compile_error(c, program, result);
	c->destroy(&program);
	return status;
}

int run_time_compile(const struct run_time_compiler *c, const char *source,
		     const char *const *options, int count, const struct run_time_code *code,
		     void **image_p, size_t *bytes_p)
{
	char compiler[64];
	const struct kernel_cache_key key = {
		.compiler = compiler, .options = options, .option_count = count, .source = source};
	int status = run_time_version(c, compiler, sizeof(compiler));
	if (!status && kernel_cache_find(&key, image_p, bytes_p))
		return 0;
	if (!status)
		status = compile_program(c, source, options, count, code, image_p, bytes_p);
	if (!status)
		kernel_cache_keep(&key, *image_p, *bytes_p);
	return status;
}

int run_time_version(const struct run_time_compiler *c, char *text, size_t capacity)
{
	int major = 0, minor = 0;
	const rtc_result result = c->version(&major, &minor);
	if (result != RTC_SUCCESS)
		return note_result(c, "version", result);
	snprintf(text, capacity, "%s %d.%d", c->title, major, minor);
	return 0;
}
