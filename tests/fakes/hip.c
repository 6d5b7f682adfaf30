/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libamdhip64: the HIP runtime over the engine. Prototypes and numbers are copied from
 * hip_runtime_api.h, not from the backend, so that an error there does not repeat here. The first
 * call that uses a device opens its context, which lives as long as the process.
 */
#include "device/host/host_units.h"
#include "tests/fakes/board.h"
#include "tests/fakes/faults.h"
#include "tests/fakes/hip_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	{217, "hipErrorPeerAccessUnsupported",
	 "peer access is not supported between these two devices"},
	{400, "hipErrorInvalidHandle", "invalid resource handle"},
	{401, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
	{500, "hipErrorNotFound", "named symbol not found"},
	{600, "hipErrorNotReady", "device not ready"},
	{700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
	{701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
	{704, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
	{705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
	{709, "hipErrorContextIsDestroyed", "context is destroyed"},
	{712, "hipErrorHostMemoryAlreadyRegistered",
	 "part or all of the requested memory range is already mapped"},
	{713, "hipErrorHostMemoryNotRegistered",
	 "pointer does not correspond to a registered memory region"},
	{719, "hipErrorLaunchFailure", "unspecified launch failure"},
	{801, "hipErrorNotSupported", "operation not supported"},
	{900, "hipErrorStreamCaptureUnsupported",
	 "operation not permitted when stream is capturing"},
	{901, "hipErrorStreamCaptureInvalidated",
	 "operation failed due to a previous error during capture"},
	{905, "hipErrorStreamCaptureIsolation",
	 "dependency created on uncaptured work in another stream"},
	{907, "hipErrorCapturedEvent",
	 "operation not permitted on an event last recorded in a capturing stream"},
	{908, "hipErrorStreamCaptureWrongThread",
	 "attempt to terminate a thread-local capture sequence from another thread"},
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
	.shared_max_bytes = 64 << 10,
	.priority_min = 1,
	.priority_greatest = -1,
	.values_take_slots = true,
	.results = results,
};

/* ------------------------------------------------------------------ entering */

static _Thread_local int current;
static _Thread_local int last_error;

int hip_leave(int status)
{
	if (status && status != FAKE_NOT_READY)
		last_error = status;
	return status;
}

int hip_enter_device(const char *function, int device, struct fake_gpu **g_p)
{
	int status = fake_fault(function, fake_result_by_name);
	if (!status) {
		*g_p = device < 0 ? NULL : fake_gpu_at((unsigned)device);
		status = *g_p ? FAKE_OK : fake_gpu_count() ? FAKE_INVALID_DEVICE : FAKE_NO_DEVICE;
	}
	return status;
}

int hip_enter(const char *function, struct fake_gpu **g_p)
{
	int status = hip_enter_device(function, current, g_p);
	if (!status)
		status = fake_context_retain_once(*g_p);
	return status ? status : fake_context_status(*g_p);
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
	int status = fake_fault(__func__, fake_result_by_name);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status && fake_gpu_count() == 0)
		status = FAKE_NO_DEVICE;
	return hip_leave(status);
}

static int report_version(const char *function, int *version_p)
{
	*version_p = hip_version();
	return hip_leave(fake_fault(function, fake_result_by_name));
}

int hipDriverGetVersion(int *version_p) { return report_version(__func__, version_p); }
int hipRuntimeGetVersion(int *version_p) { return report_version(__func__, version_p); }

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
	int status = last_error;
	last_error = FAKE_OK;
	return status;
}

int hipGetDeviceCount(int *count)
{
	int status = fake_fault(__func__, fake_result_by_name);
	*count = status ? 0 : (int)fake_gpu_count();
	return hip_leave(status ? status : *count ? FAKE_OK : FAKE_NO_DEVICE);
}

int hipSetDevice(int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, device, &g);
	if (!status)
		current = device;
	return hip_leave(status);
}

int hipSetDeviceFlags(unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, current, &g);
	return hip_leave(!status && flags > 0xff ? FAKE_INVALID_VALUE : status);
}

