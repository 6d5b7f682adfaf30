/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhiprtc: the run-time compiler for HIP.
 */
#define RTC(name) hiprtc##name
#define RESULT_PREFIX "HIPRTC"
#define MAJOR 9
#define MINOR 0
#define RELEASE 0
#define ARCH_OPTIONS "--offload-arch=", "--gpu-architecture="
#include "tests/fakes/rtc_body.h"

GIVE_IMAGE(GetCode)

static int arch_is_known(const char *arch) { return strncmp(arch, "gfx", strlen("gfx")) == 0; }

static int enter_rtc(const char *function) { return fake_fault(function, result_by_name); }
