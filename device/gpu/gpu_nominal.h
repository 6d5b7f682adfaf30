/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a GPU's data sheet states, from a table of architectures and what the driver tells.
 */
#ifndef GPUSIG_GPU_NOMINAL_H
#define GPUSIG_GPU_NOMINAL_H

#include "device/gpu/gpu.h"

/* Of zeroed results. What the driver does not tell and the table does not have stays 0, and
 * `unknown` says so. */
void gpu_nominal(const struct gpu_traits *t, struct dev_nominal *n);

#endif
