/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bulk copy as one, or cut into chunks with something between them, and a small copy beside it:
 * in a stream of its own, of the same direction. Both on the first device of the case.
 */
#ifndef GPUSIG_CUT_BULK_H
#define GPUSIG_CUT_BULK_H

#include "micro/copy_path/route.h"
#include "micro/copy_queue/queue_lanes.h"

/* Ways to cut, by what stands between the chunks: nothing, an empty kernel, a wait for a value that
 * is there, the record of an event. */
enum cut { WHOLE, CHUNKS, KERNELS, VALUES, EVENTS, CUTS };

struct cut_bulk {
	struct work_graph *alone, *waited; /* the second with the small copy */
	/* Stamps of `waited`: the end of the bulk's first piece; the small copy is ready; ends. */
	uint32_t first, ready, small_ended, bulk_ended;
};

struct cut_bulks {
	struct route route; /* the bulk, and behind it the small copy */
	uint64_t bulk_bytes, small_bytes;
	struct queue_lanes lanes; /* the small copy's is other[0] */
	uint32_t *reached;
	struct cut_bulk of[CUTS], idle; /* idle: the small copy without a bulk */
};

/* In setup, with the route and both sizes set; the case owns what this opens. */
void cut_bulks_open(struct cut_bulks *all, struct bench_case *c);
/* One way of them: so many chunks of so many bytes. */
void cut_bulks_cut(struct cut_bulks *all, struct bench_case *c, enum cut cut, uint64_t chunks,
		   uint64_t bytes);

/* Runs it with the small copy: the seconds from when that is ready to its end. */
double cut_bulk_wait(const struct cut_bulk *b, struct bench_case *c);
/* Seconds for which the bulk of the latest run went on after the small copy was ready. */
double cut_bulk_left(const struct cut_bulk *b, struct bench_case *c);

#endif
