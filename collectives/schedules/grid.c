/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/grid.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int note_bad_shape(const char *text)
{
	return err_note(
		-EINVAL,
		"unknown shape '%s'; shapes: 1 to %d sides of 2 or more, such as 8, 64x64, 2x4x8",
		text, GRID_DIMS);
}

int grid_parse(const char *text, struct grid *grid_p)
{
	struct grid grid = {.nodes = 1};
	const char *word = text;
	for (;;) {
		char side[16];
		uint64_t value;
		size_t length = strcspn(word, "x");
		if (grid.dims == GRID_DIMS || length == 0 || length >= sizeof(side))
			return note_bad_shape(text);
		snprintf(side, sizeof(side), "%.*s", (int)length, word);
		if (units_parse_integer(side, 1, UINT32_MAX, &value) ||
		    (value == 1 && strcmp(text, "1") != 0))
			return note_bad_shape(text);
		if (value > GRID_MAX_NODES / grid.nodes)
			return err_note(-ERANGE, "shape %s has more than %u nodes", text,
					GRID_MAX_NODES);
		grid.stride[grid.dims] = grid.nodes;
		grid.side[grid.dims++] = (uint32_t)value;
		grid.nodes *= (uint32_t)value;
		if (word[length] == '\0')
			break;
		word += length + 1;
	}
	*grid_p = grid;
	return 0;
}

int grid_accept(const char *text) { return grid_parse(text, &(struct grid){0}); }

struct grid grid_line(uint32_t nodes)
{
	return (struct grid){.dims = 1, .side = {nodes}, .stride = {1}, .nodes = nodes};
}

char *grid_show(const struct grid *grid, char text[GRID_TEXT])
{
	size_t used = 0;
	for (unsigned d = 0; d < grid->dims; d++)
		used += (size_t)snprintf(text + used, GRID_TEXT - used, "%s%u", d ? "x" : "",
					 grid->side[d]);
	return text;
}

uint32_t grid_longest(const struct grid *grid)
{
	uint32_t longest = 1;
	for (unsigned d = 0; d < grid->dims; d++)
		longest = grid->side[d] > longest ? grid->side[d] : longest;
	return longest;
}

bool grid_powers_of(const struct grid *grid, uint32_t base)
{
	for (unsigned d = 0; d < grid->dims; d++) {
		uint32_t side = grid->side[d];
		while (side % base == 0)
			side /= base;
		if (side != 1)
			return false;
	}
	return true;
}
