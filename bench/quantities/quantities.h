/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The quantities derived from a case's samples, whether they are valid, and headline numbers.
 */
#ifndef GPUSIG_QUANTITIES_H
#define GPUSIG_QUANTITIES_H

#include "bench/run/run.h"
#include "lib/json.h"

/* Rounding and clock granularity stay far below this share above a bound. */
#define BENCH_BOUND_TOLERANCE 0.02

struct bench_derived {
	char name[48], unit[16], formula[256], bound_name[64];
	int variant; /* variant, or -1 */
	struct bench_quantity quantity;
	uint64_t uses;                         /* all variants that it is of */
	double value, low, high, bound, share; /* NaN: unknown */
	size_t rounds;                         /* that the statistic is of; 0: it is none */
	double *observations;                  /* so many, of bench_derive_samples(); else NULL */
	bool flagged;                          /* this value alone */
	bool shown;                            /* it is in the table */
	char reason[512];                      /* why there is no value, where the program knows */
};

/* The current case's, in the order in which they were derived. Starts as {0}. */
struct quantities {
	struct bench_derived *derived;
	size_t count, capacity;
};

/* Drop all but the first `count`; free the list, too. */
void bench_quantities_restore(struct quantities *q, size_t count);
void bench_quantities_free(struct quantities *q);

/* derive.c. The harness's own rates, of every variant; `quantities` of struct bench. */
void bench_derive_rates(struct bench_run *r);
int bench_derive_rows(struct bench_run *r);

/* The latest of this name and variant, or NULL; it holds until the next one is added. */
struct bench_derived *bench_find_derived(struct bench_run *r, const char *name, int variant);

const char *bench_unit_of(enum bench_kind kind, const char *unit);
uint64_t bench_uses_of(const struct bench_quantity *q); /* bit mask of variants */
double bench_seconds_of(const struct bench_seconds *of, const double *seconds);

/* validity.c: whether the value may be used; whether one of the variants that it is of has this
 * grade; why there is no value. */
bool bench_derived_valid(const struct bench_run *r, const struct bench_derived *d);
bool bench_derived_graded(const struct bench_run *r, const struct bench_derived *d,
			  const char *grade);
const char *bench_derived_reason(const struct bench_run *r, const struct bench_derived *d);

/* headlines.c: this number of the current case, or NULL. */
struct bench_derived *bench_find_metric(struct bench_run *r, const struct bench_metric *m);

/* True if more of this quantity is better: one of the program's rows, or of the harness's own; that
 * it is one is asserted. */
bool bench_more_is_better(const struct bench_run *r, const char *name);

/* After setup: turn off the variants that no headline number of the case needs, and name them in a
 * fact. They are found by deriving from made-up times. All stay on if the case has no headline
 * number, or derive() fails without samples. */
void bench_headline_variants(struct bench_run *r);

/* Write `primary` of the run record, each number with its case as the device resolves it; `cliff`,
 * of a program that has one. */
void bench_headlines_write(struct json *j, struct bench_run *r);
void bench_cliff_write(struct json *j, struct bench_run *r);

#endif
