/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of the backends that are built in, between device/dev.c and the backends. Programs don't
 * include this. docs/ADD-A-BACKEND.md says how a row gets here.
 *
 * What dev.c does for every backend, so that none has to:
 *  - checks at open that no required slot is NULL;
 *  - opens only an `index` below what probe() counts. A backend that makes devices on demand counts the most
 *    that it can make, at most DEV_MAX;
 *  - gives `model` only when the spec has one; a backend without models answers -EINVAL;
 *  - closes the devices of a set in reverse order, also when opening a later one fails;
 *  - refuses gemm with a zero dimension or a leading dimension that is too small.
 */
#ifndef GPUSIG_BACKENDS_H
#define GPUSIG_BACKENDS_H

#include "device/dev.h"

extern const struct dev_ops cuda_ops;
extern const struct dev_ops hip_ops;
extern const struct dev_ops host_ops;
extern const struct dev_ops sim_ops;
extern const struct dev_ops skeleton_ops; /* compiled and checked by a test, in no list */

/* 0, or -EINVAL when a required slot is NULL; the text names it. */
int dev_ops_check(const struct dev_ops *ops);

#endif
