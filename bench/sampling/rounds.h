/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rounds of a case: calibration, warm-up, samples with their checks until there is a reason to
 * stop, and single operations.
 */
#ifndef GPUSIG_ROUNDS_H
#define GPUSIG_ROUNDS_H

#include "bench/run/run.h"
#include "lib/json.h"

struct bench_samples;

/* Measure the current case within `seconds`. */
int bench_sample_case(struct bench_run *r, double seconds);

/* singles.c: single operations, after the samples, within `seconds` for all variants; write
 * "singles_s". */
int bench_singles_take(struct bench_run *r, double seconds);
void bench_singles_write(struct json *j, const struct bench_samples *s);

#endif
