/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of the built-in backends, between device/dev.c and the backends. Programs do not
 * include this file. docs/ADD-A-BACKEND.md says how a row gets here.
 *
 * What dev.c does for every backend:
 *  - at open it checks that no required slot is NULL;
 *  - it opens only an `index` below the count of probe(). A backend that creates devices on demand
 *    returns the most that it can create, at most DEV_MAX;
 *  - it passes `model` only when the spec has one; a backend without models answers -EINVAL;
 *  - it closes the devices of a set in reverse order, also when opening a later one fails;
 *  - with DEV_CHECKED it refuses misuse before the backend gets it (device/dev_checked.h);
 *  - it rejects a GEMM with a zero dimension or a leading dimension that is too small.
 */
#ifndef GPUSIG_BACKENDS_H
#define GPUSIG_BACKENDS_H

#include "device/dev.h"
#include "lib/err.h"
#include "lib/text.h"

#include <stdio.h>

extern const struct dev_ops cuda_ops;
extern const struct dev_ops hip_ops;
extern const struct dev_ops host_ops;
extern const struct dev_ops sim_ops;
extern const struct dev_ops skeleton_ops; /* compiled and checked by a test, not listed */

/* 0, or -EINVAL when a required slot is NULL; the text names it. */
int dev_ops_check(const struct dev_ops *ops);

/* For open(): err_text() is why the device lacks this capability, and is not an error. */
static inline void dev_keep_lack(struct dev *d, enum dev_cap_bit bit)
{
	text_fit(d->lacks[bit], sizeof(d->lacks[bit]), "%s", err_text());
	err_clear();
}

/* Memory that an operation uses. */
struct dev_range {
	const void *ptr;
	uint64_t bytes;
	bool pageable; /* pageable memory is allowed */
};

/* The memory of A, B, C and, if there are any, the scales and the counters of a GEMM that
 * dev_gemm() has checked. Returns the number of ranges. */
#define DEV_GEMM_RANGES 6
size_t dev_gemm_ranges(const struct dev *d, const struct dev_gemm *g,
		       struct dev_range ranges[DEV_GEMM_RANGES]);

/* -EINVAL: a range that one copy of a batch writes overlaps another range of it. */
int dev_check_batch(size_t count, void *const *dsts, const void *const *srcs,
		    const uint64_t *bytes);

/* -ENOTSUP, for an operation whose slot is NULL; the text names it and the device. */
int dev_note_not_supported(const struct dev *d, const char *what);

#endif
