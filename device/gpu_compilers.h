/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendors' run-time compilers, opened when first asked for. Any thread may call them.
 */
#ifndef GPUSIG_GPU_COMPILERS_H
#define GPUSIG_GPU_COMPILERS_H

#include "device/gpu.h"

/* NVRTC of CUDA 11.2 or newer, for "sm_90" and the like. The image is machine code; where the device is newer than the compiler
 * it is PTX for the newest older architecture that the compiler knows, as a string, which the driver finishes. A release is too
 * new for the driver when its major number is, since machine code has another ABI then; for PTX when its minor number is, too. */
extern const struct gpu_compiler cuda_compiler;

/* HIPRTC of ROCm 5 or newer, for "gfx90a:sramecc+:xnack-" and the like. The image is a code object. */
extern const struct gpu_compiler hip_compiler;

/* What nvcc made of the kernels when this was built, as PTX 6.3 for sm_75, which drivers finish for every later device; "" where
 * there was no nvcc. */
extern const char cuda_kernels_ptx[];

#endif
