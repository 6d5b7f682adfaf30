/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcuda.so.1: the CUDA driver over the engine. Prototypes and numbers are copied from cuda.h, not
 * from the backend, so that an error there does not repeat here.
 */
#include "device/host/host_units.h"
#include "tests/fakes/board.h"
#include "tests/fakes/cuda_entry.h"
#include "tests/fakes/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fake_result_name results[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
	 "no kernel image is available for execution on the device"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
	 "peer access is not supported between these two devices"},
	{220, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	 "uncorrectable NVLink error detected during the execution"},
	{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	 "the provided PTX was compiled with an unsupported toolchain."},
	{226, "CUDA_ERROR_CONTAINED",
	 "Invalid access of peer GPU memory over nvlink or a hardware error"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
	{705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
	{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	 "part or all of the requested memory range is already mapped"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	 "pointer does not correspond to a registered memory region"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	 "system has unsupported display driver / cuda driver combination"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	 "operation failed due to a previous error during capture"},
	{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
	 "dependency created on uncaptured work in another stream"},
	{907, "CUDA_ERROR_CAPTURED_EVENT",
	 "operation not permitted on an event last recorded in a capturing stream"},
	{908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
	 "attempt to terminate a thread-local capture sequence from another thread"},
	{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
	{0, NULL, NULL},
};

const struct fake_model fake_model = {
	.device_name = "Fake GPU",
	.arch = "sm_90",
	.warp_threads = 32,
	.timer_hz = 1e9,
	.shared_per_unit_bytes = 128 << 10,
	.shared_reserved_bytes = 1 << 10,
	.shared_granularity_bytes = 128,
	.shared_default_bytes = 48 << 10,
	.shared_max_bytes = 127 << 10,
	.priority_min = 0,
	.priority_greatest = -5,
	.results = results,
};

/* ------------------------------------------------------------------ entering */

static atomic_bool initialised;
static _Thread_local struct fake_gpu *current;

int cuda_driver_version(void)
{
	const char *text = getenv("FAKE_DRIVER_VERSION");
	return text && *text ? (int)strtol(text, NULL, 10) : 13000;
}

int cuda_enter_driver(const char *function)
{
	int status = fake_fault(function, fake_result_by_name);
	if (!status && !atomic_load(&initialised))
		status = FAKE_NOT_INITIALIZED;
	return status;
}

int cuda_enter_device(const char *function, int device, struct fake_gpu **g_p)
{
	int status = cuda_enter_driver(function);
	if (!status) {
		*g_p = device < 0 ? NULL : fake_gpu_at((unsigned)device);
		status = *g_p ? FAKE_OK : FAKE_INVALID_DEVICE;
	}
	return status;
}

int cuda_enter(const char *function, struct fake_gpu **g_p)
{
	int status = cuda_enter_driver(function);
	if (!status)
		status = current ? fake_context_status(current) : FAKE_INVALID_CONTEXT;
	*g_p = current;
	return status;
}

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ the driver and its devices */

int cuInit(unsigned flags)
{
	int status = fake_fault(__func__, fake_result_by_name);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status && fake_gpu_count() == 0)
		status = FAKE_NO_DEVICE;
	if (!status)
		atomic_store(&initialised, true);
	return status;
}

int cuDriverGetVersion(int *version)
{
	*version = cuda_driver_version();
	return fake_fault(__func__, fake_result_by_name);
}

int cuGetErrorName(int error, const char **text)
{
	const struct fake_result_name *r = fake_result_name(error);
	*text = r ? r->name : NULL;
	return r ? FAKE_OK : FAKE_INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text)
{
	const struct fake_result_name *r = fake_result_name(error);
	*text = r ? r->text : NULL;
	return r ? FAKE_OK : FAKE_INVALID_VALUE;
}

int cuDeviceGetCount(int *count)
{
	int status = cuda_enter_driver(__func__);
	if (!status)
		*count = (int)fake_gpu_count();
	return status;
}

int cuDeviceGet(int *device, int ordinal)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, ordinal, &g);
	if (!status)
		*device = ordinal;
	return status;
}

int cuDeviceGetName(char *name, int capacity, int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		snprintf(name, (size_t)capacity, "%s", fake_model.device_name);
	return status;
}

/* With capital digits, as the driver writes it. */
int cuDeviceGetPCIBusId(char *text, int capacity, int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		snprintf(text, (size_t)capacity, "0000:%02X:00.0", fake_pci_bus(g->index));
	return status;
}

