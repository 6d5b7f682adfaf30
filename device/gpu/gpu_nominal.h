/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data-sheet rates of a GPU, from a table of architectures and what the driver reports.
 */
#ifndef GPUSIG_GPU_NOMINAL_H
#define GPUSIG_GPU_NOMINAL_H

#include "device/gpu/gpu.h"

/* Fill zeroed results. Values that neither the driver nor the table has stay 0, and `unknown` says
 * so. */
void gpu_nominal(const struct gpu_traits *t, struct dev_nominal *n);

#endif
