/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libamdhip64: the HIP runtime over the engine. Prototypes and numbers are copied from
 * hip_runtime_api.h, not from the backend, so that an error there does not repeat here. The first
 * call that uses a device opens its context, which lives as long as the process.
 */
#define NAME(cuda, hip) hip
#define DEVICE_NAME(gpu) ((void)(gpu), fake_model.device_name)
#define DEFAULT_VERSION 60443482 /* 6.4.43482 */
#define OTHER_RESULTS                                                                              \
	CODE(21, "", "ErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"),          \
		CODE(35, "", "ErrorInsufficientDriver",                                            \
		     "driver version is insufficient for runtime version")
/* CanUseStreamWaitValue; WallClockRate, kHz; NumberOfXccs */
#define OTHER_ATTRIBUTES                                                                           \
	{10013, 1, "wait_value"}, ATTRIBUTE(10017, 100000), { 10018, 1, "xccs" }
#include "tests/fakes/arch.h"
#include "tests/fakes/cuda_hip_body.h"

#define MEMCPY_WITHOUT_CU 1024 /* hipMemcpyDeviceToDeviceNoCU */

typedef struct {
	int type, id;
} hipMemLocation;

typedef struct {
	int srcAccessOrder;
	hipMemLocation srcLocHint, dstLocHint;
	unsigned flags;
} hipMemcpyAttributes;

const struct fake_model fake_model = {
	.device_name = "Fake GPU",
	.arch = fake_hip_arch,
	.warp_threads = 64,
	.timer_hz = 1e8,
	.shared_per_unit_bytes = 64 << 10,
	.shared_granularity_bytes = 512,
	.shared_default_bytes = 64 << 10,
	.shared_max_bytes = 64 << 10,
	.priority_min = 1,
	.priority_greatest = -1,
	.values_take_slots = true,
	.engine_affinity = true,
	.queues = queue_limit,
	.results = results,
};

/* Sizes are in KiB. */
static void read_settings(void)
{
	settings.queues = (unsigned)read_variable("GPU_MAX_HW_QUEUES", 4);
	settings.peer_kernel_bytes = 1024 * read_variable("ROC_P2P_SDMA_SIZE", 1024);
	settings.kernel_bytes = 1024 * read_variable("GPU_FORCE_BLIT_COPY_SIZE",
						     driver_version() >= 70000000 ? 16 : 0);
}

/* ------------------------------------------------------------------ entering */

static _Thread_local int current;
static _Thread_local int last_error;

static int leave_call(int status)
{
	if (status && status != FAKE_NOT_READY)
		last_error = status;
	return status;
}

static int enter_device(const char *function, int device, struct fake_gpu **g_p)
{
	int status = fake_fault(function, fake_result_by_name);
	pthread_once(&settings_once, read_settings);
	if (!status) {
		*g_p = device < 0 ? NULL : fake_gpu_at((unsigned)device);
		status = *g_p ? FAKE_OK : fake_gpu_count() ? FAKE_INVALID_DEVICE : FAKE_NO_DEVICE;
	}
	return status;
}

static int enter_context(const char *function, struct fake_gpu **g_p)
{
	int status = enter_device(function, current, g_p);
	if (!status)
		status = fake_context_retain_once(*g_p);
	return status ? status : fake_context_status(*g_p);
}

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ the runtime and its devices */

int hipInit(unsigned flags)
{
	int status = fake_fault(__func__, fake_result_by_name);
	pthread_once(&settings_once, read_settings);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status && fake_gpu_count() == 0)
		status = FAKE_NO_DEVICE;
	return leave_call(status);
}

int hipRuntimeGetVersion(int *version) { return read_version(__func__, version); }

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
	return leave_call(status ? status : *count ? FAKE_OK : FAKE_NO_DEVICE);
}

int hipSetDevice(int device)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, device, &g);
	if (!status)
		current = device;
	return leave_call(status);
}

