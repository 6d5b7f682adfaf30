/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of libcuda.so.1 that need a context.
 */
#include "tests/fakes/cuda_entry.h"
#include "tests/fakes/image.h"

#include <string.h>

typedef unsigned long long CUdeviceptr;

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int srcAccessOrder;
	CUmemLocation srcLocHint, dstLocHint;
	unsigned flags;
} CUmemcpyAttributes;

typedef struct {
	char reserved[FAKE_IPC_BYTES];
} CUipcMemHandle;

static void *to_pointer(CUdeviceptr ptr) { return (void *)(uintptr_t)ptr; }

/* Accepts what a caller may pass as device memory. Pinned memory has the same address on the
 * device. */
static bool is_device_or_pinned(CUdeviceptr ptr, size_t bytes)
{
	fake_lock();
	const enum fake_memory_kind place = fake_memory_kind_of(to_pointer(ptr), bytes);
	fake_unlock();
	return place == FAKE_DEVICE_MEMORY || place == FAKE_PINNED_MEMORY;
}

/* Refuses machine code of a newer major release, whose ABI differs, and PTX of a newer release. */
static int check_image_release(const struct fake_image *i)
{
	const int driver = cuda_driver_version();
	if (!i || strncmp(i->word, FAKE_IMAGE_WORD, sizeof(i->word)) != 0)
		return FAKE_OK;
	if (strncmp(i->arch, "compute_", strlen("compute_")) == 0)
		return i->release > driver ? FAKE_UNSUPPORTED_PTX : FAKE_OK;
	return i->release / 1000 > driver / 1000 ? FAKE_INVALID_IMAGE : FAKE_OK;
}

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ memory */

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	struct fake_gpu *g;
	uint64_t free_bytes, bytes;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = fake_memory_info(g, &free_bytes, &bytes);
	if (!status) {
		*available = free_bytes;
		*total = bytes;
	}
	return status;
}

int cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct fake_gpu *g;
	void *start = NULL;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = fake_alloc(g, bytes, &start);
	if (!status)
		*ptr = (CUdeviceptr)(uintptr_t)start;
	return status;
}

int cuMemFree_v2(CUdeviceptr ptr)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_free(g, to_pointer(ptr));
}

int cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : flags > 7 ? FAKE_INVALID_VALUE : fake_alloc_pinned(g, bytes, ptr);
}

int cuMemFreeHost(void *ptr)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_free_pinned(g, ptr);
}

int cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : flags > 15 ? FAKE_INVALID_VALUE : fake_pin(g, ptr, bytes);
}

int cuMemHostUnregister(void *ptr)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_unpin(g, ptr);
}

int cuMemHostGetDevicePointer_v2(CUdeviceptr *seen, void *ptr, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = flags ? FAKE_INVALID_VALUE : fake_pinned_address(ptr);
	if (!status)
		*seen = (CUdeviceptr)(uintptr_t)ptr;
	return status;
}

int cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_ipc_export(g, to_pointer(ptr), handle);
}

int cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned flags)
{
	struct fake_gpu *g;
	void *start = NULL;
	int status = cuda_enter(__func__, &g);
	if (!status && flags != 1) /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
		status = FAKE_INVALID_VALUE;
	if (!status)
		status = fake_ipc_import(g, &handle, &start);
	if (!status)
		*ptr = (CUdeviceptr)(uintptr_t)start;
	return status;
}

int cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_ipc_close(g, to_pointer(ptr));
}

/* ------------------------------------------------------------------ streams and events */

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status      ? status
	       : flags > 1 ? FAKE_INVALID_VALUE
			   : fake_stream_open(g, priority, stream);
}

int cuStreamDestroy_v2(void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_stream_close(g, stream);
}

int cuStreamSynchronize(void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_stream_sync(g, stream);
}

int cuStreamQuery(void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_stream_query(g, stream);
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : flags ? FAKE_INVALID_VALUE : fake_stream_wait(g, stream, event);
}

int cuEventCreate(void **event, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status      ? status
	       : flags > 3 ? FAKE_INVALID_VALUE
			   : fake_event_open(g, !(flags & 2), event);
}

int cuEventDestroy_v2(void *event)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_event_close(g, event);
}

int cuEventRecord(void *event, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_event_record(g, stream, event);
}

int cuEventQuery(void *event)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_event_query(g, event);
}

int cuEventSynchronize(void *event)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_event_sync(g, event);
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_event_elapsed_ms(g, from, to, ms);
}

/* ------------------------------------------------------------------ copies, fills, values */

int cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_copy(g, stream, to_pointer(dst), to_pointer(src), bytes);
}

int cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && !is_device_or_pinned(dst, bytes))
		status = FAKE_INVALID_VALUE;
	return status ? status : fake_copy(g, stream, to_pointer(dst), src, bytes);
}

int cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && !is_device_or_pinned(src, bytes))
		status = FAKE_INVALID_VALUE;
	return status ? status : fake_copy(g, stream, dst, to_pointer(src), bytes);
}

int cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && !(is_device_or_pinned(dst, bytes) && is_device_or_pinned(src, bytes)))
		status = FAKE_INVALID_VALUE;
	return status ? status : fake_copy(g, stream, to_pointer(dst), to_pointer(src), bytes);
}

