/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_model.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

double upper_quantile(double *values, unsigned count, double share)
{
	unsigned at = (unsigned)(share * count);
	qsort(values, count, sizeof(values[0]), compare_doubles);
	return values[at < count ? at : count - 1];
}

int curve_add(struct advise_curve *c, double x, double y)
{
	if (!(x > 0) || !(y > 0) || !isfinite(x) || !isfinite(y))
		return err_note(-EINVAL, "a point of a curve must be positive and finite: (%g, %g)",
				x, y);
	if (c->points > 0 && x <= c->x[c->points - 1])
		return err_note(-EINVAL, "points of a curve must ascend: %g follows %g", x,
				c->x[c->points - 1]);
	if (c->points == ADVISE_POINTS)
		return err_note(-ENOSPC, "a curve holds at most %d points", ADVISE_POINTS);
	c->x[c->points] = x;
	c->y[c->points] = y;
	c->log_x[c->points] = log(x);
	c->log_y[c->points++] = log(y);
	return 0;
}

double curve_at(const struct advise_curve *c, double x, bool grows, bool *outside_p)
{
	unsigned last = c->points - 1, i = 1;
	if (x < c->x[0] || x > c->x[last])
		*outside_p = true;
	if (x <= c->x[0])
		return c->y[0];
	if (x >= c->x[last])
		return grows ? c->y[last] * x / c->x[last] : c->y[last];
	while (x > c->x[i])
		i++;
	if (grows)
		return c->y[i - 1] +
		       (x - c->x[i - 1]) * (c->y[i] - c->y[i - 1]) / (c->x[i] - c->x[i - 1]);
	double share = (log(x) - c->log_x[i - 1]) / (c->log_x[i] - c->log_x[i - 1]);
	return exp(c->log_y[i - 1] + share * (c->log_y[i] - c->log_y[i - 1]));
}
