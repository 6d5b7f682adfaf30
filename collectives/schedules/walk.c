/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which blocks leave position 0 at which step, found from the last step backwards: a block belongs to the last step
 * at which a partner owns it or can pass it on.
 */
#include "collectives/schedules/plan.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static uint32_t moved(enum motion motion, uint32_t x, uint32_t side, uint32_t offset)
{
	if (motion == MOTION_XOR)
		return x ^ offset;
	if (motion == MOTION_SWING && x % 2)
		offset = side - offset;
	return x + offset < side ? x + offset : x + offset - side;
}

uint32_t motion_along(const struct grid *space, enum motion motion, uint32_t from, unsigned dim, uint32_t offset)
{
	uint32_t x = grid_at(space, from, dim);
	return from + (moved(motion, x, space->side[dim], offset) - x) * space->stride[dim];
}

/* Exclusive or undoes itself, and so does a swing, whose offsets are odd: it leads from even to odd. */
uint32_t motion_back(const struct grid *space, enum motion motion, uint32_t from, unsigned dim, uint32_t offset)
{
	return motion_along(space, motion, from, dim, motion == MOTION_SHIFT ? space->side[dim] - offset : offset);
}

uint32_t motion_act(const struct grid *space, enum motion motion, uint32_t from, uint32_t offset)
{
	for (unsigned d = 0; d < space->dims; d++)
		from = motion_along(space, motion, from, d, grid_at(space, offset, d));
	return from;
}

/* While a walk is filled: order[0..reached) can be reached by the steps from here on. */
struct frontier {
	struct walk *w;
	const struct grid *space;
	enum motion motion;
	unsigned char *seen; /* 0, REACHED, or the ports of this stage that lead there */
	uint32_t reached;
};

#define REACHED 0x80

static uint32_t image(const struct frontier *f, const struct stage *s, unsigned port, uint32_t times, uint32_t k)
{
	uint32_t offset = (uint32_t)((uint64_t)s->offset[port] * times % f->space->side[s->dim]);
	return motion_act(f->space, f->motion, offset * f->space->stride[s->dim], f->w->order[k]);
}

/* One port, perhaps many times. */
static void extend(struct frontier *f, struct stage *s)
{
	uint32_t size = f->reached;
	for (uint32_t times = 1; times <= s->repeat; times++) {
		uint32_t before = f->reached;
		for (uint32_t k = 0; k < size; k++) {
			uint32_t block = image(f, s, 0, times, k);
			if (f->seen[block])
				continue;
			f->seen[block] = REACHED;
			f->w->order[f->reached++] = block;
		}
		s->count[0] = f->reached - before;
		assert(times == 1 || s->count[0] == size);
	}
	s->first[0] = size;
}

/* Append the blocks of the first `size` that `port` alone leads to and `shared` of those that both do. */
static void take(struct frontier *f, struct stage *s, unsigned port, uint32_t size, uint32_t shared)
{
	s->first[port] = f->reached;
	for (uint32_t k = 0; k < size; k++) {
		uint32_t block = image(f, s, port, 1, k);
		if (f->seen[block] == REACHED || (f->seen[block] == 3 && shared == 0))
			continue;
		shared -= f->seen[block] == 3;
		f->seen[block] = REACHED;
		f->w->order[f->reached++] = block;
	}
	s->count[port] = f->reached - s->first[port];
}

/* Two ports at once: what both lead to goes to the one that has less. */
static void extend_both(struct frontier *f, struct stage *s)
{
	uint32_t size = f->reached, marked[4] = {0};
	for (unsigned port = 0; port < 2; port++)
		for (uint32_t k = 0; k < size; k++) {
			uint32_t block = image(f, s, port, 1, k);
			if (f->seen[block] == REACHED)
				continue;
			marked[f->seen[block]]--;
			f->seen[block] |= (unsigned char)(1u << port);
			marked[f->seen[block]]++;
		}
	uint32_t half = (marked[1] + marked[2] + marked[3] + 1) / 2;
	uint32_t shared = half <= marked[1] ? 0 : half - marked[1] < marked[3] ? half - marked[1] : marked[3];
	take(f, s, 0, size, shared);
	take(f, s, 1, size, UINT32_MAX);
}

static bool perfect(const struct walk *w, uint32_t nodes)
{
	uint64_t product = 1;
	for (unsigned k = 0; k < w->count && product <= nodes; k++)
		product *= 1 + (uint64_t)w->stages[k].fan * w->stages[k].repeat;
	return product == nodes;
}

static int number(struct walk *w, uint32_t nodes)
{
	if (!perfect(w, nodes))
		return err_note(-ENOTSUP, "its blocks can't be renumbered so that every message is one range");
	w->slot = malloc(nodes * sizeof(*w->slot));
	if (!w->slot)
		return err_note(-ENOMEM, "a schedule of %u nodes: out of memory", nodes);
	for (uint32_t k = 0; k < nodes; k++)
		w->slot[w->order[k]] = k;
	return 0;
}

int walk_fill(struct walk *w, const struct grid *space, enum motion motion, bool renamed)
{
	struct frontier f = {.w = w, .space = space, .motion = motion, .reached = 1};
	f.seen = calloc(space->nodes, 1);
	w->order = malloc(space->nodes * sizeof(*w->order));
	int status = f.seen && w->order ? 0 : err_note(-ENOMEM, "a schedule of %u nodes: out of memory", space->nodes);
	if (status == 0) {
		f.seen[0] = REACHED;
		w->order[0] = 0;
		for (unsigned k = w->count; k-- > 0;)
			(w->stages[k].fan == 2 ? extend_both : extend)(&f, &w->stages[k]);
		if (f.reached != space->nodes)
			status = err_note(-ENOTSUP, "its steps reach %u of %u nodes", f.reached, space->nodes);
	}
	free(f.seen);
	if (status == 0 && renamed)
		status = number(w, space->nodes);
	if (status)
		walk_free(w);
	return status;
}

void walk_free(struct walk *w)
{
	free(w->order);
	free(w->slot);
	w->order = w->slot = NULL;
}