/* A capturing stream refuses it, and the capture goes on without it. */
static int copy_batch(struct fake_gpu *g, const CUdeviceptr *dst, const CUdeviceptr *src,
		      const size_t *bytes, size_t count, const CUmemcpyAttributes *attributes,
		      const size_t *first, size_t kinds, void *stream)
{
	int status =
		count && kinds && kinds <= count && first[0] == 0 ? FAKE_OK : FAKE_INVALID_VALUE;
	for (size_t i = 0; i < kinds && !status; i++)
		if (attributes[i].srcAccessOrder < 1 || attributes[i].srcAccessOrder > 3 ||
		    attributes[i].flags > 1 || first[i] >= count || (i && first[i] <= first[i - 1]))
			status = FAKE_INVALID_VALUE;
	if (!status && fake_stream_is_capturing(stream))
		status = FAKE_CAPTURE_UNSUPPORTED;
	for (size_t i = 0; i < count && !status; i++)
		status = bytes[i] ? fake_copy(g, stream, to_pointer(dst[i]), to_pointer(src[i]),
					      bytes[i])
				  : FAKE_INVALID_VALUE;
	return status;
}

int cuMemcpyBatchAsync(CUdeviceptr *dst, CUdeviceptr *src, size_t *bytes, size_t count,
		       CUmemcpyAttributes *attributes, size_t *first, size_t kinds, size_t *failed,
		       void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = copy_batch(g, dst, src, bytes, count, attributes, first, kinds, stream);
	if (status)
		*failed = SIZE_MAX;
	return status;
}

int cuMemcpyBatchAsync_v2(CUdeviceptr *dst, CUdeviceptr *src, size_t *bytes, size_t count,
			  CUmemcpyAttributes *attributes, size_t *first, size_t kinds, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status
		      : copy_batch(g, dst, src, bytes, count, attributes, first, kinds, stream);
}

int cuMemsetD8Async(CUdeviceptr dst, unsigned char byte, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_fill(g, stream, to_pointer(dst), byte, bytes);
}

int cuStreamWaitValue32_v2(void *stream, CUdeviceptr at, uint32_t value, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && flags) /* CU_STREAM_WAIT_VALUE_GEQ is the only comparison here */
		status = FAKE_NOT_SUPPORTED;
	return status ? status : fake_wait_value(g, stream, to_pointer(at), value);
}

int cuStreamWriteValue32_v2(void *stream, CUdeviceptr at, uint32_t value, unsigned flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && flags > 1)
		status = FAKE_INVALID_VALUE;
	return status ? status : fake_write_value(g, stream, to_pointer(at), value);
}

/* ------------------------------------------------------------------ kernels */

int cuModuleLoadData(void **module, const void *image)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = check_image_release(image);
	return status ? status : fake_module_load(g, image, module);
}

int cuModuleUnload(void *module)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_module_unload(g, module);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_module_function(g, module, name, function);
}

int cuFuncGetAttribute(int *value, int which, void *function)
{
	struct fake_gpu *g;
	uint64_t own, dynamic;
	int status = cuda_enter(__func__, &g);
	if (!status)
		status = fake_function_shared(g, function, &own, &dynamic);
	if (status)
		return status;
	switch (which) {
	case 0: /* MAX_THREADS_PER_BLOCK */
		*value = (int)fake_function_threads();
		return FAKE_OK;
	case 1: /* SHARED_SIZE_BYTES */
		*value = (int)own;
		return FAKE_OK;
	case 8: /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
		*value = (int)dynamic;
		return FAKE_OK;
	default:
		return FAKE_INVALID_VALUE;
	}
}

int cuFuncSetAttribute(void *function, int which, int value)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (status)
		return status;
	if (which == 8) /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
		return fake_function_allow_shared(g, function, value);
	/* PREFERRED_SHARED_MEMORY_CARVEOUT, percent */
	return which == 9 ? fake_function_set_carveout(g, function, value) : FAKE_INVALID_VALUE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
						size_t shared_bytes)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_occupancy(g, function, threads, shared_bytes, blocks);
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		   void *stream, void **arguments, void **extra)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	if (!status && (extra || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1))
		status = FAKE_NOT_SUPPORTED; /* by this fake */
	return status ? status
		      : fake_launch(g, stream, function, grid_x, block_x, shared_bytes, arguments);
}

/* ------------------------------------------------------------------ graphs */

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_capture_begin(g, stream, mode);
}

int cuStreamEndCapture(void *stream, void **graph)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_capture_end(g, stream, graph);
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status  ? status
	       : flags ? FAKE_INVALID_VALUE
		       : fake_graph_instantiate(g, graph, exec);
}

int cuGraphLaunch(void *exec, void *stream)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_graph_launch(g, exec, stream);
}

int cuGraphExecDestroy(void *exec)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_graph_close(g, exec, FAKE_GRAPH_EXEC);
}

int cuGraphDestroy(void *graph)
{
	struct fake_gpu *g;
	int status = cuda_enter(__func__, &g);
	return status ? status : fake_graph_close(g, graph, FAKE_GRAPH);
}
