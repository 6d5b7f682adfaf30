/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs that add to C: where they may, and what that costs. conformance_adding asks whether their
 * sums are right. A call that fails prints nothing.
 */
#ifndef GPUSIG_HARDWARE_ADDING_H
#define GPUSIG_HARDWARE_ADDING_H

#include "device/dev.h"

/* "yes", or "no" with the device's reason. */
int report_adding_to_pinned(const char *name, struct dev *d);

/* Time of a GEMM of f32 with a short k that adds / time of the same one that writes, the least of
 * several. */
int report_adding_cost(const char *name, struct dev *d);

#endif
