/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of NVRTC's ABI that we use, which HIPRTC has under other names: CUDA 11.2 to 13, ROCm 5
 * to 7. tests/abi/nvrtc.c and tests/abi/hiprtc.c compare it with nvrtc.h and hip/hiprtc.h.
 *
 * Enumerations are unsigned here, as the compiler makes them.
 */
#ifndef GPUSIG_RTC_ABI_H
#define GPUSIG_RTC_ABI_H

#include <stddef.h>

typedef unsigned rtc_result;
enum {
	RTC_SUCCESS = 0,
	RTC_OUT_OF_MEMORY = 1,
	RTC_INVALID_INPUT = 3,
	RTC_INVALID_OPTION = 5,
	RTC_COMPILATION = 6,
};

/* tests/abi defines these as the libraries' own types, so that it can compare whole prototypes. */
#ifndef RTC_ABI_TYPES
typedef struct rtc_program_opaque *rtc_program;
typedef const char *const *rtc_texts;
#endif

/* source, name, number of headers, their texts and names */
typedef rtc_result rtc_create_fn(rtc_program *, const char *, const char *, int, rtc_texts,
				 rtc_texts);
typedef rtc_result rtc_destroy_fn(rtc_program *);
typedef rtc_result rtc_compile_fn(rtc_program, int, rtc_texts);
typedef rtc_result rtc_bytes_fn(rtc_program, size_t *);
typedef rtc_result rtc_text_fn(rtc_program, char *);
typedef const char *rtc_error_fn(rtc_result);
typedef rtc_result rtc_version_fn(int *, int *);
/* NVRTC alone */
typedef rtc_result rtc_count_archs_fn(int *);
typedef rtc_result rtc_archs_fn(int *);

/* The code object manager, which HIPRTC compiles with; 0 is success. */
typedef unsigned comgr_isa_count_fn(size_t *);
typedef unsigned comgr_isa_name_fn(size_t, const char **);

#endif
