/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcuda.so.1: the CUDA driver over the engine. Prototypes and numbers are copied from cuda.h, not
 * from the backend, so that an error there does not repeat here.
 */
#include "tests/fakes/image.h"

#define NAME(cuda, hip) cuda
/* That of a slice ends with its profile. */
#define IS_SLICE(gpu) fake_board((gpu)->index, 0, "mig")
#define DEVICE_NAME(gpu) (IS_SLICE(gpu) ? "Fake GPU MIG 1g.5gb" : fake_model.device_name)
#define DEFAULT_VERSION 13000
#define OTHER_RESULTS                                                                              \
	CODE(34, "ERROR_STUB_LIBRARY", "", "CUDA driver is a stub library"),                       \
		CODE(46, "ERROR_DEVICE_UNAVAILABLE", "",                                           \
		     "CUDA-capable device(s) is/are busy or unavailable"),                         \
		CODE(220, "ERROR_NVLINK_UNCORRECTABLE", "",                                        \
		     "uncorrectable NVLink error detected during the execution"),                  \
		CODE(222, "ERROR_UNSUPPORTED_PTX_VERSION", "",                                     \
		     "the provided PTX was compiled with an unsupported toolchain."),              \
		CODE(226, "ERROR_CONTAINED", "",                                                   \
		     "Invalid access of peer GPU memory over nvlink or a hardware error"),         \
		CODE(800, "ERROR_NOT_PERMITTED", "", "operation not permitted"),                   \
		CODE(803, "ERROR_SYSTEM_DRIVER_MISMATCH", "",                                      \
		     "system has unsupported display driver / cuda driver combination"),           \
		CODE(914, "ERROR_INVALID_RESOURCE_TYPE", "", "invalid resource type"),             \
		CODE(915, "ERROR_INVALID_RESOURCE_CONFIGURATION", "",                              \
		     "invalid resource configuration")
#define OTHER_ATTRIBUTES                                                                           \
	ATTRIBUTE(41, 1),                 /* UNIFIED_ADDRESSING */                                 \
		{75, 9, "sm_major"},      /* COMPUTE_CAPABILITY_MAJOR */                           \
		ATTRIBUTE(76, 0),         /* COMPUTE_CAPABILITY_MINOR */                           \
		ATTRIBUTE(78, 1),         /* STREAM_PRIORITIES_SUPPORTED */                        \
		{86, 1, "host_atomics"},  /* HOST_NATIVE_ATOMIC_SUPPORTED */                       \
		{87, 2, "f64_divisor"},   /* SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */              \
		ATTRIBUTE(97, 127 << 10), /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */                  \
		ATTRIBUTE(111, 1 << 10),  /* RESERVED_SHARED_MEMORY_PER_BLOCK */                   \
		{124, 1, "dma_buf"},      /* DMA_BUF_SUPPORTED */                                  \
	{                                                                                          \
		134, 0, "numa"                                                                     \
	} /* HOST_NUMA_ID */
#include "tests/fakes/cuda_hip_body.h"

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int srcAccessOrder;
	CUmemLocation srcLocHint, dstLocHint;
	unsigned flags;
} CUmemcpyAttributes;

static const char *arch_of_device(void)
{
	const char *board = getenv("FAKE_BOARD");
	return board && strstr(board, "sm_major=10") ? "sm_100" : "sm_90";
}

const struct fake_model fake_model = {
	.device_name = "Fake GPU",
	.arch = arch_of_device,
	.warp_threads = 32,
	.timer_hz = 1e9,
	.shared_per_unit_bytes = 128 << 10,
	.shared_reserved_bytes = 1 << 10,
	.shared_granularity_bytes = 128,
	.shared_default_bytes = 48 << 10,
	.shared_max_bytes = 127 << 10,
	.priority_min = 0,
	.priority_greatest = -5,
	.engines_stay = true,
	.events_follow_engine = true,
	.queues = queue_limit,
	.results = results,
};

static void read_settings(void)
{
	settings.queues = (unsigned)read_variable("CUDA_DEVICE_MAX_CONNECTIONS", 8);
}

