/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/rtc_abi.h against <hip/hiprtc.h> and <amd_comgr.h>.
 */
#include <stdbool.h>

#define __HIP_PLATFORM_AMD__
#include <amd_comgr.h>
#include <hip/hiprtc.h>

#define RTC_ABI_TYPES
typedef hiprtcProgram rtc_program;
typedef const char **rtc_texts;
#include "device/gpu/rtc_abi.h"
#include "tests/abi/abi.h"

same_value(RTC_SUCCESS, HIPRTC_SUCCESS);
same_value(RTC_OUT_OF_MEMORY, HIPRTC_ERROR_OUT_OF_MEMORY);
same_value(RTC_INVALID_INPUT, HIPRTC_ERROR_INVALID_INPUT);
same_value(RTC_INVALID_OPTION, HIPRTC_ERROR_INVALID_OPTION);
same_value(RTC_COMPILATION, HIPRTC_ERROR_COMPILATION);

same_function(rtc_create_fn, hiprtcCreateProgram);
same_function(rtc_destroy_fn, hiprtcDestroyProgram);
same_function(rtc_compile_fn, hiprtcCompileProgram);
same_function(rtc_bytes_fn, hiprtcGetProgramLogSize);
same_function(rtc_text_fn, hiprtcGetProgramLog);
same_function(rtc_bytes_fn, hiprtcGetCodeSize);
same_function(rtc_text_fn, hiprtcGetCode);
same_function(rtc_error_fn, hiprtcGetErrorString);
same_function(rtc_version_fn, hiprtcVersion);

same_value(AMD_COMGR_STATUS_SUCCESS, 0);
same_function(comgr_isa_count_fn, amd_comgr_get_isa_count);
same_function(comgr_isa_name_fn, amd_comgr_get_isa_name);
