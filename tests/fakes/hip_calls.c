/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of libamdhip64 that use the calling thread's device.
 */
#include "tests/fakes/hip_entry.h"

typedef struct {
	char reserved[FAKE_IPC_BYTES];
} hipIpcMemHandle_t;

#pragma GCC visibility push(default)

/* ------------------------------------------------------------------ memory */

int hipMemGetInfo(size_t *available, size_t *total)
{
	struct fake_gpu *g;
	uint64_t free_bytes, bytes;
	int status = hip_enter(__func__, &g);
	if (!status)
		status = fake_memory_info(g, &free_bytes, &bytes);
	if (!status) {
		*available = free_bytes;
		*total = bytes;
	}
	return hip_leave(status);
}

int hipMalloc(void **ptr, size_t bytes)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_alloc(g, bytes, ptr));
}

int hipFree(void *ptr)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_free(g, ptr));
}

int hipHostMalloc(void **ptr, size_t bytes, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status && (flags & ~(0xfu | 0xe0000000u)))
		status = FAKE_INVALID_VALUE;
	return hip_leave(status ? status : fake_alloc_pinned(g, bytes, ptr));
}

int hipHostFree(void *ptr)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_free_pinned(g, ptr));
}

int hipHostRegister(void *ptr, size_t bytes, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status && (flags & ~0xbu))
		status = FAKE_INVALID_VALUE;
	return hip_leave(status ? status : fake_pin(g, ptr, bytes));
}

int hipHostUnregister(void *ptr)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_unpin(g, ptr));
}

int hipHostGetDevicePointer(void **seen, void *ptr, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status)
		status = flags ? FAKE_INVALID_VALUE : fake_pinned_address(ptr);
	if (!status)
		*seen = ptr;
	return hip_leave(status);
}

int hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *ptr)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_ipc_export(g, ptr, handle));
}

int hipIpcOpenMemHandle(void **ptr, hipIpcMemHandle_t handle, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	/* hipIpcMemLazyEnablePeerAccess, the only flag, is 1 since ROCm 6 and was 0 before */
	if (!status && flags != (hip_version() >= 60000000))
		status = FAKE_INVALID_VALUE;
	return hip_leave(status ? status : fake_ipc_import(g, &handle, ptr));
}

int hipIpcCloseMemHandle(void *ptr)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_ipc_close(g, ptr));
}

/* ------------------------------------------------------------------ streams and events */

int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status      ? status
			 : flags > 1 ? FAKE_INVALID_VALUE
				     : fake_stream_open(g, priority, stream));
}

int hipStreamDestroy(void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_stream_close(g, stream));
}

int hipStreamSynchronize(void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_stream_sync(g, stream));
}

int hipStreamQuery(void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_stream_query(g, stream));
}

int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status  ? status
			 : flags ? FAKE_INVALID_VALUE
				 : fake_stream_wait(g, stream, event));
}

int hipEventCreateWithFlags(void **event, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status      ? status
			 : flags > 3 ? FAKE_INVALID_VALUE
				     : fake_event_open(g, !(flags & 2), event));
}

int hipEventDestroy(void *event)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_event_close(g, event));
}

int hipEventRecord(void *event, void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_event_record(g, stream, event));
}

int hipEventQuery(void *event)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_event_query(g, event));
}

int hipEventSynchronize(void *event)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_event_sync(g, event));
}

int hipEventElapsedTime(float *ms, void *from, void *to)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_event_elapsed_ms(g, from, to, ms));
}

/* ------------------------------------------------------------------ copies, fills, values */

int hipMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	/* Valid: hipMemcpyHostToHost to hipMemcpyDefault, and hipMemcpyDeviceToDeviceNoCU. ROCm
	 * before 6.1 does not check. */
	if (!status && (kind < 0 || kind > 4) && kind != 1024 && hip_version() >= 60100000)
		status = 21;
	return hip_leave(status ? status : fake_copy(g, stream, dst, src, bytes));
}

int hipMemsetAsync(void *dst, int byte, size_t bytes, void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_fill(g, stream, dst, (uint8_t)byte, bytes));
}

int hipStreamWaitValue32(void *stream, void *at, uint32_t value, unsigned flags, uint32_t mask)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status &&
	    (flags || mask != UINT32_MAX)) /* hipStreamWaitValueGte is the only comparison here */
		status = FAKE_NOT_SUPPORTED;
	return hip_leave(status ? status : fake_wait_value(g, stream, at, value));
}

int hipStreamWriteValue32(void *stream, void *at, uint32_t value, unsigned flags)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status && flags)
		status = FAKE_INVALID_VALUE;
	return hip_leave(status ? status : fake_write_value(g, stream, at, value));
}

/* ------------------------------------------------------------------ kernels */

int hipModuleLoadData(void **module, const void *image)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_module_load(g, image, module));
}

int hipModuleUnload(void *module)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_module_unload(g, module));
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_module_function(g, module, name, function));
}

int hipFuncGetAttribute(int *value, int which, void *function)
{
	struct fake_gpu *g;
	uint64_t own, dynamic;
	int status = hip_enter(__func__, &g);
	if (!status)
		status = fake_function_shared(g, function, &own, &dynamic);
	if (status)
		return hip_leave(status);
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
		return hip_leave(FAKE_INVALID_VALUE);
	}
}

int hipFuncSetAttribute(void *function, int which, int value)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status && which != 8)
		status = FAKE_INVALID_VALUE;
	return hip_leave(status ? status : fake_function_allow_shared(g, function, value));
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
						       size_t shared_bytes)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status
				: fake_occupancy(g, function, threads, shared_bytes, blocks));
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			  unsigned block_x, unsigned block_y, unsigned block_z,
			  unsigned shared_bytes, void *stream, void **arguments, void **extra)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	if (!status && (extra || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1))
		status = FAKE_NOT_SUPPORTED; /* by this fake */
	return hip_leave(status ? status
				: fake_launch(g, stream, function, grid_x, block_x, shared_bytes,
					      arguments));
}

/* ------------------------------------------------------------------ graphs */

int hipStreamBeginCapture(void *stream, int mode)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_capture_begin(g, stream, mode));
}

int hipStreamEndCapture(void *stream, void **graph)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_capture_end(g, stream, graph));
}

int hipGraphInstantiate(void **exec, void *graph, void **wrong, char *log, size_t capacity)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	(void)wrong, (void)log, (void)capacity;
	return hip_leave(status ? status : fake_graph_instantiate(g, graph, exec));
}

int hipGraphLaunch(void *exec, void *stream)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_graph_launch(g, exec, stream));
}

int hipGraphExecDestroy(void *exec)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_graph_close(g, exec, FAKE_GRAPH_EXEC));
}

int hipGraphDestroy(void *graph)
{
	struct fake_gpu *g;
	int status = hip_enter(__func__, &g);
	return hip_leave(status ? status : fake_graph_close(g, graph, FAKE_GRAPH));
}
