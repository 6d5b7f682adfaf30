/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks and their positions in the walks: mirrored, on Hamiltonian cycles, folded in pairs, or as they are.
 */
#include "collectives/schedules/plan.h"

static bool mirrored(const struct schedule *s, unsigned part) { return part >= s->turns; }

static uint32_t negated(const struct grid *space, uint32_t position)
{
	uint32_t result = 0;
	for (unsigned d = 0; d < space->dims; d++)
		result += (space->side[d] - grid_at(space, position, d)) % space->side[d] * space->stride[d];
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

/* Cycle 0 goes through all columns of a row, then down one row. Cycle 1 takes the edges that are left: down
 * `columns` rows of a column, then one column on. (Lee-distance Gray codes of a torus.) */
static uint32_t cycle_position(const struct schedule *s, unsigned cycle, uint32_t rank)
{
	const struct cycles *c = &s->cycles;
	uint32_t rows = s->grid.side[c->row_dim], columns = s->grid.side[1 - c->row_dim];
	uint32_t row = grid_at(&s->grid, rank, c->row_dim), column = grid_at(&s->grid, rank, 1 - c->row_dim);
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

uint32_t place_of(const struct schedule *s, unsigned part, uint32_t rank)
{
	uint32_t position = rank;
	if (s->cycles.exist)
		position = cycle_position(s, part % s->turns, rank);
	else if (rank < 2 * s->folded)
		position = rank % 2 ? NOWHERE : rank / 2;
	else
		position = rank - s->folded;
	if (position == NOWHERE || position >= s->space.nodes)
		return NOWHERE;
	return mirrored(s, part) ? negated(&s->space, position) : position;
}

uint32_t rank_at(const struct schedule *s, unsigned part, uint32_t position)
{
	if (mirrored(s, part))
		position = negated(&s->space, position);
	if (s->cycles.exist)
		return cycle_rank(s, part % s->turns, position);
	return position < s->folded ? 2 * position : position + s->folded;
}
