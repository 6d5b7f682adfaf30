/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/sim_ops.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

int sim_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (status)
		return sim_call_end(status);
	struct dev_event *e = calloc(1, sizeof(*e));
	if (!e || sim_handle_add(d, e)) {
		free(e);
		return sim_call_end(
			err_note(-ENOMEM, "sim:%u: open an event: out of memory", dev->index));
	}
	e->dev = d;
	e->next = d->events;
	if (e->next)
		e->next->previous = e;
	d->events = e;
	*e_p = e;
	return sim_call_end(0);
}

void sim_event_close(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	sim_lock_and_pass_time(d);
	if (sim_handle_owner(e) == d) {
		sim_handle_remove(e);
		if (e->next)
			e->next->previous = e->previous;
		if (e->previous)
			e->previous->next = e->next;
		else
			d->events = e->next;
		event_stamp_release(e->latest);
		free(e);
	}
	sim_call_end(0);
}

int sim_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_RECORD, &status);
	if (!op)
		return sim_call_end(status);
	status = sim_check_event(d, e);
	struct event_stamp *stamp = status ? NULL : calloc(1, sizeof(*stamp));
	if (!status && !stamp)
		status = err_note(-ENOMEM, "sim:%u: record an event: out of memory", dev->index);
	if (!stamp)
		return sim_call_end(sim_op_queue(d, op, status));
	stamp->holders = 2;
	stamp->stream = s;
	op->stamp = stamp;
	status = sim_op_queue(d, op, 0);
	if (status) {
		event_stamp_release(stamp);
		return sim_call_end(status);
	}
	event_stamp_release(e->latest);
	e->latest = stamp;
	return sim_call_end(0);
}

static int note_never_recorded(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: %s an event that was never recorded", d->base.index,
			what);
}

/* As sim_call_begin(). */
static int begin_on_recorded(struct sim_dev *d, struct dev_event *e, const char *what)
{
	int status = sim_call_begin(d);
	if (!status)
		status = sim_check_any_event(d, e);
	return status || e->latest ? status : note_never_recorded(d, what);
}

int sim_event_query(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status = begin_on_recorded(d, e, "query");
	if (status)
		return sim_call_end(status);
	return sim_call_end(e->latest->done ? 0 : -EAGAIN);
}

int sim_event_sync(struct dev *dev, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status = begin_on_recorded(d, e, "synchronise");
	if (status)
		return sim_call_end(status);
	while (!e->latest->done)
		if (!sim_engine_step() && !e->latest->done)
			return sim_call_end(
				sim_note_deadlock(d, "synchronise an event", e->latest->stream));
	sim_engine_run(sim_engine.now_ns + d->model.host_sync_ns);
	return sim_call_end(0);
}

int sim_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			 double *ns_p)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin(d);
	if (!status)
		status = sim_check_any_event(d, from);
	if (!status)
		status = sim_check_any_event(d, to);
	if (status)
		return sim_call_end(status);
	if (!from->latest || !to->latest)
		return sim_call_end(note_never_recorded(d, "measure from or to"));
	if (!from->latest->done || !to->latest->done)
		return sim_call_end(-EAGAIN);
	*ns_p = to->latest->at_ns - from->latest->at_ns;
	if (to->latest->epoch_ns != from->latest->epoch_ns)
		*ns_p += (double)to->latest->epoch_ns - (double)from->latest->epoch_ns;
	return sim_call_end(0);
}

int sim_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct sim_dev *d = sim_of(dev);
	int status;
	struct op *op = sim_op_begin(d, s, OP_WAIT, &status);
	if (!op)
		return sim_call_end(status);
	status = sim_check_any_event(d, e);
	if (status)
		return sim_call_end(sim_op_queue(d, op, status));
	/* Without a record there is nothing to wait for, but it still takes a queue entry. */
	op->stamp = e->latest;
	if (op->stamp)
		op->stamp->holders++;
	return sim_call_end(sim_op_queue(d, op, 0));
}
