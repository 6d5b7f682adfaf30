/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_path/route.h"
#include "bench/pattern.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

const char *const route_directions[] = {"up", "down", "local", "peer", NULL};

int route_admit(const struct bench_case *c, enum direction direction, uint64_t size)
{
	if (direction == PEER && c->devices->count < 2)
		return err_note(-ENODEV,
				"a peer copy needs two devices, such as --device host:0,1");
	if (size > dev_props(c->dev)->memory_bytes / 4)
		return err_note(-ENOMEM,
				"four buffers of this size exceed the device's free memory");
	return 0;
}

static void choose_ends(struct route *r, struct bench_case *c, enum direction direction)
{
	struct end here = {.dev = c->dev, .kind = DEV_MEM_DEVICE};
	struct end host = {.dev = c->dev, .kind = DEV_MEM_PINNED};
	struct end paged = {.dev = c->dev, .kind = DEV_MEM_PAGEABLE};
	struct end there = {.dev = c->devices->dev[direction == PEER], .kind = DEV_MEM_DEVICE};
	const struct end ends[][2] = {[UP] = {host, here},
				      [DOWN] = {here, host},
				      [LOCAL] = {here, here},
				      [PEER] = {here, there}};
	r->from = r->back_to = ends[direction][0];
	r->to = r->back_from = ends[direction][1];
	r->pageable = (direction == UP || direction == DOWN) && dev_can(c->dev, DEV_CAP_PAGEABLE);
	r->paged_from = direction == UP ? paged : here;
	r->paged_to = direction == UP ? here : paged;
	if (direction == PEER) {
		TRY(c->status, dev_peer_enable(c->dev, there.dev));
		bench_fact_number(c, "peer_index", there.dev->index);
	}
}

static void open_pair(const struct route *r, struct bench_case *c, struct end *from, struct end *to)
{
	from->ptr = pattern_alloc(c, from->dev, from->kind, r->size, r->pattern);
	to->ptr = bench_alloc_on(c, to->dev, to->kind, r->size);
}

/* The buffer on the device is the one that the other copies use. */
static void open_pageable(struct route *r, struct bench_case *c, enum direction direction)
{
	if (direction == UP) {
		r->paged_from.ptr = pattern_alloc(c, c->dev, DEV_MEM_PAGEABLE, r->size, r->pattern);
		r->paged_to.ptr = r->to.ptr;
	} else {
		r->paged_from.ptr = r->from.ptr;
		r->paged_to.ptr = bench_alloc(c, DEV_MEM_PAGEABLE, r->size);
		/* Touched here, so no copy has to allocate pages. */
		if (c->status == 0)
			memset(r->paged_to.ptr, 0, r->size);
	}
}

int route_open_one_way(struct route *r, struct bench_case *c, enum direction direction,
		       uint64_t size)
{
	*r = (struct route){.direction = direction, .size = size};
	choose_ends(r, c, direction);
	r->pattern = pattern_words(c);
	open_pair(r, c, &r->from, &r->to);
	return c->status;
}

int route_open_pinned(struct route *r, struct bench_case *c, enum direction direction,
		      uint64_t size)
{
	route_open_one_way(r, c, direction, size);
	open_pair(r, c, &r->back_from, &r->back_to);
	return c->status;
}

int route_open(struct route *r, struct bench_case *c, enum direction direction, uint64_t size)
{
	route_open_pinned(r, c, direction, size);
	if (r->pageable)
		open_pageable(r, c, direction);
	return c->status;
}
