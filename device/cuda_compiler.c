/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/gpu_compilers.h"
#include "device/gpu_library.h"
#include "device/run_time_compiler.h"
#include "lib/err.h"

/* Releases of NVRTC lie beside each other, and a driver takes the code of its own release and of older ones. */
#define RELEASES 4
#define ANY_RELEASE (RELEASES - 1)

static struct release {
	struct run_time_compiler compiler;
	struct run_time_code cubin, ptx;
	rtc_count_archs_fn *count_archs;
	rtc_archs_fn *list_archs;
} releases[RELEASES] = {{.compiler = {.title = "NVRTC"}}, {.compiler = {.title = "NVRTC"}}, {.compiler = {.title = "NVRTC"}},
                        {.compiler = {.title = "NVRTC"}}};

#define SYMBOLS(r)                                                          \
	{                                                                   \
		{"nvrtcCreateProgram", &(r).compiler.create, false},        \
		{"nvrtcDestroyProgram", &(r).compiler.destroy, false},      \
		{"nvrtcCompileProgram", &(r).compiler.compile, false},      \
		{"nvrtcGetProgramLogSize", &(r).compiler.log_bytes, false}, \
		{"nvrtcGetProgramLog", &(r).compiler.log, false},           \
		{"nvrtcGetErrorString", &(r).compiler.error, false},        \
		{"nvrtcVersion", &(r).compiler.version, false},             \
		{"nvrtcGetCUBINSize", &(r).cubin.bytes, false},             \
		{"nvrtcGetCUBIN", &(r).cubin.get, false},                   \
		{"nvrtcGetPTXSize", &(r).ptx.bytes, false},                 \
		{"nvrtcGetPTX", &(r).ptx.get, false},                       \
		{"nvrtcGetNumSupportedArchs", &(r).count_archs, false},     \
		{"nvrtcGetSupportedArchs", &(r).list_archs, false},         \
		{NULL, NULL, false},                                        \
	}
static const struct gpu_symbol symbols[RELEASES][14] = {SYMBOLS(releases[0]), SYMBOLS(releases[1]), SYMBOLS(releases[2]),
                                                        SYMBOLS(releases[3])};
/* Newest first. The last is the name of any release: it serves where no other is here, else it may be a second copy. */
static const char *const files[RELEASES][2] = {
	{"libnvrtc.so.13", NULL}, {"libnvrtc.so.12", NULL}, {"libnvrtc.so.11.2", NULL}, {"libnvrtc.so", NULL}};
static const char *const folders[] = {"$CUDA_HOME/lib64", "/usr/local/cuda/lib64", NULL};
#define LIBRARY(r) {.title = "NVRTC", .files = files[r], .folders = folders, .symbols = symbols[r]}
static struct gpu_library libraries[RELEASES] = {LIBRARY(0), LIBRARY(1), LIBRARY(2), LIBRARY(3)};

/* 12040 for 12.4, as drivers count. */
static int release_version(const struct release *r, int *version_p)
{
	int major = 0, minor = 0;
	const rtc_result result = r->compiler.version(&major, &minor);
	if (result != RTC_SUCCESS)
		return err_note(-EIO, "NVRTC: version: %s", r->compiler.error(result));
	*version_p = 1000 * major + 10 * minor;
	return 0;
}

/* The newest architecture the compiler knows that is not newer than the device; 0: there is none. */
static int newest_known(const struct release *r, int wanted, int *known_p)
{
	int count = 0, newest = 0;
	rtc_result result = r->count_archs(&count);
	int *archs = result == RTC_SUCCESS && count > 0 ? calloc((size_t)count, sizeof(*archs)) : NULL;
	if (archs)
		result = r->list_archs(archs);
	for (int i = 0; archs && result == RTC_SUCCESS && i < count; i++)
		if (archs[i] <= wanted && archs[i] > newest)
			newest = archs[i];
	free(archs);
	if (result != RTC_SUCCESS || count <= 0)
		return err_note(-EIO, "NVRTC does not say which architectures it knows: %s", r->compiler.error(result));
	*known_p = newest;
	return 0;
}

/* Drivers take machine code of every release with their major number, and PTX of none that is newer. */
static int check_age(int version, const struct gpu_target *target, bool is_ptx)
{
	const int driver = target->driver_version;
	if (!driver || (is_ptx ? version <= driver : version / 1000 <= driver / 1000))
		return 0;
	return err_note(-EINVAL, "NVRTC %d.%d is newer than the driver, which is for CUDA %d.%d", version / 1000,
	                version % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

/* What Hopper alone has (wgmma) is compiled for sm_90a, which NVRTC knows from 12.0 on. */
static const char *features(int arch, int version)
{
	return arch == 90 && version >= 12000 ? "a" : "";
}

static int compile_by(const struct release *r, const char *source, int wanted, const struct gpu_target *target, void **image_p,
                      size_t *bytes_p)
{
	int known = 0, version = 0;
	char option[48];
	const char *const options[] = {option};
	int rc = release_version(r, &version);
	if (!rc)
		rc = newest_known(r, wanted, &known);
	if (!rc && !known)
		rc = err_note(-EINVAL, "NVRTC %d.%d does not know %s, nor anything older", version / 1000, version % 1000 / 10,
		              target->arch);
	if (!rc)
		rc = check_age(version, target, known != wanted);
	if (rc)
		return rc;
	const bool exact = known == wanted;
	snprintf(option, sizeof(option), "--gpu-architecture=%s_%d%s", exact ? "sm" : "compute", known,
	         exact ? features(known, version) : "");
	return run_time_compile(&r->compiler, source, options, 1, exact ? &r->cubin : &r->ptx, image_p, bytes_p);
}

/* Of several causes the first that is not an absence is told; without one, what was looked for. */
static int compile(const char *source, const struct gpu_target *target, unsigned *release_p, void **image_p, size_t *bytes_p)
{
	int wanted, end = 0, first_rc = 0;
	char why[400] = "";
	if (sscanf(target->arch, "sm_%d%n", &wanted, &end) != 1 || target->arch[end])
		return err_note(-EINVAL, "NVRTC: '%s' is no architecture such as sm_90", target->arch);
	for (unsigned i = *release_p; i < RELEASES; i++) {
		if (i == ANY_RELEASE && (first_rc || *release_p))
			break;
		int rc = gpu_library_open(&libraries[i]);
		if (rc && libraries[i].absent)
			continue;
		if (!rc)
			rc = compile_by(&releases[i], source, wanted, target, image_p, bytes_p);
		if (!rc) {
			*release_p = i;
			return 0;
		}
		if (!first_rc) {
			first_rc = rc;
			snprintf(why, sizeof(why), "%s", err_text());
		}
	}
	return first_rc ? err_note(first_rc, "%s", why)
	                : err_note(-ENODEV, "NVRTC is not here: no libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so.11.2, libnvrtc.so");
}

static int version(unsigned release, char *text, size_t room)
{
	int rc = -ENODEV;
	for (unsigned i = release; i < RELEASES && rc; i++) {
		rc = gpu_library_open(&libraries[i]);
		if (!rc)
			rc = run_time_version(&releases[i].compiler, text, room);
	}
	return rc;
}

const struct gpu_compiler cuda_compiler = {.compile = compile, .version = version};
