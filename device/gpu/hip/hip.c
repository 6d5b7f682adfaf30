/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_compilers.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/hip/hip_driver.h"
#include "device/gpu/nccl.h"
#include "device/gpu/vendor_tables.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct hip_ipc_memory) == sizeof(struct dev_ipc), "an IPC handle fits");

/* ------------------------------------------------------------------ memory */

static int memory_free_bytes(uint64_t *bytes_p)
{
	size_t available = 0, total = 0;
	int status = HIP_CALL(hipMemGetInfo, &available, &total);
	if (!status)
		*bytes_p = available;
	return status;
}

/* Memory of hipMalloc() is coarse-grained: its atomic operations reach no further than the device,
 * whatever scope they have ("AMD GPU atomics operation support", ROCm 6.4). So no other device adds
 * to it, and the table has no peer_adds. */
static int alloc_device(uint64_t bytes, void **ptr_p) { return HIP_CALL(hipMalloc, ptr_p, bytes); }
static int free_memory(void *ptr) { return HIP_CALL(hipFree, ptr); }

static int alloc_pinned(uint64_t bytes, void **ptr_p)
{
	return HIP_CALL(hipHostMalloc, ptr_p, bytes,
			HIP_HOST_PORTABLE | HIP_HOST_MAPPED | HIP_HOST_COHERENT);
}

static int free_pinned(void *ptr) { return HIP_CALL(hipHostFree, ptr); }

static int unpin_pages(void *ptr) { return HIP_CALL(hipHostUnregister, ptr); }

static int pin_pages(void *ptr, uint64_t bytes)
{
	void *seen = NULL;
	int status = HIP_CALL(hipHostRegister, ptr, bytes,
			      HIP_HOSTREGISTER_PORTABLE | HIP_HOSTREGISTER_MAPPED);
	if (status)
		return status;
	status = HIP_CALL(hipHostGetDevicePointer, &seen, ptr, 0u);
	if (!status && seen != ptr)
		status =
			err_note(-ENOTSUP, "registered host memory has another address on the GPU");
	if (status)
		unpin_pages(ptr);
	return status;
}

static int ipc_export(void *ptr, struct dev_ipc *handle_p)
{
	struct hip_ipc_memory memory;
	int status = HIP_CALL(hipIpcGetMemHandle, &memory, ptr);
	if (!status)
		memcpy(handle_p->bytes, memory.reserved, sizeof(memory.reserved));
	return status;
}

static int ipc_import(const struct dev_ipc *handle, void **ptr_p)
{
	struct hip_ipc_memory memory;
	memcpy(memory.reserved, handle->bytes, sizeof(memory.reserved));
	int result = hip_api.hipIpcOpenMemHandle(ptr_p, memory, HIP_IPC_LAZY_PEER);
	if (result == HIP_INVALID_VALUE)
		result = hip_api.hipIpcOpenMemHandle(ptr_p, memory, 0);
	return hip_check_result(result, "hipIpcOpenMemHandle");
}

static int ipc_close(void *ptr) { return HIP_CALL(hipIpcCloseMemHandle, ptr); }

static int peer_can(unsigned index, unsigned other, bool *can_p)
{
	int can = 0;
	int status = HIP_CALL(hipDeviceCanAccessPeer, &can, (int)index, (int)other);
	if (!status)
		*can_p = can != 0;
	return status;
}

static int peer_enable(unsigned other, void *other_context)
{
	int result = hip_api.hipDeviceEnablePeerAccess((int)other, 0);
	return result == HIP_PEER_ALREADY_ENABLED
		       ? 0
		       : hip_check_result(result, "hipDeviceEnablePeerAccess");
}

/* ------------------------------------------------------------------ streams and events */

static int stream_open(int priority, void **stream_p)
{
	return HIP_CALL(hipStreamCreateWithPriority, stream_p, HIP_STREAM_NON_BLOCKING, priority);
}

/* As streams are by hipExtStreamCreateWithCUMask of CLR: of normal priority, and they also wait for
 * the null stream, which has no work here. A bit of the mask is a unit; each such stream has a
 * hardware queue of its own. */
static int stream_open_on(unsigned index, int priority, const struct gpu_part *part,
			  void **stream_p)
{
	uint32_t mask[GPU_UNITS_MAX / 32] = {0};
	if (priority != 0)
		return err_note(-ENOTSUP, "hipExtStreamCreateWithCUMask: streams on some units "
					  "have normal priority");
	for (uint32_t i = part->first; i < part->first + part->count; i++)
		mask[i / 32] |= UINT32_C(1) << i % 32;
	return HIP_CALL(hipExtStreamCreateWithCUMask, stream_p, (part->units + 31) / 32, mask);
}

