/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/gpu_compilers.h"
#include "device/gpu_library.h"
#include "device/run_time_compiler.h"
#include "lib/err.h"

static struct run_time_compiler nvrtc = {.title = "NVRTC"};
static struct run_time_code cubin, ptx;
static rtc_count_archs_fn *count_archs;
static rtc_archs_fn *list_archs;

static const struct gpu_symbol symbols[] = {
	{"nvrtcCreateProgram", &nvrtc.create, false},
	{"nvrtcDestroyProgram", &nvrtc.destroy, false},
	{"nvrtcCompileProgram", &nvrtc.compile, false},
	{"nvrtcGetProgramLogSize", &nvrtc.log_bytes, false},
	{"nvrtcGetProgramLog", &nvrtc.log, false},
	{"nvrtcGetErrorString", &nvrtc.error, false},
	{"nvrtcVersion", &nvrtc.version, false},
	{"nvrtcGetCUBINSize", &cubin.bytes, false},
	{"nvrtcGetCUBIN", &cubin.get, false},
	{"nvrtcGetPTXSize", &ptx.bytes, false},
	{"nvrtcGetPTX", &ptx.get, false},
	{"nvrtcGetNumSupportedArchs", &count_archs, false},
	{"nvrtcGetSupportedArchs", &list_archs, false},
	{NULL, NULL, false},
};
static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};
static const char *const folders[] = {"$CUDA_HOME/lib64", "/usr/local/cuda/lib64", NULL};
static struct gpu_library library = {.title = "NVRTC", .files = files, .folders = folders, .symbols = symbols};

/* The newest architecture the compiler knows that is not newer than the device; 0: there is none. */
static int newest_known(int wanted, int *known_p)
{
	int count = 0, newest = 0;
	rtc_result result = count_archs(&count);
	int *archs = result == RTC_SUCCESS && count > 0 ? calloc((size_t)count, sizeof(*archs)) : NULL;
	if (archs)
		result = list_archs(archs);
	for (int i = 0; archs && result == RTC_SUCCESS && i < count; i++)
		if (archs[i] <= wanted && archs[i] > newest)
			newest = archs[i];
	free(archs);
	if (result != RTC_SUCCESS || count <= 0)
		return err_note(-EIO, "NVRTC does not say which architectures it knows: %s", nvrtc.error(result));
	*known_p = newest;
	return 0;
}

static int compile(const char *source, const char *arch, void **image_p, size_t *bytes_p)
{
	int wanted, known = 0, end = 0;
	int rc = gpu_library_open(&library);
	if (rc)
		return rc;
	if (sscanf(arch, "sm_%d%n", &wanted, &end) != 1 || arch[end])
		return err_note(-EINVAL, "NVRTC: '%s' is no architecture such as sm_90", arch);
	rc = newest_known(wanted, &known);
	if (rc)
		return rc;
	if (!known)
		return err_note(-EINVAL, "NVRTC does not know %s, nor anything older", arch);
	char option[48];
	const char *const options[] = {option};
	snprintf(option, sizeof(option), "--gpu-architecture=%s_%d", known == wanted ? "sm" : "compute", known);
	return run_time_compile(&nvrtc, source, options, 1, known == wanted ? &cubin : &ptx, image_p, bytes_p);
}

static int version(char *text, size_t room)
{
	const int rc = gpu_library_open(&library);
	return rc ? rc : run_time_version(&nvrtc, text, room);
}

const struct gpu_compiler cuda_compiler = {.compile = compile, .version = version};
