/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics without assumptions about the distribution: order statistics and what follows from
 * them. Pure functions. Nothing here is NaN-safe: callers pass finite numbers.
 */
#ifndef GPUSIG_STATS_H
#define GPUSIG_STATS_H

#include <stddef.h>

/* Sort ascending, in place. */
void stats_sort(double *x, size_t n);

/* Quantiles of a sorted array, n >= 1, interpolate linearly between the two nearest order
 * statistics (Hyndman and Fan's type 7); p in [0, 1]. */
double stats_median(const double *sorted, size_t n);
double stats_quantile(const double *sorted, size_t n, double p);

/* The order statistics (0-based) that bound the median with at least 95 % confidence, whatever the
 * distribution: the narrowest symmetric pair with 1 - 2 P(Binomial(n, 1/2) <= low) >= 0.95. n <= 5
 * can't reach 95 %: returns -ERANGE and leaves the outputs alone. */
int stats_median_ranks(size_t n, size_t *low_p, size_t *high_p);

/* The order statistic (0-based) that exceeds the median with a probability of `error` at most,
 * whatever the distribution, and no lower than needed; number n - 1 - *rank_p is below the median
 * with as little. -ERANGE: there is none, and the output is left alone. */
int stats_median_bound(size_t n, double error, size_t *rank_p);

/* Summary of a set of samples. ci_low and ci_high are NaN when n < 6. */
struct stats_summary {
	size_t n;
	double median, ci_low, ci_high, min, p95, max;
};

/* Summarise samples in any order, n >= 1; `scratch` holds n numbers and is overwritten. */
struct stats_summary stats_summarise(const double *x, size_t n, double *scratch);

/* Half the width of the interval relative to the median; infinity when there is no interval. */
double stats_relative_width(const struct stats_summary *s);

/* Autocorrelation of neighbours in time order, in [-1, 1]; 0 with n < 3 or constant samples. */
double stats_lag1(const double *x, size_t n);

/* Change of the Theil-Sen line (median of pairwise slopes) from the first to the last sample,
 * relative to the median; 0 with n < 3. Above 64 samples the pairs are thinned to limit the
 * cost. `scratch` holds STATS_DRIFT_CAPACITY numbers. */
#define STATS_DRIFT_CAPACITY 2016
double stats_drift(const double *x, size_t n, double median, double *scratch);

#endif
