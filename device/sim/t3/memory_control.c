/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MEMORY of a device is passed by two classes of traffic. Communication is what copies read and
 * write, with and without engines, what operations of streams of communication do
 * (dev_stream_class()), and what those of another device do there. All else is computing. What
 * passes a cache instead of memory has no class.
 *
 * The model's memory_policy, memory_threshold t and memory_starvation s hold until
 * dev_memory_control() changes them. B is memory_bandwidth, and L the most that the flows of
 * computing can take of it: each no more than alone (blocks that are simulated as one are one
 * flow), those on one unit together no more than it could move for the one that needs memory most,
 * and all no more than B.
 *
 *   fair           both classes share B as SHARING says
 *   compute-first  communication has t * B - L, but at least s * B. Computing has B, but where
 *                  communication has s * B, and at least one flow, (1 - s) * B. Within a class
 *                  SHARING holds
 *
 * While a flow of communication passes memory, the part q of its queue is full: all of it, with
 * compute-first t. A block of computing that meanwhile reads n bytes from its own device's memory,
 * for itself or its cache, takes q * queue_wait_ns_per_kib * n / 1024 longer than it would alone:
 * that is a limit of its own, and sharing may hold it to less. (Accesses leave a queue in the order
 * in which they came. A burst of communication fills what it is let into, and what reads waits
 * behind it, however little bandwidth the burst gets.) J, j and slow_down stretch this time, too.
 */
#include "device/sim/t3/memory_control.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"

#include <errno.h>

void sim_memory_control_set(struct sim_dev *d, const struct dev_memory_control *control)
{
	const bool first = control->policy == DEV_MEMORY_COMPUTE_FIRST;
	const double part_of_queue = first ? control->threshold : 1;
	d->control.in_force = *control;
	resource_divide(&d->shared->memory, &d->control.communication,
			first ? control->threshold : 0, first ? control->starvation : 0,
			part_of_queue * d->model.queue_wait_ns_per_kib / 1024);
}

void sim_memory_control_open(struct sim_dev *d)
{
	sim_memory_control_set(d, &(struct dev_memory_control){
					  .policy = (enum dev_memory_policy)d->model.memory_policy,
					  .threshold = d->model.memory_threshold,
					  .starvation = d->model.memory_starvation});
}

int sim_memory_control_check_idle(const struct sim_dev *d)
{
	uint32_t queued = sim_memory_users(d);
	for (const struct dev_stream *s = d->streams; s; s = s->next)
		queued += s->queued;
	return queued ? err_note(-EBUSY,
				 "sim:%u: memory_control: operations are queued on this device, or "
				 "use its memory",
				 d->base.index)
		      : 0;
}
