/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/gpu_compilers.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/nccl.h"
#include "device/gpu/vendor_tables.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(cuda_pointer) == sizeof(void *), "device pointers are passed as void *");
_Static_assert(sizeof(struct cuda_ipc_memory) == sizeof(struct dev_ipc), "an IPC handle fits");

/* ------------------------------------------------------------------ memory */

static int memory_free_bytes(uint64_t *bytes_p)
{
	size_t available = 0, total = 0;
	int status = CUDA_CALL(cuMemGetInfo_v2, &available, &total);
	if (!status)
		*bytes_p = available;
	return status;
}

static int alloc_device(uint64_t bytes, void **ptr_p)
{
	cuda_pointer ptr = 0;
	int status = CUDA_CALL(cuMemAlloc_v2, &ptr, bytes);
	if (!status)
		*ptr_p = (void *)(uintptr_t)ptr;
	return status;
}

static int free_memory(void *ptr) { return CUDA_CALL(cuMemFree_v2, cuda_device_address(ptr)); }

static int alloc_pinned(uint64_t bytes, void **ptr_p)
{
	return CUDA_CALL(cuMemHostAlloc, ptr_p, bytes,
			 CUDA_HOSTALLOC_PORTABLE | CUDA_HOSTALLOC_DEVICEMAP);
}

static int free_pinned(void *ptr) { return CUDA_CALL(cuMemFreeHost, ptr); }

static int unpin_pages(void *ptr) { return CUDA_CALL(cuMemHostUnregister, ptr); }

static int pin_pages(void *ptr, uint64_t bytes)
{
	cuda_pointer seen = 0;
	int status = CUDA_CALL(cuMemHostRegister_v2, ptr, bytes,
			       CUDA_HOSTREGISTER_PORTABLE | CUDA_HOSTREGISTER_DEVICEMAP);
	if (status)
		return status;
	status = CUDA_CALL(cuMemHostGetDevicePointer_v2, &seen, ptr, 0u);
	if (!status && seen != cuda_device_address(ptr))
		status =
			err_note(-ENOTSUP, "registered host memory has another address on the GPU");
	if (status)
		unpin_pages(ptr);
	return status;
}

static int ipc_export(void *ptr, struct dev_ipc *handle_p)
{
	struct cuda_ipc_memory memory;
	int status = CUDA_CALL(cuIpcGetMemHandle, &memory, cuda_device_address(ptr));
	if (!status)
		memcpy(handle_p->bytes, memory.reserved, sizeof(memory.reserved));
	return status;
}

static int ipc_import(const struct dev_ipc *handle, void **ptr_p)
{
	struct cuda_ipc_memory memory;
	cuda_pointer ptr = 0;
	memcpy(memory.reserved, handle->bytes, sizeof(memory.reserved));
	int status = CUDA_CALL(cuIpcOpenMemHandle_v2, &ptr, memory, CUDA_IPC_LAZY_PEER);
	if (!status)
		*ptr_p = (void *)(uintptr_t)ptr;
	return status;
}

static int ipc_close(void *ptr) { return CUDA_CALL(cuIpcCloseMemHandle, cuda_device_address(ptr)); }

static int peer_can(unsigned index, unsigned other, bool *can_p)
{
	cuda_device device = 0, peer = 0;
	int can = 0;
	int status = CUDA_CALL(cuDeviceGet, &device, (int)index);
	if (!status)
		status = CUDA_CALL(cuDeviceGet, &peer, (int)other);
	if (!status)
		status = CUDA_CALL(cuDeviceCanAccessPeer, &can, device, peer);
	if (!status)
		*can_p = can != 0;
	return status;
}

static int peer_enable(unsigned other, void *other_context)
{
	int result = cuda_api.cuCtxEnablePeerAccess(other_context, 0);
	return result == CUDA_PEER_ALREADY_ENABLED
		       ? 0
		       : cuda_check_result(result, "cuCtxEnablePeerAccess");
}

/* With the host's attribute of this name, what CUDA C++ asks for before an atomic operation on
 * memory of another device, or of the host, is one: "Atomicity" in libcu++'s memory model. Over
 * PCIe it is a read and a write. */
static int peer_adds(unsigned index, unsigned other, bool *adds_p)
{
	cuda_device device = 0, peer = 0;
	int native = 0;
	int status = CUDA_CALL(cuDeviceGet, &device, (int)index);
	if (!status)
		status = CUDA_CALL(cuDeviceGet, &peer, (int)other);
	if (!status)
		status = CUDA_CALL(cuDeviceGetP2PAttribute, &native, CUDA_PEER_NATIVE_ATOMIC,
				   device, peer);
	if (!status)
		*adds_p = native != 0;
	return status;
}

/* ------------------------------------------------------------------ streams and events */

