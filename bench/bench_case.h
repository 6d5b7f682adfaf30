/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One case of a run, from its seeds to its record.
 */
#ifndef GPUSIG_BENCH_CASE_H
#define GPUSIG_BENCH_CASE_H

#include "bench/run/run.h"

/* Forget the case before. */
void bench_case_clear(struct bench_run *r);

/* Set up, measure within `seconds`, check, derive and record the case at the current point. A
 * failed or skipped case is recorded and returns 0. Not 0: the record could not be written, or an
 * interrupt. */
int bench_case_run(struct bench_run *r, double seconds);

#endif
