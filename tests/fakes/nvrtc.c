/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnvrtc: the run-time compiler for CUDA C, of CUDA 13.0 unless NVRTC_MAJOR and NVRTC_MINOR are
 * defined. FAKE_FAIL with FUNCTION.MAJOR applies to the release with that major number only.
 */
#include "tests/fakes/rtc.h"

#include <stdio.h>
#include <string.h>

typedef struct fake_program *nvrtcProgram;

static const char *const arch_options[] = {"--gpu-architecture=", "-arch=", NULL};

#ifndef NVRTC_MAJOR
#define NVRTC_MAJOR 13
#define NVRTC_MINOR 0
#endif

static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
#define ARCHS ((int)(sizeof(archs) / sizeof(archs[0])))

/* From Hopper on, a suffix "a" selects architecture-specific features; the list does not have it.
 */
static int arch_is_known(const char *arch)
{
	int number = 0, end = 0, known = 0;
	if (sscanf(arch, "sm_%d%n", &number, &end) != 1 &&
	    sscanf(arch, "compute_%d%n", &number, &end) != 1)
		return 0;
	for (int i = 0; i < ARCHS; i++)
		known |= archs[i] == number;
	return known && (!arch[end] || (number >= 90 && strcmp(arch + end, "a") == 0));
}

static int nvrtc_enter(const char *function)
{
	char of_release[64];
	snprintf(of_release, sizeof(of_release), "%s.%d", function, NVRTC_MAJOR);
	const int status = rtc_enter(function);
	return status ? status : rtc_enter(of_release);
}

#pragma GCC visibility push(default)

int nvrtcVersion(int *major, int *minor)
{
	int status = nvrtc_enter(__func__);
	*major = NVRTC_MAJOR;
	*minor = NVRTC_MINOR;
	return status;
}

const char *nvrtcGetErrorString(int result) { return rtc_error("NVRTC", result); }

int nvrtcGetNumSupportedArchs(int *count)
{
	*count = ARCHS;
	return nvrtc_enter(__func__);
}

int nvrtcGetSupportedArchs(int *list)
{
	memcpy(list, archs, sizeof(archs));
	return nvrtc_enter(__func__);
}

int nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int headers,
		       const char *const *texts, const char *const *names)
{
	int status = nvrtc_enter(__func__);
	(void)texts, (void)names;
	if (!status && headers)
		status = FAKE_RTC_INVALID_INPUT; /* not supported by this fake */
	return status ? status : rtc_create(program, source, name);
}

int nvrtcDestroyProgram(nvrtcProgram *program)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_destroy(program);
}

int nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
	int status = nvrtc_enter(__func__);
	if (!status)
		status = rtc_compile(program, count, options, arch_options, arch_is_known);
	if (!status)
		program->image.release = 1000 * NVRTC_MAJOR + 10 * NVRTC_MINOR;
	return status;
}

int nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_log_bytes(program, bytes);
}

int nvrtcGetProgramLog(nvrtcProgram program, char *text)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_log(program, text);
}

int nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_image_bytes(program, bytes);
}

int nvrtcGetCUBIN(nvrtcProgram program, char *image)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_image(program, image);
}

int nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_image_bytes(program, bytes);
}

int nvrtcGetPTX(nvrtcProgram program, char *image)
{
	int status = nvrtc_enter(__func__);
	return status ? status : rtc_image(program, image);
}