static int stream_open(int priority, void **stream_p)
{
	return CUDA_CALL(cuStreamCreateWithPriority, stream_p, CUDA_STREAM_NON_BLOCKING, priority);
}

/* Streams that keep to some units are those of green contexts, each of which has one stream. */

/* The driver divides a device into a group of units and the rest. */
static int split_units(cuda_device device, const struct gpu_part *part,
		       struct cuda_resource *part_p)
{
	const bool is_group = part->first == 0;
	const uint32_t wanted = is_group ? part->count : part->first;
	struct cuda_resource all = {0}, group = {0}, rest = {0};
	unsigned groups = 1;
	if (!is_group && part->first + part->count < part->units)
		return err_note(-ENOTSUP,
				"green contexts: units %u to %u neither begin nor end "
				"the device's %u",
				part->first, part->first + part->count - 1, part->units);
	int status = CUDA_CALL(cuDeviceGetDevResource, device, &all, CUDA_RESOURCE_UNITS);
	if (!status)
		status = CUDA_CALL(cuDevSmResourceSplitByCount, &group, &groups, &all, &rest, 0,
				   wanted);
	if (!status &&
	    (groups != 1 || group.units != wanted || group.units + rest.units != part->units))
		status = err_note(-ENOTSUP,
				  "cuDevSmResourceSplitByCount makes %u and %u units of %u and "
				  "%u; it needs %u at least, in multiples of %u",
				  group.units, rest.units, wanted, part->units - wanted,
				  all.smallest_part, all.alignment);
	if (!status)
		*part_p = is_group ? group : rest;
	return status;
}

static int stream_open_on(unsigned index, int priority, const struct gpu_part *part,
			  void **stream_p)
{
	cuda_device device = 0;
	cuda_handle description = NULL, green = NULL;
	struct cuda_resource units = {0};
	int status = CUDA_CALL(cuDeviceGet, &device, (int)index);
	if (!status)
		status = split_units(device, part, &units);
	if (!status)
		status = CUDA_CALL(cuDevResourceGenerateDesc, &description, &units, 1);
	if (!status)
		status = CUDA_CALL(cuGreenCtxCreate, &green, description, device,
				   CUDA_GREEN_DEFAULT_STREAM);
	if (status)
		return status;
	status = CUDA_CALL(cuGreenCtxStreamCreate, stream_p, green, CUDA_STREAM_NON_BLOCKING,
			   priority);
	if (status)
		cuda_api.cuGreenCtxDestroy(green);
	return status;
}

/* The green context is found from its stream, so that nothing has to be kept. */
static int stream_close(void *stream)
{
	cuda_handle green = NULL;
	if (cuda_has_green_contexts() && cuda_api.cuStreamGetGreenCtx(stream, &green) != CUDA_OK)
		green = NULL;
	int status = CUDA_CALL(cuStreamDestroy_v2, stream);
	if (green && !status)
		status = CUDA_CALL(cuGreenCtxDestroy, green);
	return status;
}

static int stream_sync(void *stream) { return CUDA_CALL(cuStreamSynchronize, stream); }

/* Programs poll this, so "not ready" makes no text. */
static int stream_query(void *stream)
{
	int result = cuda_api.cuStreamQuery(stream);
	return result == CUDA_NOT_READY ? -EAGAIN : cuda_check_result(result, "cuStreamQuery");
}

static int stream_wait(void *stream, void *event)
{
	return CUDA_CALL(cuStreamWaitEvent, stream, event, 0);
}
static int event_open(void **event_p)
{
	return CUDA_CALL(cuEventCreate, event_p, CUDA_EVENT_DEFAULT);
}
static int event_close(void *event) { return CUDA_CALL(cuEventDestroy_v2, event); }
static int event_record(void *stream, void *event)
{
	return CUDA_CALL(cuEventRecord, event, stream);
}

static int event_query(void *event)
{
	int result = cuda_api.cuEventQuery(event);
	return result == CUDA_NOT_READY ? -EAGAIN : cuda_check_result(result, "cuEventQuery");
}

static int event_sync(void *event) { return CUDA_CALL(cuEventSynchronize, event); }
static int event_elapsed_ms(void *from, void *to, float *ms_p)
{
	return CUDA_CALL(cuEventElapsedTime, ms_p, from, to);
}

/* ------------------------------------------------------------------ copies, fills, values */

/* A copy within device memory may run on the multiprocessors; since CUDA 12.8 the caller may ask
 * for a copy engine. */
