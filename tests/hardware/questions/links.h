/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Answers of the device's driver about its links and errors of its memory. A call that fails prints
 * nothing.
 */
#ifndef GPUSIG_HARDWARE_LINKS_H
#define GPUSIG_HARDWARE_LINKS_H

#include "device/dev.h"

/* "5 x16", as read now, with the maximum as remark: ask it after copies. */
int report_pcie_link(const char *name, struct dev *d);

/* Number of other links that are up, with the first one's kind, end and rate as remark. */
int report_device_links(const char *name, struct dev *d);

/* Uncorrected errors since the driver was loaded, with all other counts as remark. */
int report_memory_errors(const char *name, struct dev *d);

#endif
