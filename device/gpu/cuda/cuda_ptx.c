/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device/gpu/kernels/kernels.cu as PTX, which the Makefile makes with nvcc; empty where the build
 * had no nvcc.
 */
#include "device/gpu/gpu_compilers.h"

const char cuda_kernels_ptx[] = {
#include CUDA_KERNELS_PTX
	0,
};
