/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_path/route.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

const char *const route_directions[] = {"up", "down", "local", "peer", NULL};

int route_admit(const struct bench_case *c, enum direction direction, uint64_t size)
{
	if (direction == PEER && c->devices->count < 2)
		return err_note(-ENODEV, "a peer copy needs two devices, such as --device host:0,1");
	if (size > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM, "four buffers of this size exceed the device's free memory");
	return 0;
}

static void choose_ends(struct route *r, struct bench_case *c, enum direction direction)
{
	struct end here = {.dev = c->dev, .kind = DEV_MEM_DEVICE};
	struct end host = {.dev = c->dev, .kind = DEV_MEM_PINNED};
	struct end paged = {.dev = c->dev, .kind = DEV_MEM_PAGEABLE};
	struct end there = {.dev = c->devices->dev[c->devices->count - 1], .kind = DEV_MEM_DEVICE};
	const struct end of[][2] = {[UP] = {host, here}, [DOWN] = {here, host}, [LOCAL] = {here, here}, [PEER] = {here, there}};
	r->from = r->back_to = of[direction][0];
	r->to = r->back_from = of[direction][1];
	r->pageable = (direction == UP || direction == DOWN) && dev_can(c->dev, DEV_CAP_PAGEABLE);
	r->paged_from = direction == UP ? paged : here;
	r->paged_to = direction == UP ? here : paged;
	if (direction == PEER)
		own_result(c, dev_peer_enable(c->dev, there.dev));
}

static void open_pair(const struct route *r, struct bench_case *c, struct end *from, struct end *to)
{
	from->ptr = tile_memory(c, from->dev, from->kind, r->size, r->tile);
	to->ptr = own_memory_on(c, to->dev, to->kind, r->size);
}

/* The device's side is the one that the other copies have. */
static void open_pageable(struct route *r, struct bench_case *c, enum direction direction)
{
	if (direction == UP) {
		r->paged_from.ptr = tile_memory(c, c->dev, DEV_MEM_PAGEABLE, r->size, r->tile);
		r->paged_to.ptr = r->to.ptr;
	} else {
		r->paged_from.ptr = r->from.ptr;
		r->paged_to.ptr = own_memory(c, DEV_MEM_PAGEABLE, r->size);
		/* Touched, so that no copy has to find pages first. */
		if (own_status(c) == 0)
			memset(r->paged_to.ptr, 0, r->size);
	}
}

int route_open(struct route *r, struct bench_case *c, enum direction direction, uint64_t size)
{
	*r = (struct route){.size = size};
	choose_ends(r, c, direction);
	r->tile = tile_words(c);
	open_pair(r, c, &r->from, &r->to);
	open_pair(r, c, &r->back_from, &r->back_to);
	if (r->pageable)
		open_pageable(r, c, direction);
	return own_status(c);
}

/* Pageable memory is for copies alone, and the host's to write. */
int route_spoil(const struct route *r, struct bench_case *c, const struct end *target)
{
	if (target->kind != DEV_MEM_PAGEABLE)
		return dev_fill(c->dev, c->stream, target->ptr, 0xa5, r->size);
	memset(target->ptr, 0xa5, r->size);
	return 0;
}

int route_check(const struct route *r, const struct end *target)
{
	return tile_check(target->dev, target->ptr, r->size, r->tile, 0.0f);
}