int hipSetDeviceFlags(unsigned flags)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, current, &g);
	return leave_call(!status && flags > 0xff ? FAKE_INVALID_VALUE : status);
}

/* The runtime copies the digits of the unique id, without an end. */
int hipDeviceGetUuid(char uuid[16], int device)
{
	struct fake_gpu *g;
	char digits[17];
	int status = enter_device(__func__, device, &g);
	if (!status) {
		snprintf(digits, sizeof(digits), "0fae0000000000%02x", g->index + 1);
		memcpy(uuid, digits, 16);
	}
	return leave_call(status);
}

/* Fills a hipDeviceProp_t. `bytes` and `arch_offset`, that of gcnArchName, differ before and since
 * ROCm 6. */
static int fill_properties(const char *function, char *at, size_t bytes, size_t arch_offset,
			   int device)
{
	struct fake_gpu *g;
	int status = enter_device(function, device, &g);
	if (!status) {
		memset(at, 0, bytes);
		snprintf(at, 256, "%s", fake_model.device_name);
		snprintf(at + arch_offset, 256, "%s", fake_hip_arch());
	}
	return leave_call(status);
}

int hipGetDeviceProperties(void *at, int device)
{
	return fill_properties(__func__, at, 792, 396, device);
}
int hipGetDevicePropertiesR0600(void *at, int device)
{
	return fill_properties(__func__, at, 1472, 1160, device);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
	struct fake_gpu *g, *other;
	int status = enter_context(__func__, &g);
	if (!status)
		status = flags ? FAKE_INVALID_VALUE : enter_device(__func__, peer, &other);
	return leave_call(status ? status : fake_peer_enable(g, other));
}

/* ------------------------------------------------------------------ calls of a context */

/* hipMemcpyHostToHost to hipMemcpyDefault, and hipMemcpyDeviceToDeviceNoCU. ROCm before 6.1 does
 * not check. */
static bool is_copy_kind(int kind)
{
	return (kind >= 0 && kind <= 4) || kind == MEMCPY_WITHOUT_CU || driver_version() < 60100000;
}
/* KernelBlitManager::copyBuffer() of CLR: between devices the size alone decides; within one a copy
 * is a kernel's unless the kind asks for an engine; and small copies are a kernel's anyway. */
static bool copies_by_kernel(const void *dst, const void *src, size_t bytes, int kind)
{
	const struct fake_gpu *to = fake_memory_owner(dst), *from = fake_memory_owner(src);
	const bool asks = kind == MEMCPY_WITHOUT_CU && driver_version() >= 60100000;
	if (!to && !from)
		return false;
	if (to && from && to != from && bytes <= settings.peer_kernel_bytes)
		return true;
	return (to == from && !asks) || bytes <= settings.kernel_bytes;
}

static int copy_as_clr(struct fake_gpu *g, void *stream, void *dst, const void *src, size_t bytes,
		       int kind)
{
	return copies_by_kernel(dst, src, bytes, kind)
		       ? fake_copy_by_kernel(g, stream, dst, src, bytes)
		       : fake_copy(g, stream, dst, src, bytes);
}
int fake_current_device(unsigned *device_p)
{
	*device_p = (unsigned)current;
	return FAKE_OK;
}

int fake_stream_copy(unsigned device, void *stream, void *dst, const void *src, size_t bytes)
{
	const int device_to_device = 3;
	return copy_as_clr(fake_gpu_at(device), stream, dst, src, bytes, device_to_device);
}

CALL(hipMemcpyAsync, (void *dst, const void *src, size_t bytes, int kind, void *stream),
     is_copy_kind(kind) ? copy_as_clr(g, stream, dst, src, bytes, kind) : 21)

/* As hip_memory.cpp of ROCm 7 checks. Up to 7.12 it refuses attributes. It captures nothing: the
 * copies run at once, outside the graph. */
