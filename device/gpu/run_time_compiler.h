/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiles with a library of NVRTC's interface; cuda_compiler.c and hip_compiler.c give the
 * functions and the options. Images may come from the cache (device/gpu/kernel_cache.h).
 */
#ifndef GPUSIG_RUN_TIME_COMPILER_H
#define GPUSIG_RUN_TIME_COMPILER_H

#include "device/gpu/rtc_abi.h"

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

/* Gets the size and the bytes of a compiled program in one form (machine code or PTX). */
struct run_time_code {
	rtc_bytes_fn *bytes;
	rtc_text_fn *get;
};

/* As compile() of struct gpu_compiler. A zero byte, not counted, follows the image. */
int run_time_compile(const struct run_time_compiler *compiler, const char *source,
		     const char *const *options, int count, const struct run_time_code *code,
		     void **image_p, size_t *bytes_p);

/* As version() of struct gpu_compiler. */
int run_time_version(const struct run_time_compiler *compiler, char *text, size_t capacity);

#endif
