/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A route: the source and the target of a copy, of the copy in the opposite direction, and of the
 * copy with pageable memory. All sources hold one repeating pattern, so every target can be
 * checked. micro/copy_command takes routes, too.
 */
#ifndef GPUSIG_ROUTE_H
#define GPUSIG_ROUTE_H

#include "bench/bench.h"

enum direction { UP, DOWN, LOCAL, PEER };

/* Words of the direction axis, in the order of the enum; NULL-terminated. */
extern const char *const route_directions[];
/* That axis; the arguments are its default lists. */
#define ROUTE_DIRECTIONS(...)                                                                      \
	{                                                                                          \
		.name = "direction",                                                               \
		.help = "up is H2D, down D2H, local D2D; peer: between devices",                   \
		.kind = AXIS_WORD, .words = route_directions, .peers = "peer", __VA_ARGS__         \
	}

/* The source or the target of a copy. */
struct end {
	struct dev *dev;
	enum dev_mem kind;
	char *ptr;
};

struct route {
	enum direction direction;
	uint64_t size;
	struct end from, to;           /* of the copy measured */
	struct end back_from, back_to; /* of the copy in the opposite direction */
	bool pageable; /* up or down, where the device supports copies of ordinary host memory */
	struct end paged_from, paged_to; /* of that copy; the device's side is the one above */
	uint32_t *pattern;
};

/* In admit: 0 if the devices of the case support this direction and its buffers fit, otherwise the
 * reason to skip the case: -ENODEV or -ENOMEM. */
int route_admit(const struct bench_case *c, enum direction direction, uint64_t size);

/* In setup: allocates and fills the buffers; the case owns them (bench/bench_alloc.h). _one_way:
 * those of the copy measured; _pinned: and those of the copy in the opposite direction. */
int route_open_one_way(struct route *r, struct bench_case *c, enum direction direction,
		       uint64_t size);
int route_open_pinned(struct route *r, struct bench_case *c, enum direction direction,
		      uint64_t size);
int route_open(struct route *r, struct bench_case *c, enum direction direction, uint64_t size);

#endif
