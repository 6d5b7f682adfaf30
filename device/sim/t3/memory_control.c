/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/t3/memory_control.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"
#include "lib/err.h"

#include <errno.h>

void sim_memory_control_set(struct sim_dev *d, const struct dev_memory_control *control)
{
	const bool first = control->policy == DEV_MEMORY_COMPUTE_FIRST;
	const double part_of_queue = first ? control->threshold : 1;
	d->control.in_force = *control;
	resource_divide(&d->memory, &d->control.communication, first ? control->threshold : 0,
			first ? control->starvation : 0,
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
