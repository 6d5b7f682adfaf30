/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device/kernels.cu as PTX, which the Makefile has nvcc make; empty where the build had no nvcc.
 */
#include "device/gpu_compilers.h"

const char cuda_kernels_ptx[] = {
#include CUDA_KERNELS_PTX
	0,
};
