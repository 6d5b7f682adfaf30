/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations of device/dev_tracking.h.
 */
#include "device/sim/device/calls.h"
#include "device/sim/t3/memory_control.h"
#include "device/sim/t3/tiles.h"

#include <errno.h>

/* ------------------------------------------------------------------ trackers */

static int check_handle(struct sim_dev *d, const struct dev_tracker *t)
{
	return sim_handle_owner(t) == d
		       ? 0
		       : err_note(-EINVAL, "sim:%u: not an open tracker of this device",
				  d->base.index);
}

static int open_tracker(struct dev *dev, const struct dev_tracker_map *map,
			struct dev_tracker **t_p)
{
	struct sim_dev *d = sim_of(dev);
	struct dev_tracker *t = NULL;
	int status = sim_call_begin(d);
	if (!status)
		status = sim_tracker_make(d, map, &t);
	if (!status && sim_handle_add(d, t)) {
		sim_tracker_close(t);
		status = err_note(-ENOMEM, "sim:%u: open a tracker: out of memory", dev->index);
	}
	if (!status)
		*t_p = t;
	return sim_call_end(status);
}

static void close_tracker(struct dev *dev, struct dev_tracker *t)
{
	struct sim_dev *d = sim_of(dev);
	sim_lock_and_pass_time(d);
	int status = check_handle(d, t);
	if (!status && (t->holders > 1 || sim_tracker_is_armed(t)))
		status = err_note(-EBUSY, "sim:%u: close a tracker: it is %s", dev->index,
				  sim_tracker_is_armed(t) ? "armed" : "used by queued work");
	if (sim_handle_owner(t) == d) {
		sim_handle_remove(t);
		sim_tracker_close(t);
	}
	sim_call_end_later(d, status);
}

static int queue_op(struct dev *dev, struct dev_stream *s, struct dev_tracker *t, enum op_kind kind)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, kind, &status);
	if (!op)
		return sim_call_end(status);
	status = check_handle(d, t);
	if (!status) {
		op->tracker = t;
		op->tracking = &sim_tracking_of_waits;
		t->holders++;
	}
	return sim_call_end(sim_op_queue(d, op, status));
}

static int arm_tracker(struct dev *dev, struct dev_stream *s, struct dev_tracker *t)
{
	return queue_op(dev, s, t, OP_ARM);
}

static int wait_for_tracker(struct dev *dev, struct dev_stream *s, struct dev_tracker *t)
{
	return queue_op(dev, s, t, OP_WAIT_TILES);
}

static int read_tracker_counts(struct dev *dev, struct dev_tracker_counts *counts_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		*counts_p = d->trackers->counts;
	return sim_call_end(status);
}

/* ------------------------------------------------------------------ the memory controller */

static int set_memory_control(struct dev *dev, const struct dev_memory_control *control)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		status = sim_memory_control_check_idle(d);
	if (!status)
		sim_memory_control_set(d, control);
	return sim_call_end(status);
}

static int read_memory_control(struct dev *dev, struct dev_memory_control *control_p)
{
	sim_lock();
	*control_p = sim_of(dev)->control.in_force;
	return sim_call_end(0);
}

static int read_memory_bytes(struct dev *dev, struct dev_memory_bytes *bytes_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		*bytes_p = d->control.passed;
	return sim_call_end(status);
}

static int set_stream_class(struct dev *dev, struct dev_stream *s, enum dev_traffic_class traffic)
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
	.copy_add = sim_copy_add,
	.tracker_open = open_tracker,
	.tracker_close = close_tracker,
	.tracker_arm = arm_tracker,
	.tracker_wait = wait_for_tracker,
	.tracker_counts = read_tracker_counts,
	.stream_class = set_stream_class,
	.memory_control = set_memory_control,
	.memory_control_read = read_memory_control,
	.memory_bytes = read_memory_bytes,
};
