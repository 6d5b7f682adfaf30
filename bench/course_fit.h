/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Courses over time: where a rate falls and stays, and how a temperature approaches its end. Pure
 * functions of finite numbers, in the order of time.
 */
#ifndef GPUSIG_COURSE_FIT_H
#define GPUSIG_COURSE_FIT_H

#include <stddef.h>

/* A fall is declared by this rule, before any data: the level is the median of the first
 * COURSE_BASE rates. The limit is the level less COURSE_LEAST_FALL of it, or less COURSE_DEVIATIONS
 * standard deviations where that is more; these are estimated from the median difference of
 * neighbours, so that the fall itself does not count. The rate has fallen from the first of
 * COURSE_RUN successive rates below the limit after which at most one in ten of all that follow is
 * above it. What falls before the end of the base is not found.
 *
 * False alarms: none in 10,000 courses of 300 independent rates (tests/unit/bench/course_fit.c), so
 * at most 3 in 10,000 with 95 % confidence. A rate that drifts by itself may be one.
 */
enum { COURSE_BASE = 10, COURSE_RUN = 5, COURSE_LEAST = COURSE_BASE + COURSE_RUN };
#define COURSE_LEAST_FALL 0.02
#define COURSE_DEVIATIONS 4.0

struct course_fall {
	double level, limit;
	size_t first; /* of the rates that are below; n: the rate did not fall */
};

/* n >= COURSE_LEAST; `scratch` holds n numbers. */
struct course_fall course_find_fall(const double *rates, size_t n, double *scratch);

/* x(t) = end + (start - end) exp(-t / constant), by least squares. */
struct course_approach {
	double start, end, constant;
	double deviation; /* of the values from the curve, root of the mean square */
};

/* Least change in units of x, least number of values, most deviation as a part of the change. A
 * constant longer than the course is no result, for then the curve is hardly bent. */
#define COURSE_LEAST_CHANGE 5.0
#define COURSE_LEAST_VALUES 12u
#define COURSE_MOST_DEVIATION 0.1

/* NULL, or why there is no constant. */
const char *course_fit_approach(const double *t, const double *x, size_t n,
				struct course_approach *fit_p);

#endif
