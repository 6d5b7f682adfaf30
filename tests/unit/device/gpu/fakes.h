/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests of the fake CUDA driver (tests/fakes): loads its functions and opens a device.
 */
#ifndef GPUSIG_FAKES_H
#define GPUSIG_FAKES_H

#include "tests/unit/test.h"

#include <dlfcn.h>
#include <libgen.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define FUNCTIONS(X)                                                                               \
	X(cuInit, (unsigned))                                                                      \
	X(cuGetErrorName, (int, const char **))                                                    \
	X(cuDeviceGetAttribute, (int *, int, int))                                                 \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                                \
	X(cuDevicePrimaryCtxRelease_v2, (int))                                                     \
	X(cuCtxSetCurrent, (void *))                                                               \
	X(cuCtxEnablePeerAccess, (void *, unsigned))                                               \
	X(cuMemGetInfo_v2, (size_t *, size_t *))                                                   \
	X(cuMemAlloc_v2, (void **, size_t))                                                        \
	X(cuMemFree_v2, (void *))                                                                  \
	X(cuMemHostAlloc, (void **, size_t, unsigned))                                             \
	X(cuMemFreeHost, (void *))                                                                 \
	X(cuStreamCreateWithPriority, (void **, unsigned, int))                                    \
	X(cuStreamDestroy_v2, (void *))                                                            \
	X(cuStreamSynchronize, (void *))                                                           \
	X(cuStreamQuery, (void *))                                                                 \
	X(cuStreamWaitEvent, (void *, void *, unsigned))                                           \
	X(cuEventCreate, (void **, unsigned))                                                      \
	X(cuEventDestroy_v2, (void *))                                                             \
	X(cuEventRecord, (void *, void *))                                                         \
	X(cuEventQuery, (void *))                                                                  \
	X(cuEventSynchronize, (void *))                                                            \
	X(cuEventElapsedTime, (float *, void *, void *))                                           \
	X(cuMemcpyAsync, (void *, const void *, size_t, void *))                                   \
	X(cuMemcpyHtoDAsync_v2, (void *, const void *, size_t, void *))                            \
	X(cuMemcpyDtoHAsync_v2, (void *, const void *, size_t, void *))                            \
	X(cuMemsetD8Async, (void *, unsigned char, size_t, void *))                                \
	X(cuStreamWaitValue32_v2, (void *, void *, uint32_t, unsigned))                            \
	X(cuStreamWriteValue32_v2, (void *, void *, uint32_t, unsigned))                           \
	X(cuModuleLoadData, (void **, const void *))                                               \
	X(cuModuleUnload, (void *))                                                                \
	X(cuModuleGetFunction, (void **, void *, const char *))                                    \
	X(cuFuncGetAttribute, (int *, int, void *))                                                \
	X(cuFuncSetAttribute, (void *, int, int))                                                  \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))               \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
			   unsigned, void *, void **, void **))                                    \
	X(cuStreamBeginCapture_v2, (void *, int))                                                  \
	X(cuStreamEndCapture, (void *, void **))                                                   \
	X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                      \
	X(cuGraphLaunch, (void *, void *))                                                         \
	X(cuGraphExecDestroy, (void *))                                                            \
	X(cuGraphDestroy, (void *))                                                                \
	X(cuIpcGetMemHandle, (struct ipc *, void *))                                               \
	X(cuIpcOpenMemHandle_v2, (void **, struct ipc, unsigned))                                  \
	X(cuIpcCloseMemHandle, (void *))
#define COMPILER_FUNCTIONS(X)                                                                      \
	X(nvrtcCreateProgram,                                                                      \
	  (void **, const char *, const char *, int, const char *const *, const char *const *))    \
	X(nvrtcCompileProgram, (void *, int, const char *const *))                                 \
	X(nvrtcGetCUBIN, (void *, char *))                                                         \
	X(nvrtcGetCUBINSize, (void *, size_t *))                                                   \
	X(nvrtcDestroyProgram, (void **))

