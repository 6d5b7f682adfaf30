/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "device/gpu/gpu_compilers.h"
#include "device/gpu/run_time_compiler.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct run_time_compiler hiprtc = {.title = "HIPRTC"};
static struct run_time_code code;

static const struct dynlib_symbol symbols[] = {
	{"hiprtcCreateProgram", &hiprtc.create, false},
	{"hiprtcDestroyProgram", &hiprtc.destroy, false},
	{"hiprtcCompileProgram", &hiprtc.compile, false},
	{"hiprtcGetProgramLogSize", &hiprtc.log_bytes, false},
	{"hiprtcGetProgramLog", &hiprtc.log, false},
	{"hiprtcGetErrorString", &hiprtc.error, false},
	{"hiprtcVersion", &hiprtc.version, false},
	{"hiprtcGetCodeSize", &code.bytes, false},
	{"hiprtcGetCode", &code.get, false},
	{NULL, NULL, false},
};
/* Older releases have these functions in the runtime's library, libamdhip64. */
static const char *const files[] = {
	"libhiprtc.so.7",   "libhiprtc.so.6",   "libhiprtc.so.5",   "libhiprtc.so",
	"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct dynlib library = {.title = "HIPRTC",
				.files = files,
				.folders = folders,
				.above = &hip_runtime,
				.symbols = symbols};

/* HIPRTC crashes on an architecture that the compiler below it does not know, so the library that
 * it opens for that, which lies beside it, is asked first. One of another installation supports
 * others. */
static comgr_isa_count_fn *isa_count;
static comgr_isa_name_fn *isa_name;
static const struct dynlib_symbol compiler_symbols[] = {
	{"amd_comgr_get_isa_count", &isa_count, false},
	{"amd_comgr_get_isa_name", &isa_name, false},
	{NULL, NULL, false},
};
static const char *const compiler_files[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", NULL};
static struct dynlib compiler = {.title = "the code object manager",
				 .files = compiler_files,
				 .next_to = &library,
				 .symbols = compiler_symbols};

/* True, too, where nothing tells. Names have the form "amdgcn-amd-amdhsa--gfx90a", without the
 * features that follow a colon in `arch`. */
static bool knows_arch(const char *arch)
{
	const size_t length = strcspn(arch, ":");
	const char *name;
	size_t count = 0;
	if (dynlib_open(&compiler) || isa_count(&count))
		return true;
	for (size_t i = 0; i < count; i++) {
		if (isa_name(i, &name))
			continue;
		const char *dashes = strstr(name, "--");
		if (dashes && strncmp(dashes + 2, arch, length) == 0 && !dashes[2 + length])
			return true;
	}
	return false;
}

/* Only one release of HIPRTC is installed, so *release_p must be 0. */
static int compile_kernels(const char *source, const struct gpu_target *target, unsigned *release_p,
			   void **image_p, size_t *bytes_p)
{
	const char *arch = target->arch;
	char option[64];
	const char *const options[] = {option, "-O3"};
	const int status = dynlib_open(&library);
	if (status)
		return status;
	if (*release_p)
		return err_note(-ENODEV, "there is no other release of HIPRTC");
	if (snprintf(option, sizeof(option), "--offload-arch=%s", arch) >= (int)sizeof(option))
		return err_note(-EINVAL, "HIPRTC: '%s' is not an architecture", arch);
	if (!knows_arch(arch))
		return err_note(-EINVAL, "HIPRTC does not support %s", arch);
	return run_time_compile(&hiprtc, source, options, 2, &code, image_p, bytes_p);
}

static int describe_version(unsigned release, char *text, size_t capacity)
{
	const int status = dynlib_open(&library);
	return status ? status : run_time_version(&hiprtc, text, capacity);
}

const struct gpu_compiler hip_compiler = {.compile = compile_kernels, .version = describe_version};
