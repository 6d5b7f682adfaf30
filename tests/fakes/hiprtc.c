/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhiprtc: the run-time compiler for HIP.
 */
#include "tests/fakes/rtc.h"

#include <string.h>

typedef struct fake_program *hiprtcProgram;

static const char *const arch_options[] = {"--offload-arch=", "--gpu-architecture=", NULL};

static int arch_is_known(const char *arch) { return strncmp(arch, "gfx", strlen("gfx")) == 0; }

#pragma GCC visibility push(default)

int hiprtcVersion(int *major, int *minor)
{
	int status = rtc_enter(__func__);
	*major = 9;
	*minor = 0;
	return status;
}

const char *hiprtcGetErrorString(int result) { return rtc_error("HIPRTC", result); }

int hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int headers,
			const char *const *texts, const char *const *names)
{
	int status = rtc_enter(__func__);
	(void)texts, (void)names;
	if (!status && headers)
		status = FAKE_RTC_INVALID_INPUT; /* not supported by this fake */
	return status ? status : rtc_create(program, source, name);
}

int hiprtcDestroyProgram(hiprtcProgram *program)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_destroy(program);
}

int hiprtcCompileProgram(hiprtcProgram program, int count, const char *const *options)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_compile(program, count, options, arch_options, arch_is_known);
}

int hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_log_bytes(program, bytes);
}

int hiprtcGetProgramLog(hiprtcProgram program, char *text)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_log(program, text);
}

int hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_image_bytes(program, bytes);
}

int hiprtcGetCode(hiprtcProgram program, char *image)
{
	int status = rtc_enter(__func__);
	return status ? status : rtc_image(program, image);
}
