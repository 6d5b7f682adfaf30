/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/dynlib.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 11.7 is the first driver with all of CUDA_FUNCTIONS; cuStreamWaitValue32_v2 and
 * cuStreamWriteValue32_v2 came last. */
#define OLDEST_DRIVER 11070

struct cuda_api cuda_api;

#define REQUIRED(name, arguments) {#name, &cuda_api.name, false},
#define OPTIONAL(name, arguments) {#name, &cuda_api.name, true},
static const struct dynlib_symbol symbols[] = {
	CUDA_FUNCTIONS(REQUIRED) CUDA_OPTIONAL_FUNCTIONS(OPTIONAL){NULL, NULL, false}};
#undef REQUIRED
#undef OPTIONAL

static const char *const files[] = {"libcuda.so.1", "libcuda.so", NULL};
static int start_driver(void);
static struct dynlib library = {.title = "the NVIDIA driver (libcuda)",
				.files = files,
				.symbols = symbols,
				.start = start_driver};

/* ------------------------------------------------------------------ errors */

static int errno_of(int result)
{
	switch (result) {
	case CUDA_NOT_READY:
		return -EAGAIN;
	case CUDA_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_NOT_SUPPORTED:
	case CUDA_PEER_UNSUPPORTED:
	case CUDA_TOO_MANY_PEERS:
	case CUDA_NOT_PERMITTED:
		return -ENOTSUP;
	case CUDA_NOT_FOUND:
		return -ENOENT;
	case CUDA_NO_DEVICE:
	case CUDA_INVALID_DEVICE:
	case CUDA_DEVICE_UNAVAILABLE:
	case CUDA_STUB_LIBRARY:
	case CUDA_DRIVER_MISMATCH:
	case CUDA_COMPAT_NOT_SUPPORTED:
		return -ENODEV;
	case CUDA_ECC_UNCORRECTABLE:
	case CUDA_NVLINK_UNCORRECTABLE:
	case CUDA_CONTAINED:
	case CUDA_CONTEXT_IS_DESTROYED:
	case CUDA_UNKNOWN:
		return -EIO;
	default:
		break;
	}
	/* Exceptions of a running kernel end the context; they are numbered from illegal address
	 * to illegal program counter. */
	bool exception = result == CUDA_ILLEGAL_ADDRESS || result == CUDA_LAUNCH_TIMEOUT ||
			 result == CUDA_ASSERT ||
			 (result >= CUDA_HARDWARE_STACK && result <= CUDA_LAUNCH_FAILED);
	return exception ? -EIO : -EINVAL;
}

int cuda_note_failure(int result, const char *function)
{
	const char *name = NULL, *text = NULL;
	if (cuda_api.cuGetErrorName(result, &name) != CUDA_OK || !name)
		name = "unnamed result";
	if (cuda_api.cuGetErrorString(result, &text) != CUDA_OK || !text)
		text = "unknown error";
	return err_note(errno_of(result), "%s: %s (%s, %d)", function, text, name, result);
}

/* ------------------------------------------------------------------ the driver */

static int start_driver(void)
{
	int version = 0, result = cuda_api.cuDriverGetVersion(&version);
	if (result == CUDA_OK && version && version < OLDEST_DRIVER)
		return err_note(-ENODEV,
				"the NVIDIA driver is too old: it supports CUDA %d.%d, and "
				"%d.%d is needed",
				version / 1000, version % 1000 / 10, OLDEST_DRIVER / 1000,
				OLDEST_DRIVER % 1000 / 10);
	result = cuda_api.cuInit(0);
	if (result == CUDA_NO_DEVICE)
		return err_note(-ENODEV, "the NVIDIA driver is installed (%s) but finds no GPU",
				library.path);
	if (result == CUDA_STUB_LIBRARY)
		return err_note(-ENODEV, "%s is a toolkit's stub for linking, not a driver",
				library.path);
	return cuda_check_result(result, "cuInit") ? err_note(-ENODEV, "%s", err_text()) : 0;
}

int cuda_load(void) { return dynlib_open(&library); }

const char *const cuda_folders[] = {"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64",
				    NULL};

int cuda_version(void)
{
	int version = 0;
	return cuda_api.cuDriverGetVersion && cuda_api.cuDriverGetVersion(&version) == CUDA_OK
		       ? version
		       : 0;
}

int cuda_check_age(const char *title, int version, int driver, bool is_ptx)
{
	if (!driver || (is_ptx ? version <= driver : version / 1000 <= driver / 1000))
		return 0;
	return err_note(-EINVAL, "%s %d.%d is newer than the driver, which supports CUDA %d.%d",
			title, version / 1000, version % 1000 / 10, driver / 1000,
			driver % 1000 / 10);
}

