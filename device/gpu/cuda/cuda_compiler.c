/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/gpu_compilers.h"
#include "device/gpu/run_time_compiler.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Several releases of NVRTC may be installed, and a driver accepts the code of its own release
 * and of older ones. */
#define RELEASES 4
#define ANY_RELEASE (RELEASES - 1)

static struct release {
	struct run_time_compiler compiler;
	struct run_time_code cubin, ptx;
	rtc_count_archs_fn *count_archs;
	rtc_archs_fn *list_archs;
} releases[RELEASES] = {{.compiler = {.title = "NVRTC"}},
			{.compiler = {.title = "NVRTC"}},
			{.compiler = {.title = "NVRTC"}},
			{.compiler = {.title = "NVRTC"}}};

#define SYMBOLS(r)                                                                                 \
	{                                                                                          \
		{"nvrtcCreateProgram", &(r).compiler.create, false},                               \
			{"nvrtcDestroyProgram", &(r).compiler.destroy, false},                     \
			{"nvrtcCompileProgram", &(r).compiler.compile, false},                     \
			{"nvrtcGetProgramLogSize", &(r).compiler.log_bytes, false},                \
			{"nvrtcGetProgramLog", &(r).compiler.log, false},                          \
			{"nvrtcGetErrorString", &(r).compiler.error, false},                       \
			{"nvrtcVersion", &(r).compiler.version, false},                            \
			{"nvrtcGetCUBINSize", &(r).cubin.bytes, false},                            \
			{"nvrtcGetCUBIN", &(r).cubin.get, false},                                  \
			{"nvrtcGetPTXSize", &(r).ptx.bytes, false},                                \
			{"nvrtcGetPTX", &(r).ptx.get, false},                                      \
			{"nvrtcGetNumSupportedArchs", &(r).count_archs, false},                    \
			{"nvrtcGetSupportedArchs", &(r).list_archs, false}, {NULL, NULL, false},   \
	}
static const struct dynlib_symbol symbols[RELEASES][14] = {
	SYMBOLS(releases[0]), SYMBOLS(releases[1]), SYMBOLS(releases[2]), SYMBOLS(releases[3])};
/* The last name matches any release: it is used only where no other is installed,
 * since it may be a second copy of one. */
static const char *const files[RELEASES][2] = {{"libnvrtc.so.13", NULL},
					       {"libnvrtc.so.12", NULL},
					       {"libnvrtc.so.11.2", NULL},
					       {"libnvrtc.so", NULL}};
#define LIBRARY(r)                                                                                 \
	{                                                                                          \
		.title = "NVRTC", .files = files[r], .folders = cuda_folders,                      \
		.symbols = symbols[r]                                                              \
	}
static struct dynlib libraries[RELEASES] = {LIBRARY(0), LIBRARY(1), LIBRARY(2), LIBRARY(3)};

/* Newest first, but those in folders that the user names before the others. */
static unsigned order[RELEASES];
static void sort_releases(void)
{
	unsigned count = 0;
	for (int named = 1; named >= 0; named--)
		for (unsigned i = 0; i < ANY_RELEASE; i++)
			if (dynlib_is_named(&libraries[i]) == (named != 0))
				order[count++] = i;
	order[count] = ANY_RELEASE;
}

/* Releases are numbered as they are tried. */
static unsigned index_of_release(unsigned release)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, sort_releases);
	return order[release];
}

/* In the driver's encoding: 12040 for 12.4. */
static int release_version(const struct release *r, int *version_p)
{
	int major = 0, minor = 0;
	const rtc_result result = r->compiler.version(&major, &minor);
	if (result != RTC_SUCCESS)
		return err_note(-EIO, "NVRTC: version: %s", r->compiler.error(result));
	*version_p = 1000 * major + 10 * minor;
	return 0;
}

/* The newest architecture that the compiler knows and that is not newer than the device; 0:
 * none. */
static int newest_known(const struct release *r, int wanted, int *known_p)
{
	int count = 0, newest = 0;
	rtc_result result = r->count_archs(&count);
	int *archs =
		result == RTC_SUCCESS && count > 0 ? calloc((size_t)count, sizeof(*archs)) : NULL;
	if (archs)
		result = r->list_archs(archs);
	for (int i = 0; archs && result == RTC_SUCCESS && i < count; i++)
		if (archs[i] <= wanted && archs[i] > newest)
			newest = archs[i];
	free(archs);
	if (result != RTC_SUCCESS || count <= 0)
		return err_note(-EIO, "NVRTC does not list its architectures: %s",
				r->compiler.error(result));
	*known_p = newest;
	return 0;
}

/* wgmma, which only Hopper has, needs sm_90a, which NVRTC knows since 12.0. */
static const char *arch_suffix(int arch, int version)
{
	return arch == 90 && version >= 12000 ? "a" : "";
}

static int compile_with_release(const struct release *r, const char *source, int wanted,
				const struct gpu_target *target, void **image_p, size_t *bytes_p)
{
	int known = 0, version = 0;
	char option[48];
	const char *const options[] = {option};
	int status = release_version(r, &version);
	if (!status)
		status = newest_known(r, wanted, &known);
	if (!status && !known)
		status = err_note(-EINVAL,
				  "NVRTC %d.%d supports neither %s nor an older architecture",
				  version / 1000, version % 1000 / 10, target->arch);
	if (!status)
		status = cuda_check_age("NVRTC", version, target->driver_version, known != wanted);
	if (status)
		return status;
	const bool exact = known == wanted;
	snprintf(option, sizeof(option), "--gpu-architecture=%s_%d%s", exact ? "sm" : "compute",
		 known, exact ? arch_suffix(known, version) : "");
	return run_time_compile(&r->compiler, source, options, 1, exact ? &r->cubin : &r->ptx,
				image_p, bytes_p);
}

/* Reports the first error of an installed release; without one, the names that were looked for. */
static int compile_kernels(const char *source, const struct gpu_target *target, unsigned *release_p,
			   void **image_p, size_t *bytes_p)
{
	int wanted, end = 0, first_status = 0;
	char why[ERR_TEXT] = "";
	if (sscanf(target->arch, "sm_%d%n", &wanted, &end) != 1 || target->arch[end])
		return err_note(-EINVAL, "NVRTC: '%s' is not an architecture such as sm_90",
				target->arch);
	for (unsigned release = *release_p; release < RELEASES; release++) {
		const unsigned i = index_of_release(release);
		if (i == ANY_RELEASE && (first_status || *release_p))
			break;
		int status = dynlib_open(&libraries[i]);
		if (status && libraries[i].absent)
			continue;
		if (!status)
			status = compile_with_release(&releases[i], source, wanted, target, image_p,
						      bytes_p);
		if (!status) {
			*release_p = release;
			return 0;
		}
		if (!first_status) {
			first_status = status;
			text_fit(why, sizeof(why), "%s", err_text());
		}
	}
	return first_status ? err_note(first_status, "%s", why)
			    : err_note(-ENODEV,
				       "NVRTC is not installed: no libnvrtc.so.13, libnvrtc.so.12, "
				       "libnvrtc.so.11.2, libnvrtc.so");
}

static int describe_version(unsigned release, char *text, size_t capacity)
{
	int status = -ENODEV;
	for (; release < RELEASES && status; release++) {
		const unsigned i = index_of_release(release);
		status = dynlib_open(&libraries[i]);
		if (!status)
			status = run_time_version(&releases[i].compiler, text, capacity);
	}
	return status;
}

const struct gpu_compiler cuda_compiler = {.compile = compile_kernels, .version = describe_version};
