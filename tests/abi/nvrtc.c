/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/rtc_abi.h against <nvrtc.h>.
 */
#include <nvrtc.h>

#define RTC_ABI_TYPES
typedef nvrtcProgram rtc_program;
typedef const char *const *rtc_texts;
#include "device/gpu/rtc_abi.h"
#include "tests/abi/abi.h"

same_value(RTC_SUCCESS, NVRTC_SUCCESS);
same_value(RTC_OUT_OF_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY);
same_value(RTC_INVALID_INPUT, NVRTC_ERROR_INVALID_INPUT);
same_value(RTC_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION);
same_value(RTC_COMPILATION, NVRTC_ERROR_COMPILATION);

same_function(rtc_create_fn, nvrtcCreateProgram);
same_function(rtc_destroy_fn, nvrtcDestroyProgram);
same_function(rtc_compile_fn, nvrtcCompileProgram);
same_function(rtc_bytes_fn, nvrtcGetProgramLogSize);
same_function(rtc_text_fn, nvrtcGetProgramLog);
same_function(rtc_bytes_fn, nvrtcGetCUBINSize);
same_function(rtc_text_fn, nvrtcGetCUBIN);
same_function(rtc_bytes_fn, nvrtcGetPTXSize);
same_function(rtc_text_fn, nvrtcGetPTX);
same_function(rtc_error_fn, nvrtcGetErrorString);
same_function(rtc_version_fn, nvrtcVersion);
same_function(rtc_count_archs_fn, nvrtcGetNumSupportedArchs);
same_function(rtc_archs_fn, nvrtcGetSupportedArchs);
