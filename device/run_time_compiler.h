/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compile with a library of NVRTC's kind: cuda_compiler.c and hip_compiler.c say which functions and which options. What was
 * compiled before may come from the cache (device/kernel_cache.h).
 */
#ifndef GPUSIG_RUN_TIME_COMPILER_H
#define GPUSIG_RUN_TIME_COMPILER_H

#include "device/rtc_abi.h"

struct run_time_compiler {
	const char *title; /* "NVRTC" */
	rtc_create_fn *create;
	rtc_destroy_fn *destroy;
	rtc_compile_fn *compile;
	rtc_bytes_fn *log_bytes;
	rtc_text_fn *log;
	rtc_error_fn *error;
	rtc_version_fn *version;
};

/* The form of code that is wanted of a program: its size, and itself. */
struct run_time_code {
	rtc_bytes_fn *bytes;
	rtc_text_fn *get;
};

/* As compile() of struct gpu_compiler. A zero byte that isn't counted follows the image. */
int run_time_compile(const struct run_time_compiler *compiler, const char *source, const char *const *options, int count,
                     const struct run_time_code *code, void **image_p, size_t *bytes_p);

/* As version() of struct gpu_compiler. */
int run_time_version(const struct run_time_compiler *compiler, char *text, size_t room);

#endif