/* ------------------------------------------------------------------ entering */

static atomic_bool initialised;
static _Thread_local struct fake_gpu *current;

static int leave_call(int status) { return status; }

static int enter_driver(const char *function)
{
	int status = fake_fault(function, fake_result_by_name);
	if (!status && !atomic_load(&initialised))
		status = FAKE_NOT_INITIALIZED;
	return status;
}

static int enter_device(const char *function, int device, struct fake_gpu **g_p)
{
	int status = enter_driver(function);
	if (!status) {
		*g_p = device < 0 ? NULL : fake_gpu_at((unsigned)device);
		status = *g_p ? FAKE_OK : FAKE_INVALID_DEVICE;
	}
	return status;
}

static int enter_context(const char *function, struct fake_gpu **g_p)
{
	int status = enter_driver(function);
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
	pthread_once(&settings_once, read_settings);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status && fake_gpu_count() == 0)
		status = FAKE_NO_DEVICE;
	if (!status)
		atomic_store(&initialised, true);
	return status;
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
	int status = enter_driver(__func__);
	if (!status)
		*count = (int)fake_gpu_count();
	return status;
}

int cuDeviceGet(int *device, int ordinal)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, ordinal, &g);
	if (!status)
		*device = ordinal;
	return status;
}

/* The same bytes as in NVML's text, but those of a slice. */
int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, device, &g);
	if (!status) {
		static const unsigned char bytes[16] = {0x0f, 0xae, [6] = 0x40, [8] = 0x80};
		memcpy(uuid, bytes, sizeof(bytes));
		uuid[15] = (unsigned char)(g->index + 1);
		if (IS_SLICE(g))
			uuid[0] = 0x51;
	}
	return status;
}

/* ------------------------------------------------------------------ contexts */

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, device, &g);
	if (!status)
		status = fake_context_retain(g);
	if (!status)
		*context = g;
	return status;
}

OF_DEVICE(cuDevicePrimaryCtxRelease_v2, (int device), fake_context_release(g))

OF_DEVICE(cuDevicePrimaryCtxSetFlags_v2, (int device, unsigned flags),
	  flags > 0xff ? FAKE_INVALID_VALUE : FAKE_OK)

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
	int status = enter_driver(__func__);
	struct fake_gpu *g = gpu_of_context(context);
	if (!status && context && (!g || fake_context_status(g) == FAKE_CONTEXT_IS_DESTROYED))
		status = FAKE_INVALID_CONTEXT;
	if (!status)
		current = g;
	return status;
}

/* PERFORMANCE_RANK, ACCESS_SUPPORTED, NATIVE_ATOMIC_SUPPORTED, CUDA_ARRAY_ACCESS_SUPPORTED */
int cuDeviceGetP2PAttribute(int *value, int which, int device, int peer)
{
	struct fake_gpu *g, *other;
	int status = enter_device(__func__, device, &g);
	if (!status)
		status = enter_device(__func__, peer, &other);
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
	int status = enter_context(__func__, &g);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	if (!status)
		status = other ? fake_peer_enable(g, other) : FAKE_INVALID_CONTEXT;
	return status;
}

/* ------------------------------------------------------------------ copies, values */

/* Accepts what a caller may pass as device memory. Pinned memory has the same address on the
 * device. */
static bool is_device_or_pinned(device_ptr ptr, size_t bytes)
{
	fake_lock();
	const enum fake_memory_kind place = fake_memory_kind_of(to_pointer(ptr), bytes);
	fake_unlock();
	return place == FAKE_DEVICE_MEMORY || place == FAKE_PINNED_MEMORY;
}

static bool is_own_memory(const struct fake_gpu *g, const void *ptr)
{
	return (const char *)ptr >= g->arena && (const char *)ptr < g->arena + g->arena_bytes;
}

/* A copy within a device takes slots, whatever function and hint, as on an H100 with driver 580.
 * With peer_hangs of FAKE_BOARD one to another device never ends: it waits for a word that nobody
 * writes. */