static int check_batch(void **dst, void **src, const size_t *bytes, size_t count,
		       const hipMemcpyAttributes *attributes, const size_t *first, size_t kinds,
		       size_t *failed)
{
	int status = dst && src && bytes && count ? FAKE_OK : FAKE_INVALID_VALUE;
	if (!status && kinds && driver_version() < 71300000)
		status = FAKE_NOT_SUPPORTED;
	if (!status && kinds && (!attributes || !first || first[0] || kinds > count))
		status = FAKE_INVALID_VALUE;
	for (size_t i = 0; i < kinds && !status; i++)
		if (attributes[i].srcAccessOrder < 1 || attributes[i].srcAccessOrder > 3 ||
		    (i && (first[i] <= first[i - 1] || first[i] >= count)))
			status = FAKE_INVALID_VALUE;
	for (size_t i = 0; i < count && !status; i++)
		if (!bytes[i]) {
			*failed = i;
			status = FAKE_INVALID_VALUE;
		}
	for (size_t i = 0; i < count && !status; i++)
		if (!dst[i] || !src[i])
			status = FAKE_INVALID_VALUE;
	return status;
}

static int copy_batch(struct fake_gpu *g, void **dst, void **src, const size_t *bytes, size_t count,
		      const hipMemcpyAttributes *attributes, const size_t *first, size_t kinds,
		      size_t *failed, void *stream)
{
	const bool captures = fake_stream_is_capturing(stream);
	int status = check_batch(dst, src, bytes, count, attributes, first, kinds, failed);
	for (size_t i = 0; i < count && !status; i++)
		if (captures)
			memcpy(dst[i], src[i], bytes[i]);
		else
			status = copy_as_clr(g, stream, dst[i], src[i], bytes[i],
					     4 /* hipMemcpyDefault */);
	return status;
}
CALL(hipMemcpyBatchAsync,
     (void **dst, void **src, size_t *bytes, size_t count, hipMemcpyAttributes *attributes,
      size_t *first, size_t kinds, size_t *failed, void *stream),
     copy_batch(g, dst, src, bytes, count, attributes, first, kinds, failed, stream))

/* hipStreamWaitValueGte is the only comparison here. */
CALL(hipStreamWaitValue32, (void *stream, void *at, uint32_t value, unsigned flags, uint32_t mask),
     flags || mask != UINT32_MAX ? FAKE_NOT_SUPPORTED : fake_wait_value(g, stream, at, value))

/* A mask of more bits than units counts without the rest, an empty one as full, as in CLR. The
 * engine has runs of units only. */
static int open_on_mask(struct fake_gpu *g, void **stream, uint32_t words, const uint32_t *mask)
{
	const uint32_t units = fake_units(g);
	uint32_t first = units, count = 0;
	if (!stream)
		return FAKE_INVALID_HANDLE;
	if (!words || !mask)
		return FAKE_INVALID_VALUE;
	for (uint32_t i = 0; i < units && i < 32 * words; i++) {
		if (!(mask[i / 32] >> i % 32 & 1))
			continue;
		first = count ? first : i;
		if (i != first + count++)
			return FAKE_NOT_SUPPORTED;
	}
	return count && fake_board(g->index, 1, "cu_mask")
		       ? fake_stream_open_on(g, 0, first, count, stream)
		       : fake_stream_open(g, 0, stream);
}
CALL(hipExtStreamCreateWithCUMask, (void **stream, uint32_t words, const uint32_t *mask),
     open_on_mask(g, stream, words, mask))

CALL(hipModuleLoadData, (void **module, const void *image), fake_module_load(g, image, module))
CALL(hipFuncSetAttribute, (void *function, int which, int value),
     which != 8 ? FAKE_INVALID_VALUE : fake_function_allow_shared(g, function, value))
CALL(hipGraphInstantiate, (void **exec, void *graph, void **wrong, char *log, size_t capacity),
     ((void)wrong, (void)log, (void)capacity, fake_graph_instantiate(g, graph, exec)))
