/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendors' libraries behind the tables of device/gpu/gpu.h: BLAS, management, storage. Each is
 * opened at the first use.
 */
#ifndef GPUSIG_VENDOR_TABLES_H
#define GPUSIG_VENDOR_TABLES_H

#include "device/gpu/dynlib.h"
#include "device/gpu/gpu.h"

/* The HIP runtime, which AMD's other libraries need. */
extern struct dynlib hip_runtime;

/* cuBLASLt of CUDA 11 or newer. Types: f32 and f64 with IEEE arithmetic, f16 with sums in f32;
 * from sm_80 on bf16 and tf32; from sm_89 on f8, whose first operand must be given transposed, with
 * dimensions and leading dimensions in multiples of 16.
 *
 * Workspace: 32 MiB, what NVIDIA advises for Hopper. Any thread may call algorithms() and run(),
 * here and of hip_blas. */
extern const struct gpu_blas cuda_blas;

/* hipBLASLt for f16, bf16, tf32 and f8, and rocBLAS for f32 and f64, and for f16 and bf16 where
 * hipBLASLt does not have them or no algorithm for the GEMM, as the algorithm's description says.
 * open()'s text names both, each with the types that it multiplies, or why there is no hipBLASLt.
 *
 * Workspace: 128 MiB, what rocBLAS allocates by itself on gfx94x. */
extern const struct gpu_blas hip_blas;

/* NVML and ROCm SMI. Without the library every sample is present, unknown, with that reason.
 *
 * name                                   unit    library and meaning
 * sm_clock, memory_clock, ..._max        Hz      both; without _max the present value
 * power, power_limit                     W       both; the board averages over up to a second
 * temperature                            degC    both: of the die; ROCm SMI: at its edge, or at the
 *                                                hottest place where the edge has no sensor
 * throttle                               text    NVML: "none", or the faults that lower the clocks
 *                                                (heat, power supply), joined with ", "
 * clock_reason                           text    NVML: "none", or the settings that lower the
 *                                                clocks (power limit, fixed clocks); "none" also
 *                                                for an idle board, whose clocks are lower too
 * thermal_time                           s       NVML: how long heat has held the clocks back since
 *                                                the driver was loaded
 * ecc, mig, persistence                  on/off  NVML; ecc of device memory also ROCm SMI
 * ecc_errors                             -       both: uncorrected, since the driver was loaded
 * compute_mode                           text    NVML: "default", "exclusive process", "prohibited"
 * pcie_generation, pcie_width, ..._max   -       both; without _max the present value, which may be
 *                                                lower on an idle link
 * driver, vbios                          text    both
 * uuid, serial                           text    both: as the vendor's tools print them; a board
 *                                                without an InfoROM, such as a consumer's, has no
 *                                                serial number
 *
 * Links, paths and errors of memory are as device/dev_links.h lists them. NVML: PCIe, each NVLink
 * of the board with its end, where two devices' ways to the host meet, ECC errors, and rows
 * remapped or, before Ampere, pages retired. ROCm SMI: PCIe; to each device of the same hive one
 * xGMI link with the rate of all its lanes, which is down where the library names another kind; ECC
 * errors of memory since the driver was loaded, and pages.
 */
extern const struct gpu_management cuda_management, hip_management;

/* cuFile of CUDA 12.9 or newer. */
extern const struct gpu_storage cuda_storage;

#endif