static int copy_over_link(struct fake_gpu *g, void *stream, void *dst, void *src, size_t bytes)
{
	fake_lock();
	const bool from_here = is_own_memory(g, src), to_here = is_own_memory(g, dst),
		   to_peer = fake_memory_kind_of(dst, bytes) == FAKE_DEVICE_MEMORY && !to_here;
	fake_unlock();
	uint32_t *word = src;
	if (from_here && to_peer && fake_board(g->index, 0, "peer_hangs"))
		return fake_wait_value(g, stream, word, *word + 1);
	return from_here && to_here ? fake_copy_by_kernel(g, stream, dst, src, bytes)
				    : fake_copy(g, stream, dst, src, bytes);
}

int fake_current_device(unsigned *device_p)
{
	if (!current)
		return FAKE_INVALID_CONTEXT;
	*device_p = current->index;
	return FAKE_OK;
}

int fake_stream_copy(unsigned device, void *stream, void *dst, const void *src, size_t bytes)
{
	return copy_over_link(fake_gpu_at(device), stream, dst, (void *)(uintptr_t)src, bytes);
}

CALL(cuMemcpyAsync, (device_ptr dst, device_ptr src, size_t bytes, void *stream),
     copy_over_link(g, stream, to_pointer(dst), to_pointer(src), bytes))

CALL(cuMemcpyHtoDAsync_v2, (device_ptr dst, const void *src, size_t bytes, void *stream),
     is_device_or_pinned(dst, bytes) ? fake_copy(g, stream, to_pointer(dst), src, bytes)
				     : FAKE_INVALID_VALUE)

CALL(cuMemcpyDtoHAsync_v2, (void *dst, device_ptr src, size_t bytes, void *stream),
     is_device_or_pinned(src, bytes) ? fake_copy(g, stream, dst, to_pointer(src), bytes)
				     : FAKE_INVALID_VALUE)

CALL(cuMemcpyDtoDAsync_v2, (device_ptr dst, device_ptr src, size_t bytes, void *stream),
     is_device_or_pinned(dst, bytes) && is_device_or_pinned(src, bytes)
	     ? copy_over_link(g, stream, to_pointer(dst), to_pointer(src), bytes)
	     : FAKE_INVALID_VALUE)

/* A capturing stream refuses it, and the capture goes on without it. */
static int copy_batch(struct fake_gpu *g, const device_ptr *dst, const device_ptr *src,
		      const size_t *bytes, size_t count, const CUmemcpyAttributes *attributes,
		      const size_t *first, size_t kinds, void *stream)
{
	int status = stream && count && kinds && kinds <= count && first[0] == 0
			     ? FAKE_OK
			     : FAKE_INVALID_VALUE;
	for (size_t i = 0; i < kinds && !status; i++)
		if (attributes[i].srcAccessOrder < 1 || attributes[i].srcAccessOrder > 3 ||
		    attributes[i].flags > 1 || first[i] >= count || (i && first[i] <= first[i - 1]))
			status = FAKE_INVALID_VALUE;
	if (!status && fake_stream_is_capturing(stream))
		status = FAKE_CAPTURE_UNSUPPORTED;
	for (size_t i = 0; i < count && !status; i++)
		status = bytes[i] ? copy_over_link(g, stream, to_pointer(dst[i]),
						   to_pointer(src[i]), bytes[i])
				  : FAKE_INVALID_VALUE;
	return status;
}

int cuMemcpyBatchAsync(device_ptr *dst, device_ptr *src, size_t *bytes, size_t count,
		       CUmemcpyAttributes *attributes, size_t *first, size_t kinds, size_t *failed,
		       void *stream)
{
	struct fake_gpu *g;
	int status = enter_context(__func__, &g);
	if (!status)
		status = copy_batch(g, dst, src, bytes, count, attributes, first, kinds, stream);
	if (status)
		*failed = SIZE_MAX;
	return status;
}

CALL(cuMemcpyBatchAsync_v2,
     (device_ptr * dst, device_ptr *src, size_t *bytes, size_t count,
      CUmemcpyAttributes *attributes, size_t *first, size_t kinds, void *stream),
     copy_batch(g, dst, src, bytes, count, attributes, first, kinds, stream))

