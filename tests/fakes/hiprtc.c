/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhiprtc: what compiles HIP at run time.
 */
#include "tests/fakes/rtc.h"

#include <string.h>

typedef struct fake_program *hiprtcProgram;

static const char *const arch_options[] = {"--offload-arch=", "--gpu-architecture=", NULL};

static int knows(const char *arch) { return strncmp(arch, "gfx", strlen("gfx")) == 0; }

#pragma GCC visibility push(default)

int hiprtcVersion(int *major, int *minor)
{
	int rc = rtc_enter(__func__);
	*major = 9;
	*minor = 0;
	return rc;
}

const char *hiprtcGetErrorString(int result) { return rtc_error("HIPRTC", result); }

int hiprtcCreateProgram(hiprtcProgram *program, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names)
{
	int rc = rtc_enter(__func__);
	(void)texts, (void)names;
	if (!rc && headers)
		rc = FAKE_RTC_INVALID_INPUT; /* of this fake */
	return rc ? rc : rtc_create(program, source, name);
}

int hiprtcDestroyProgram(hiprtcProgram *program)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_destroy(program);
}

int hiprtcCompileProgram(hiprtcProgram program, int count, const char *const *options)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_compile(program, count, options, arch_options, knows);
}

int hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_log_bytes(program, bytes);
}

int hiprtcGetProgramLog(hiprtcProgram program, char *text)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_log(program, text);
}

int hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_image_bytes(program, bytes);
}

int hiprtcGetCode(hiprtcProgram program, char *image)
{
	int rc = rtc_enter(__func__);
	return rc ? rc : rtc_image(program, image);
}
