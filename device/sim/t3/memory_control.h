/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device's memory: which class of traffic passes it, how both share it, and how much has passed.
 */
#ifndef GPUSIG_SIM_MEMORY_CONTROL_H
#define GPUSIG_SIM_MEMORY_CONTROL_H

#include "device/dev_tracking.h"
#include "device/sim/time/share.h"

struct alloc;
struct flow;
struct op;
struct op_traffic;
struct sim_dev;

struct sim_memory_control {
	struct dev_memory_control in_force;
	/* Traffic of communication passes this: in addition to memory with `fair`, if its queue
	 * takes time, else instead. */
	struct resource communication;
	struct dev_memory_bytes passed;
};

/* Apply the model's setting. The device has no work. */
void sim_memory_control_open(struct sim_dev *d);

/* True if this memory adds what is written to it. */
bool sim_alloc_adds(const struct alloc *a);

/* Class of the operation's traffic there. */
enum dev_traffic_class sim_traffic_class(const struct op *op, const struct alloc *a);

/* A flow needs the memory for part of some traffic of the operation. */
void sim_memory_need(struct flow *f, const struct op *op, const struct op_traffic *t,
		     double volume);

/* The operation starts to move all of its traffic; part of some of it. */
void sim_memory_count(const struct op *op);
void sim_memory_count_part(const struct op *op, const struct op_traffic *t, double volume);

/* In sim_ops: the operations of device/dev_tracking.h. */
extern const struct dev_tracking_ops sim_tracking_ops;

#endif
