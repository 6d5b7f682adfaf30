/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic of operations: what their flows need, which class of traffic passes a device's memory,
 * and how much has passed.
 */
#ifndef GPUSIG_SIM_TRAFFIC_H
#define GPUSIG_SIM_TRAFFIC_H

#include "device/dev_tracking.h"
#include "device/sim/time/share.h"

struct alloc;
struct op;
struct op_traffic;

struct sim_memory_control {
	struct dev_memory_control in_force;
	/* Traffic of communication passes this: in addition to memory with `fair`, if its queue
	 * takes time, else instead. */
	struct resource communication;
	struct dev_memory_bytes passed;
};

/* True if this memory adds what is written to it. */
bool sim_alloc_adds(const struct alloc *a);

/* Add the demands of `volume` bytes of this traffic to a flow. */
void sim_traffic_need(const struct op *op, struct flow *f, const struct op_traffic *t,
		      double volume);
/* Those of part of all traffic. Only `c_part` of C is written to C's own memory. Returns the bytes
 * that pass the unit or engine. */
double sim_traffic_need_all(struct flow *f, const struct op *op, double part, double c_part);

/* The operation starts to move all of its traffic; part of some of it. */
void sim_memory_count(const struct op *op);
void sim_memory_count_part(const struct op *op, const struct op_traffic *t, double volume);

#endif
