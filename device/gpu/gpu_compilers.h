/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendors' run-time compilers, opened at the first use. Any thread may call them.
 */
#ifndef GPUSIG_GPU_COMPILERS_H
#define GPUSIG_GPU_COMPILERS_H

#include "device/gpu/gpu.h"

/* NVRTC of CUDA 11.2 or newer, for "sm_90" and the like. The image is machine code. For a device
 * newer than the compiler it is PTX, as a string, for the newest architecture that the compiler
 * knows; the driver compiles that further. A release is too new for the driver when its major
 * version is higher, since the ABI of machine code changes with it; for PTX also when its minor
 * version is. */
extern const struct gpu_compiler cuda_compiler;

/* HIPRTC of ROCm 5 or newer, for "gfx90a:sramecc+:xnack-" and the like. The image is a code object.
 */
extern const struct gpu_compiler hip_compiler;

/* The kernels compiled by nvcc during the build, as PTX 6.3 for sm_75, which drivers compile for
 * every later device; "" where the build had no nvcc. */
extern const char cuda_kernels_ptx[];

#endif
