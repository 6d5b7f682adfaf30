/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/course_fit.h"
#include "lib/stats.h"

#include <math.h>
#include <string.h>

/* The median of |x| is this part of a normal deviation. */
#define MEDIAN_OF_NORMAL 0.6745
#define MAY_BE_ABOVE 0.1
#define CONSTANTS 400

static double median_of(const double *x, size_t n, double *scratch)
{
	memcpy(scratch, x, n * sizeof(*x));
	stats_sort(scratch, n);
	return stats_median(scratch, n);
}

static double deviation_of(const double *x, size_t n, double *scratch)
{
	for (size_t i = 1; i < n; i++)
		scratch[i - 1] = fabs(x[i] - x[i - 1]);
	stats_sort(scratch, n - 1);
	return stats_median(scratch, n - 1) / MEDIAN_OF_NORMAL / sqrt(2);
}

struct course_fall course_find_fall(const double *rates, size_t n, double *scratch)
{
	struct course_fall found = {.first = n};
	size_t run = 0, above = 0;
	found.level = median_of(rates, COURSE_BASE, scratch);
	found.limit = found.level - fmax(COURSE_LEAST_FALL * found.level,
					 COURSE_DEVIATIONS * deviation_of(rates, n, scratch));
	/* From the end, so that `above` counts those that follow. */
	for (size_t i = n; i-- > COURSE_BASE;) {
		const int below = rates[i] < found.limit;
		run = below ? run + 1 : 0;
		above += !below;
		if (run >= COURSE_RUN && (double)above <= MAY_BE_ABOVE * (double)(n - i))
			found.first = i;
	}
	return found;
}

/* Start and end for this constant, and the sum of squares that is left. */
static double fit_line(const double *t, const double *x, size_t n, double constant,
		       struct course_approach *fit)
{
	double sum_e = 0, sum_ee = 0, sum_x = 0, sum_ex = 0, left = 0;
	const double count = (double)n;
	for (size_t i = 0; i < n; i++) {
		const double e = exp(-(t[i] - t[0]) / constant);
		sum_e += e;
		sum_ee += e * e;
		sum_x += x[i];
		sum_ex += e * x[i];
	}
	const double slope = (count * sum_ex - sum_e * sum_x) / (count * sum_ee - sum_e * sum_e);
	fit->constant = constant;
	fit->end = (sum_x - slope * sum_e) / count;
	fit->start = fit->end + slope;
	for (size_t i = 0; i < n; i++) {
		const double miss = x[i] - fit->end - slope * exp(-(t[i] - t[0]) / constant);
		left += miss * miss;
	}
	return left;
}

const char *course_fit_approach(const double *t, const double *x, size_t n,
				struct course_approach *fit_p)
{
	double best = INFINITY;
	if (n < COURSE_LEAST_VALUES)
		return "there are too few readings";
	const double span = t[n - 1] - t[0];
	for (int i = 0; i < CONSTANTS; i++) {
		/* from a hundredth of the course to twice its length */
		const double constant = span / 100 * pow(200, i / (CONSTANTS - 1.0));
		struct course_approach fit;
		const double left = fit_line(t, x, n, constant, &fit);
		if (!(left < best))
			continue;
		best = left;
		*fit_p = fit;
	}
	fit_p->deviation = sqrt(best / (double)n);
	const double change = fabs(x[n - 1] - x[0]);
	if (change < COURSE_LEAST_CHANGE)
		return "it changed by less than 5 K";
	if (fit_p->deviation > COURSE_MOST_DEVIATION * change)
		return "it does not follow one exponential";
	return fit_p->constant > span ? "the course is shorter than the time constant" : NULL;
}
