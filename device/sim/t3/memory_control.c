/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/t3/memory_control.h"
#include "device/sim/device/calls.h"
#include "device/sim/t3/tracker.h"
#include "lib/err.h"

#include <errno.h>

/* ------------------------------------------------------------------ what passes memory */

bool sim_alloc_adds(const struct alloc *a)
{
	return a->kind == DEV_MEM_DEVICE && a->dev->model.memory_adds;
}

enum dev_traffic_class sim_traffic_class(const struct op *op, const struct alloc *a)
{
	const bool copies = op->kind == OP_COPY || op->type == &kernel_copy_type;
	return copies || a->dev != op->stream->dev ? DEV_COMMUNICATION : op->stream->traffic;
}

void sim_memory_need(struct flow *f, const struct op *op, const struct op_traffic *t, double volume)
{
	struct sim_dev *d = t->at->dev;
	struct sim_memory_control *c = &d->control;
	const double cost = volume * (t->adds ? d->model.add_cost : 1);
	const bool communicates = sim_traffic_class(op, t->at) == DEV_COMMUNICATION;
	if (!communicates || c->in_force.policy == DEV_MEMORY_FAIR)
		flow_need(f, &d->memory, cost);
	if (communicates && d->memory.behind)
		flow_need(f, &c->communication, cost);
	if (!communicates && !t->write && d->memory.behind)
		flow_wait(f, &d->memory, volume);
}

void sim_memory_count_part(const struct op *op, const struct op_traffic *t, double volume)
{
	struct dev_memory_bytes *passed = &t->at->dev->control.passed;
	const bool passes = t->path == PATH_MEMORY || t->path == PATH_REFILL;
	if (t->at->kind == DEV_MEM_DEVICE && passes)
		(t->write ? passed->written : passed->read)[sim_traffic_class(op, t->at)] += volume;
}

void sim_memory_count(const struct op *op)
{
	const uint32_t rows = op->work->gemm.m, kept = op->tiles ? sim_tracker_count_away(op) : 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		sim_memory_count_part(op, t, is_c ? t->volume * kept / rows : t->volume);
	}
}

/* ------------------------------------------------------------------ the memory controller */

static void put_in_force(struct sim_dev *d, const struct dev_memory_control *control)
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
	put_in_force(d, &(struct dev_memory_control){
				.policy = (enum dev_memory_policy)d->model.memory_policy,
				.threshold = d->model.memory_threshold,
				.starvation = d->model.memory_starvation});
}

static int check_idle(const struct sim_dev *d)
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

static int sim_memory_control(struct dev *dev, const struct dev_memory_control *control)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		status = check_idle(d);
	if (!status)
		put_in_force(d, control);
	return sim_call_end(status);
}

static int sim_memory_control_read(struct dev *dev, struct dev_memory_control *control_p)
{
	sim_lock();
	*control_p = sim_of(dev)->control.in_force;
	return sim_call_end(0);
}

static int sim_memory_bytes(struct dev *dev, struct dev_memory_bytes *bytes_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		*bytes_p = d->control.passed;
	return sim_call_end(status);
}

static int sim_stream_class(struct dev *dev, struct dev_stream *s, enum dev_traffic_class traffic)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin_on_stream(d, s);
	if (!status && s->head)
		status = err_note(-EBUSY, "sim:%u: stream_class: %u operations are queued",
				  dev->index, s->queued);
	if (!status)
		s->traffic = traffic;
	return sim_call_end(status);
}

const struct dev_tracking_ops sim_tracking_ops = {
	.stream_units = sim_stream_units,
	.copy_add = sim_copy_add,
	.tracker_open = sim_tracker_open,
	.tracker_close = sim_tracker_close,
	.tracker_arm = sim_tracker_arm,
	.tracker_wait = sim_tracker_wait,
	.tracker_counts = sim_tracker_read_counts,
	.stream_class = sim_stream_class,
	.memory_control = sim_memory_control,
	.memory_control_read = sim_memory_control_read,
	.memory_bytes = sim_memory_bytes,
};
