/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shape of a torus of ranks: one to four dimensions, written "8", "64x64" or "2x4x8".
 *
 * Rank r has the coordinates x0 + side0 * (x1 + side1 * (x2 + ...)): the first dimension runs
 * fastest, as in the torus clusters of SimGrid. A side of 1 exists only in the shape "1".
 */
#ifndef GPUSIG_GRID_H
#define GPUSIG_GRID_H

#include <stdbool.h>
#include <stdint.h>

enum { GRID_DIMS = 4, GRID_TEXT = 48 };

/* More nodes than any machine has; the tables of a schedule still fit into memory. */
#define GRID_MAX_NODES (1u << 24)

struct grid {
	unsigned dims;
	uint32_t side[GRID_DIMS];
	uint32_t stride[GRID_DIMS]; /* rank distance of neighbours along a dimension */
	uint32_t nodes;             /* product of the sides */
};

/* -EINVAL with a text that describes the syntax; -ERANGE above GRID_MAX_NODES. */
int grid_parse(const char *text, struct grid *grid_p);

/* For an axis' `accept`: grid_parse() without a result. */
int grid_accept(const char *text);

/* One dimension of `nodes` ranks. */
struct grid grid_line(uint32_t nodes);

/* Writes what grid_parse() reads. Returns `text`. */
char *grid_show(const struct grid *grid, char text[GRID_TEXT]);

/* The coordinate of a rank along a dimension. */
static inline uint32_t grid_at(const struct grid *grid, uint32_t rank, unsigned dim)
{
	return rank / grid->stride[dim] % grid->side[dim];
}

/* The longest side. */
uint32_t grid_longest(const struct grid *grid);

/* True when every side is a power of `base`. */
bool grid_powers_of(const struct grid *grid, uint32_t base);

#endif
