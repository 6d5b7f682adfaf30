/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checking layer: what device/dev.h says is checked with DEV_CHECKED alone. It stands between
 * the functions of dev.h and a backend's table, so that a backend checks nothing in timed code that
 * it does not need for its own work.
 */
#ifndef GPUSIG_DEV_CHECKED_H
#define GPUSIG_DEV_CHECKED_H

#include "device/dev.h"

/* Check every operation of an open device before its backend gets it. -ENOMEM. */
int dev_check_operations(struct dev *d);

#endif
