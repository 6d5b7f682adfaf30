/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps ranks to the positions of a chunk routing and back: folded in pairs, on Hamiltonian cycles,
 * mirrored, or unchanged.
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

struct cycles cycles_find(const struct grid *grid)
{
	for (unsigned d = 0; d < 2 && grid->dims == 2; d++) {
		uint32_t rows = grid->side[d], columns = grid->side[1 - d], inverse = 1;
		if (rows % columns || gcd(rows, columns - 1) != 1)
			continue;
		while ((uint64_t)inverse * (columns - 1) % rows != 1 % rows)
			inverse++;
		return (struct cycles){.exist = true, .row_dim = d, .inverse = inverse};
	}
	return (struct cycles){.exist = false};
}

/* Cycle 0 visits all columns of a row, then the next row. Cycle 1 uses the remaining edges: down
 * `columns` rows of a column, then the next column. (Lee-distance Gray codes of a torus.) */
static uint32_t cycle_position(const struct schedule *s, unsigned cycle, uint32_t rank)
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

static uint32_t cycle_rank(const struct schedule *s, unsigned cycle, uint32_t position)
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

uint32_t rank_to_position(const struct schedule *s, unsigned part, uint32_t rank)
{
	uint32_t position = rank;
	if (s->cycles.exist)
		position = cycle_position(s, part % s->rotations, rank);
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
	if (s->cycles.exist)
		return cycle_rank(s, part % s->rotations, position);
	return position < s->folded ? 2 * position : position + s->folded;
}