/* CU_STREAM_WAIT_VALUE_GEQ is the only comparison here. */
CALL(cuStreamWaitValue32_v2, (void *stream, device_ptr at, uint32_t value, unsigned flags),
     flags ? FAKE_NOT_SUPPORTED : fake_wait_value(g, stream, to_pointer(at), value))

/* ------------------------------------------------------------------ green contexts */

#define INVALID_RESOURCE_TYPE 914
#define INVALID_RESOURCE_CONFIGURATION 915

typedef struct {
	int type;               /* 1: SMs */
	uint32_t first, splits; /* splits: it is of one, and cannot be split again */
	unsigned char internal[84];
	union {
		struct {
			unsigned smCount, minSmPartitionSize, smCoscheduledAlignment;
		} sm;
		unsigned char oversize[48];
	};
} CUdevResource;

/* Compute capability 9.0 divides SMs in eights. */
static unsigned unit_step(const struct fake_gpu *g)
{
	return (unsigned)fake_board(g->index, 8, "unit_step");
}

static CUdevResource resource_of(const struct fake_gpu *g, uint32_t first, uint32_t count,
				 uint32_t splits)
{
	const unsigned step = unit_step(g);
	return (CUdevResource){
		.type = count ? 1 : 0, .first = first, .splits = splits, .sm = {count, step, step}};
}

int cuDeviceGetDevResource(int device, CUdevResource *resource, int type)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, device, &g);
	if (!status)
		status = type != 1   ? INVALID_RESOURCE_TYPE
			 : !resource ? FAKE_INVALID_VALUE
				     : FAKE_OK;
	if (!status)
		*resource = resource_of(g, 0, fake_units(g), 0);
	return status;
}

/* Groups of one size, rounded up, from the first unit on; what is left is the remainder. */
static int split_units(struct fake_gpu *g, CUdevResource *result, unsigned *groups,
		       const CUdevResource *input, CUdevResource *remaining, unsigned flags,
		       unsigned least)
{
	const unsigned step = unit_step(g);
	if (!groups || !input || flags > 3)
		return FAKE_INVALID_VALUE;
	if (input->type != 1)
		return INVALID_RESOURCE_TYPE;
	if (input->splits)
		return INVALID_RESOURCE_CONFIGURATION;
	if (least > input->sm.smCount)
		return FAKE_INVALID_VALUE;
	const unsigned size = least ? (least + step - 1) / step * step : step;
	const unsigned fit = input->sm.smCount / size;
	if (fit == 0)
		return INVALID_RESOURCE_CONFIGURATION;
	const unsigned made = !result || fit < *groups ? fit : *groups;
	for (unsigned i = 0; result && i < made; i++)
		result[i] = resource_of(g, i * size, size, 1);
	if (remaining)
		*remaining = resource_of(g, made * size, input->sm.smCount - made * size, 1);
	*groups = made;
	return FAKE_OK;
}
CALL(cuDevSmResourceSplitByCount,
     (CUdevResource * result, unsigned *groups, const CUdevResource *input,
      CUdevResource *remaining, unsigned flags, unsigned least),
     split_units(g, result, groups, input, remaining, flags, least))

static int new_green(struct fake_gpu *g, enum fake_kind kind, uint32_t first, uint32_t count,
		     void **green_p)
{
	fake_lock();
	struct fake_green *green = fake_object_new(g, kind, sizeof(*green));
	if (green) {
		green->first = first;
		green->count = count;
		*green_p = green;
	}
	fake_unlock();
	return green ? FAKE_OK : FAKE_OUT_OF_MEMORY;
}

CALL(cuDevResourceGenerateDesc, (void **desc, const CUdevResource *resources, unsigned count),
     !desc || !resources || count != 1 ? FAKE_INVALID_VALUE
     : resources->type != 1
	     ? INVALID_RESOURCE_TYPE
	     : new_green(g, FAKE_RESOURCE_DESC, resources->first, resources->sm.smCount, desc))

