/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ENGINES: which of the copies that are ready a free copy engine takes.
 *
 * A device has copy_engines engines. With host_engines at most so many of them copy to pinned
 * memory and as many others from it; these are two CLASSES of copies, and the rest is the third.
 * A copy that waits for an engine of its class lets those of other classes pass.
 *
 * engine_order     a free engine takes, of the copies that are ready,
 *   ready_first      the one that became ready first
 *   enqueued_first   the one that was enqueued first
 *   stream_first     one of the stream that it served last; else the one that became ready first
 *   round_robin      that of the next stream, in the order of opening, after the stream that its
 *                    class served last
 * engine_priority  1: of the copies of streams of the highest priority alone
 * engine_sticky    1: a stream gets an engine of the class at its first copy of that class, the
 *                  next in turn, and waits for it though others are free
 * engine_switch_ns latency of a copy, besides copy_ns, if its engine served another stream before
 */
#ifndef GPUSIG_SIM_ENGINES_H
#define GPUSIG_SIM_ENGINES_H

#include "device/sim/model/model.h"

#include <stdbool.h>
#include <stdint.h>

enum sim_copy_class { SIM_COPY_UP, SIM_COPY_DOWN, SIM_COPY_INSIDE, SIM_COPY_CLASSES };

struct op;
struct sim_dev;

struct sim_engine {
	bool busy;
	uint64_t served; /* the stream's order + 1; 0: none yet */
};

struct sim_engines {
	struct sim_engine of[SIM_COPY_CLASSES][SIM_ENGINES];
	uint32_t busy;                       /* of all classes */
	uint64_t assigned[SIM_COPY_CLASSES]; /* streams that have an engine of their own */
	uint64_t served[SIM_COPY_CLASSES];   /* last, as of an engine */
};

/* Take the next copy for which an engine is free out of the ready ones, and give it the engine;
 * NULL: there is none. *switches_p: the engine served another stream before. */
struct op *sim_engines_take(struct sim_dev *d, bool *switches_p);
/* Idle engines: as if none had ever copied. */
void sim_engines_forget(struct sim_dev *d);

#endif
