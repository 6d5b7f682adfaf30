/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests of the fake CUDA driver (tests/fakes): it computes, and it refuses what a driver refuses.
 */
#include "tests/unit/device/gpu/fakes.h"

/* ------------------------------------------------------------------ order of calls */

static void nothing_before_init(void)
{
	void *context;
	gives(api.cuDevicePrimaryCtxRetain(&context, 0), 3);
	gives(api.cuInit(1), 1);
	gives(api.cuInit(0), 0);
}

static void nothing_without_a_context(void)
{
	void *ptr;
	gives(api.cuMemAlloc_v2(&ptr, 16), 201);
	gives(api.cuStreamCreateWithPriority(&ptr, 1, 0), 201);
	use_device(0);
	leave_device(0);
	gives(api.cuMemAlloc_v2(&ptr, 16), 709);
	gives(api.cuDevicePrimaryCtxRelease_v2(0), 201);
	gives(api.cuDevicePrimaryCtxRetain(&ptr, 2), 101);
	ok(api.cuCtxSetCurrent(NULL));
}

static void results_have_names(void)
{
	const char *name = NULL;
	ok(api.cuGetErrorName(719, &name));
	expect_str(name, "CUDA_ERROR_LAUNCH_FAILED");
	gives(api.cuGetErrorName(12345, &name), 1);
}

/* ------------------------------------------------------------------ memory */

static void memory_is_counted(void)
{
	size_t before = 0, after = 0, total = 0;
	void *none;
	ok(api.cuMemGetInfo_v2(&before, &total));
	char *a = alloc_device(1 << 20), *b = alloc_device(5);
	ok(api.cuMemGetInfo_v2(&after, &total));
	expect(before - after == (1 << 20) + 4096 && (b >= a + (1 << 20) || b + 4096 <= a));
	gives(api.cuMemAlloc_v2(&none, total + 1), 2);
	gives(api.cuMemAlloc_v2(&none, 0), 1);
	gives(api.cuMemFree_v2(a + 1), 1);
	ok(api.cuMemFree_v2(a));
	ok(api.cuMemFree_v2(b));
	gives(api.cuMemFree_v2(b), 1);
	ok(api.cuMemGetInfo_v2(&after, &total));
	expect(after == before);
}

static void copies_arrive(void)
{
	const size_t bytes = 100001;
	unsigned char *in = alloc_pinned(bytes), *out = alloc_pinned(bytes),
		      *device = alloc_device(bytes), pageable[64];
	for (size_t i = 0; i < bytes; i++)
		in[i] = (unsigned char)(i * 7);
	ok(api.cuMemcpyHtoDAsync_v2(device, in, bytes, on.stream));
	ok(api.cuMemsetD8Async(device + 10, 9, 20, on.stream));
	ok(api.cuMemcpyDtoHAsync_v2(out, device, bytes, on.stream));
	ok(api.cuMemcpyDtoHAsync_v2(pageable, device, sizeof(pageable), on.stream));
	sync_stream();
	for (size_t i = 0; i < bytes; i++)
		require(out[i] == (i >= 10 && i < 30 ? 9 : (unsigned char)(i * 7)));
	expect(memcmp(pageable, out, sizeof(pageable)) == 0);
	gives(api.cuMemcpyHtoDAsync_v2(device, in, bytes + 1, on.stream), 1);
	gives(api.cuMemcpyHtoDAsync_v2(pageable, in, 8, on.stream), 1);
	gives(api.cuMemcpyAsync(device, in, 8, in), 400);
	ok(api.cuMemFree_v2(device));
	ok(api.cuMemFreeHost(in));
	ok(api.cuMemFreeHost(out));
	gives(api.cuMemFreeHost(out), 1);
}

static void handles_of_other_processes(void)
{
	struct ipc handle;
	char *memory = alloc_device(8192), *other = NULL;
	ok(api.cuMemsetD8Async(memory, 1, 8192, on.stream));
	sync_stream();
	ok(api.cuIpcGetMemHandle(&handle, memory));
	unsetenv("FAKE_IPC_SELF");
	gives(api.cuIpcOpenMemHandle_v2((void **)&other, handle, 1), 201);
	setenv("FAKE_IPC_SELF", "1", 1);
	ok(api.cuIpcOpenMemHandle_v2((void **)&other, handle, 1));
	unsetenv("FAKE_IPC_SELF");
	require(other != memory);
	ok(api.cuMemsetD8Async(other + 4096, 2, 4096, on.stream));
	sync_stream();
	expect(memory[4095] == 1 && memory[4096] == 2 && memory[8191] == 2);
	ok(api.cuIpcCloseMemHandle(other));
	gives(api.cuIpcCloseMemHandle(other), 1);
	ok(api.cuMemFree_v2(memory));
}

/* ------------------------------------------------------------------ kernels */