struct ipc {
	char reserved[64];
};

#define SLOT(name, arguments) int(*name) arguments;
static struct {
	FUNCTIONS(SLOT)
	COMPILER_FUNCTIONS(SLOT)
} api;

static const struct {
	const char *name;
	size_t slot;
	bool of_compiler;
} functions[] = {
#define ROW(name, arguments) {#name, offsetof(__typeof__(api), name), false},
#define COMPILER_ROW(name, arguments) {#name, offsetof(__typeof__(api), name), true},
	FUNCTIONS(ROW) COMPILER_FUNCTIONS(COMPILER_ROW)};

/* One device with its context, a stream and the kernels. */
static struct {
	void *context, *stream, *module;
} on;

#define ok(call) require((call) == 0)
#define gives(call, wanted) expect(result_is(#call, call, wanted))

static inline bool result_is(const char *what, int got, int wanted)
{
	if (got != wanted)
		printf("# %s is %d, not %d\n", what, got, wanted);
	return got == wanted;
}

/* Loads the fakes from the build folder of this program. */
static inline void load_fakes(void)
{
	char own[4096] = "", path[4200];
	require(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	const char *folder = dirname(dirname(dirname(own)));
	void *library[2];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/fakes/%s", folder,
			 i ? "libnvrtc.so.13" : "libcuda.so.1");
		library[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library[i])
			printf("# %s\n", dlerror());
		require(library[i]);
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library[functions[i].of_compiler], functions[i].name);
		if (!function)
			printf("# %s is missing\n", functions[i].name);
		require(function);
		memcpy((char *)&api + functions[i].slot, &function, sizeof(function));
	}
}

static inline void *compile_image(const char *option)
{
	void *program = NULL;
	size_t bytes = 0;
	ok(api.nvrtcCreateProgram(&program, "KERNEL void f() { }", "f.cu", 0, NULL, NULL));
	ok(api.nvrtcCompileProgram(program, 1, &option));
	ok(api.nvrtcGetCUBINSize(program, &bytes));
	char *image = malloc(bytes);
	require(image);
	ok(api.nvrtcGetCUBIN(program, image));
	ok(api.nvrtcDestroyProgram(&program));
	return image;
}

static inline void use_device(int device)
{
	void *image = compile_image("--gpu-architecture=sm_90");
	ok(api.cuDevicePrimaryCtxRetain(&on.context, device));
	ok(api.cuCtxSetCurrent(on.context));
	ok(api.cuStreamCreateWithPriority(&on.stream, 1, 0));
	ok(api.cuModuleLoadData(&on.module, image));
	free(image);
}

static inline void use_first_device(void) { use_device(0); }

static inline void leave_device(int device) { ok(api.cuDevicePrimaryCtxRelease_v2(device)); }

static inline void *find_kernel(const char *name)
{
	void *function = NULL;
	ok(api.cuModuleGetFunction(&function, on.module, name));
	return function;
}

static inline int launch_kernel(const char *name, unsigned grid, unsigned threads, void **arguments)
{
	return api.cuLaunchKernel(find_kernel(name), grid, 1, 1, threads, 1, 1, 0, on.stream,
				  arguments, NULL);
}

static inline void *alloc_device(size_t bytes)
{
	void *ptr = NULL;
	ok(api.cuMemAlloc_v2(&ptr, bytes));
	return ptr;
}

static inline void *alloc_pinned(size_t bytes)
{
	void *ptr = NULL;
	ok(api.cuMemHostAlloc(&ptr, bytes, 3));
	memset(ptr, 0, bytes);
	return ptr;
}

static inline void sync_stream(void) { ok(api.cuStreamSynchronize(on.stream)); }

/* Runs a setup step that all tests need, whichever GPUSIG_TEST selects. */
static inline bool setup_succeeds(void (*prepare)(void))
{
	test_state.failures_here = 0;
	if (!setjmp(test_state.leave))
		prepare();
	return test_state.failures_here == 0;
}

#endif
