/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/router.h"

static double draw_factor(struct rng *r)
{
	return ROUTER_LEAST + (ROUTER_MOST - ROUTER_LEAST) * rng_unit(r);
}

void router_draw(struct rng *r, uint32_t experts, double *popular)
{
	for (uint32_t i = 0; i < experts; i++)
		popular[i] = draw_factor(r);
}

void router_divide(struct rng *r, const double *popular, uint32_t experts, uint32_t rows,
		   uint32_t *of_expert)
{
	double sum[ROUTER_EXPERTS], all = 0.0;
	uint32_t given = 0;
	for (uint32_t i = 0; i < experts; i++)
		sum[i] = all += popular[i] * draw_factor(r);
	for (uint32_t i = 0; i < experts; i++) {
		const uint32_t end = i + 1 == experts ? rows : (uint32_t)(sum[i] / all * rows);
		of_expert[i] = end - given;
		given = end;
	}
}