int cuda_count(unsigned *count_p)
{
	int devices = 0;
	int status = CUDA_CALL(cuDeviceGetCount, &devices);
	if (!status)
		*count_p = (unsigned)devices;
	return status;
}

/* ------------------------------------------------------------------ devices */

/* An attribute that an older driver does not know is 0. */
static int device_attribute(cuda_device device, int which)
{
	int value = 0;
	return cuda_api.cuDeviceGetAttribute(&value, which, device) == CUDA_OK ? value : 0;
}

bool cuda_has_green_contexts(void)
{
	return cuda_api.cuDeviceGetDevResource && cuda_api.cuDevSmResourceSplitByCount &&
	       cuda_api.cuDevResourceGenerateDesc && cuda_api.cuGreenCtxCreate &&
	       cuda_api.cuGreenCtxDestroy && cuda_api.cuGreenCtxStreamCreate &&
	       cuda_api.cuStreamGetGreenCtx;
}

/* Older drivers do not tell the alignment; the split then says what it made of a number. */
static uint32_t unit_step_of(cuda_device device)
{
	struct cuda_resource all = {0};
	if (!cuda_has_green_contexts() ||
	    cuda_api.cuDeviceGetDevResource(device, &all, CUDA_RESOURCE_UNITS) != CUDA_OK)
		return 0;
	return all.alignment ? all.alignment : 1;
}

static void read_attributes(cuda_device device, struct gpu_traits *t)
{
	t->units = (uint32_t)device_attribute(device, CUDA_MULTIPROCESSOR_COUNT);
	t->unit_step = unit_step_of(device);
	t->copy_engines = (uint32_t)device_attribute(device, CUDA_ASYNC_ENGINE_COUNT);
	t->warp_threads = (uint32_t)device_attribute(device, CUDA_WARP_SIZE);
	t->threads_per_unit =
		(uint32_t)device_attribute(device, CUDA_MAX_THREADS_PER_MULTIPROCESSOR);
	t->blocks_per_unit = (uint32_t)device_attribute(device, CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR);
	t->threads_per_block = (uint32_t)device_attribute(device, CUDA_MAX_THREADS_PER_BLOCK);
	t->l2_bytes = (uint64_t)device_attribute(device, CUDA_L2_CACHE_SIZE);
	t->shared_per_unit_bytes =
		(uint64_t)device_attribute(device, CUDA_MAX_SHARED_PER_MULTIPROCESSOR);
	t->shared_per_block_bytes =
		(uint64_t)device_attribute(device, CUDA_MAX_SHARED_PER_BLOCK_OPTIN);
	t->shared_reserved_bytes =
		(uint64_t)device_attribute(device, CUDA_RESERVED_SHARED_PER_BLOCK);
	t->shared_granularity_bytes =
		128; /* from CUDA's occupancy calculator, compute capability 7.0 and later */
	t->clock_max_hz = 1e3 * device_attribute(device, CUDA_CLOCK_RATE);
	t->memory_clock_hz = 1e3 * device_attribute(device, CUDA_MEMORY_CLOCK_RATE);
	t->memory_bus_bits = device_attribute(device, CUDA_MEMORY_BUS_WIDTH);
	t->transfers_per_clock = 2; /* as deviceQuery of CUDA's samples computes it, also of GDDR */
	t->f64_divisor = (uint32_t)device_attribute(device, CUDA_SINGLE_TO_DOUBLE_RATIO);
	t->kernels_time_out = device_attribute(device, CUDA_KERNEL_EXEC_TIMEOUT) != 0;
	t->unified_addressing = device_attribute(device, CUDA_UNIFIED_ADDRESSING) != 0;
	t->coherent_host = device_attribute(device, CUDA_INTEGRATED) != 0 ||
			   device_attribute(device, CUDA_USES_HOST_PAGE_TABLES) != 0;
	t->dma_buf =
		device_attribute(device, CUDA_DMA_BUF_SUPPORTED) ? DEV_DMA_BUF_YES : DEV_DMA_BUF_NO;
	t->adds_to_host = device_attribute(device, CUDA_HOST_NATIVE_ATOMIC) != 0;
	t->wait_value = true; /* every device supports the v2 functions */
	t->ipc = true;
	t->copy_batch = cuda_api.cuMemcpyBatchAsync_v2 || cuda_api.cuMemcpyBatchAsync;
	t->timer_hz = 1e9; /* %globaltimer counts nanoseconds */
}

/* The driver does not tell of MPS: the environment does, and the socket at which processes find its
 * daemon, which one that was killed leaves behind. "" where neither does. */
