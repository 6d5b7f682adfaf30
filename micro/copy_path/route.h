/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A route: where the bytes of a copy are and where they go, and the same for what runs against it or beside it. All that is
 * copied is one repeating tile, so every target can be checked.
 */
#ifndef GPUSIG_COPY_PATH_ROUTE_H
#define GPUSIG_COPY_PATH_ROUTE_H

#include "lib/bench.h"

enum direction { UP, DOWN, LOCAL, PEER };

/* Words of the direction axis, in order. */
extern const char *const route_directions[];

/* Where a copy begins or ends. */
struct end {
	struct dev *dev;
	enum dev_mem kind;
	char *ptr;
};

struct route {
	uint64_t size;
	struct end from, to;           /* of the copy measured */
	struct end back_from, back_to; /* of the copy that runs against it */
	bool pageable;                 /* there is one of ordinary host memory: up or down, where the device can */
	struct end paged_from, paged_to; /* its ends, the device's side as above */
	uint32_t *tile;
};

/* Is this direction possible with the devices of the case, and do its buffers fit? 0, or the reason to skip the case. */
int route_admit(const struct bench_case *c, enum direction direction, uint64_t size);

/* Allocate and fill; the case owns it (lib/bench_own.h). */
int route_open(struct route *r, struct bench_case *c, enum direction direction, uint64_t size);

/* Enqueue on c->stream: a target becomes wrong. */
int route_spoil(const struct route *r, struct bench_case *c, const struct end *target);

/* Does a target hold what was to be copied? 0, -EBADMSG, or an error of the device. */
int route_check(const struct route *r, const struct end *target);

#endif
