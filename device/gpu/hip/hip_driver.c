/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/hip/hip_driver.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/hip/kfd_topology.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hip_api hip_api;

#define REQUIRED(name, arguments) {#name, &hip_api.name, false},
#define OPTIONAL(name, arguments) {#name, &hip_api.name, true},
static const struct dynlib_symbol symbols[] = {
	HIP_FUNCTIONS(REQUIRED) HIP_OPTIONAL_FUNCTIONS(OPTIONAL){"hipGetErrorName",
								 &hip_api.hipGetErrorName, false},
	{"hipGetErrorString", &hip_api.hipGetErrorString, false},
	{NULL, NULL, false}};
#undef REQUIRED
#undef OPTIONAL

static const char *const files[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
				    "libamdhip64.so", NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static int start_runtime(void);
struct dynlib hip_runtime = {.title = "the HIP runtime (libamdhip64)",
			     .files = files,
			     .folders = folders,
			     .symbols = symbols,
			     .start = start_runtime};

/* ------------------------------------------------------------------ errors */

static int errno_of(int result)
{
	switch (result) {
	case HIP_NOT_READY:
		return -EAGAIN;
	case HIP_OUT_OF_MEMORY:
		return -ENOMEM;
	case HIP_NOT_SUPPORTED:
	case HIP_PEER_UNSUPPORTED:
		return -ENOTSUP;
	case HIP_NOT_FOUND:
		return -ENOENT;
	case HIP_NO_DEVICE:
	case HIP_INVALID_DEVICE:
	case HIP_INSUFFICIENT_DRIVER:
		return -ENODEV;
	case HIP_PRIOR_LAUNCH_FAILURE:
	case HIP_ECC_UNCORRECTABLE:
	case HIP_ILLEGAL_ADDRESS:
	case HIP_LAUNCH_TIMEOUT:
	case HIP_CONTEXT_IS_DESTROYED:
	case HIP_ASSERT:
	case HIP_LAUNCH_FAILED:
	case HIP_UNKNOWN:
		return -EIO;
	default:
		return -EINVAL;
	}
}

int hip_note_failure(int result, const char *function)
{
	const char *name = hip_api.hipGetErrorName(result),
		   *text = hip_api.hipGetErrorString(result);
	return err_note(errno_of(result), "%s: %s (%s, %d)", function,
			text ? text : "unknown error", name ? name : "unnamed result", result);
}

/* ------------------------------------------------------------------ the driver */

/* Variables that the runtime reads when it starts, unless the user has set them. */
static void set_runtime_variables(void)
{
	/* Streams that share a hardware queue wait for each other, and the default is four queues
	 * of each priority. ROCm 7 also moves streams to other queues while they run. */
	setenv("GPU_MAX_HW_QUEUES", "16", 0);
	setenv("DEBUG_HIP_DYNAMIC_QUEUES", "0", 0);
	/* Copies up to these sizes in KiB are a kernel's: between devices, and since ROCm 7 also
	 * up and down. The defaults are 1024 and 16. */
	setenv("ROC_P2P_SDMA_SIZE", "0", 0);
	setenv("GPU_FORCE_BLIT_COPY_SIZE", "0", 0);
}

static int start_runtime(void)
{
	int devices = 0;
	const char *function = "hipInit";
	if (!hip_api.hipGetDevicePropertiesR0600 && !hip_api.hipGetDeviceProperties)
		return err_note(-ENODEV,
				"%s has no function hipGetDevicePropertiesR0600, nor "
				"hipGetDeviceProperties",
				hip_runtime.path);
	set_runtime_variables();
	int result = hip_api.hipInit(0);
	if (result == HIP_OK) {
		function = "hipGetDeviceCount";
		result = hip_api.hipGetDeviceCount(&devices);
	}
	if (result == HIP_NO_DEVICE || result == HIP_INVALID_DEVICE ||
	    (result == HIP_OK && devices == 0))
		return err_note(-ENODEV, "the HIP runtime is installed (%s) but finds no GPU",
				hip_runtime.path);
	if (result == HIP_INSUFFICIENT_DRIVER)
		return err_note(-ENODEV, "the AMD driver is too old for the HIP runtime at %s",
				hip_runtime.path);
	return hip_check_result(result, function) ? err_note(-ENODEV, "%s", err_text()) : 0;
}

int hip_load(void) { return dynlib_open(&hip_runtime); }

int hip_count(unsigned *count_p)
{
	int devices = 0;
	int result = hip_api.hipGetDeviceCount(&devices);
	int status = result == HIP_NO_DEVICE ? 0 : hip_check_result(result, "hipGetDeviceCount");
	if (!status)
		*count_p = (unsigned)devices;
	return status;
}

/* ------------------------------------------------------------------ devices */

/* An attribute that an older runtime does not know is 0. */
static uint32_t device_attribute(int device, int which)
{
	int value = 0;
	return hip_api.hipDeviceGetAttribute(&value, which, device) == HIP_OK && value > 0
		       ? (uint32_t)value
		       : 0;
}

static int read_architecture(int device, char *arch, size_t capacity)
{
	_Alignas(8) char properties[4 * HIP_PROPERTIES_BYTES] = {0};
	bool new_layout = hip_api.hipGetDevicePropertiesR0600 != NULL;
	const char *name =
		properties + (new_layout ? HIP_PROPERTIES_ARCH_R0600 : HIP_PROPERTIES_ARCH_R0000);
	int status = new_layout ? HIP_CALL(hipGetDevicePropertiesR0600, properties, device)
				: HIP_CALL(hipGetDeviceProperties, properties, device);
	if (status)
		return status;
	if (strncmp(name, "gfx", 3) != 0)
		return err_note(-ENODEV,
				"the HIP runtime reports no architecture of device %d: its layout "
				"of hipDeviceProp_t is unknown",
				device);
	snprintf(arch, capacity, "%.*s", (int)capacity - 1, name);
	return 0;
}

/* The runtime reports no cache behind the L2; the Linux kernel may. */
static uint64_t llc_bytes_of(const char *bus)
{
	const char *root = getenv("GPUSIG_KFD_TOPOLOGY");
	uint64_t bytes = 0;
	return kfd_llc_bytes(root ? root : KFD_TOPOLOGY, bus, &bytes) ? 0 : bytes;
}

/* The runtime tells the clock of the memory controller. HBM2 moves two bits of a line in a cycle of
 * it, the HBM3 of gfx942 four: 1300 MHz and 8192 lines are the 5.3 TB/s of the MI300X's data sheet.
 * Of other memories no document says how many. */
static double transfers_per_clock(const char *arch)
{
	static const char *const hbm2[] = {"gfx906", "gfx908", "gfx90a"};
	for (size_t i = 0; i < sizeof(hbm2) / sizeof(hbm2[0]); i++)
		if (strncmp(arch, hbm2[i], strlen(hbm2[i])) == 0)
			return 2;
	return strncmp(arch, "gfx942", 6) == 0 ? 4 : 0;
}

/* CLR counts a unit of RDNA as two of its mask, and a mask of half a unit is refused or hangs: so
 * only where both count alike. Linux' KFD gives the bits of a mask to the dies (XCCs) in turn, and
 * blocks go to all dies in turn: so each die gets as many units as the others. Where the runtime
 * does not tell how many there are, streams keep to none. */
static uint32_t unit_step_of(int device, const char *arch, uint32_t units)
{
	const bool one_die = strncmp(arch, "gfx90", 5) == 0;
	if (!hip_api.hipExtStreamCreateWithCUMask || strncmp(arch, "gfx9", 4) != 0 ||
	    units > GPU_UNITS_MAX)
		return 0;
	return one_die ? 1 : device_attribute(device, HIP_NUMBER_OF_XCCS);
}

static void read_attributes(int device, struct gpu_traits *t)
{
	t->units = device_attribute(device, HIP_MULTIPROCESSOR_COUNT);
	t->copy_engines = device_attribute(device, HIP_ASYNC_ENGINE_COUNT);
	t->warp_threads = device_attribute(device, HIP_WARP_SIZE);
	t->threads_per_unit = device_attribute(device, HIP_MAX_THREADS_PER_MULTIPROCESSOR);
	t->blocks_per_unit = device_attribute(device, HIP_MAX_BLOCKS_PER_MULTIPROCESSOR);
	t->threads_per_block = device_attribute(device, HIP_MAX_THREADS_PER_BLOCK);
	t->l2_bytes = device_attribute(device, HIP_L2_CACHE_SIZE);
	t->llc_bytes = llc_bytes_of(t->bus);
	t->shared_per_unit_bytes = device_attribute(device, HIP_MAX_SHARED_PER_MULTIPROCESSOR);
	t->shared_per_block_bytes = device_attribute(device, HIP_MAX_SHARED_PER_BLOCK);
	t->shared_granularity_bytes =
		512; /* GRANULATED_LDS_SIZE of gfx7 to gfx11 in LLVM's AMDGPU guide */
	t->clock_max_hz = 1e3 * device_attribute(device, HIP_CLOCK_RATE);
	t->memory_clock_hz = 1e3 * device_attribute(device, HIP_MEMORY_CLOCK_RATE);
	t->memory_bus_bits = device_attribute(device, HIP_MEMORY_BUS_WIDTH);
	t->transfers_per_clock = transfers_per_clock(t->arch);
	t->f64_divisor = strncmp(t->arch, "gfx9", 4) == 0 ? 2 : 32; /* CDNA and GCN; RDNA */
	t->unit_step = unit_step_of(device, t->arch, t->units);
	t->kernels_time_out = device_attribute(device, HIP_KERNEL_EXEC_TIMEOUT) != 0;
	t->unified_addressing = true;
	t->coherent_host = device_attribute(device, HIP_INTEGRATED) != 0 ||
			   device_attribute(device, HIP_USES_HOST_PAGE_TABLES) != 0;
	t->adds_to_host = false; /* kernels add at the scope of the device: kernels.cu */
	t->wait_value = device_attribute(device, HIP_CAN_WAIT_VALUE) != 0;
	t->value_takes_slot =
		true; /* streamOpsWait and streamOpsWrite of CLR 5.6 to 6.3 are kernels */
	t->ipc = true;
	t->copy_batch = hip_api.hipMemcpyBatchAsync != NULL;
	t->timer_hz = 1e3 * device_attribute(device, HIP_WALL_CLOCK_RATE);
}

/* The runtime gives the 16 hexadecimal digits of the board's unique id as text. "" where it does
 * not tell, or gives anything else. */
static void read_uuid(int device, char *text, size_t capacity)
{
	struct hip_uuid uuid;
	size_t digits = 0;
	if (!hip_api.hipDeviceGetUuid || hip_api.hipDeviceGetUuid(&uuid, device) != HIP_OK)
		return;
	while (digits < sizeof(uuid.bytes) && isxdigit((unsigned char)uuid.bytes[digits]))
		digits++;
	if (digits == sizeof(uuid.bytes))
		snprintf(text, capacity, "GPU-%.16s", uuid.bytes);
}

int hip_traits(unsigned index, struct gpu_traits *t)
{
	int device = (int)index, version = 0;
	size_t memory_bytes = 0;
	memset(t, 0, sizeof(*t));
	int status = HIP_CALL(hipDeviceGetName, t->name, (int)sizeof(t->name), device);
	if (!status)
		status = HIP_CALL(hipDeviceGetPCIBusId, t->bus, (int)sizeof(t->bus), device);
	if (!status)
		status = HIP_CALL(hipDeviceTotalMem, &memory_bytes, device);
	if (!status)
		status = HIP_CALL(hipRuntimeGetVersion, &version);
	if (!status)
		status = read_architecture(device, t->arch, sizeof(t->arch));
	if (status)
		return status;
	read_attributes(device, t);
	t->queues = gpu_queue_limit("GPU_MAX_HW_QUEUES");
	read_uuid(device, t->uuid, sizeof(t->uuid));
	t->memory_bytes = memory_bytes;
	t->numa_node = -1;
	snprintf(t->driver, sizeof(t->driver), "HIP %d.%d.%d", version / 10000000,
		 version / 100000 % 100, version % 100000);
	return HIP_CALL(hipDeviceGetStreamPriorityRange, &t->priority_lowest, &t->priority_highest);
}

int hip_context_use(unsigned index, void *context) { return HIP_CALL(hipSetDevice, (int)index); }

/* HIP has one context per device, which lives as long as the process. */
int hip_context_open(unsigned index, void **context_p)
{
	*context_p = NULL;
	int status = hip_context_use(index, NULL);
	/* A waiting host thread polls, so that it sees the end of a wait at once. The runtime
	 * refuses the flag when the device is already in use. */
	if (!status)
		hip_api.hipSetDeviceFlags(HIP_SCHEDULE_SPIN);
	return status;
}

void hip_context_close(unsigned index, void *context) { (void)index, (void)context; }
