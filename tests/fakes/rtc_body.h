/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run-time compiler that compiles nothing, since the fake driver contains the kernels. It checks
 * options as the vendors' compilers do, and refuses a source whose braces do not match. nvrtc.c and
 * hiprtc.c include this after they have defined
 *
 *   RTC(name)       a function's name in this library
 *   RESULT_PREFIX   what its results' names begin with
 *   MAJOR, MINOR    its version
 *   RELEASE         of its images
 *   ARCH_OPTIONS    the prefixes of options that name an architecture
 *
 * and before they define arch_is_known(), which gets the text behind the prefix, and enter_rtc().
 */
#include "tests/fakes/faults.h"
#include "tests/fakes/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	OUT_OF_MEMORY = 1,
	INVALID_INPUT = 3,
	INVALID_PROGRAM = 4,
	INVALID_OPTION = 5,
	COMPILATION = 6,
	INTERNAL_ERROR = 11,
};

struct program {
	char *source;
	char name[64], log[256];
	struct fake_image image; /* its arch is "" before compilation */
};

static int arch_is_known(const char *arch);
/* Applies FAKE_FAIL: 0, or the result to return. */
static int enter_rtc(const char *function);

static const struct {
	int code;
	const char *name;
} results[] = {
	{SUCCESS, "SUCCESS"},
	{OUT_OF_MEMORY, "ERROR_OUT_OF_MEMORY"},
	{INVALID_INPUT, "ERROR_INVALID_INPUT"},
	{INVALID_PROGRAM, "ERROR_INVALID_PROGRAM"},
	{INVALID_OPTION, "ERROR_INVALID_OPTION"},
	{COMPILATION, "ERROR_COMPILATION"},
	{INTERNAL_ERROR, "ERROR_INTERNAL_ERROR"},
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

static int compile_program(struct program *p, int count, const char *const *options)
{
	static const char *const arch_options[] = {ARCH_OPTIONS, NULL};
	const char *arch = NULL;
	for (int i = 0; i < count; i++)
		for (const char *const *o = arch_options; *o; o++)
			if (strncmp(options[i], *o, strlen(*o)) == 0)
				arch = options[i] + strlen(*o);
	if (!arch || !arch_is_known(arch)) {
		snprintf(p->log, sizeof(p->log), "error: invalid value for --gpu-architecture\n");
		return INVALID_OPTION;
	}
	if (count_open_braces(p->source) != 0) {
		snprintf(p->log, sizeof(p->log),
			 "%s(1): error: expected a \"}\"\n\n1 error detected.\n", p->name);
		return COMPILATION;
	}
	log_compilation(arch);
	memcpy(p->image.word, FAKE_IMAGE_WORD, sizeof(p->image.word));
	snprintf(p->image.arch, sizeof(p->image.arch), "%s", arch);
	p->image.release = RELEASE;
	return SUCCESS;
}

#pragma GCC visibility push(default)

int RTC(Version)(int *major, int *minor)
{
	*major = MAJOR;
	*minor = MINOR;
	return enter_rtc(__func__);
}

const char *RTC(GetErrorString)(int result)
{
	static _Thread_local char text[64];
	const char *name = "ERROR unknown";
	for (size_t i = 0; i < RESULTS; i++)
		if (results[i].code == result)
			name = results[i].name;
	snprintf(text, sizeof(text), RESULT_PREFIX "_%s", name);
	return text;
}

int RTC(CreateProgram)(struct program **program, const char *source, const char *name, int headers,
		       const char *const *texts, const char *const *names)
{
	int status = enter_rtc(__func__);
	(void)texts, (void)names;
	if (status || headers || !program || !source) /* this fake supports no headers */
		return status ? status : INVALID_INPUT;
	struct program *p = calloc(1, sizeof(*p));
	if (p)
		p->source = strdup(source);
	if (!p || !p->source) {
		free(p);
		return OUT_OF_MEMORY;
	}
	snprintf(p->name, sizeof(p->name), "%s", name ? name : "default_program");
	*program = p;
	return SUCCESS;
}

int RTC(DestroyProgram)(struct program **program)
{
	int status = enter_rtc(__func__);
	if (status || !program || !*program)
		return status ? status : INVALID_PROGRAM;
	free((*program)->source);
	free(*program);
	*program = NULL;
	return SUCCESS;
}

int RTC(CompileProgram)(struct program *program, int count, const char *const *options)
{
	int status = enter_rtc(__func__);
	return status     ? status
	       : !program ? INVALID_PROGRAM
			  : compile_program(program, count, options);
}

/* Two functions that give something of a program `p`, if it is there: how many bytes, and these. */
#define GIVE(name, is_there, address, size)                                                        \
	int RTC(name##Size)(const struct program *p, size_t *bytes)                                \
	{                                                                                          \
		int status = enter_rtc(__func__);                                                  \
		if (status || !p || !(is_there))                                                   \
			return status ? status : INVALID_PROGRAM;                                  \
		*bytes = size;                                                                     \
		return SUCCESS;                                                                    \
	}                                                                                          \
	int RTC(name)(const struct program *p, char *to)                                           \
	{                                                                                          \
		int status = enter_rtc(__func__);                                                  \
		if (status || !p || !(is_there))                                                   \
			return status ? status : INVALID_PROGRAM;                                  \
		memcpy(to, address, size);                                                         \
		return SUCCESS;                                                                    \
	}
#define GIVE_IMAGE(name) GIVE(name, p->image.arch[0], &p->image, sizeof(p->image))
GIVE(GetProgramLog, true, p->log, strlen(p->log) + 1)
