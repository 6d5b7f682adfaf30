/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graphs of micro/copy_queue: one for each of its variants, by index.
 */
#ifndef GPUSIG_MEASURES_H
#define GPUSIG_MEASURES_H

#include "micro/copy_queue/late_copy.h"

enum measure {
	ALONE,
	BEHIND,
	REST,
	PRIORITY,
	KERNEL,
	OPPOSITE,
	CHUNKS,
	CHUNKS_PRIORITY,
	CHUNK,
	READY,
	ENQUEUED,
	HIGH_READY,
	HIGH_ENQUEUED,
	SWITCH,
	STAY,
	MEASURES
};

#define BIT(measure) (UINT64_C(1) << (measure))
#define WITH_BULK                                                                                  \
	(BIT(BEHIND) | BIT(REST) | BIT(PRIORITY) | BIT(KERNEL) | BIT(OPPOSITE) | BIT(CHUNKS) |     \
	 BIT(CHUNKS_PRIORITY))
#define OF_HIGH_ORDER (BIT(HIGH_READY) | BIT(HIGH_ENQUEUED))
#define OF_ORDER (BIT(CHUNK) | BIT(READY) | BIT(ENQUEUED) | OF_HIGH_ORDER)
#define OF_LANES (OF_ORDER | BIT(SWITCH) | BIT(STAY))
#define OF_SMALL                                                                                   \
	(BIT(ALONE) | ((WITH_BULK | BIT(SWITCH) | BIT(STAY)) & ~(BIT(REST) | BIT(OPPOSITE))))

struct measures {
	struct late_scene scene;
	struct late_copy of[MEASURES];
	struct work_graph *held, *other; /* in the streams of the bulk and of the small copy */
};

/* In setup, one after the other: the memory of the case's direction; streams and graphs, and what
 * they must leave. Both return c->status. */
int measures_open_memory(struct measures *m, struct bench_case *c);
int measures_open(struct measures *m, struct bench_case *c);

#endif
