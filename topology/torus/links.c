/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/links.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COUNTERS (UINT64_C(1) << 28) /* doubles; 2 GiB */

static const struct {
	const char *name;
	uint32_t board; /* nodes of a line that share a board */
} kinds[] = {[LINKS_TORUS] = {"torus", 1},
	     [LINKS_TORUS_SHARED] = {"torus-shared", 1},
	     [LINKS_HX2MESH] = {"hx2mesh", 2},
	     [LINKS_HX4MESH] = {"hx4mesh", 4},
	     [LINKS_HYPERX] = {"hyperx", 1}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* The counters of a line, stored one after the other. `up` and `down` hold differences: the load
 * between x and x + 1 is the sum of up[0..x]. */
struct line {
	double *up, *down;
	double *ports; /* [board][edge][out, in]: HammingMesh */
	double *pairs; /* [from][to]: HyperX */
};

struct links {
	struct network network;
	bool one_line;
	double *counters[GRID_DIMS];
	size_t per_line[GRID_DIMS], lines[GRID_DIMS];
};

int network_parse(const char *text, struct network *network_p)
{
	char names[96] = "";
	const char *colon = strchr(text, ':');
	const size_t length = colon ? (size_t)(colon - text) : 0;
	struct network network = {.kind = LINKS_TORUS};
	bool known = !colon;
	for (unsigned k = 0; k < KINDS; k++) {
		text_fit_more(names, sizeof(names), " %s:", kinds[k].name);
		if (strlen(kinds[k].name) != length || strncmp(kinds[k].name, text, length) != 0)
			continue;
		network.kind = (enum links_kind)k;
		known = true;
	}
	if (!known)
		return err_note(-EINVAL, "unknown network '%.*s:'; networks:%s", (int)length, text,
				names);
	int status = grid_parse(colon ? colon + 1 : text, &network.grid);
	const uint32_t board = kinds[network.kind].board;
	for (unsigned d = 0; status == 0 && d < network.grid.dims; d++)
		if (network.grid.side[d] % board)
			return err_note(-EINVAL,
					"%s: side %u is not a multiple of the board size %u", text,
					network.grid.side[d], board);
	if (status == 0)
		*network_p = network;
	return status;
}

int network_accept(const char *text)
{
	return network_parse(text, &(struct network){.kind = LINKS_TORUS});
}

unsigned network_ports(const struct network *network)
{
	unsigned ports = 0;
	for (unsigned d = 0; d < network->grid.dims; d++) {
		uint32_t others = network->grid.side[d] - 1;
		ports += network->kind == LINKS_HYPERX && others > 2 ? others : 2;
	}
	return ports;
}

static struct line line_at(const struct links *l, unsigned dim, size_t index)
{
	uint32_t side = l->network.grid.side[dim];
	double *first = l->counters[dim] + index * l->per_line[dim];
	if (l->network.kind == LINKS_HYPERX)
		return (struct line){.pairs = first};
	return (struct line){
		.up = first, .down = first + side + 1, .ports = first + 2 * (side + 1)};
}

int links_open(const struct network *network, bool one_line, struct links **l_p)
{
	struct links *l = calloc(1, sizeof(*l));
	uint64_t total = 0;
	if (!l)
		return err_note(-ENOMEM, "counting links: out of memory");
	*l = (struct links){.network = *network, .one_line = one_line};
	for (unsigned d = 0; d < network->grid.dims; d++) {
		size_t side = network->grid.side[d], board = kinds[network->kind].board;
		l->per_line[d] = network->kind == LINKS_HYPERX
					 ? side * side
					 : 2 * (side + 1) + (board > 1 ? side / board * 4 : 0);
		l->lines[d] = one_line ? 1 : network->grid.nodes / side;
		total += (uint64_t)l->per_line[d] * l->lines[d];
	}
	int status = 0;
	if (total > MAX_COUNTERS)
		status = err_note(-ENOTSUP, "%ju links are too many to count", (uintmax_t)total);
	for (unsigned d = 0; d < network->grid.dims && status == 0; d++) {
		l->counters[d] = calloc(l->per_line[d] * l->lines[d], sizeof(double));
		if (!l->counters[d])
			status = err_note(-ENOMEM, "counting links: out of memory");
	}
	if (status)
		links_close(l);
	else
		*l_p = l;
	return status;
}

void links_close(struct links *l)
{
	for (unsigned d = 0; l && d < GRID_DIMS; d++)
		free(l->counters[d]);
	free(l);
}

void links_clear(struct links *l)
{
	for (unsigned d = 0; d < l->network.grid.dims; d++)
		memset(l->counters[d], 0, l->per_line[d] * l->lines[d] * sizeof(double));
}

/* Adds a load to `count` links from `first` on, along a ring. */
static void add_load(double *counters, uint32_t first, uint32_t count, uint32_t side, double load)
{
	uint32_t end = first + count;
	counters[first] += load;
	counters[end < side ? end : side] -= load;
	if (end > side) {
		counters[0] += load;
		counters[end - side] -= load;
	}
}

static uint32_t send_ring(const struct links *l, struct line line, uint32_t side, uint32_t x,
			  uint32_t y, double load)
{
	uint32_t up = y >= x ? y - x : y + side - x, down = side - up;
	const bool tie = up == down, shared = tie && l->network.kind == LINKS_TORUS_SHARED;
	if (shared)
		load *= 0.5;
	if (up < down || (tie && (shared || x < y)))
		add_load(line.up, x, up, side, load);
	if (down < up || (tie && (shared || y < x)))
		add_load(line.down, y, down, side, load);
	return up < down ? up : down;
}

/* Between boards a message leaves at the edge nearer to its source and enters at the edge nearer to
 * its target. */
static uint32_t send_boards(struct line line, uint32_t board, uint32_t side, uint32_t x, uint32_t y,
			    double load)
{
	if (x / board == y / board) {
		const uint32_t hops = x < y ? y - x : x - y;
		add_load(x < y ? line.up : line.down, x < y ? x : y, hops, side, load);
		return hops;
	}
	const uint32_t out = x % board, in = y % board, edge = board - 1;
	const bool out_high = out > edge - out, in_high = in > edge - in;
	const uint32_t out_links = out_high ? edge - out : out, in_links = in_high ? edge - in : in;
	if (out_links)
		add_load(out_high ? line.up : line.down, out_high ? x : x - out_links, out_links,
			 side, load);
	if (in_links)
		add_load(in_high ? line.down : line.up, in_high ? y : y - in_links, in_links, side,
			 load);
	line.ports[4 * (x / board) + 2 * out_high] += load;
	line.ports[4 * (y / board) + 2 * in_high + 1] += load;
	return out_links + 2 + in_links;
}

static size_t line_of(const struct links *l, uint32_t node, unsigned dim)
{
	uint32_t stride = l->network.grid.stride[dim], side = l->network.grid.side[dim];
	return l->one_line ? 0 : node % stride + (size_t)(node / stride / side) * stride;
}

uint32_t links_send(struct links *l, uint32_t from, uint32_t to, double load)
{
	const struct grid *grid = &l->network.grid;
	uint32_t hops = 0;
	for (unsigned d = 0; d < grid->dims; d++) {
		uint32_t x = grid_at(grid, from, d), y = grid_at(grid, to, d), side = grid->side[d];
		if (x == y)
			continue;
		struct line line = line_at(l, d, line_of(l, from, d));
		if (l->network.kind == LINKS_HYPERX) {
			line.pairs[(size_t)x * side + y] += load;
			hops++;
		} else if (kinds[l->network.kind].board > 1) {
			hops += send_boards(line, kinds[l->network.kind].board, side, x, y, load);
		} else {
			hops += send_ring(l, line, side, x, y, load);
		}
		from += (y - x) * grid->stride[d];
	}
	return hops;
}

static double worst_of_line(const struct links *l, struct line line, unsigned dim)
{
	uint32_t side = l->network.grid.side[dim], board = kinds[l->network.kind].board;
	double worst = 0, up = 0, down = 0;
	for (size_t i = 0; line.pairs && i < (size_t)side * side; i++)
		worst = fmax(worst, line.pairs[i]);
	for (uint32_t x = 0; line.up && x < side; x++) {
		up += line.up[x];
		down += line.down[x];
		worst = fmax(worst, fmax(up, down));
	}
	for (uint32_t i = 0; line.ports && board > 1 && i < side / board * 4; i++)
		worst = fmax(worst, line.ports[i]);
	return worst;
}

double links_worst(struct links *l)
{
	double worst = 0;
	for (unsigned d = 0; d < l->network.grid.dims; d++)
		for (size_t k = 0; k < l->lines[d]; k++)
			worst = fmax(worst, worst_of_line(l, line_at(l, d, k), d));
	return worst;
}
