/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of overlap/t3, where the device has data: some elements of the sums that every device
 * holds, against products and sums of the host.
 */
#ifndef GPUSIG_T3_CHECK_H
#define GPUSIG_T3_CHECK_H

#include "overlap/t3/t3_run.h"

/* Enqueue on c->stream: overwrites all results. */
int t3_poison(struct bench_case *c, struct t3_run *r);

/* -EBADMSG with a text, or a device's error. Reduce-scatter by kernels is right in f32 alone and
 * not checked in other types; what is reduced where it lies is checked after one run since
 * t3_poison(). */
int t3_check(struct bench_case *c, const struct t3_run *r, unsigned variant);

#endif