/* CU_GREEN_CTX_DEFAULT_STREAM is required. */
static int open_green(struct fake_gpu *g, void **green, void *desc, unsigned flags)
{
	fake_lock();
	const struct fake_green *d = fake_object_find(desc, FAKE_RESOURCE_DESC);
	fake_unlock();
	if (!d)
		return FAKE_INVALID_HANDLE;
	return !green || flags != 1 || d->object.gpu != g
		       ? FAKE_INVALID_VALUE
		       : new_green(g, FAKE_GREEN, d->first, d->count, green);
}

int cuGreenCtxCreate(void **green, void *desc, int device, unsigned flags)
{
	struct fake_gpu *g;
	int status = enter_device(__func__, device, &g);
	return status ? status : open_green(g, green, desc, flags);
}

/* Its streams are of no use from then on, nor can they be destroyed. */
static int close_green(struct fake_gpu *g, void *green)
{
	fake_lock();
	struct fake_green *own = fake_object_find(green, FAKE_GREEN);
	for (struct fake_object *o = own ? g->objects : NULL; o; o = o->next)
		if (o->kind == FAKE_STREAM && ((struct fake_stream *)(void *)o)->green == own)
			((struct fake_stream *)(void *)o)->closed = true;
	if (own)
		fake_object_delete(&own->object);
	fake_unlock();
	return own ? FAKE_OK : FAKE_INVALID_HANDLE;
}
CALL(cuGreenCtxDestroy, (void *green), close_green(g, green))

/* CU_STREAM_NON_BLOCKING must be specified. */
static int open_green_stream(struct fake_gpu *g, void **stream, void *green, unsigned flags,
			     int priority)
{
	fake_lock();
	const struct fake_green *own = fake_object_find(green, FAKE_GREEN);
	fake_unlock();
	if (!own)
		return FAKE_INVALID_HANDLE;
	if (!stream || flags != 1)
		return FAKE_INVALID_VALUE;
	int status = fake_stream_open_on(g, priority, own->first, own->count, stream);
	if (!status)
		((struct fake_stream *)*stream)->green = green;
	return status;
}
CALL(cuGreenCtxStreamCreate, (void **stream, void *green, unsigned flags, int priority),
     open_green_stream(g, stream, green, flags, priority))

static int find_green(void *stream, void **green_p)
{
	fake_lock();
	const struct fake_stream *s = fake_stream_find(stream);
	if (s)
		*green_p = s->green;
	fake_unlock();
	return s ? FAKE_OK : FAKE_INVALID_HANDLE;
}
CALL(cuStreamGetGreenCtx, (void *stream, void **green), find_green(stream, green))

/* ------------------------------------------------------------------ kernels and graphs */

/* Refuses machine code of a newer major release, whose ABI differs, and PTX of a newer release. */
static int check_image_release(const struct fake_image *i)
{
	const int driver = driver_version();
	if (!i || strncmp(i->word, FAKE_IMAGE_WORD, sizeof(i->word)) != 0)
		return FAKE_OK;
	if (strncmp(i->arch, "compute_", strlen("compute_")) == 0)
		return i->release > driver ? FAKE_UNSUPPORTED_PTX : FAKE_OK;
	return i->release / 1000 > driver / 1000 ? FAKE_INVALID_IMAGE : FAKE_OK;
}

static int load_module(struct fake_gpu *g, const void *image, void **module)
{
	int status = check_image_release(image);
	return status ? status : fake_module_load(g, image, module);
}
CALL(cuModuleLoadData, (void **module, const void *image), load_module(g, image, module))

/* MAX_DYNAMIC_SHARED_SIZE_BYTES; PREFERRED_SHARED_MEMORY_CARVEOUT, percent */
CALL(cuFuncSetAttribute, (void *function, int which, int value),
     which == 8   ? fake_function_allow_shared(g, function, value)
     : which == 9 ? fake_function_set_carveout(g, function, value)
		  : FAKE_INVALID_VALUE)

CALL(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags),
     flags ? FAKE_INVALID_VALUE : fake_graph_instantiate(g, graph, exec))
