/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnvrtc: the run-time compiler for CUDA C, of CUDA 13.0 unless MAJOR and MINOR are defined.
 * FAKE_FAIL with FUNCTION.MAJOR applies to the release with that major number only.
 */
#ifndef MAJOR
#define MAJOR 13
#define MINOR 0
#endif
#define RTC(name) nvrtc##name
#define RESULT_PREFIX "NVRTC"
#define RELEASE (1000 * MAJOR + 10 * MINOR)
#define ARCH_OPTIONS "--gpu-architecture=", "-arch="
#include "tests/fakes/rtc_body.h"

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

static int enter_rtc(const char *function)
{
	char of_release[64];
	snprintf(of_release, sizeof(of_release), "%s.%d", function, MAJOR);
	const int status = fake_fault(function, result_by_name);
	return status ? status : fake_fault(of_release, result_by_name);
}

GIVE_IMAGE(GetCUBIN)
GIVE_IMAGE(GetPTX)

int nvrtcGetNumSupportedArchs(int *count)
{
	*count = ARCHS;
	return enter_rtc(__func__);
}

int nvrtcGetSupportedArchs(int *list)
{
	memcpy(list, archs, sizeof(archs));
	return enter_rtc(__func__);
}