static int stream_close(void *stream) { return HIP_CALL(hipStreamDestroy, stream); }
static int stream_sync(void *stream) { return HIP_CALL(hipStreamSynchronize, stream); }

/* Programs poll this, so "not ready" makes no text. */
static int stream_query(void *stream)
{
	int result = hip_api.hipStreamQuery(stream);
	return result == HIP_NOT_READY ? -EAGAIN : hip_check_result(result, "hipStreamQuery");
}

static int stream_wait(void *stream, void *event)
{
	return HIP_CALL(hipStreamWaitEvent, stream, event, 0);
}
static int event_open(void **event_p)
{
	return HIP_CALL(hipEventCreateWithFlags, event_p, HIP_EVENT_DEFAULT);
}
static int event_close(void *event) { return HIP_CALL(hipEventDestroy, event); }
static int event_record(void *stream, void *event)
{
	return HIP_CALL(hipEventRecord, event, stream);
}

static int event_query(void *event)
{
	int result = hip_api.hipEventQuery(event);
	return result == HIP_NOT_READY ? -EAGAIN : hip_check_result(result, "hipEventQuery");
}

static int event_sync(void *event) { return HIP_CALL(hipEventSynchronize, event); }
static int event_elapsed_ms(void *from, void *to, float *ms_p)
{
	return HIP_CALL(hipEventElapsedTime, ms_p, from, to);
}

/* ------------------------------------------------------------------ copies, fills, values */

/* A copy between device memories runs on compute units unless the caller asks otherwise. ROCm
 * before 6.1 ignores the kind of such a copy. */
static int copy_without_units(void *stream, void *dst, const void *src, uint64_t bytes)
{
	int result = hip_api.hipMemcpyAsync(dst, src, bytes, HIP_COPY_LOCAL_WITHOUT_CU, stream);
	if (result == HIP_INVALID_COPY_DIRECTION || result == HIP_INVALID_VALUE)
		result = hip_api.hipMemcpyAsync(dst, src, bytes, HIP_COPY_LOCAL, stream);
	return hip_check_result(result, "hipMemcpyAsync");
}

static int copy_async(void *stream, void *dst, const void *src, uint64_t bytes,
		      enum gpu_copy_direction direction, bool captured)
{
	switch (direction) {
	case GPU_COPY_UP:
		return HIP_CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_UP, stream);
	case GPU_COPY_DOWN:
		return HIP_CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_DOWN, stream);
	case GPU_COPY_WITHIN_HOST:
		return HIP_CALL(hipMemcpyAsync, dst, src, bytes, HIP_COPY_WITHIN_HOST, stream);
	case GPU_COPY_LOCAL:
	case GPU_COPY_PEER:
		break;
	}
	return copy_without_units(stream, dst, src, bytes);
}

/* Without attributes, which runtimes from ROCm 7.2.1 to 7.2.3 refuse. So nothing asks for engines,
 * and the runtime chooses what copies between device memories. */
static int copy_batch(void *stream, size_t count, void *const *dsts, const void *const *srcs,
		      size_t *bytes)
{
	void *to[DEV_BATCH_MAX], *from[DEV_BATCH_MAX];
	size_t wrong = 0;
	for (size_t i = 0; i < count; i++) {
		to[i] = dsts[i];
		memcpy(&from[i], &srcs[i], sizeof(from[i]));
	}
	return HIP_CALL(hipMemcpyBatchAsync, to, from, bytes, count, NULL, NULL, 0, &wrong, stream);
}

static int fill_async(void *stream, void *dst, uint8_t byte, uint64_t bytes)
{
	return HIP_CALL(hipMemsetAsync, dst, byte, bytes, stream);
}

static int wait_value(void *stream, uint32_t *at, uint32_t value)
{
	return HIP_CALL(hipStreamWaitValue32, stream, at, value, HIP_WAIT_GTE, UINT32_MAX);
}

static int write_value(void *stream, uint32_t *at, uint32_t value)
{
	return HIP_CALL(hipStreamWriteValue32, stream, at, value, 0);
}

/* ------------------------------------------------------------------ kernels and graphs */

static int module_load(const void *image, void **module_p)
{
	return HIP_CALL(hipModuleLoadData, module_p, image);
}
static int module_unload(void *module) { return HIP_CALL(hipModuleUnload, module); }

