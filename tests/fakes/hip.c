/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libamdhip64: the HIP runtime over the engine. Prototypes and numbers are hip_runtime_api.h's, written down again, so that a wrong
 * one in the backend meets a right one here. A device's context opens with the first call that uses it, and lives as long as the
 * process.
 */
#include "tests/fakes/hip_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_units.h"
#include "tests/fakes/faults.h"

static const struct fake_result_name results[] = {
	{0, "hipSuccess", "no error"},
	{1, "hipErrorInvalidValue", "invalid argument"},
	{2, "hipErrorOutOfMemory", "out of memory"},
	{3, "hipErrorNotInitialized", "initialization error"},
	{21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
	{35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
	{100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
	{101, "hipErrorInvalidDevice", "invalid device ordinal"},
	{200, "hipErrorInvalidImage", "device kernel image is invalid"},
	{201, "hipErrorInvalidContext", "invalid device context"},
	{209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
	{214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
	{217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
	{400, "hipErrorInvalidHandle", "invalid resource handle"},
	{401, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
	{500, "hipErrorNotFound", "named symbol not found"},
	{600, "hipErrorNotReady", "device not ready"},
	{700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
	{701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
	{704, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
	{705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
	{709, "hipErrorContextIsDestroyed", "context is destroyed"},
	{719, "hipErrorLaunchFailure", "unspecified launch failure"},
	{801, "hipErrorNotSupported", "operation not supported"},
	{900, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
	{901, "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
	{905, "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
	{907, "hipErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
	{908, "hipErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
	{999, "hipErrorUnknown", "unknown error"},
	{0, NULL, NULL},
};

#define ARCH "gfx90a:sramecc+:xnack-"

const struct fake_model fake_model = {
	.device_name = "Fake GPU",
	.arch = ARCH,
	.warp_threads = 64,
	.timer_hz = 1e8,
	.shared_per_unit_bytes = 64 << 10,
	.shared_granularity_bytes = 512,
	.shared_default_bytes = 64 << 10,
	.shared_most_bytes = 64 << 10,
	.priority_least = 1,
	.priority_greatest = -1,
	.values_take_slots = true,
	.results = results,
};

/* ------------------------------------------------------------------ entering */

static _Thread_local int current;
static _Thread_local int last_error;

int hip_leave(int rc)
{
	if (rc && rc != FAKE_NOT_READY)
		last_error = rc;
	return rc;
}

int hip_enter_device(const char *function, int device, struct fake_gpu **g_p)
{
	int rc = fake_fault(function, fake_result_named);
	if (!rc) {
		*g_p = device < 0 ? NULL : fake_gpu_at((unsigned)device);
		rc = *g_p ? FAKE_OK : fake_gpu_count() ? FAKE_INVALID_DEVICE : FAKE_NO_DEVICE;
	}
	return rc;
}

int hip_enter(const char *function, struct fake_gpu **g_p)
{
	int rc = hip_enter_device(function, current, g_p);
	if (!rc)
		rc = fake_retain_first(*g_p);
	return rc ? rc : fake_usable(*g_p);
}

int hip_version(void)
{
	const char *text = getenv("FAKE_DRIVER_VERSION");
	return text && *text ? (int)strtol(text, NULL, 10) : 60443482; /* 6.4.43482 */
}

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ the runtime and its devices */

int hipInit(unsigned flags)
{
	int rc = fake_fault(__func__, fake_result_named);
	if (!rc && flags)
		rc = FAKE_INVALID_VALUE;
	if (!rc && fake_gpu_count() == 0)
		rc = FAKE_NO_DEVICE;
	return hip_leave(rc);
}

static int version(const char *function, int *version_p)
{
	*version_p = hip_version();
	return hip_leave(fake_fault(function, fake_result_named));
}

int hipDriverGetVersion(int *version_p) { return version(__func__, version_p); }
int hipRuntimeGetVersion(int *version_p) { return version(__func__, version_p); }

const char *hipGetErrorName(int error)
{
	const struct fake_result_name *r = fake_result_name(error);
	return r ? r->name : "hipErrorUnknown";
}

const char *hipGetErrorString(int error)
{
	const struct fake_result_name *r = fake_result_name(error);
	return r ? r->text : "unknown error";
}

int hipGetLastError(void)
{
	int rc = last_error;
	last_error = FAKE_OK;
	return rc;
}

int hipGetDeviceCount(int *count)
{
	int rc = fake_fault(__func__, fake_result_named);
	*count = rc ? 0 : (int)fake_gpu_count();
	return hip_leave(rc ? rc : *count ? FAKE_OK : FAKE_NO_DEVICE);
}

int hipSetDevice(int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, device, &g);
	if (!rc)
		current = device;
	return hip_leave(rc);
}

int hipSetDeviceFlags(unsigned flags)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, current, &g);
	return hip_leave(!rc && flags > 0xff ? FAKE_INVALID_VALUE : rc);
}

int hipDeviceGetName(char *name, int room, int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, device, &g);
	if (!rc)
		snprintf(name, (size_t)room, "%s", fake_model.device_name);
	return hip_leave(rc);
}

int hipDeviceGetPCIBusId(char *text, int room, int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, device, &g);
	if (!rc)
		snprintf(text, (size_t)room, "0000:%02x:00.0", g->index + 1);
	return hip_leave(rc);
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, device, &g);
	if (!rc)
		*bytes = fake_memory_bytes();
	return hip_leave(rc);
}

static const struct {
	int which, value;
} attributes[] = {
	{2, HOST_ENGINES},           /* AsyncEngineCount */
	{5, 1500000},                /* ClockRate, kHz */
	{19, 1 << 20},               /* L2CacheSize */
	{25, HOST_SLOTS},            /* MaxBlocksPerMultiProcessor */
	{56, FAKE_THREADS_PER_BLOCK}, /* MaxThreadsPerBlock */
	{57, FAKE_THREADS_PER_UNIT}, /* MaxThreadsPerMultiProcessor */
	{74, 64 << 10},              /* MaxSharedMemoryPerBlock */
	{87, 64},                    /* WarpSize */
	{10002, 64 << 10},           /* MaxSharedMemoryPerMultiprocessor */
	{10013, 1},                  /* CanUseStreamWaitValue */
	{10017, 100000},             /* WallClockRate, kHz */
};

int hipDeviceGetAttribute(int *value, int which, int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(__func__, device, &g);
	if (rc)
		return hip_leave(rc);
	if (which == 63) { /* MultiprocessorCount */
		*value = (int)fake_units(g);
		return FAKE_OK;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].which == which) {
			*value = attributes[i].value;
			return FAKE_OK;
		}
	}
	return hip_leave(FAKE_INVALID_VALUE);
}

/* hipDeviceProp_t before and since ROCm 6: its size, and where its gcnArchName is. */
static int properties(const char *function, char *at, size_t bytes, size_t arch, int device)
{
	struct fake_gpu *g;
	int rc = hip_enter_device(function, device, &g);
	if (!rc) {
		memset(at, 0, bytes);
		snprintf(at, 256, "%s", fake_model.device_name);
		memcpy(at + arch, ARCH, sizeof(ARCH));
	}
	return hip_leave(rc);
}

int hipGetDeviceProperties(void *at, int device) { return properties(__func__, at, 792, 396, device); }
int hipGetDevicePropertiesR0600(void *at, int device) { return properties(__func__, at, 1472, 1160, device); }

int hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	struct fake_gpu *g;
	int rc = hip_enter(__func__, &g);
	if (!rc) {
		*least = fake_model.priority_least;
		*greatest = fake_model.priority_greatest;
	}
	return hip_leave(rc);
}

int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
	struct fake_gpu *g, *other;
	int rc = hip_enter_device(__func__, device, &g);
	if (!rc)
		rc = hip_enter_device(__func__, peer, &other);
	if (!rc)
		*can = g != other;
	return hip_leave(rc);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
	struct fake_gpu *g, *other;
	int rc = hip_enter(__func__, &g);
	if (!rc)
		rc = flags ? FAKE_INVALID_VALUE : hip_enter_device(__func__, peer, &other);
	return hip_leave(rc ? rc : fake_peer_enable(g, other));
}
