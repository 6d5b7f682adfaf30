/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The router of a mixture of experts, as numbers: how many rows (tokens) each expert gets. Experts
 * differ in popularity, and each source of rows deviates from it, both by a seeded factor of
 * ROUTER_LEAST to ROUTER_MOST: of one source, the most popular expert gets at most nine times as
 * much as the least popular one.
 */
#ifndef GPUSIG_ROUTER_H
#define GPUSIG_ROUTER_H

#include "lib/rng.h"

#define ROUTER_LEAST 0.5
#define ROUTER_MOST 1.5
#define ROUTER_EXPERTS 64u /* at most */

/* Draws a popularity for each expert. */
void router_draw(struct rng *r, uint32_t experts, double *popular);

/* Divides the rows of a source among the experts: whole rows, with no remainder. */
void router_divide(struct rng *r, const double *popular, uint32_t experts, uint32_t rows,
		   uint32_t *of_expert);

#endif
