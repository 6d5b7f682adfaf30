/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In place of tests/fakes/engine/fibers.c: a fake driver with this runs the blocks of its kernels
 * through OpenCL, from kernels.cu as SPIR-V (GPUSIG_SPIRV names the file). So what conformance
 * expects of every kernel is held against a compiler, and a scheduler of a block's threads, that
 * are not ours.
 *
 * The device has to share all memory with the host, as one on a CPU does. It runs as many blocks at
 * once as it likes: some that wait for each other may never end.
 */
#include "tests/fakes/engine/fibers.h"
#include "tests/fakes/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 210
#include <CL/cl.h>

static struct {
	cl_device_id device;
	cl_context context;
	cl_program program;
} opencl;

static _Thread_local cl_command_queue queue;
_Thread_local struct fake_position fake_here;

static void bail_out_unless(int holds, const char *what, int status)
{
	if (holds)
		return;
	printf("Bail out! OpenCL: %s: %d\n", what, status);
	fflush(stdout);
	abort();
}

static void choose_device(void)
{
	cl_device_svm_capabilities shares = 0;
	cl_platform_id platform;
	int status = clGetPlatformIDs(1, &platform, NULL);
	bail_out_unless(!status, "no platform", status);
	status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &opencl.device, NULL);
	bail_out_unless(!status, "no device on the CPU", status);
	clGetDeviceInfo(opencl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(shares), &shares, NULL);
	bail_out_unless((shares & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) &&
				(shares & CL_DEVICE_SVM_ATOMICS),
			"the device does not share all memory", (int)shares);
	opencl.context = clCreateContext(NULL, 1, &opencl.device, NULL, NULL, &status);
	bail_out_unless(!status, "clCreateContext", status);
}

static void build_program(void)
{
	const char *name = getenv("GPUSIG_SPIRV");
	FILE *file = name ? fopen(name, "rb") : NULL;
	bail_out_unless(file != NULL, "GPUSIG_SPIRV names no file", errno);
	static char code[1 << 22];
	const size_t bytes = fread(code, 1, sizeof(code), file);
	fclose(file);
	int status;
	opencl.program = clCreateProgramWithIL(opencl.context, code, bytes, &status);
	bail_out_unless(!status, "clCreateProgramWithIL", status);
	/* Atomic operations on memory of any kind came with 2.0. */
	status = clBuildProgram(opencl.program, 1, &opencl.device, "-cl-std=CL2.0", NULL, NULL);
	if (status) {
		clGetProgramBuildInfo(opencl.program, opencl.device, CL_PROGRAM_BUILD_LOG,
				      sizeof(code), code, NULL);
		printf("# %s\n", code);
	}
	bail_out_unless(!status, "clBuildProgram", status);
}

static int set_argument(cl_kernel kernel, const struct fake_kernel *k, cl_uint i, void *value)
{
	return k->addresses >> i & 1 ? clSetKernelArgSVMPointer(kernel, i, *(void **)value)
				     : clSetKernelArg(kernel, i, k->sizes[i], value);
}

static void run_block(const struct fake_kernel *k, void *const *arguments, struct fake_position at)
{
	const size_t offset[] = {(size_t)at.block * at.threads, at.blocks};
	const size_t size[] = {at.threads, 1};
	const cl_bool all = CL_TRUE;
	int status = 0;
	if (!queue)
		queue = clCreateCommandQueueWithProperties(opencl.context, opencl.device, NULL,
							   &status);
	bail_out_unless(!status, "clCreateCommandQueue", status);
	cl_kernel kernel = clCreateKernel(opencl.program, k->name, &status);
	bail_out_unless(!status, k->name, status);
	for (cl_uint i = 0; i < k->count && !status; i++)
		status = set_argument(kernel, k, i, arguments[i]);
	bail_out_unless(!status, "clSetKernelArg", status);
	/* Kernels also use addresses that they load. */
	status = clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof(all),
				     &all);
	bail_out_unless(!status, "clSetKernelExecInfo", status);
	status = clEnqueueNDRangeKernel(queue, kernel, 2, offset, size, size, 0, NULL, NULL);
	bail_out_unless(!status, "clEnqueueNDRangeKernel", status);
	status = clFinish(queue);
	bail_out_unless(!status, "clFinish", status);
	clReleaseKernel(kernel);
}

/* Before main(), as a device that takes seconds for its first block does not open: to be loaded
 * with LD_PRELOAD. */
__attribute__((constructor)) static void prepare_kernels(void)
{
	choose_device();
	build_program();
}

void fake_block_run(void (*call)(void *const *arguments), void *const *arguments, uint32_t threads,
		    uint32_t block, uint32_t blocks)
{
	const struct fake_kernel *k = fake_kernels;
	while (k->call != call)
		k++;
	run_block(k, arguments,
		  (struct fake_position){.threads = threads, .block = block, .blocks = blocks});
}

/* For the kernels as C, which are linked and don't run. */
void fake_barrier(void) { abort(); }
