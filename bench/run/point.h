/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The point of the axes that is the current case, and which headline numbers it has.
 */
#ifndef GPUSIG_POINT_H
#define GPUSIG_POINT_H

#include "bench/run/run.h"
#include "lib/json.h"

/* Make the case of this index, in the order of the axes' lists, the current one: its point and its
 * key. */
void bench_set_point(struct bench_run *r, size_t index);

/* Form the key of the point. */
void bench_set_key(struct bench_run *r);

/* The index of an axis; that it exists is asserted. */
size_t bench_axis_position(const struct bench_run *r, const char *axis);

/* True if the current point gives this headline number; any. */
bool bench_is_headline(const struct bench_run *r, const struct bench_metric *m);
bool bench_has_headline(const struct bench_run *r);

/* Write the case that `where` names, as the device resolves it, as the object "where". */
void bench_write_where(struct json *j, const struct bench_run *r, const char *where);

#endif
