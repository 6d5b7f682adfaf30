/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps ranks to the positions of a chunk routing and back: folded in pairs, on Hamiltonian cycles
 * of a torus or of a full mesh, mirrored, or unchanged.
 */
#include "collectives/schedules/schedule_internals.h"

static bool is_part_mirrored(const struct schedule *s, unsigned part)
{
	return part >= s->rotations;
}

static uint32_t mirror_position(const struct grid *space, uint32_t position)
{
	uint32_t result = 0;
	for (unsigned d = 0; d < space->dims; d++)
		result += (space->side[d] - grid_at(space, position, d)) % space->side[d] *
			  space->stride[d];
	return result;
}

static uint32_t gcd(uint32_t a, uint32_t b) { return b ? gcd(b, a % b) : a; }

struct cycles cycles_of_torus(const struct grid *grid)
{
	for (unsigned d = 0; d < 2 && grid->dims == 2; d++) {
		uint32_t rows = grid->side[d], columns = grid->side[1 - d], inverse = 1;
		if (rows % columns || gcd(rows, columns - 1) != 1)
			continue;
		while ((uint64_t)inverse * (columns - 1) % rows != 1 % rows)
			inverse++;
		return (struct cycles){.count = 2, .row_dim = d, .inverse = inverse};
	}
	return (struct cycles){0};
}

/* Cycle 0 visits all columns of a row, then the next row. Cycle 1 uses the remaining edges: down
 * `columns` rows of a column, then the next column. (Lee-distance Gray codes of a torus.) */
static uint32_t torus_position(const struct schedule *s, unsigned cycle, uint32_t rank)
{
	const struct cycles *c = &s->cycles;
	uint32_t rows = s->grid.side[c->row_dim], columns = s->grid.side[1 - c->row_dim];
	uint32_t row = grid_at(&s->grid, rank, c->row_dim),
		 column = grid_at(&s->grid, rank, 1 - c->row_dim);
	uint32_t within = (row + column) % columns;
	if (cycle == 0)
		return row * columns + within;
	uint32_t visit = (uint32_t)((uint64_t)(row + rows - within) * c->inverse % rows);
	return visit * columns + within;
}

static uint32_t torus_rank(const struct schedule *s, unsigned cycle, uint32_t position)
{
	const struct cycles *c = &s->cycles;
	uint32_t rows = s->grid.side[c->row_dim], columns = s->grid.side[1 - c->row_dim];
	uint32_t visit = position / columns, within = position % columns;
	uint32_t row = visit, column = (within + columns - visit % columns) % columns;
	if (cycle == 1) {
		row = (uint32_t)(((uint64_t)visit * (columns - 1) + within) % rows);
		column = visit % columns;
	}
	return row * s->grid.stride[c->row_dim] + column * s->grid.stride[1 - c->row_dim];
}

struct cycles cycles_of_mesh(const struct grid *grid)
{
	return (struct cycles){.count = grid->nodes < 4 ? 1 : (grid->nodes - 1) / 2,
			       .of_mesh = true};
}

/* Walecki's cycles of a full mesh (Alspach, "The wonderful Walecki construction", 2008). Of an odd
 * number of ranks all but the last are on a circle of 2n. Cycle 0 begins at the last rank and
 * visits the circle in a zigzag, 0 1 -1 2 -2 ..., to its opposite, n; the others are this one
 * turned by 1 to n - 1, and every link belongs to one of them. Of an even number one more rank is
 * put into the middle of each zigzag, whose n links are disjoint: these, and the one between the
 * two ranks outside the circle, are the links that no cycle uses. */
static uint32_t mesh_rank(const struct schedule *s, unsigned cycle, uint32_t position)
{
	uint32_t nodes = s->grid.nodes, even = nodes % 2 == 0, circle = nodes - 1 - even,
		 half = circle / 2;
	if (position == 0)
		return circle;
	if (even && position == half + 1)
		return circle + 1;
	uint32_t k = position - 1 - (even && position > half);
	return ((k % 2 ? (k + 1) / 2 : circle - k / 2) + cycle) % circle;
}

static uint32_t mesh_position(const struct schedule *s, unsigned cycle, uint32_t rank)
{
	uint32_t nodes = s->grid.nodes, even = nodes % 2 == 0, circle = nodes - 1 - even,
		 half = circle / 2;
	if (rank >= circle)
		return rank == circle ? 0 : half + 1;
	uint32_t turned = (rank + circle - cycle) % circle;
	uint32_t k = turned == 0 ? 0 : turned <= half ? 2 * turned - 1 : 2 * (circle - turned);
	return k + 1 + (even && k >= half);
}

uint32_t rank_to_position(const struct schedule *s, unsigned part, uint32_t rank)
{
	uint32_t position = rank;
	if (s->cycles.count)
		position = (s->cycles.of_mesh ? mesh_position
					      : torus_position)(s, part % s->rotations, rank);
	else if (rank < 2 * s->folded)
		position = rank % 2 ? NO_POSITION : rank / 2;
	else
		position = rank - s->folded;
	if (position == NO_POSITION || position >= s->space.nodes)
		return NO_POSITION;
	return is_part_mirrored(s, part) ? mirror_position(&s->space, position) : position;
}

uint32_t position_to_rank(const struct schedule *s, unsigned part, uint32_t position)
{
	if (is_part_mirrored(s, part))
		position = mirror_position(&s->space, position);
	if (s->cycles.count)
		return (s->cycles.of_mesh ? mesh_rank : torus_rank)(s, part % s->rotations,
								    position);
	return position < s->folded ? 2 * position : position + s->folded;
}
