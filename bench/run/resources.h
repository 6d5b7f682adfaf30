/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resources of the current case: what bench/bench_alloc.h opened for it.
 */
#ifndef GPUSIG_RESOURCES_H
#define GPUSIG_RESOURCES_H

#include "bench/run/run.h"

/* Starts as {0}. */
struct resources {
	struct resource *entries;
	size_t count, capacity;
};

/* Synchronise every stream of the case; close everything, and take the case's error off; free the
 * list too. The first two return the first error, with its text, after trying all. */
int bench_resources_sync(struct bench_run *r);
int bench_resources_close(struct bench_run *r);
void bench_resources_free(struct bench_run *r);

/* True if the case has opened streams besides its own. */
bool bench_has_streams(const struct bench_run *r);

#endif
