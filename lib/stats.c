/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void stats_sort(double *x, size_t n) { qsort(x, n, sizeof(*x), compare_doubles); }

double stats_median(const double *sorted, size_t n)
{
	return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

double stats_quantile(const double *sorted, size_t n, double p)
{
	double position = p * (double)(n - 1);
	size_t below = (size_t)position;
	if (below + 1 >= n)
		return sorted[n - 1];
	double part = position - (double)below;
	return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

int stats_median_bound(size_t n, double error, size_t *rank_p)
{
	double tail = 0.0, size = (double)n;
	size_t low = 0;
	for (;; low++) {
		double k = (double)low;
		double log_mass =
			lgamma(size + 1) - lgamma(k + 1) - lgamma(size - k + 1) - size * log(2.0);
		tail += exp(log_mass);
		if (tail > error)
			break;
	}
	/* `low` is the first count whose tail is too large; the one before it is the last
	 * allowed. */
	if (low == 0)
		return -ERANGE;
	*rank_p = low - 1;
	return 0;
}

int stats_median_ranks(size_t n, size_t *low_p, size_t *high_p)
{
	const int status = stats_median_bound(n, 0.025, low_p);
	if (status == 0)
		*high_p = n - 1 - *low_p;
	return status;
}

struct stats_summary stats_summarise(const double *x, size_t n, double *scratch)
{
	memcpy(scratch, x, n * sizeof(*x));
	stats_sort(scratch, n);
	struct stats_summary s = {
		.n = n,
		.median = stats_median(scratch, n),
		.ci_low = NAN,
		.ci_high = NAN,
		.min = scratch[0],
		.p95 = stats_quantile(scratch, n, 0.95),
		.max = scratch[n - 1],
	};
	size_t low, high;
	if (stats_median_ranks(n, &low, &high) == 0) {
		s.ci_low = scratch[low];
		s.ci_high = scratch[high];
	}
	return s;
}

double stats_relative_width(const struct stats_summary *s)
{
	if (isnan(s->ci_low) || s->median == 0.0)
		return INFINITY;
	return 0.5 * (s->ci_high - s->ci_low) / fabs(s->median);
}

double stats_lag1(const double *x, size_t n)
{
	if (n < 3)
		return 0.0;
	double mean = 0.0, variance = 0.0, covariance = 0.0;
	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		variance += (x[i] - mean) * (x[i] - mean);
	for (size_t i = 1; i < n; i++)
		covariance += (x[i] - mean) * (x[i - 1] - mean);
	return variance > 0.0 ? covariance / variance : 0.0;
}

double stats_drift(const double *x, size_t n, double median, double *scratch)
{
	if (n < 3 || median == 0.0)
		return 0.0;
	size_t stride = (n + 63) / 64, pairs = 0;
	for (size_t i = 0; i < n; i += stride)
		for (size_t j = i + stride; j < n; j += stride)
			scratch[pairs++] = (x[j] - x[i]) / (double)(j - i);
	if (pairs == 0)
		return 0.0;
	stats_sort(scratch, pairs);
	return stats_median(scratch, pairs) * (double)(n - 1) / median;
}