/* The same bytes as in NVML's text. */
int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status) {
		static const unsigned char bytes[16] = {0x0f, 0xae, [6] = 0x40, [8] = 0x80};
		memcpy(uuid, bytes, sizeof(bytes));
		uuid[15] = (unsigned char)(g->index + 1);
	}
	return status;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		*bytes = fake_memory_bytes();
	return status;
}

static const struct {
	int which, value;
} attributes[] = {
	{1, FAKE_THREADS_PER_BLOCK}, /* MAX_THREADS_PER_BLOCK */
	{8, 48 << 10},               /* MAX_SHARED_MEMORY_PER_BLOCK */
	{10, 32},                    /* WARP_SIZE */
	{13, 1500000},               /* CLOCK_RATE, kHz */
	{38, 1 << 20},               /* L2_CACHE_SIZE */
	{39, FAKE_THREADS_PER_UNIT}, /* MAX_THREADS_PER_MULTIPROCESSOR */
	{40, HOST_ENGINES},          /* ASYNC_ENGINE_COUNT */
	{41, 1},                     /* UNIFIED_ADDRESSING */
	{75, 9},                     /* COMPUTE_CAPABILITY_MAJOR */
	{76, 0},                     /* COMPUTE_CAPABILITY_MINOR */
	{78, 1},                     /* STREAM_PRIORITIES_SUPPORTED */
	{81, 128 << 10},             /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
	{97, 127 << 10},             /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
	{106, HOST_SLOTS},           /* MAX_BLOCKS_PER_MULTIPROCESSOR */
	{111, 1 << 10},              /* RESERVED_SHARED_MEMORY_PER_BLOCK */
	{134, 0},                    /* HOST_NUMA_ID */
};

int cuDeviceGetAttribute(int *value, int which, int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (status)
		return status;
	if (which == 16) { /* MULTIPROCESSOR_COUNT */
		*value = (int)fake_units(g);
		return FAKE_OK;
	}
	if (which == 100) { /* PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES */
		*value = (int)fake_board((unsigned)device, 1, "coherent");
		return FAKE_OK;
	}
	if (which == 86) { /* HOST_NATIVE_ATOMIC_SUPPORTED */
		*value = (int)fake_board((unsigned)device, 1, "host_atomics");
		return FAKE_OK;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].which == which) {
			*value = attributes[i].value;
			return FAKE_OK;
		}
	}
	return FAKE_INVALID_VALUE;
}

/* ------------------------------------------------------------------ contexts */

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		status = fake_context_retain(g);
	if (!status)
		*context = g;
	return status;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	return status ? status : fake_context_release(g);
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter_device(__func__, device, &g);
	return status ? status : flags > 0xff ? FAKE_INVALID_VALUE : FAKE_OK;
}

/* The handle of a context is its struct fake_gpu. */
static struct fake_gpu *gpu_of_context(const void *context)
{
	struct fake_gpu *g;
	for (unsigned i = 0; (g = fake_gpu_at(i)) != NULL; i++)
		if (g == context)
			return g;
	return NULL;
}

int cuCtxSetCurrent(void *context)
{
	int status = cuda_enter_driver(__func__);
	struct fake_gpu *g = gpu_of_context(context);
	if (!status && context && (!g || fake_context_status(g) == FAKE_CONTEXT_IS_DESTROYED))
		status = FAKE_INVALID_CONTEXT;
	if (!status)
		current = g;
	return status;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status) {
		*least = fake_model.priority_min;
		*greatest = fake_model.priority_greatest;
	}
	return status;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	struct fake_gpu *g, *other;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		status = cuda_enter_device(__func__, peer, &other);
	if (!status)
		*can = g != other;
	return status;
}

/* PERFORMANCE_RANK, ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED, CUDA_ARRAY_ACCESS_SUPPORTED */
int cuDeviceGetP2PAttribute(int *value, int which, int device, int peer)
{
	struct fake_gpu *g, *other;
	int status = cuda_enter_device(__func__, device, &g);
	if (!status)
		status = cuda_enter_device(__func__, peer, &other);
	if (status)
		return status;
	if (g == other)
		return FAKE_INVALID_DEVICE;
	if (!value || which < 1 || which > 4)
		return FAKE_INVALID_VALUE;
	*value = which == 1 ? 0 : 1;
	if (which == 3)
		*value = (int)fake_board((unsigned)device, 1, "peer_atomics");
	return FAKE_OK;
}

int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
	struct fake_gpu *g, *other = gpu_of_context(context);
	int status = cuda_enter(__func__, &g);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status)
		status = other ? fake_peer_enable(g, other) : FAKE_INVALID_CONTEXT;
	return status;
}
