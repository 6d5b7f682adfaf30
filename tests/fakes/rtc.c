/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/rtc.h"
#include "tests/fakes/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	int code;
	const char *name;
} results[] = {
	{FAKE_RTC_OK, "SUCCESS"},
	{FAKE_RTC_OUT_OF_MEMORY, "ERROR_OUT_OF_MEMORY"},
	{FAKE_RTC_INVALID_INPUT, "ERROR_INVALID_INPUT"},
	{FAKE_RTC_INVALID_PROGRAM, "ERROR_INVALID_PROGRAM"},
	{FAKE_RTC_INVALID_OPTION, "ERROR_INVALID_OPTION"},
	{FAKE_RTC_COMPILATION, "ERROR_COMPILATION"},
	{FAKE_RTC_INTERNAL_ERROR, "ERROR_INTERNAL_ERROR"},
};
#define RESULTS (sizeof(results) / sizeof(results[0]))

/* Ignores the prefix, which differs between vendors. */
static int result_by_name(const char *name)
{
	const char *rest = strchr(name, '_');
	for (size_t i = 0; rest && i < RESULTS; i++)
		if (strcmp(results[i].name, rest + 1) == 0)
			return results[i].code;
	return (int)strtol(name, NULL, 10);
}

int rtc_enter(const char *function) { return fake_fault(function, result_by_name); }

const char *rtc_error(const char *prefix, int result)
{
	static _Thread_local char text[64];
	const char *name = "ERROR unknown";
	for (size_t i = 0; i < RESULTS; i++)
		if (results[i].code == result)
			name = results[i].name;
	snprintf(text, sizeof(text), "%s_%s", prefix, name);
	return text;
}

int rtc_create(struct fake_program **program, const char *source, const char *name)
{
	if (!program || !source)
		return FAKE_RTC_INVALID_INPUT;
	struct fake_program *p = calloc(1, sizeof(*p));
	if (p)
		p->source = strdup(source);
	if (!p || !p->source) {
		free(p);
		return FAKE_RTC_OUT_OF_MEMORY;
	}
	snprintf(p->name, sizeof(p->name), "%s", name ? name : "default_program");
	*program = p;
	return FAKE_RTC_OK;
}

int rtc_destroy(struct fake_program **program)
{
	if (!program || !*program)
		return FAKE_RTC_INVALID_PROGRAM;
	free((*program)->source);
	free(*program);
	*program = NULL;
	return FAKE_RTC_OK;
}

/* Assumes that strings and comments of the source have no braces. */
static int count_open_braces(const char *source)
{
	int open = 0;
	for (; *source && open >= 0; source++)
		open += (*source == '{') - (*source == '}');
	return open;
}

/* FAKE_COMPILED */
static void log_compilation(const char *arch)
{
	const char *path = getenv("FAKE_COMPILED");
	FILE *file = path && *path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s\n", arch);
	fclose(file);
}

int rtc_compile(struct fake_program *program, int count, const char *const *options,
		const char *const *arch_options, int (*arch_is_known)(const char *arch))
{
	const char *arch = NULL;
	if (!program)
		return FAKE_RTC_INVALID_PROGRAM;
	for (int i = 0; i < count; i++)
		for (const char *const *o = arch_options; *o; o++)
			if (strncmp(options[i], *o, strlen(*o)) == 0)
				arch = options[i] + strlen(*o);
	if (!arch || !arch_is_known(arch)) {
		snprintf(program->log, sizeof(program->log),
			 "error: invalid value for --gpu-architecture\n");
		return FAKE_RTC_INVALID_OPTION;
	}
	if (count_open_braces(program->source) != 0) {
		snprintf(program->log, sizeof(program->log),
			 "%s(1): error: expected a \"}\"\n\n1 error detected.\n", program->name);
		return FAKE_RTC_COMPILATION;
	}
	log_compilation(arch);
	memcpy(program->image.word, FAKE_IMAGE_WORD, sizeof(program->image.word));
	snprintf(program->image.arch, sizeof(program->image.arch), "%s", arch);
	return FAKE_RTC_OK;
}

int rtc_image_bytes(const struct fake_program *program, size_t *bytes)
{
	if (!program || !program->image.arch[0])
		return FAKE_RTC_INVALID_PROGRAM;
	*bytes = sizeof(program->image);
	return FAKE_RTC_OK;
}

int rtc_image(const struct fake_program *program, char *image)
{
	if (!program || !program->image.arch[0])
		return FAKE_RTC_INVALID_PROGRAM;
	memcpy(image, &program->image, sizeof(program->image));
	return FAKE_RTC_OK;
}

int rtc_log_bytes(const struct fake_program *program, size_t *bytes)
{
	*bytes = program ? strlen(program->log) + 1 : 0;
	return program ? FAKE_RTC_OK : FAKE_RTC_INVALID_PROGRAM;
}

int rtc_log(const struct fake_program *program, char *log)
{
	if (program)
		memcpy(log, program->log, strlen(program->log) + 1);
	return program ? FAKE_RTC_OK : FAKE_RTC_INVALID_PROGRAM;
}
