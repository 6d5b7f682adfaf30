/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds which chunks leave position 0 at which step. It goes from the last step backwards: a chunk
 * leaves at the last step whose partner owns it or can still pass it on.
 */
#include "collectives/schedules/schedule_internals.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static uint32_t shift_coordinate(enum motion motion, uint32_t x, uint32_t side, uint32_t offset)
{
	if (motion == MOTION_XOR)
		return x ^ offset;
	if (motion == MOTION_SWING && x % 2)
		offset = side - offset;
	return x + offset < side ? x + offset : x + offset - side;
}

uint32_t motion_along(const struct grid *space, enum motion motion, uint32_t from, unsigned dim,
		      uint32_t offset)
{
	uint32_t x = grid_at(space, from, dim);
	return from +
	       (shift_coordinate(motion, x, space->side[dim], offset) - x) * space->stride[dim];
}

/* XOR is its own inverse. So is a swing: its offsets are odd, so it moves an even coordinate to an
 * odd one, which swings the other way. */
uint32_t motion_back(const struct grid *space, enum motion motion, uint32_t from, unsigned dim,
		     uint32_t offset)
{
	return motion_along(space, motion, from, dim,
			    motion == MOTION_SHIFT ? space->side[dim] - offset : offset);
}

uint32_t motion_act(const struct grid *space, enum motion motion, uint32_t from, uint32_t offset)
{
	for (unsigned d = 0; d < space->dims; d++)
		from = motion_along(space, motion, from, d, grid_at(space, offset, d));
	return from;
}

/* The state while a routing is built: the steps from here on reach order[0..reached). */
struct frontier {
	struct chunk_routing *routing;
	const struct grid *space;
	enum motion motion;
	unsigned char *seen; /* per chunk: 0, REACHED, or the ports of this stage that reach it */
	uint32_t reached;
};

#define REACHED 0x80

static uint32_t translate_chunk(const struct frontier *f, const struct stage *s, unsigned port,
				uint32_t times, uint32_t k)
{
	uint32_t offset =
		(uint32_t)((uint64_t)s->port[port].offset * times % f->space->side[s->dim]);
	return motion_act(f->space, f->motion, offset * f->space->stride[s->dim],
			  f->routing->order[k]);
}

/* A stage with one port and any number of repeats. */
static void extend_one_port(struct frontier *f, struct stage *s)
{
	uint32_t size = f->reached;
	for (uint32_t times = 1; times <= s->repeat; times++) {
		uint32_t before = f->reached;
		for (uint32_t k = 0; k < size; k++) {
			uint32_t chunk = translate_chunk(f, s, 0, times, k);
			if (f->seen[chunk])
				continue;
			f->seen[chunk] = REACHED;
			f->routing->order[f->reached++] = chunk;
		}
		s->port[0].count = f->reached - before;
		assert(times == 1 || s->port[0].count == size);
	}
	s->port[0].first = size;
}

/* Appends the chunks that only `port` reaches from the first `size`, and up to `shared` of those
 * that both ports reach. */
static void assign_chunks_to_port(struct frontier *f, struct stage *s, unsigned port, uint32_t size,
				  uint32_t shared)
{
	s->port[port].first = f->reached;
	for (uint32_t k = 0; k < size; k++) {
		uint32_t chunk = translate_chunk(f, s, port, 1, k);
		if (f->seen[chunk] == REACHED || (f->seen[chunk] == 3 && shared == 0))
			continue;
		shared -= f->seen[chunk] == 3;
		f->seen[chunk] = REACHED;
		f->routing->order[f->reached++] = chunk;
	}
	s->port[port].count = f->reached - s->port[port].first;
}

/* A stage with two ports. Chunks that both reach go to the port that has fewer. */
static void extend_two_ports(struct frontier *f, struct stage *s)
{
	uint32_t size = f->reached, marked[4] = {0};
	for (unsigned port = 0; port < 2; port++)
		for (uint32_t k = 0; k < size; k++) {
			uint32_t chunk = translate_chunk(f, s, port, 1, k);
			if (f->seen[chunk] == REACHED)
				continue;
			marked[f->seen[chunk]]--;
			f->seen[chunk] |= (unsigned char)(1u << port);
			marked[f->seen[chunk]]++;
		}
	const uint32_t half = (marked[1] + marked[2] + marked[3] + 1) / 2,
		       lacking = half > marked[1] ? half - marked[1] : 0,
		       shared = lacking < marked[3] ? lacking : marked[3];
	assign_chunks_to_port(f, s, 0, size, shared);
	assign_chunks_to_port(f, s, 1, size, UINT32_MAX);
}

/* Every chunk straight to its owner, so nothing was reached before. */
static void extend_all_pairs(struct frontier *f, struct stage *s)
{
	assert(f->reached == 1 && s->fan + 1 == f->space->nodes);
	for (; f->reached <= s->fan; f->reached++)
		f->routing->order[f->reached] = f->reached;
}

static void extend_frontier(struct frontier *f, struct stage *s)
{
	(s->fan > STAGE_PORTS ? extend_all_pairs
	 : s->fan == 2        ? extend_two_ports
			      : extend_one_port)(f, s);
}

/* Every chunk must be covered once. */
static int number_chunks(struct chunk_routing *routing, uint32_t nodes)
{
	uint64_t reachable = 1;
	for (unsigned k = 0; k < routing->count && reachable <= nodes; k++)
		reachable *= 1 + (uint64_t)routing->stages[k].fan * routing->stages[k].repeat;
	if (reachable != nodes)
		return err_note(-ENOTSUP,
				"chunks cannot be renumbered such that every message is one range");
	routing->slot = malloc(nodes * sizeof(*routing->slot));
	if (!routing->slot)
		return err_note(-ENOMEM, "a schedule of %u nodes: out of memory", nodes);
	for (uint32_t k = 0; k < nodes; k++)
		routing->slot[routing->order[k]] = k;
	return 0;
}

int chunk_routing_build(struct chunk_routing *routing, const struct grid *space, enum motion motion,
			bool renamed)
{
	struct frontier f = {.routing = routing, .space = space, .motion = motion, .reached = 1};
	int status = 0;
	f.seen = calloc(space->nodes, 1);
	routing->order = malloc(space->nodes * sizeof(*routing->order));
	if (!f.seen || !routing->order) {
		status = err_note(-ENOMEM, "a schedule of %u nodes: out of memory", space->nodes);
	} else {
		f.seen[0] = REACHED;
		routing->order[0] = 0;
		for (unsigned k = routing->count; k-- > 0;)
			extend_frontier(&f, &routing->stages[k]);
		if (f.reached != space->nodes)
			status = err_note(-ENOTSUP, "the steps reach %u of %u nodes", f.reached,
					  space->nodes);
	}
	free(f.seen);
	if (renamed)
		TRY(status, number_chunks(routing, space->nodes));
	if (status)
		chunk_routing_free(routing);
	return status;
}

void chunk_routing_free(struct chunk_routing *routing)
{
	free(routing->order);
	free(routing->slot);
	routing->order = routing->slot = NULL;
}