static int copy_overlapping(void *stream, size_t count, cuda_pointer *to, cuda_pointer *from,
			    size_t *sizes)
{
	size_t first = 0, wrong = 0;
	struct cuda_copy_attributes attributes = {.source_order = CUDA_COPY_ORDER_STREAM,
						  .flags = CUDA_COPY_PREFER_OVERLAP};
	if (cuda_api.cuMemcpyBatchAsync_v2)
		return cuda_api.cuMemcpyBatchAsync_v2(to, from, sizes, count, &attributes, &first,
						      1, stream);
	return cuda_api.cuMemcpyBatchAsync(to, from, sizes, count, &attributes, &first, 1, &wrong,
					   stream);
}

static int copy_batch(void *stream, size_t count, void *const *dsts, const void *const *srcs,
		      size_t *bytes)
{
	cuda_pointer to[DEV_BATCH_MAX], from[DEV_BATCH_MAX];
	for (size_t i = 0; i < count; i++) {
		to[i] = cuda_device_address(dsts[i]);
		from[i] = cuda_device_address(srcs[i]);
	}
	return cuda_check_result(copy_overlapping(stream, count, to, from, bytes),
				 "cuMemcpyBatchAsync");
}

/* Drivers refuse a batched copy while a stream is captured, and for some memory and devices;
 * then cuMemcpyAsync decides. That batches are not supported is remembered, because asking costs
 * time in every call; an invalid value may be that of one copy. */
static int copy_in_device_memory(void *stream, void *dst, const void *src, uint64_t bytes,
				 bool captured, atomic_bool *refused)
{
	const bool can_ask = cuda_api.cuMemcpyBatchAsync_v2 || cuda_api.cuMemcpyBatchAsync;
	const bool asks = can_ask && bytes && !captured && !atomic_load(refused);
	cuda_pointer to = cuda_device_address(dst), from = cuda_device_address(src);
	size_t size = bytes;
	int result = asks ? copy_overlapping(stream, 1, &to, &from, &size) : CUDA_NOT_SUPPORTED;
	if (result != CUDA_NOT_SUPPORTED && result != CUDA_INVALID_VALUE)
		return cuda_check_result(result, "cuMemcpyBatchAsync");
	int status = CUDA_CALL(cuMemcpyAsync, to, from, bytes, stream);
	if (asks && result == CUDA_NOT_SUPPORTED && status == 0)
		atomic_store(refused, true);
	return status;
}

static int copy_async(void *stream, void *dst, const void *src, uint64_t bytes,
		      enum gpu_copy_direction direction, bool captured)
{
	static atomic_bool refused[2];
	switch (direction) {
	case GPU_COPY_UP:
		return CUDA_CALL(cuMemcpyHtoDAsync_v2, cuda_device_address(dst), src, bytes,
				 stream);
	case GPU_COPY_DOWN:
		return CUDA_CALL(cuMemcpyDtoHAsync_v2, dst, cuda_device_address(src), bytes,
				 stream);
	case GPU_COPY_LOCAL:
	case GPU_COPY_PEER:
		return copy_in_device_memory(stream, dst, src, bytes, captured,
					     &refused[direction == GPU_COPY_PEER]);
	case GPU_COPY_WITHIN_HOST:
		break;
	}
	return CUDA_CALL(cuMemcpyAsync, cuda_device_address(dst), cuda_device_address(src), bytes,
			 stream);
}

static int fill_async(void *stream, void *dst, uint8_t byte, uint64_t bytes)
{
	return CUDA_CALL(cuMemsetD8Async, cuda_device_address(dst), byte, bytes, stream);
}

static int wait_value(void *stream, uint32_t *at, uint32_t value)
{
	return CUDA_CALL(cuStreamWaitValue32_v2, stream, cuda_device_address(at), value,
			 CUDA_WAIT_GEQ);
}

static int write_value(void *stream, uint32_t *at, uint32_t value)
{
	return CUDA_CALL(cuStreamWriteValue32_v2, stream, cuda_device_address(at), value,
			 CUDA_WRITE_DEFAULT);
}

/* ------------------------------------------------------------------ kernels and graphs */

static int module_load(const void *image, void **module_p)
{
	return CUDA_CALL(cuModuleLoadData, module_p, image);
}
static int module_unload(void *module) { return CUDA_CALL(cuModuleUnload, module); }

static int find_function(void *module, const char *name, void **function_p)
{
	return CUDA_CALL(cuModuleGetFunction, function_p, module, name);
}

static int function_allow_shared(void *kernel, uint64_t bytes)
{
	int status =
		CUDA_CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes);
	return status ? status
		      : CUDA_CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_CARVEOUT,
				  CUDA_CARVEOUT_MAX_SHARED);
}

static int function_prefer_cache(void *kernel)
{
	return CUDA_CALL(cuFuncSetAttribute, kernel, CUDA_FUNCTION_CARVEOUT, CUDA_CARVEOUT_MAX_L1);
}