int hipDeviceGetName(char *name, int capacity, int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, device, &g);
	if (!status)
		snprintf(name, (size_t)capacity, "%s", fake_model.device_name);
	return hip_leave(status);
}

int hipDeviceGetPCIBusId(char *text, int capacity, int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, device, &g);
	if (!status)
		snprintf(text, (size_t)capacity, "0000:%02x:00.0", fake_pci_bus(g->index));
	return hip_leave(status);
}

/* The runtime copies the digits of the unique id, without an end. */
int hipDeviceGetUuid(char uuid[16], int device)
{
	struct fake_gpu *g;
	char digits[17];
	int status = hip_enter_device(__func__, device, &g);
	if (!status) {
		snprintf(digits, sizeof(digits), "0fae0000000000%02x", g->index + 1);
		memcpy(uuid, digits, 16);
	}
	return hip_leave(status);
}

int hipDeviceTotalMem(size_t *bytes, int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, device, &g);
	if (!status)
		*bytes = fake_memory_bytes();
	return hip_leave(status);
}

static const struct {
	int which, value;
} attributes[] = {
	{2, HOST_ENGINES},            /* AsyncEngineCount */
	{5, 1500000},                 /* ClockRate, kHz */
	{19, 1 << 20},                /* L2CacheSize */
	{25, HOST_SLOTS},             /* MaxBlocksPerMultiProcessor */
	{56, FAKE_THREADS_PER_BLOCK}, /* MaxThreadsPerBlock */
	{57, FAKE_THREADS_PER_UNIT},  /* MaxThreadsPerMultiProcessor */
	{74, 64 << 10},               /* MaxSharedMemoryPerBlock */
	{87, 64},                     /* WarpSize */
	{10002, 64 << 10},            /* MaxSharedMemoryPerMultiprocessor */
	{10013, 1},                   /* CanUseStreamWaitValue */
	{10017, 100000},              /* WallClockRate, kHz */
};

int hipDeviceGetAttribute(int *value, int which, int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(__func__, device, &g);
	if (status)
		return hip_leave(status);
	if (which == 63) { /* MultiprocessorCount */
		*value = (int)fake_units(g);
		return FAKE_OK;
	}
	if (which == 16) { /* Integrated */
		*value = (int)fake_board((unsigned)device, 1, "coherent");
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

/* Fills a hipDeviceProp_t. `bytes` and `arch_offset`, that of gcnArchName, differ before and since
 * ROCm 6. */
static int fill_properties(const char *function, char *at, size_t bytes, size_t arch_offset,
			   int device)
{
	struct fake_gpu *g;
	int status = hip_enter_device(function, device, &g);
	if (!status) {
		memset(at, 0, bytes);
		snprintf(at, 256, "%s", fake_model.device_name);
		memcpy(at + arch_offset, ARCH, sizeof(ARCH));
	}
	return hip_leave(status);
}

int hipGetDeviceProperties(void *at, int device)
{
	return fill_properties(__func__, at, 792, 396, device);
}
int hipGetDevicePropertiesR0600(void *at, int device)
{
	return fill_properties(__func__, at, 1472, 1160, device);
}

int hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status) {
		*least = fake_model.priority_min;
		*greatest = fake_model.priority_greatest;
	}
	return hip_leave(status);
}

int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
	struct fake_gpu *g, *other;
	int status = hip_enter_device(__func__, device, &g);
	if (!status)
		status = hip_enter_device(__func__, peer, &other);
	if (!status)
		*can = g != other;
	return hip_leave(status);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
	struct fake_gpu *g, *other;
	int status = hip_enter(__func__, &g);
	if (!status)
		status = flags ? FAKE_INVALID_VALUE : hip_enter_device(__func__, peer, &other);
	return hip_leave(status ? status : fake_peer_enable(g, other));
}
