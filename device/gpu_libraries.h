/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendors' libraries behind the tables of device/gpu.h: BLAS, management, collectives. Each is opened when first asked for.
 */
#ifndef GPUSIG_GPU_LIBRARIES_H
#define GPUSIG_GPU_LIBRARIES_H

#include "device/gpu.h"

/* cuBLASLt, of CUDA 11 or newer. Types: f32 and f64 as IEEE says, f16 with sums in f32; from sm_80 on bf16 and tf32; from sm_89
 * on f8, whose first operand must be given transposed, with dimensions and leading dimensions in multiples of 16.
 * A way holds for operands at least as well aligned as those it was found for, and for as much workspace; with less of either,
 * and without a way, run() takes the library's first choice. That choice and the descriptors are kept for every shape, type and
 * alignment met, about a kilobyte each, until close(); so only a shape's first product asks the library's heuristics.
 * Workspace: 32 MiB, what NVIDIA advises for Hopper. ways() and run() may be called by any thread. */
extern const struct gpu_blas cuda_blas;

/* rocBLAS. Types: f32, f64; f16 and bf16 with sums in f32. One way: the library's own choice. A handle of rocBLAS has a stream
 * and a workspace as its state: there is one handle a device, and run() sets both under a lock, because a handle for every
 * stream would have to be made by the first product of a stream, which waits for the device and can't be captured in a graph.
 * The first product frees the handle's own workspace, and so waits for the device.
 * Workspace: 128 MiB, what rocBLAS gives itself on gfx94x. */
extern const struct gpu_blas hip_blas;

/* NVML and ROCm SMI. Without the library every reading is there, unknown, with that reason.
 *
 * name                                     unit    from
 * sm_clock, memory_clock, ..._max          Hz      both; without _max what it is now
 * power, power_limit                       W       both; averaged by the board over up to a second
 * temperature                              degC    both: of the die; ROCm SMI: at its edge, or where that has no sensor, at
 *                                                  the hottest place
 * throttle                                 text    NVML: "none", or what lowers the clocks and should not be (heat, supply),
 *                                                  joined with ", "
 * clock_reason                             text    NVML: "none", or what of the board's set-up lowers the clocks: its power
 *                                                  limit, clocks it was told. An idle board lowers them too: "none"
 * thermal_time                             s       NVML: how long heat has held the clocks back since the driver was loaded
 * ecc, mig, persistence                    on/off  NVML; ecc of device memory also ROCm SMI
 * ecc_errors                               -       both: uncorrected, since the driver was loaded
 * compute_mode                             text    NVML: "default", "exclusive process", "prohibited"
 * pcie_generation, pcie_width, ..._max     -       both; without _max what it is now, and an idle link may be slower
 * driver, vbios                            text    both
 */
extern const struct gpu_manager cuda_manager, hip_manager;

/* NCCL and RCCL, which have one ABI. */
extern const struct gpu_collectives cuda_collectives, hip_collectives;

#endif