static int function_static_shared(void *kernel, uint64_t *bytes_p)
{
	int bytes = 0;
	int status = CUDA_CALL(cuFuncGetAttribute, &bytes, CUDA_FUNCTION_SHARED_SIZE, kernel);
	if (!status)
		*bytes_p = (uint64_t)bytes;
	return status;
}

static int find_occupancy(void *kernel, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	int blocks = 0;
	int status = CUDA_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernel,
			       (int)block, shared_bytes);
	if (!status)
		*blocks_p = (uint32_t)blocks;
	return status;
}

static int launch_kernel(void *stream, void *kernel, uint32_t grid, uint32_t block,
			 uint64_t shared_bytes, void **args)
{
	return CUDA_CALL(cuLaunchKernel, kernel, grid, 1, 1, block, 1, 1, (unsigned)shared_bytes,
			 stream, args, NULL);
}

static int capture_begin(void *stream)
{
	return CUDA_CALL(cuStreamBeginCapture_v2, stream, CUDA_CAPTURE_RELAXED);
}

static int capture_end(void *stream, void **graph_p)
{
	void *graph = NULL;
	int status = CUDA_CALL(cuStreamEndCapture, stream, &graph);
	if (status)
		return status;
	status = CUDA_CALL(cuGraphInstantiateWithFlags, graph_p, graph, 0);
	cuda_api.cuGraphDestroy(graph);
	return status;
}

static int graph_launch(void *stream, void *graph)
{
	return CUDA_CALL(cuGraphLaunch, graph, stream);
}
static int graph_close(void *graph) { return CUDA_CALL(cuGraphExecDestroy, graph); }

static const struct gpu_driver driver = {
	.load = cuda_load,
	.count = cuda_count,
	.traits = cuda_traits,
	.context_open = cuda_context_open,
	.context_close = cuda_context_close,
	.context_use = cuda_context_use,
	.memory_free_bytes = memory_free_bytes,
	.alloc = alloc_device,
	.free = free_memory,
	.alloc_pinned = alloc_pinned,
	.free_pinned = free_pinned,
	.pin = pin_pages,
	.unpin = unpin_pages,
	.stream_open = stream_open,
	.stream_open_on = stream_open_on,
	.stream_close = stream_close,
	.stream_sync = stream_sync,
	.stream_query = stream_query,
	.stream_wait = stream_wait,
	.event_open = event_open,
	.event_close = event_close,
	.event_record = event_record,
	.event_query = event_query,
	.event_sync = event_sync,
	.event_elapsed_ms = event_elapsed_ms,
	.copy = copy_async,
	.copy_batch = copy_batch,
	.fill = fill_async,
	.wait_value = wait_value,
	.write_value = write_value,
	.module_load = module_load,
	.module_unload = module_unload,
	.function = find_function,
	.function_allow_shared = function_allow_shared,
	.function_prefer_cache = function_prefer_cache,
	.function_static_shared = function_static_shared,
	.occupancy = find_occupancy,
	.launch = launch_kernel,
	.capture_begin = capture_begin,
	.capture_end = capture_end,
	.graph_launch = graph_launch,
	.graph_close = graph_close,
	.peer_can = peer_can,
	.peer_enable = peer_enable,
	.peer_adds = peer_adds,
	.ipc_export = ipc_export,
	.ipc_import = ipc_import,
	.ipc_close = ipc_close,
};

static int probe_devices(unsigned *count_p) { return gpu_probe(&cuda_vendor, count_p); }

static int open_device(const char *model, unsigned index, unsigned listed, uint32_t want,
		       struct dev **dev_p)
{
	return gpu_open(&cuda_vendor, model, index, want, dev_p);
}

static const char *const mpi_queries[] = {"MPIX_Query_cuda_support", NULL};

/* As UCX (uct_ib_md_open) and NCCL (ncclIbGdrSupport) look for it: the driver's own module, and the
 * one that was outside of it up to driver 460, by two names. */
static const char *const peer_memory_files[] = {
	"/sys/module/nvidia_peermem/version", "/sys/module/nv_peer_mem/version",
	"/sys/kernel/mm/memory_peers/nv_mem/version",
	"/sys/kernel/mm/memory_peers/nv_mem_nc/version", NULL};

const struct dev_ops cuda_ops = {.name = "cuda",
				 .mpi_queries = mpi_queries,
				 .selecting_variable = "CUDA_VISIBLE_DEVICES",
				 .peer_memory_files = peer_memory_files,
				 .probe = probe_devices,
				 .open = open_device,
				 GPU_DEV_OPS};

const struct gpu_vendor cuda_vendor = {
	.name = "cuda",
	.ops = &cuda_ops,
	.driver = &driver,
	.compiler = &cuda_compiler,
	.prebuilt_image = cuda_kernels_ptx,
	.blas = &cuda_blas,
	.management = &cuda_management,
	.collectives = &cuda_collectives,
	.storage = &cuda_storage,
};