static int find_function(void *module, const char *name, void **function_p)
{
	return HIP_CALL(hipModuleGetFunction, function_p, module, name);
}

/* Blocks may use the whole LDS without opting in, and it shares no memory with a cache. */
static int function_allow_shared(void *kernel, uint64_t bytes)
{
	(void)kernel, (void)bytes;
	return 0;
}

static int function_static_shared(void *kernel, uint64_t *bytes_p)
{
	int bytes = 0;
	int status = HIP_CALL(hipFuncGetAttribute, &bytes, HIP_FUNCTION_SHARED_SIZE, kernel);
	if (!status)
		*bytes_p = (uint64_t)bytes;
	return status;
}

static int find_occupancy(void *kernel, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	int blocks = 0;
	int status = HIP_CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernel,
			      (int)block, shared_bytes);
	if (!status)
		*blocks_p = (uint32_t)blocks;
	return status;
}

static int launch_kernel(void *stream, void *kernel, uint32_t grid, uint32_t block,
			 uint64_t shared_bytes, void **args)
{
	return HIP_CALL(hipModuleLaunchKernel, kernel, grid, 1, 1, block, 1, 1,
			(unsigned)shared_bytes, stream, args, NULL);
}

static int capture_begin(void *stream)
{
	return HIP_CALL(hipStreamBeginCapture, stream, HIP_CAPTURE_RELAXED);
}

static int capture_end(void *stream, void **graph_p)
{
	void *graph = NULL;
	int status = HIP_CALL(hipStreamEndCapture, stream, &graph);
	if (status)
		return status;
	status = HIP_CALL(hipGraphInstantiate, graph_p, graph, NULL, NULL, 0);
	hip_api.hipGraphDestroy(graph);
	return status;
}

static int graph_launch(void *stream, void *graph)
{
	return HIP_CALL(hipGraphLaunch, graph, stream);
}
static int graph_close(void *graph) { return HIP_CALL(hipGraphExecDestroy, graph); }

static const struct gpu_driver driver = {
	.load = hip_load,
	.count = hip_count,
	.traits = hip_traits,
	.context_open = hip_context_open,
	.context_close = hip_context_close,
	.context_use = hip_context_use,
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
	.function_static_shared = function_static_shared,
	.occupancy = find_occupancy,
	.launch = launch_kernel,
	.capture_begin = capture_begin,
	.capture_end = capture_end,
	.graph_launch = graph_launch,
	.graph_close = graph_close,
	.peer_can = peer_can,
	.peer_enable = peer_enable,
	.ipc_export = ipc_export,
	.ipc_import = ipc_import,
	.ipc_close = ipc_close,
};

static int probe_devices(unsigned *count_p) { return gpu_probe(&hip_vendor, count_p); }

static int open_device(const char *model, unsigned index, unsigned listed, uint32_t want,
		       struct dev **dev_p)
{
	return gpu_open(&hip_vendor, model, index, want, dev_p);
}

/* Names in Open MPI, and in MPICH. */
static const char *const mpi_queries[] = {"MPIX_Query_rocm_support", "MPIX_Query_hip_support",
					  NULL};

/* As RCCL (ncclIbGdrSupport) looks for it: where the folder is depends on the kernel and on the
 * adapter's driver. RCCL then also looks for ib_register_peer_memory_client in /proc/kallsyms. UCX
 * takes /dev/kfd for enough, which is there without any adapter's driver. */
static const char *const peer_memory_files[] = {"/sys/kernel/mm/memory_peers/amdkfd/version",
						"/sys/kernel/memory_peers/amdkfd/version",
						"/sys/memory_peers/amdkfd/version", NULL};

const struct dev_ops hip_ops = {.name = "hip",
				.mpi_queries = mpi_queries,
				.selecting_variable = "ROCR_VISIBLE_DEVICES",
				.peer_memory_files = peer_memory_files,
				.probe = probe_devices,
				.open = open_device,
				GPU_DEV_OPS};

static int load_no_storage(void)
{
	return err_note(-ENOTSUP,
			"hipFile is not used: its interface is that of a release 0, which "
			"may change");
}
static const struct gpu_storage no_storage = {.load = load_no_storage};

const struct gpu_vendor hip_vendor = {
	.name = "hip",
	.ops = &hip_ops,
	.driver = &driver,
	.compiler = &hip_compiler,
	.blas = &hip_blas,
	.management = &hip_management,
	.collectives = &hip_collectives,
	.storage = &no_storage,
};