static void kernels_compute(void)
{
	uint64_t bytes = 3 * 256 * 16 + 512;
	uint32_t reps = 3, sum = 0, *sink = alloc_pinned(4);
	uint32_t *from = alloc_pinned(bytes), *to = alloc_device(bytes),
		 *back = alloc_pinned(bytes);
	for (uint32_t i = 0; i < bytes / 4; i++)
		sum += from[i] = i * 2654435761u;
	void *copy[] = {&to, &from, &bytes, &reps}, *read[] = {&to, &bytes, &reps, &sink};
	for (unsigned threads = 32; threads <= 256; threads *= 2) {
		*sink = 0;
		ok(launch_kernel("gpusig_copy", 3, threads, copy));
		ok(launch_kernel("gpusig_read", 3, threads, read));
		ok(api.cuMemcpyDtoHAsync_v2(back, to, bytes, on.stream));
		sync_stream();
		expect(*sink == sum);
		expect(memcmp(back, from, bytes) == 0);
	}
	ok(api.cuMemFree_v2(to));
	ok(api.cuMemFreeHost(from));
	ok(api.cuMemFreeHost(back));
	ok(api.cuMemFreeHost(sink));
}

static void a_gemm_is_right(void)
{
	enum { M = 150, N = 131, K = 37, TILE = 128 };
	uint32_t m = M, n = N, k = K, rows = TILE, *done = alloc_pinned(2 * sizeof(*done));
	float alpha = 2, beta = -1, *a = alloc_pinned(M * K * 4), *b = alloc_pinned(K * N * 4),
	      *c = alloc_pinned(M * N * 4);
	for (int i = 0; i < M * K; i++)
		a[i] = (float)(i % 7 - 3);
	for (int i = 0; i < K * N; i++)
		b[i] = (float)(i % 5 - 2);
	for (int i = 0; i < M * N; i++)
		c[i] = (float)(i % 3);
	void *arguments[] = {&a, &b, &c, &m, &n, &k, &k, &n, &n, &alpha, &beta, &done, &rows};
	ok(launch_kernel("gpusig_gemm_f32", 4, 256, arguments));
	sync_stream();
	for (int i = 0; i < M; i++) {
		for (int j = 0; j < N; j++) {
			float wanted = -(float)((i * N + j) % 3);
			for (int l = 0; l < K; l++)
				wanted += 2 * a[i * K + l] * b[l * N + j];
			require(c[i * N + j] == wanted);
		}
	}
	expect(done[0] == TILE * N && done[1] == (M - TILE) * N);
	ok(api.cuMemFreeHost(a));
	ok(api.cuMemFreeHost(b));
	ok(api.cuMemFreeHost(c));
	ok(api.cuMemFreeHost(done));
}

static void launches_are_checked(void)
{
	void *function = NULL, *image = compile_image("--gpu-architecture=sm_120");
	char noise[256] = "this is no image";
	gives(api.cuModuleLoadData(&function, noise), 200);
	gives(api.cuModuleLoadData(&function, image), 209);
	free(image);
	gives(api.cuModuleGetFunction(&function, on.module, "no_kernel"), 500);
	function = find_kernel("gpusig_empty");
	gives(launch_kernel("gpusig_empty", 0, 32, NULL), 1);
	gives(launch_kernel("gpusig_empty", 1, 1024, NULL), 1);
	gives(launch_kernel("gpusig_copy", 1, 32, NULL), 1);
	const unsigned max_bytes = 48 << 10;
	ok(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, max_bytes, on.stream, NULL, NULL));
	gives(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, max_bytes + 1, on.stream, NULL, NULL),
	      1);
	ok(api.cuFuncSetAttribute(function, 8, 127 << 10));
	gives(api.cuFuncSetAttribute(function, 8, (127 << 10) + 1), 1);
	ok(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 127 << 10, on.stream, NULL, NULL));
	sync_stream();
}

static void occupancy_counts(void)
{
	int blocks = 0, own = 0;
	void *empty = find_kernel("gpusig_empty"), *gemm = find_kernel("gpusig_gemm_f32");
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0));
	expect(blocks == 8);
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 31 << 10));
	expect(blocks == 4);
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, (31 << 10) + 1));
	expect(blocks == 3);
	ok(api.cuFuncGetAttribute(&own, 1, gemm));
	expect(own == 2 * 2 * 8 * 33 * 16);
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gemm, 256, 0));
	expect((128 << 10) / (own + 1024) == 7 && blocks == 2); /* of 128 registers */
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, find_kernel("gpusig_copy"), 256,
							   0));
	expect(blocks == 4); /* 64 */
	ok(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, find_kernel("gpusig_copy_nt"),
							   256, 0));
	expect(blocks == 3); /* 72 */
}

static void leave_first_device(void) { leave_device(0); }

int main(void)
{
	setenv("FAKE_GPUS", "2", 1);
	if (!setup_succeeds(load_fakes))
		return 1;
	test(nothing_before_init);
	test(nothing_without_a_context);
	test(results_have_names);
	if (api.cuInit(0) || !setup_succeeds(use_first_device))
		return 1;
	test(memory_is_counted);
	test(copies_arrive);
	test(handles_of_other_processes);
	test(kernels_compute);
	test(a_gemm_is_right);
	test(launches_are_checked);
	test(occupancy_counts);
	test(leave_first_device);
	return test_done();
}
