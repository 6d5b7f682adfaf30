/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_model.h"

#include <math.h>

static double value_between(double x, const double at[2], const double y[2])
{
	return y[0] + (x - at[0]) / (at[1] - at[0]) * (y[1] - y[0]);
}

/* Beyond the last point its loss holds. Below the first one the loss fades towards no traffic. */
static double loss_at_traffic(const struct advise_loss *l, const double *loss, double traffic)
{
	const double origin[2] = {0, l->traffic[0]}, faded[2] = {1, loss[0]};
	if (traffic < l->traffic[0])
		return fmax(1, value_between(traffic, origin, faded));
	if (l->points < 2 || traffic >= l->traffic[1])
		return fmax(1, loss[l->points - 1]);
	return fmax(1, value_between(traffic, l->traffic, loss));
}

static struct concurrent_loss losses_at_traffic(const struct advise_loss *l, double traffic)
{
	return (struct concurrent_loss){loss_at_traffic(l, l->gemm, traffic),
					loss_at_traffic(l, l->copy, traffic)};
}

struct concurrent_loss contention_loss(const struct advise_contention *c, double blocks,
				       double traffic)
{
	unsigned last = c->counts - 1, i = 1;
	if (c->counts == 0)
		return (struct concurrent_loss){1, 1};
	if (blocks <= c->blocks[0] || blocks >= c->blocks[last])
		return losses_at_traffic(&c->loss[blocks <= c->blocks[0] ? 0 : last], traffic);
	while (blocks > c->blocks[i])
		i++;
	struct concurrent_loss low = losses_at_traffic(&c->loss[i - 1], traffic),
			       high = losses_at_traffic(&c->loss[i], traffic);
	double share = log(blocks / c->blocks[i - 1]) / log(c->blocks[i] / c->blocks[i - 1]);
	return (struct concurrent_loss){low.gemm * pow(high.gemm / low.gemm, share),
					low.copy * pow(high.copy / low.copy, share)};
}