static void find_mps(char *text, size_t capacity)
{
	const char *percent = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"),
		   *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char socket[108]; /* as long as that of a socket may be */
	if (!folder || !folder[0])
		folder = "/tmp/nvidia-mps";
	text_fit(socket, sizeof(socket), "%s/control", folder);
	text[0] = '\0';
	if (percent && percent[0] && strtod(percent, NULL) < 100)
		text_fit(text, capacity,
			 "its units, where MPS runs: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is %.8s",
			 percent);
	else if (access(socket, F_OK) == 0)
		text_fit(text, capacity,
			 "its units with the other processes of MPS, where its daemon runs: %s "
			 "exists",
			 socket);
}

/* A slice's name ends with its profile: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". Its driver reports the
 * units of the whole board where MPS gives a part of them. */
static void find_neighbours(struct gpu_traits *t)
{
	char mps[200];
	t->is_slice = strstr(t->name, " MIG ") != NULL;
	find_mps(mps, sizeof(mps));
	text_fit(t->shares, sizeof(t->shares), "%s%s%s",
		 t->is_slice ? "its board with other slices (MIG)" : "",
		 t->is_slice && mps[0] ? ", and " : "", mps);
}

/* "GPU-01234567-89ab-cdef-0123-456789abcdef", as NVIDIA's tools print these bytes; with the prefix
 * "MIG-" of a slice. */
static void format_uuid(const char *prefix, const unsigned char bytes[16], char *text,
			size_t capacity)
{
	size_t used = (size_t)snprintf(text, capacity, "%s", prefix);
	for (size_t i = 0; i < 16 && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					 bytes[i]);
}

/* "" where the driver does not tell. */
static void read_uuid(cuda_device device, const char *prefix, char *text, size_t capacity)
{
	struct cuda_uuid uuid;
	unsigned char bytes[sizeof(uuid.bytes)];
	if (!cuda_api.cuDeviceGetUuid_v2 || cuda_api.cuDeviceGetUuid_v2(&uuid, device) != CUDA_OK)
		return;
	memcpy(bytes, uuid.bytes, sizeof(bytes));
	format_uuid(prefix, bytes, text, capacity);
}

int cuda_traits(unsigned index, struct gpu_traits *t)
{
	cuda_device device = 0;
	size_t memory_bytes = 0;
	int version = 0;
	memset(t, 0, sizeof(*t));
	int status = CUDA_CALL(cuDeviceGet, &device, (int)index);
	if (!status)
		status = CUDA_CALL(cuDeviceGetName, t->name, (int)sizeof(t->name), device);
	if (!status)
		status = CUDA_CALL(cuDeviceGetPCIBusId, t->bus, (int)sizeof(t->bus), device);
	if (!status)
		status = CUDA_CALL(cuDeviceTotalMem_v2, &memory_bytes, device);
	if (!status)
		status = CUDA_CALL(cuDriverGetVersion, &version);
	if (status)
		return status;
	read_attributes(device, t);
	t->queues = gpu_queue_limit("CUDA_DEVICE_MAX_CONNECTIONS");
	find_neighbours(t);
	read_uuid(device, t->is_slice ? "MIG-" : "GPU-", t->uuid, sizeof(t->uuid));
	t->memory_bytes = memory_bytes;
	t->driver_version = version;
	snprintf(t->driver, sizeof(t->driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
	snprintf(t->arch, sizeof(t->arch), "sm_%d%d",
		 device_attribute(device, CUDA_COMPUTE_CAPABILITY_MAJOR),
		 device_attribute(device, CUDA_COMPUTE_CAPABILITY_MINOR));
	if (cuda_api.cuDeviceGetAttribute(&t->numa_node, CUDA_HOST_NUMA_ID, device) != CUDA_OK)
		t->numa_node = -1;
	return CUDA_CALL(cuCtxGetStreamPriorityRange, &t->priority_lowest, &t->priority_highest);
}

int cuda_context_open(unsigned index, void **context_p)
{
	cuda_device device = 0;
	int status = CUDA_CALL(cuDeviceGet, &device, (int)index);
	if (status)
		return status;
	/* A waiting host thread polls, so that it sees the end of a wait at once. The driver
	 * refuses the flag when the context is already in use. */
	cuda_api.cuDevicePrimaryCtxSetFlags_v2(device, CUDA_SCHED_SPIN);
	return CUDA_CALL(cuDevicePrimaryCtxRetain, context_p, device);
}

void cuda_context_close(unsigned index, void *context)
{
	cuda_device device = 0;
	if (cuda_api.cuDeviceGet(&device, (int)index) == CUDA_OK)
		cuda_api.cuDevicePrimaryCtxRelease_v2(device);
}

int cuda_context_use(unsigned index, void *context) { return CUDA_CALL(cuCtxSetCurrent, context); }
