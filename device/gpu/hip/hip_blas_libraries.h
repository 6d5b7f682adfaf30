/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two libraries behind hip_blas (device/gpu/vendor_tables.h), each for the types that its
 * open() returns. -ENOTSUP of open(): the library does not support the architecture.
 */
#ifndef GPUSIG_HIP_BLAS_LIBRARIES_H
#define GPUSIG_HIP_BLAS_LIBRARIES_H

#include "device/gpu/gpu.h"

/* hipBLASLt: f16 and bf16 with sums in f32; on gfx94x tf32; on gfx94x, gfx95x and gfx12 f8. Of
 * these, those that it has an algorithm for; err_text() after open() is why it lacks one, or "".
 *
 * f8 on gfx94x has a bias of 8 instead of 7, so that every code is half of its value by OCP and C a
 * quarter; alpha makes up for it, which is exact. OCP's -0 is NaN there.
 *
 * Where it has no algorithm for tf32, hipBLASLt takes f32's without saying so: that is why only
 * architectures with the instruction have tf32. Streams need handles of their own: kernels that
 * split the sums count what is done in the handle's memory. */
extern const struct gpu_blas hip_blaslt;

/* rocBLAS: f32, f64; f16 and bf16 with sums in f32. One algorithm: the library's own choice.
 *
 * The stream and the workspace are state of a rocBLAS handle. There is one handle per device, and
 * run() sets both under a lock: with a handle per stream, the first GEMM of each stream would
 * create it, which waits for the device and cannot be captured in a graph. The first GEMM frees the
 * handle's own workspace and so waits for the device. */
extern const struct gpu_blas hip_rocblas;

#endif
